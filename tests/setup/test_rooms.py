"""Lengths of files and functions, docstrings, imports between rooms, and names in the docs."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from pipeline import ROOT

SOURCE = ROOT / "src" / "langladder"
CLAIMS = ROOT / "src" / "claims"
FLOORS = [
    {"ground"},
    {"kernels", "text", "corpora", "engine"},
    {"counts", "nn"},
    {"embeddings", "models"},
    {"tasks", "data", "decoding", "formats"},
    {"evaluation"},
    {"experiments"},
    {"families"},
    {"answers"},
    {"faces/report", "faces/http"},
    {"faces/explorer"},
    {"faces/cli", "faces/mlflow", "__main__"},
    {"faces/python"},
    {"langladder"},
]
"""A room imports from its own floor or below."""
FILES = sorted(file for room in ("src", "pipeline") for file in (ROOT / room).rglob("*.py"))
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


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


def test_a_file_is_short_and_says_what_it_is() -> None:
    for file in FILES:
        assert len(file.read_text(encoding="utf-8").splitlines()) <= 500, file
        assert ast.get_docstring(tree(file)) or file.name == "__init__.py", f"{file}: no module docstring"


def test_functions_are_short_and_what_is_public_says_what_it_does() -> None:
    """A method that overrides one of a base class needs no docstring: the base says what it does."""
    methods: set[str] = set()
    for file in FILES:
        methods |= {name.rpartition(".")[2] for name, node in definitions(tree(file)) if "." in name and _says(node)}
    for file in FILES:
        result = dict(definitions(tree(file)))
        long = [name for name, node in result.items() if not isinstance(node, ast.ClassDef) and length(node) > 80]
        assert not long, (file, long)
        if {SOURCE, CLAIMS} & {*file.parents}:
            public = {name: node for name, node in result.items() if not re.search(r"(^|\.)_", name)}
            silent = [name for name, node in public.items() if not _says(node)]
            assert not [name for name in silent if not _overrides(name, result, methods)], f"{file}: no docstring"


def _says(node: Definition) -> bool:
    return bool(ast.get_docstring(node))


def _overrides(name: str, mapping: Mapping[str, Definition], methods: set[str]) -> bool:
    """Whether this may be a method of a base class, which has a docstring there."""
    owner, _, method = name.rpartition(".")
    base = mapping.get(owner)
    return isinstance(base, ast.ClassDef) and bool(base.bases) and method in methods


def test_configuration_files_are_short() -> None:
    files = sorted([*(ROOT / "conf").rglob("*.yaml"), *(CLAIMS / "conf").rglob("*.yaml")])
    assert files
    assert not [file.name for file in files if len(file.read_text(encoding="utf-8").splitlines()) > 40]


@cache
def module(file: Path) -> str:
    """As it is imported: `langladder.…`, `pipeline.…`; a benchmark by its name alone."""
    top = next(top for top in (SOURCE.parent, ROOT / "benchmarks", ROOT) if top in file.parents)
    return ".".join(file.relative_to(top).with_suffix("").parts).removesuffix(".__init__")


def imports(folder: Path) -> dict[str, set[str]]:
    """Module of a folder → those modules of it that it imports, anywhere in it, be it for annotations alone."""
    modules = {module(file): file for file in folder.rglob("*.py")}
    result: dict[str, set[str]] = {}
    for name, file in modules.items():
        named: set[str] = set()
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.ImportFrom) and node.module:
                parts = [f"{node.module}.{alias.name}" for alias in node.names]
                named |= {part if part in modules else node.module for part in parts}
            elif isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
        result[name] = named & modules.keys() - {name}
    return result


def room(name: str) -> str:
    """`langladder.text.read.lines` → text; each of the faces is a room of its own."""
    _, first, second, *_ = (*name.split("."), "", "")
    if not first:  # the package's own module, which names its face
        return name
    if first == "faces" and second:
        return f"faces/{second}"
    return first if first in {room for rooms in FLOORS for room in rooms} else "ground"


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Nodes of circles: those that are left when nodes without imports are removed repeatedly."""
    left = {name: set(others) for name, others in graph.items()}
    while free := {name for name, others in left.items() if not others & left.keys()}:
        left = {name: others for name, others in left.items() if name not in free}
    return sorted(left)


def test_no_module_imports_from_a_floor_above() -> None:
    floor = {name: number for number, rooms in enumerate(FLOORS) for name in rooms}
    for name, others in imports(SOURCE).items():
        for other in others:
            assert floor[room(other)] <= floor[room(name)], f"{name} imports {other}"


@pytest.mark.parametrize(
    "folder", [SOURCE, CLAIMS, ROOT / "pipeline", ROOT / "benchmarks"], ids=lambda folder: folder.name
)
def test_no_circle_of_imports_between_modules(folder: Path) -> None:
    graph = imports(folder)
    assert any(graph.values()) and not circle(graph)


def test_no_circle_of_imports_between_rooms() -> None:
    rooms: dict[str, set[str]] = {}
    for name, others in imports(SOURCE).items():
        rooms.setdefault(room(name), set()).update({room(other) for other in others} - {room(name)})
    assert not circle(rooms)


@pytest.mark.parametrize(
    ("package", "others"),
    [("microworld", set()), ("langladder", {"microworld"}), ("claims", {"langladder", "microworld"})],
)
def test_a_package_imports_only_those_that_it_is_built_on(package: str, others: set[str]) -> None:
    ours = {folder.name for folder in SOURCE.parent.iterdir() if (folder / "__init__.py").is_file()} | {"pipeline"}
    result: set[str] = set()
    for file in (SOURCE.parent / package).rglob("*.py"):
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.Import):
                result |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                result.add(node.module.partition(".")[0])
    assert result & ours - {package} == others


def test_the_library_imports_none_of_the_pipelines_tools() -> None:
    for file in SOURCE.rglob("*.py"):
        nodes = list(ast.walk(tree(file)))
        names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
        tools = {name.partition(".")[0] for name in names} & {"hydra", "omegaconf", "dvc", "mlflow", "pipeline"}
        assert not tools, f"{module(file)} imports {tools}"
        if room(module(file)) in ("nn", "models"):
            assert not any(name.startswith(("lightning", "pytorch_lightning")) for name in names), module(file)


def defined_pairs() -> set[tuple[str, str]]:
    """Pairs of container and member: package and module, module and definition, class and method or field."""
    result: set[tuple[str, str]] = set()
    for file in FILES:
        name = module(file)
        dotted = [name] + [f"{name}.{item}" for item, _ in definitions(tree(file))]
        for cls, node in definitions(tree(file)):
            fields = [item.target for item in getattr(node, "body", []) if isinstance(item, ast.AnnAssign)]
            dotted += [f"{cls}.{field.id}" for field in fields if isinstance(field, ast.Name)]
        result |= {pair for item in dotted for pair in pairwise(item.split("."))}
    return result


def settings_words() -> set[str]:
    """Keys, rungs and groups of the configuration, and fields of the settings' classes."""
    yamls = [
        ROOT / "params.yaml",
        ROOT / "dvc.yaml",
        *(ROOT / "conf").rglob("*.yaml"),
        *(CLAIMS / "conf").rglob("*.yaml"),
    ]
    keys = {key for file in yamls for key in re.findall(r"(\w+):", file.read_text(encoding="utf-8"))}
    return keys | {part for file in yamls for part in file.relative_to(ROOT).with_suffix("").parts}


def test_code_that_the_docs_name_is_there() -> None:
    """A dotted name in backticks is code of ours, a setting, another library's, a guide's example or a file."""
    other = {"KeyedVectors", "datasets", "http", "hydra", "item", "mlflow", "numpy", "plots", "task", "torch"}
    file = re.compile(
        r"\.(bin|conll|de|en|env|jsonl?|lock|md|ndjson|onnx|parquet|py|safetensors|svg|toml|tsv|txt|vec|ya?ml|zh)$"
    )
    pairs, settings = defined_pairs(), settings_words()
    fields = {name for _, name in pairs}
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    unknown: dict[str, str] = {}
    for page in pages:
        text = re.sub(r"(?ms)^ *```.*?^ *```", "", page.read_text(encoding="utf-8"))
        for span in re.findall(r"`([^`]+)`", text) if page.parent.name != "log" else []:
            for name in re.findall(r"(?<![\w./-])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?![\w/.-])", span):
                parts = name.split(".")
                ours = set(pairwise(parts)) <= pairs or set(parts) <= settings | fields
                if not (ours or parts[0] in other or "Mine" in parts or file.search(name)):
                    unknown[name] = page.name
    assert not unknown, unknown
