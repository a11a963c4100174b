"""The version of the code that a job runs: a hash over its stage module and everything of ours that it imports.

It stands in the job's resolved file, so DVC re-runs a job when, and only when, code that it runs has changed: a new
rung's module touches no other rung. Comments, docstrings and formatting do not count.
"""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from langladder.families import families
from pipeline import ROOT
from pipeline.provenance.parsed import parsed

# Settings decide which job runs with what, and stand in its resolved file themselves; tracking tells of it in MLflow.
TRACKING = ["tracking", "store", "processes", "run_facts", "curve_logger", "logged_models", "found_runs"]
TRACKING += ["finished"]
IGNORED = {"pipeline", "pipeline.provenance", *(f"pipeline.provenance.{name}" for name in [*TRACKING, "code_version"])}
# A progress bar and a model's card tell of a result and change none, nor does what stays unloaded.
IGNORED |= {
    "langladder.ground.progress",
    "langladder.placeholders",
    "langladder.formats.model_card",
    "langladder.formats.loading",
}
FAMILIES = "langladder.families"  # its modules are found by looking, not by name


def code_version(stage: str, settings: dict[str, Any]) -> str:
    """Hash (16 hex digits) of the code behind `pipeline.<stage>` and the `_target_` classes in its settings."""
    digest = hashlib.sha256()
    for file in files_of(stage, settings):
        digest.update(f"{file.relative_to(ROOT).as_posix()} {_hash(file)}\n".encode())
    return digest.hexdigest()[:16]


def files_of(stage: str, settings: dict[str, Any]) -> list[Path]:
    """The files of a job's code: modules, and the resources beside them."""
    files = {file for module in modules_of(stage, settings) if (file := _file(module))}
    return sorted(files | {data for folder in {file.parent for file in files} for data in _data(folder)})


def modules_of(stage: str, settings: dict[str, Any]) -> set[str]:
    """Our modules (and names in them) that a job imports, directly or through others."""
    pending = [f"pipeline.{stage}", *_targets(settings)]
    seen: set[str] = set()
    while pending:
        module = pending.pop()
        if module not in seen and not _ignored(module, stage) and (file := _file(module)):
            seen.add(module)
            pending += parsed(file).imports
            if module == FAMILIES:
                pending += [f"{FAMILIES}.{one.stem}" for one in sorted(file.parent.glob("*.py")) if one != file]
                pending += [family.report_module for family in families().values() if family.report_module]
    return seen


def _targets(settings: Any) -> list[str]:
    if not isinstance(settings, dict):
        return []
    found = [value.rpartition(".")[0] for key, value in settings.items() if key in ("_target_", "_maker_") and value]
    return found + [target for value in settings.values() for target in _targets(value)]


def _ignored(module: str, stage: str) -> bool:
    if module.startswith(FAMILIES):  # a declaration tells of a rung and makes none; the report is all telling
        return stage != "report"
    return module in IGNORED or module.startswith("pipeline.settings")


@cache
def _file(module: str) -> Path | None:
    """Source file of a module of ours; a name inside a module (`from a.b import name`) is no module."""
    base = ROOT / "src" if module.startswith("langladder") else ROOT
    if not module.startswith(("langladder", "pipeline")):
        return None
    path = base / module.replace(".", "/")
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


@cache
def _data(folder: Path) -> list[Path]:
    """Resources that stand beside a package's modules: tables, templates. Those of packages inside it are their own."""
    if not folder.is_relative_to(ROOT / "src"):
        return []
    found: list[Path] = []
    for entry in folder.iterdir():
        if entry.is_file() and entry.suffix != ".py":
            found.append(entry)
        elif entry.is_dir() and entry.name != "__pycache__" and not (entry / "__init__.py").is_file():
            found += [file for file in entry.rglob("*") if file.is_file()]
    return found


@cache
def _hash(file: Path) -> str:
    return parsed(file).hash if file.suffix == ".py" else hashlib.sha256(file.read_bytes()).hexdigest()
