"""YAML as people write it: what is wrong is said with file and line, and a key that stands twice is wrong."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from langladder.errors import InputError
from pipeline import ROOT

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C where it was compiled: ten times as fast


def read_yaml(path: Path) -> Any:
    """The content of a YAML file.

    Raises:
        InputError: not there, not YAML (line), or keys that stand twice (all of them, each with its lines).
    """
    value, twice = read_leniently(path)
    if twice:
        raise InputError("\n".join(twice))
    return value


def read_leniently(path: Path) -> tuple[Any, list[str]]:
    """The content of a YAML file, and a line about each key that stands twice (the last one counts).

    Raises:
        InputError: not there, or not YAML (line).
    """
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    try:
        text = path.read_text(encoding="utf-8")
        node = yaml.compose(text, LOADER)
        twice = [
            f"{key}: stands twice in {name}, in lines {first} and {line}; remove one"
            for key, first, line in _twice(node)
        ]
        return yaml.load(text, LOADER), twice
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise InputError(f"{name}{place}: not YAML: {error.problem or error}") from error
    except (yaml.YAMLError, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: cannot be read: {error}") from error


def _twice(node: Any, prefix: str = "") -> Iterator[tuple[str, int, int]]:
    """Keys that stand more than once in one mapping: (dotted key, line of the first, line of the other)."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _twice(item, prefix)
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if name in seen:
                yield f"{prefix}{name}", seen[name], line
            seen.setdefault(name, line)
            yield from _twice(value, f"{prefix}{name}.")
