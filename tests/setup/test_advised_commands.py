"""The commands that messages advise can be typed: each names a program, a subcommand and options that there are."""

import ast
import re
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from langladder.faces.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
COMMAND = re.compile("`((?:langladder|make|dvc|mlflow|python -m pipeline\\.)[^`]*)`")
BEGUN = re.compile("`(?:langladder|make|dvc|mlflow|python)\\b")  # in a line: only files that have one are parsed
GAP = "VALUE"  # what a message fills in


@cache
def advised() -> list[str]:
    """The commands in backticks in every string of the code that is no docstring."""
    result = set()
    for file in sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("pipeline/**/*.py")]):
        source = file.read_text(encoding="utf-8")
        if not BEGUN.search(source):
            continue
        nodes = list(ast.walk(ast.parse(source)))
        docstrings = {
            id(node.body[0].value)
            for node in nodes
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
        for node in nodes:
            if isinstance(node, ast.JoinedStr):
                text = "".join(str(part.value) if isinstance(part, ast.Constant) else GAP for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
                text = "" if id(node) in docstrings else node.value
            else:
                continue
            result |= {" ".join(command.split()) for command in COMMAND.findall(text)}
    return sorted(item for item in result if item.split()[0] in ("make", "dvc", "mlflow", "langladder", "python"))


@cache
def help_of(*words: str) -> str:
    result = subprocess.run([*words, "--help"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, (words, result.stderr)
    return result.stdout


def options(words: list[str]) -> list[str]:
    return [word.partition("=")[0] for word in words if word.startswith("-") and word not in ("-", "--")]


def of_langladder(command: str, words: list[str]) -> None:
    if not words or words[0] in ("--help", GAP):
        return
    group = app.commands
    assert words[0] in group, command
    known = {opt for option in group[words[0]].params if isinstance(option, click.Option) for opt in option.opts}
    known |= {opt for option in group[words[0]].params for opt in option.secondary_opts} | {"--help"}
    assert set(options(words)) <= known, command


def test_there_are_some() -> None:
    assert len(advised()) > 10 and any(item.startswith("dvc repro") for item in advised())


def test_every_advised_command_of_ours_is_there() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for command in advised():
        program, *words = command.split()
        if program == "langladder":
            of_langladder(command, words)
        elif program == "make":
            assert not words or words[0] in targets, command
        elif program == "python":
            assert find_spec(words[1]) is not None or GAP in words[1], command


@pytest.mark.long
def test_every_advised_command_of_another_program_is_there() -> None:
    for command in advised():
        program, *words = command.split()
        if program not in ("dvc", "mlflow"):
            continue
        names: list[str] = []
        for word in words:  # dvc exp run, mlflow experiments restore
            if not re.fullmatch("[a-z]+", word) or (
                names and names[-1] in ("repro", "run", "restore", "gc", "checkout")
            ):
                break
            names.append(word)
        text = help_of(str(Path(sys.executable).parent / program), *names)
        for option in options(words):
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", text), (command, option)
