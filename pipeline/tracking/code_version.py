"""The version of the code that a job runs: a hash over its stage module and everything of ours that it imports.

Packages that the project lists as plugins count as ours.

It is part of the job's resolved file, so DVC runs a job again if a module has changed that it imports, directly or
through others, whether it uses the changed lines or not: an edit in `ground` runs nearly everything again, a new rung's
module no other rung. Comments, docstrings and formatting do not count.

Parsed files are cached between processes, because parsing all of them takes over a second. The key is the content of a
file, of this module, and the Python version, so the cache is never outdated. You can delete `.dvc/tmp/parsed.json` at
any time.
"""

import ast
import hashlib
import json
import sys
from contextlib import suppress
from functools import cache
from importlib.util import resolve_name
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from langladder.families import families
from langladder.families.sides import SIDES
from langladder.ground import plugins
from langladder.ground.artefacts import write_text
from langladder.ground.errors import InputError
from pipeline import CODE, LIBRARY
from pipeline.settings import plan
from pipeline.settings.yaml_files import Values
from pipeline.tracking.fingerprint import home

# Settings decide which job runs with what, and are part of its resolved file; tracking only reports to MLflow.
TRACKING = ("run", "store", "processes", "run_facts", "sweep_runs", "curve_logger", "models", "code_version")
IGNORED = {"pipeline", "pipeline.tracking", *(f"pipeline.tracking.{name}" for name in TRACKING)}
# A progress bar and a model's card describe a result and do not change it.
IGNORED |= {
    "langladder",
    "langladder.ground.progress",
    "langladder.formats.model_card",
    "langladder.formats.loading",
}
FAMILIES = "langladder.families"  # its modules are found by listing the folder
METHODS = {"train": "train", "evaluate": "evaluate", "measure": "data"}
"""Module of pipeline/ → the method of a family that it calls."""

LIBRARIES = ("langladder", "microworld")
NO_RESOURCES = ("__pycache__", "conf")
"""Folders of a package that are not resources; a plugin's settings are in the resolved files."""
MOST = 5000  # files that are kept


class ModuleCode(NamedTuple):
    """A module: the hash of its code, and its imports (names inside modules like modules)."""

    hash: str
    imports: list[str]


def code_version(stage: str, settings: Values) -> str:
    """Hash (16 hex digits) of the code behind a stage and the `_target_` classes in its settings."""
    digest = hashlib.sha256(family_code(stage).hash.encode())
    for file in files_of(stage, settings):
        digest.update(f"{_named(file)} {_hash(file)}\n".encode())
    return digest.hexdigest()[:16]


def files_of(stage: str, settings: Values) -> list[Path]:
    """The files of a job's code: modules, and the resources beside them."""
    files = {file for module in modules_of(stage, settings) if (file := _file(module))}
    files |= {data for folder in {file.parent for file in files} for data in _data(folder)}
    return sorted(files, key=lambda file: PurePosixPath(_named(file)))


def modules_of(stage: str, settings: Values) -> set[str]:
    """Our modules (and names in them) that a job imports, directly or through others."""
    pending = [_module_of(stage), *_targets(settings), *family_code(stage).imports]
    seen: set[str] = set()
    while pending:
        module = pending.pop()
        if module not in seen and not _ignored(module, stage) and (file := _file(module)):
            seen.add(module)
            pending += [_absolute(name, module, file) for name in module_code(file).imports]
            if module == FAMILIES:
                pending += [f"{FAMILIES}.{path.stem}" for path in sorted(file.parent.glob("*.py")) if path != file]
                pending += [family.report_module for family in families().values() if family.report_module]
    return seen


def _module_of(stage: str) -> str:
    known = plan.stages().get(stage)
    return f"pipeline.{known.module if known else stage}"


# ---- the part of a family's module that a stage runs ---------------------------------------------------------------


@cache
def family_code(stage: str) -> ModuleCode:
    """The parts of the families' modules that a stage runs: the method that it calls, and the functions called there.

    The rest of a declaration only describes rungs: a change in how a family is shown trains nothing.
    """
    known = plan.stages().get(stage)
    file = _file(_module_of(stage))
    imported = (name.removeprefix(f"{FAMILIES}.").split(".") for name in (module_code(file).imports if file else []))
    # the settings and functions of a side that a job uses are in its own settings
    pending = [(f"{FAMILIES}.{name[0]}", name[1]) for name in imported if len(name) == 2 and name[0] != "sides"]
    bases: list[str] = []
    if known and known.argument and known.module in METHODS:
        kinds = type(families()[known.argument]).__mro__
        bases = [kind.__module__ for kind in kinds if kind.__module__.startswith(FAMILIES)]
        pending += [(module, METHODS[known.module]) for module in bases]
    hashes: dict[tuple[str, str], str] = {}
    imports: list[str] = []
    while pending:
        module, name = pending.pop()
        if (module, name) in hashes or not (node := _definitions(module).get(name)):
            continue
        code = _parse_node(node)
        hashes[module, name] = code.hash
        imports += [name for name in code.imports if not name.startswith(FAMILIES)]
        for used in ast.walk(node):
            if isinstance(used, ast.Name) and (origin := _imported(module).get(used.id)):
                where, _, what = origin.rpartition(".")
                if origin.startswith(FAMILIES):
                    pending.append((where, what))
                else:
                    imports += [where, origin]
            elif isinstance(used, ast.Name) and isinstance(used.ctx, ast.Load):
                pending.append((module, used.id))
            elif isinstance(used, ast.Attribute) and isinstance(used.value, ast.Name | ast.Call):  # self.… or super().…
                pending += [(base, used.attr) for base in bases if _is_own(used.value)]
    return ModuleCode(hashlib.sha256(repr(sorted(hashes.items())).encode()).hexdigest(), imports)


def _is_own(value: ast.Name | ast.Call) -> bool:
    name = value.func if isinstance(value, ast.Call) else value
    return isinstance(name, ast.Name) and name.id in ("self", "super")


@cache
def _definitions(module: str) -> dict[str, ast.stmt]:
    """Name → its definition in a module, or in a class of it."""
    file = _file(module)
    body = ast.parse(file.read_bytes()).body if file else []
    inner = [statement for entry in body if isinstance(entry, ast.ClassDef) for statement in entry.body]
    statements: dict[str, ast.stmt] = {}
    for statement in [*inner, *body]:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            statements[statement.name] = statement
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        statements |= {target.id: statement for target in targets if isinstance(target, ast.Name)}
    return statements


@cache
def _imported(module: str) -> dict[str, str]:
    """Name → its origin, for the imports at the top of a module."""
    file = _file(module)
    body = ast.parse(file.read_bytes()).body if file else []
    froms = [statement for statement in body if isinstance(statement, ast.ImportFrom) and statement.module]
    return {
        alias.asname or alias.name: f"{statement.module}.{alias.name}"
        for statement in froms
        for alias in statement.names
    }


# ---- modules ---------------------------------------------------------------------------------------------------------


def _targets(settings: object) -> list[str]:
    if isinstance(settings, list):
        return [target for setting in settings for target in _targets(setting)]
    if not isinstance(settings, dict):
        return []
    modules = [value.rpartition(".")[0] for key, value in settings.items() if key in ("_target_", "_maker_") and value]
    if "clean" in settings and settings.get("side") in SIDES:
        modules.append(SIDES[settings["side"]].clean.rpartition(".")[0])
    return modules + [target for value in settings.values() for target in _targets(value)]


def _ignored(module: str, stage: str) -> bool:
    if module.startswith(FAMILIES):  # a declaration only describes rungs, and the report only shows them
        return stage != "report"
    return module in IGNORED or module.startswith("pipeline.settings")


@cache
def _file(module: str) -> Path | None:
    """Source file of a module of ours; a name inside a module (`from a.b import name`) is no module."""
    if not (base := _base(module.partition(".")[0])):
        return None
    path = base / module.replace(".", "/")
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


@cache
def _base(package: str) -> Path | None:
    """The folder that a package of ours or of a plugin is in; None of others."""
    if package in plugins.OWN:
        return CODE if package == "pipeline" else LIBRARY
    folder = plugins.folder_of(package) if package in plugins.listed() else None
    return folder.parent.resolve() if folder else None


def _named(file: Path) -> str:
    """A file's name, the same on every machine: in a checkout, installed or not, or in a plugin's package."""
    if any(file.is_relative_to(LIBRARY / package) for package in LIBRARIES):
        return f"src/{file.relative_to(LIBRARY).as_posix()}"
    bases = [CODE, *filter(None, map(_base, plugins.listed()))]
    return next(file.relative_to(base).as_posix() for base in bases if file.is_relative_to(base))


def _absolute(name: str, module: str, file: Path) -> str:
    """The absolute name of a module: plugins may import `.cells` relatively."""
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    return resolve_name(name, package) if name.startswith(".") else name


@cache
def _data(folder: Path) -> list[Path]:
    """Resources beside a package's modules: tables, templates; without those of its subpackages."""
    bases = [base / package for package in plugins.listed() if (base := _base(package))]
    if not any(folder.is_relative_to(base) for base in [*(LIBRARY / package for package in LIBRARIES), *bases]):
        return []
    files: list[Path] = []
    for entry in folder.iterdir():
        if entry.is_file() and entry.suffix != ".py":
            files.append(entry)
        elif entry.is_dir() and entry.name not in NO_RESOURCES and not (entry / "__init__.py").is_file():
            files += [file for file in entry.rglob("*") if file.is_file()]
    return files


@cache
def _hash(file: Path) -> str:
    return module_code(file).hash if file.suffix == ".py" else hashlib.sha256(file.read_bytes()).hexdigest()


@cache
def module_code(file: Path) -> ModuleCode:
    """A module of ours; comments, docstrings and formatting do not count."""
    content = file.read_bytes()
    key = hashlib.sha256(content).hexdigest()
    if key not in _kept():
        _kept()[key] = _parse(content)
    return _kept()[key]


def keep() -> None:
    """Save the parsed files for the next process."""
    text = json.dumps({"by": _by(), "files": dict(list(_kept().items())[-MOST:])})
    with suppress(InputError):  # not writable: parse again
        if not _cache_file().is_file() or _cache_file().read_text(encoding="utf-8") != text:
            write_text(_cache_file(), text)


def _cache_file() -> Path:
    return home() / ".dvc" / "tmp" / "parsed.json"


@cache
def _by() -> str:
    return hashlib.sha256(Path(__file__).read_bytes() + sys.version.encode()).hexdigest()


@cache
def _kept() -> dict[str, ModuleCode]:
    """Hash of a file's content → the parsed file."""
    try:
        kept = json.loads(_cache_file().read_text(encoding="utf-8"))
        return {key: ModuleCode(*value) for key, value in kept["files"].items()} if kept["by"] == _by() else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _parse(content: bytes) -> ModuleCode:
    return _parse_node(ast.parse(content))


def _parse_node(tree: ast.AST) -> ModuleCode:
    imports: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (node.module or "")
            inner = start if start.endswith(".") else f"{start}."
            imports += [start, *(f"{inner}{alias.name}" for alias in node.names)]
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            first.value.value = ""  # a docstring
    return ModuleCode(hashlib.sha256(ast.dump(tree).encode()).hexdigest(), imports)
