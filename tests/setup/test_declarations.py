"""What the code imports is what pyproject.toml declares, neither more nor less."""

import ast
import importlib.metadata
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from lock_files import PROJECT, declared
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pipeline import ROOT

DISTRIBUTIONS = {
    "umap": ["umap-learn"],
    "torchcrf": ["pytorch-crf"],
    **importlib.metadata.packages_distributions(),
}  # these two may be absent
OWN = {"claims", "langladder", "microworld", "pipeline", "scripts", "tests"}


def names(lines: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(line).name) for line in lines}


def imports(tree: ast.AST, guarded: bool = False) -> Iterator[tuple[str, bool]]:
    """Top packages imported, and whether the code lives on where one is absent (tried, in a function, or for types)."""
    for node in ast.iter_child_nodes(tree):
        tried = isinstance(node, ast.Try) and "ImportError" in ast.unparse(node.handlers)
        checked = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        safe = guarded or tried or checked or isinstance(node, ast.FunctionDef)
        if isinstance(node, ast.Import):
            yield from ((alias.name.split(".")[0], safe) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0], safe
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "importorskip":
            yield from ((str(part.value).split(".")[0], True) for part in node.args if isinstance(part, ast.Constant))
        yield from imports(node, safe)


@cache
def imported(room: str) -> dict[tuple[str, bool], list[str]]:
    """(Package, guarded) → the files that import it; what lies beside a file in its own folder is not a package."""
    result: dict[tuple[str, bool], list[str]] = {}
    known = sys.stdlib_module_names | OWN | {file.stem for file in Path(ROOT / "tests").rglob("*.py")}
    for file in sorted((ROOT / room).rglob("*.py")):
        beside = known | {other.stem for other in file.parent.iterdir()}
        for name, safe in imports(ast.parse(file.read_text(encoding="utf-8"))):
            if name not in beside:
                result.setdefault((name, safe), []).append(str(file.relative_to(ROOT)))
    return result


def undeclared(result: dict[tuple[str, bool], list[str]], allowed: set[str]) -> dict[str, list[str]]:
    return {
        name: files
        for (name, _), files in result.items()
        if not {canonicalize_name(item) for item in DISTRIBUTIONS.get(name, [name])} & allowed
    }


ASIDE = {  # what the library imports where it is installed, and says how to install it where not
    "cluster": {"dask", "distributed", "s3fs"},
    "chinese": {"jieba", "opencc"},
    "japanese": {"fugashi"},
    "thai": {"pythainlp"},
    "clean": {"contractions", "datasketch", "nh3"},
    "frames": {"pandas"},
    "hub": {"datasets"},
    "maps": {"umap-learn"},
    "morphemes": {"morfessor"},
    "onnx": {"onnx", "onnxruntime", "onnxscript"},
    "bench": {"nltk"},
    "site": {"jupytext", "nbclient"},
}
ROOMS = {"faces/report": "report", "faces/http": "serve", "faces/explorer": "explore"}
"""Room of the library → the extra that it wants as a whole; who imports one says how to install it where it cannot."""
BENEATH = {"ruamel-yaml"}  # of DVC, asked for with the part that makes it fast
BESIDE = {"lm-eval"}  # of no extra: see docs/prompting.md


def own(package: str, file: str) -> bool:
    """Whether a file lies in a room whose extra has the package."""
    extra = next((extra for room, extra in ROOMS.items() if file.startswith(f"src/langladder/{room}/")), None)
    return extra is not None and not undeclared({(package, False): [file]}, names(declared(extra)))


@pytest.mark.parametrize(("room", "extra"), [("src", ()), ("pipeline", ("pipeline",))])
def test_what_the_library_and_the_pipeline_import_is_declared(room: str, extra: tuple[str, ...]) -> None:
    """The wheel requires what the library imports, in functions too, except optional packages."""
    result = imported(room)
    result = {key: left for key, files in result.items() if (left := [file for file in files if not own(key[0], file)])}
    required = {key: files for key, files in result.items() if not key[1]}
    optional = {key: files for key, files in result.items() if key[1]}
    assert not undeclared(required, names(declared(*extra)))
    separate = {name for item, several in ASIDE.items() for name in several & names(declared(item))}
    assert not undeclared(optional, names(declared(*extra)) | separate | BESIDE)


@pytest.mark.parametrize(("room", "extra"), [("src", ()), ("pipeline", ("pipeline",))])
def test_what_is_declared_is_imported(room: str, extra: tuple[str, ...]) -> None:
    used = {canonicalize_name(item) for name, _ in imported(room) for item in DISTRIBUTIONS.get(name, [name])}
    wanted = names(PROJECT["optional-dependencies"][extra[0]] if extra else declared()) - BENEATH - OWN
    assert wanted and not wanted - used


CORE = """
import langladder as ll
from click.testing import CliRunner
from langladder.faces.cli.main import app

lines = [f"the {one} sees the {other} ." for one in map(str, range(12)) for other in map(str, range(12))]
model = ll.train("kneser_ney", text=lines, folder="counted")
print(model.score(lines).__len__(), ll.train("lstm", text=lines, steps=2, settings={"model.width": 8}).kind)
print(ll.train("svd", text=lines, folder="svd", settings={"model.dim": 3}).kind)
try:
    model.score("the").to_frame()
except ll.InputError as error:
    print(error)
for words in (
    ["score", "counted", lines[0]],
    ["neighbours", "svd", "the"],
    ["serve", "counted"],
    ["explore", "counted"],
    ["map", "svd", "map.svg", "the", "sees", "1"],
):
    done = CliRunner().invoke(app, words)
    print(done.exit_code, done.output.splitlines()[-1] if done.exit_code else "")
"""


def required(lines: list[str]) -> set[str]:
    """Every package that requirements bring along here, by the metadata of what is installed."""
    result: set[tuple[str, str]] = set()
    todo = [(Requirement(line), "") for line in lines]
    while todo:
        need, extra = todo.pop()
        if need.marker is not None and not need.marker.evaluate({"extra": extra}):
            continue
        for entry in {"", *need.extras}:
            if (key := (canonicalize_name(need.name), entry)) not in result:
                result.add(key)
                todo += [(Requirement(line), entry) for line in importlib.metadata.requires(need.name) or []]
    return {name for name, _ in result}


@pytest.mark.long
@pytest.mark.slow
def test_the_core_trains_and_answers_without_any_extra(tmp_path: Path) -> None:
    """With the wheel's requirements only; a command that needs an extra is refused with the name of the extra."""
    packages, environment = tmp_path / "packages", os.environ | {"OMP_NUM_THREADS": "1"}
    packages.mkdir()
    installed = required(declared())
    assert not installed & {"fastapi", "matplotlib", "pandas", "datasets", "mlflow"}
    for name in installed:
        for file in importlib.metadata.files(name) or []:
            link = packages / file.parts[0]
            if not (link.is_symlink() or file.parts[0] in ("..", "__pycache__")):
                link.symlink_to(
                    Path(str(file.locate())).parents[len(file.parts) - 2] if file.parts[1:] else file.locate()
                )
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(packages)])
    done = subprocess.run(
        [sys.executable, "-S", "-c", CORE], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == ["144 lm", "embedding"]
    assert lines[2] == "to_frame: pandas is not installed: pip install 'langladder[frames]'"
    assert [line.split()[0] for line in lines[3:]] == ["0", "0", "2", "2", "2"]
    for line, extra in zip(lines[5:], ("serve", "explore", "report"), strict=True):
        assert re.search(rf"is not installed: pip install 'langladder\[{extra}\]'", line)


def test_what_tests_and_benchmarks_import_is_declared() -> None:
    # moto serves S3 on loopback, and what needs it or Morfessor skips without;
    # lm-eval is too heavy for any lock (docs/prompting.md tells how to have it), and no single trl has all functions
    # that are compared: their tests skip without, as those of the site do without mkdocs (of mkdocs-material)
    beside = {"lm-eval", "mkdocs", "moto", "morfessor", "trl"}
    assert not undeclared(
        imported("tests"), names(declared("dev", "cluster", "pipeline", "peers", "onnx", "maps")) | beside
    )
    assert not undeclared(imported("benchmarks"), names(declared("dev", "bench", "pipeline", "peers")) | beside)
