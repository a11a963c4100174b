"""How long things are, that each says what it is, and which room imports which."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from pipeline import ROOT

SOURCE = ROOT / "src" / "langladder"
GROUND = "ground"  # the modules that stand in no room: errors, schema, progress, …
FLOORS = [
    {GROUND},
    {"text", "corpora", "engine"},
    {"counts", "nn"},
    {"embeddings", "models"},
    {"tasks", "data", "decoding", "export"},
    {"evaluation"},
    {"experiments"},
    {"families"},
    {"reporting", "serving"},
    {"explorer"},
    {"cli", "__main__", "pyfunc"},
]
"""A room imports from its own floor or below."""
FILES = sorted(file for room in ("src", "pipeline") for file in (ROOT / room).rglob("*.py"))
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

every_file = pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def definitions(node: ast.AST, owner: str = "") -> Iterator[tuple[str, Definition]]:
    """Classes and functions of a module or class, with their names; not those inside functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            yield f"{owner}{child.name}", child
            if isinstance(child, ast.ClassDef):
                yield from definitions(child, f"{owner}{child.name}.")
        elif isinstance(child, ast.If | ast.Try):
            yield from definitions(child, owner)


def length(node: Definition) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


@every_file
def test_a_file_is_short_and_says_what_it_is(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 500
    assert ast.get_docstring(tree(file)) or file.name == "__init__.py", "no module docstring"


@every_file
def test_functions_are_short_and_what_is_public_says_what_it_does(file: Path) -> None:
    found = dict(definitions(tree(file)))
    assert not [name for name, node in found.items() if not isinstance(node, ast.ClassDef) and length(node) > 80]
    if SOURCE in file.parents:
        public = {name: node for name, node in found.items() if not re.search(r"(^|\.)_", name)}
        assert not [name for name, node in public.items() if not ast.get_docstring(node)], "no docstring"


def test_configuration_files_are_short() -> None:
    files = sorted((ROOT / "conf").rglob("*.yaml"))
    assert files
    assert not [file.name for file in files if len(file.read_text(encoding="utf-8").splitlines()) > 40]


def module(file: Path) -> str:
    return ".".join(("langladder", *file.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


def imports() -> dict[str, set[str]]:
    """Module of the library → those modules that it imports, anywhere in it, be it for annotations alone."""
    modules = {module(file): file for file in SOURCE.rglob("*.py")}
    found: dict[str, set[str]] = {}
    for name, file in modules.items():
        named: set[str] = set()
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("langladder"):
                parts = [f"{node.module}.{alias.name}" for alias in node.names]
                named |= {part if part in modules else str(node.module) for part in parts}
            elif isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
        found[name] = named & modules.keys() - {name}
    return found


def room(name: str) -> str:
    first = (*name.split("."), "")[1]
    return first if first == "__main__" or (first and (SOURCE / first).is_dir()) else GROUND


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Nodes that lead back to themselves: those that are left when what imports nothing that is left is taken away."""
    left = {name: set(others) for name, others in graph.items()}
    while free := {name for name, others in left.items() if not others & left.keys()}:
        left = {name: others for name, others in left.items() if name not in free}
    return sorted(left)


def test_no_module_imports_from_a_floor_above() -> None:
    floor = {name: number for number, rooms in enumerate(FLOORS) for name in rooms}
    for name, others in imports().items():
        for other in others:
            assert floor[room(other)] <= floor[room(name)], f"{name} imports {other}"


def test_no_circle_of_imports_between_modules_or_rooms() -> None:
    graph = imports()
    assert not circle(graph)
    rooms: dict[str, set[str]] = {}
    for name, others in graph.items():
        rooms.setdefault(room(name), set()).update({room(other) for other in others} - {room(name)})
    assert not circle(rooms)


def test_the_library_imports_none_of_the_pipelines_tools() -> None:
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(tree(file)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            tools = {name.partition(".")[0] for name in names} & {"hydra", "omegaconf", "dvc", "mlflow", "pipeline"}
            assert not tools, f"{module(file)} imports {tools}"
            if room(module(file)) in ("nn", "models"):
                assert not any(name.startswith(("lightning", "pytorch_lightning")) for name in names), module(file)
