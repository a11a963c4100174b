"""What the files of our code say to `code_version`, kept between processes: parsing them all takes over a second.

It is kept by the files' content, and by this module and the Python that parsed them, so that none of it is ever out of
date. `.dvc/tmp/parsed.json` may be removed at any time.
"""

import ast
import hashlib
import json
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from langladder.ground.artefacts import write_text
from langladder.ground.errors import InputError
from pipeline.provenance.fingerprint import home

MOST = 5000  # files that are kept


class Parsed(NamedTuple):
    """A module: the hash of what it does, and all that it imports (a name of a module like a module)."""

    hash: str
    imports: list[str]


@cache
def parsed(file: Path) -> Parsed:
    """A module of ours; comments, docstrings and formatting do not count."""
    content = file.read_bytes()
    key = hashlib.sha256(content).hexdigest()
    if key not in _kept():
        _kept()[key] = _parse(content)
    return _kept()[key]


def keep() -> None:
    """Keep for the next process what this one has parsed."""
    text = json.dumps({"by": _by(), "files": dict(list(_kept().items())[-MOST:])})
    with suppress(InputError):  # a place that cannot be written: parsed again
        if not _place().is_file() or _place().read_text(encoding="utf-8") != text:
            write_text(_place(), text)


def _place() -> Path:
    return home() / ".dvc" / "tmp" / "parsed.json"


@cache
def _by() -> str:
    return hashlib.sha256(Path(__file__).read_bytes() + sys.version.encode()).hexdigest()


@cache
def _kept() -> dict[str, Parsed]:
    """Hash of a file's content → the file parsed."""
    try:
        kept = json.loads(_place().read_text(encoding="utf-8"))
        return {key: Parsed(*value) for key, value in kept["files"].items()} if kept["by"] == _by() else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _parse(content: bytes) -> Parsed:
    tree = ast.parse(content)
    imports: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            imports += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            first.value.value = ""  # a docstring
    return Parsed(hashlib.sha256(ast.dump(tree).encode()).hexdigest(), imports)
