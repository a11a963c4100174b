"""Configuration errors, collected and said at once: key, value, what is allowed, which file."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from langladder.ground.errors import InputError
from langladder.ground.remote import without_secrets
from langladder.ground.schema import short
from pipeline import INSTALLED, ROOT

DEEP = 8  # settings inside settings
LINE = 900  # characters of a line that names a problem
RENAMED = {"experiments": "claims", "experiment": "claim"}
"""Keys of params.yaml as earlier versions called them → as they are called now."""


@contextmanager
def explain(
    file_of: Callable[[tuple[str, ...]], str], prefix: tuple[str, ...] = (), kind: type[BaseModel] | None = None
) -> Iterator[None]:
    """Turn a pydantic `ValidationError` into an `InputError` with one line a problem.

    Args:
        kind: the settings that are checked: of an unknown key the nearest of theirs are named.
    """
    try:
        yield
    except ValidationError as error:
        raise InputError("\n".join(explained(error, file_of, prefix, kind))) from error


def explained(
    error: ValidationError,
    file_of: Callable[[tuple[str, ...]], str],
    prefix: tuple[str, ...] = (),
    kind: type[BaseModel] | None = None,
) -> list[str]:
    """One line a problem, see `explain`."""
    known = [".".join([*prefix, key]) for key in keys(kind)] if kind else []
    return [_line(detail, file_of, prefix, known) for detail in error.errors(include_url=False)]


def keys(kind: type[BaseModel], depth: int = DEEP) -> Iterator[str]:
    """Every dotted key that settings of a class may have."""
    for name, field in kind.model_fields.items():
        yield field.alias or name
        for inner in _settings(field.annotation) if depth else ():
            yield from (f"{field.alias or name}.{key}" for key in keys(inner, depth - 1))


def _settings(annotation: object) -> Iterator[type[BaseModel]]:
    """The settings classes that a type has: itself, or those of a union."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _settings(part)


def near(key: str, known: Collection[str]) -> str:
    """`; the nearest: lm.training.lr` for an unknown key, `; it is called claims now` for an old one; "" for others.

    Keys beside it are the first to be compared, then those that end as it does, then all by their last part.
    """
    first, dot, rest = key.partition(".")
    if first in RENAMED:
        return f"; it is called {RENAMED[first]}{dot}{rest} now"
    parent, _, last = key.rpartition(".")
    beside = [one.rpartition(".")[2] for one in known if one.rpartition(".")[0] == parent]
    found = [".".join(filter(None, [parent, one])) for one in get_close_matches(last, beside, n=3, cutoff=0.7)]
    found = found or [one for one in known if one.endswith(f".{key}")]
    for similar in get_close_matches(last, {one.rpartition(".")[2] for one in known}, n=1, cutoff=0.8):
        found = found or [one for one in known if one.rpartition(".")[2] == similar]
    return f"; the nearest: {', '.join(dict.fromkeys(found[:3]))}" if found else ""


def _line(
    detail: Mapping[str, Any],
    file_of: Callable[[tuple[str, ...]], str],
    prefix: tuple[str, ...],
    known: Collection[str],
) -> str:
    location = prefix + tuple(str(part) for part in detail["loc"])
    key, value, file = ".".join(location), short(detail["input"]), file_of(location)
    if detail["type"] == "extra_forbidden":
        return f"{key}: unknown key (value {value}){near(key, known)}; remove it or fix its spelling in {file}"
    if detail["type"] == "missing":
        return f"{key}: missing; add it in {file}"
    message = detail["msg"].removeprefix("Value error, ")
    if isinstance(detail["input"], dict):  # an impossible combination: the message names the keys itself
        return f"{f'{key}: ' if key else ''}{message}; change it in {file}"
    return f"{key}: {value} is not allowed: {message}; change it in {file}"


def combined(problems: list[str], hint: str = "") -> InputError:
    """One error for many problems, and how to leave them behind."""
    lines = list(dict.fromkeys(_short(line) for problem in problems for line in problem.splitlines()))
    count = f"{len(lines)} problem{'s' if len(lines) > 1 else ''}"
    said = [f"{count} in the configuration; nothing was run.", *(f"  - {line}" for line in lines)]
    return InputError("\n".join(filter(None, [*said, where_installed("\n".join(lines)), hint])))


def where_installed(message: str) -> str:
    """Where the files of conf/ are that a message names and the project itself does not have; "" where it has them."""
    if INSTALLED is None:
        return ""
    named = {match[0].rstrip("/") for match in re.finditer(r"\bconf/\w+(?:/[\w.-]+\.yaml)?", message)}
    if all((ROOT / name).exists() or not (INSTALLED.parent / name).exists() for name in named):
        return ""
    return f"What conf/ has not is in {INSTALLED}: copy a file to the same place in conf/ to change it."


def _short(line: str) -> str:
    """A line of a message, with a long name or value cut in its middle, and no password of a URL."""
    line = without_secrets(line)
    return line if len(line) <= LINE else f"{line[: LINE * 2 // 3]} … {line[-LINE // 4 :]}"
