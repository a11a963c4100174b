"""What the code imports is what pyproject.toml declares, neither more nor less."""

import ast
import importlib.metadata
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
OWN = {"langladder", "pipeline", "tests"}


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
            yield from (
                (str(given.value).split(".")[0], True) for given in node.args if isinstance(given, ast.Constant)
            )
        yield from imports(node, safe)


@cache
def imported(room: str) -> dict[tuple[str, bool], list[str]]:
    """(Package, guarded) → the files that import it; what lies beside a file in its own folder is not a package."""
    found: dict[tuple[str, bool], list[str]] = {}
    known = sys.stdlib_module_names | OWN | {file.stem for file in Path(ROOT / "tests").rglob("*.py")}
    for file in sorted((ROOT / room).rglob("*.py")):
        beside = known | {other.stem for other in file.parent.iterdir()}
        for name, safe in imports(ast.parse(file.read_text(encoding="utf-8"))):
            if name not in beside:
                found.setdefault((name, safe), []).append(str(file.relative_to(ROOT)))
    return found


def undeclared(found: dict[tuple[str, bool], list[str]], allowed: set[str]) -> dict[str, list[str]]:
    return {
        name: files
        for (name, _), files in found.items()
        if not {canonicalize_name(one) for one in DISTRIBUTIONS.get(name, [name])} & allowed
    }


ASIDE = {  # what the library imports where it is installed, and says how to install it where not
    "cluster": {"dask", "distributed", "s3fs"},
    "chinese": {"jieba", "opencc"},
    "japanese": {"fugashi"},
    "thai": {"pythainlp"},
    "frames": {"pandas"},
    "maps": {"umap-learn"},
    "morphemes": {"morfessor"},
    "onnx": {"onnx", "onnxruntime", "onnxscript"},
    "bench": {"nltk"},
    "site": {"jupytext", "nbclient"},
}
BENEATH = {"ruamel-yaml"}  # of DVC, asked for with the part that makes it fast
BESIDE = {"lm-eval"}  # of no extra: see docs/prompting.md


@pytest.mark.parametrize(("room", "extra"), [("src", ()), ("pipeline", ("pipeline",))])
def test_what_the_library_and_the_pipeline_import_is_declared(room: str, extra: tuple[str, ...]) -> None:
    """The wheel alone has what the library imports, in functions too, but for what is asked for by name."""
    found = imported(room)
    required = {key: files for key, files in found.items() if not key[1]}
    optional = {key: files for key, files in found.items() if key[1]}
    assert not undeclared(required, names(declared(*extra)))
    aside = {name for one, several in ASIDE.items() for name in several & names(declared(one))}
    assert not undeclared(optional, names(declared(*extra)) | aside | BESIDE)


@pytest.mark.parametrize(("room", "extra"), [("src", ()), ("pipeline", ("pipeline",))])
def test_what_is_declared_is_imported(room: str, extra: tuple[str, ...]) -> None:
    used = {canonicalize_name(one) for name, _ in imported(room) for one in DISTRIBUTIONS.get(name, [name])}
    wanted = names(PROJECT["optional-dependencies"][extra[0]] if extra else declared()) - BENEATH
    assert wanted and not wanted - used


def test_what_tests_and_benchmarks_import_is_declared() -> None:
    # moto serves S3 on loopback, and what needs it or Morfessor skips without;
    # lm-eval is too heavy for any lock (docs/prompting.md tells how to have it), and no single trl has all functions
    # that are compared: their tests skip without
    beside = {"lm-eval", "moto", "morfessor", "trl"}
    assert not undeclared(
        imported("tests"), names(declared("dev", "cluster", "pipeline", "peers", "onnx", "maps")) | beside
    )
    assert not undeclared(imported("benchmarks"), names(declared("dev", "bench", "pipeline", "peers")) | beside)
