"""Read YAML with checks: errors have file and line, and a duplicate key is an error.

Files for Hydra are written by OmegaConf, which reads `12e45` as a number, also without a dot, so it adds quotes.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from omegaconf import OmegaConf

from langladder.ground.errors import InputError
from pipeline import ROOT

DEEPEST, MOST = 50, 100_000
"""Limits of nesting and of the total number of values: aliases can expand to billions."""

TOO_DEEP = f"settings are nested more than {DEEPEST} levels deep"

OTHER_BASE = re.compile(r"[-+]?(?:0[0-7_]+|[1-9][\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?)")
"""Numbers of another base than they look like: 010 is 8, 1:30 is 90 (YAML 1.1; for DVC, which reads YAML 1.2, not)."""

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C version if available: ten times as fast


Values = dict[str, Any]
"""Plain values, as in a YAML file."""


def for_hydra(values: Mapping[str, object]) -> str:
    """Values as YAML that Hydra reads back unchanged."""
    return OmegaConf.to_yaml(OmegaConf.create(dict(values)))


def flat(values: Mapping[str, object], prefix: str = "") -> Values:
    """Dotted key → value."""
    result: Values = {}
    for key, value in values.items():
        result |= flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return result


def display_path(path: Path) -> Path:
    """A file's name for messages: relative to the project's folder if inside it."""
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def read_yaml(path: Path) -> Any:
    """The content of a YAML file.

    Raises:
        InputError: no such file, not YAML (line), or duplicate keys and misleading numbers (all, each with its lines).
    """
    value, problems = read_leniently(path)
    if problems:
        raise InputError("\n".join(problems))
    return value


def read_leniently(path: Path) -> tuple[Any, list[str]]:
    """The content of a YAML file, and a line about each duplicate key (the last one counts) and misleading number.

    Raises:
        InputError: no such file, or not YAML (line).
    """
    name = display_path(path)
    try:
        text = path.read_text(encoding="utf-8")
        _see_depth(text, name)
        node = yaml.compose(text, LOADER)
        if node is None:  # an empty file
            return None, []
        if _size(node, name, {})[0] > MOST:
            raise InputError(f"{name}: more than {MOST:,} values after expanding aliases; write fewer")
        twice = [
            f"{key}: occurs twice in {name}, in lines {first} and {line}; remove one"
            for key, first, line in _twice(node)
        ]
        numbers = [
            f"{name}:{scalar.start_mark.line + 1}: YAML reads {scalar.value} as {yaml.safe_load(scalar.value)}; write "
            f'{yaml.safe_load(scalar.value)}, or "{scalar.value}" for a text'
            for scalar in _scalars(node, set())
            if not scalar.style and scalar.tag.endswith((":int", ":float")) and OTHER_BASE.fullmatch(scalar.value)
        ]
        return yaml.load(text, LOADER), [*twice, *numbers]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise InputError(f"{name}{where}: not YAML: {error.problem or error}") from error
    except InputError:
        raise
    except (yaml.YAMLError, OSError, ValueError) as error:  # not UTF-8, an integer of thousands of digits, no such day
        raise InputError(f"{name}: cannot be read: {str(error)[:200]}") from error


def _see_depth(text: str, name: Path) -> None:
    """Refuse too deep nesting, by the parser's events, which are read one by one at any depth."""
    depth = 0
    for event in yaml.parse(text, LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            line = f":{event.start_mark.line + 1}" if event.start_mark else ""
            raise InputError(f"{name}{line}: {TOO_DEEP}")


def _size(node: yaml.Node, name: Path, sizes: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """The number of values and the depth of a node with all aliases expanded; each node is visited once.

    Raises:
        InputError: a node contains itself, or values are nested too deep.
    """
    if id(node) not in sizes:
        sizes[id(node)] = 0, 0  # not known yet: it is being counted
        held = node.value if isinstance(node, yaml.CollectionNode) else ()
        inner = [part for item in held for part in (item if isinstance(item, tuple) else (item,))]
        results = [_size(part, name, sizes) for part in inner]
        depth = 1 + max((deep for _, deep in results), default=0)
        if depth > DEEPEST:
            raise InputError(f"{name}:{node.start_mark.line + 1}: {TOO_DEEP}")
        sizes[id(node)] = 1 + sum(size for size, _ in results), depth
    if not sizes[id(node)][0]:
        raise InputError(f"{name}:{node.start_mark.line + 1}: an alias refers to a value that contains it")
    return sizes[id(node)]


def _scalars(node: yaml.Node, seen: set[int]) -> Iterator[yaml.ScalarNode]:
    """All scalars below a node, also keys; each once."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode):
        yield node
    for item in node.value if isinstance(node, yaml.CollectionNode) else ():
        for part in item if isinstance(item, tuple) else (item,):
            yield from _scalars(part, seen)


def _twice(node: yaml.Node, prefix: str = "") -> Iterator[tuple[str, int, int]]:
    """Duplicate keys of a mapping: (dotted key, line of the first, line of the other)."""
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
