"""Configuration errors, collected and reported together: key, value, allowed values, file to edit."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from langladder.ground import atomic
from langladder.ground.errors import InputError
from langladder.ground.remote import without_secrets
from langladder.ground.schema import short
from pipeline import INSTALLED, ROOT

DEEP = 8  # settings inside settings
LINE = 900  # characters per line of a message
TYPED = "on the command line"
"""Where a value was typed, instead of a file."""


@contextmanager
def disk() -> Iterator[None]:
    """Turn an error of the disk (read-only, full, no permission) into an `InputError`."""
    try:
        yield
    except OSError as error:
        if (number := atomic.disk_error(error)) is None:
            raise
        raise InputError(atomic.explain(Path(error.filename or ROOT), number)) from error


@contextmanager
def explain(
    file_of: Callable[[tuple[str, ...]], str],
    prefix: tuple[str, ...] = (),
    known: Callable[[], Iterable[str]] = tuple,
) -> Iterator[None]:
    """Turn a pydantic `ValidationError` into an `InputError` with one line per problem.

    Args:
        known: lists the keys of the settings, to suggest the nearest names for an unknown key.
    """
    try:
        yield
    except ValidationError as error:
        raise InputError("\n".join(explained(error, file_of, prefix, known))) from error


def explained(
    error: ValidationError,
    file_of: Callable[[tuple[str, ...]], str],
    prefix: tuple[str, ...] = (),
    known: Callable[[], Iterable[str]] = tuple,
) -> list[str]:
    """One line per problem, see `explain`."""
    names = [".".join([*prefix, key]) for key in known()]
    return [_line(detail, file_of, prefix, names) for detail in error.errors(include_url=False)]


def keys(kind: type[BaseModel], depth: int = DEEP) -> Iterator[str]:
    """Every dotted key of a settings class."""
    for name, field in kind.model_fields.items():
        yield field.alias or name
        for inner in _settings(field.annotation) if depth else ():
            yield from (f"{field.alias or name}.{key}" for key in keys(inner, depth - 1))


def _settings(annotation: object) -> Iterator[type[BaseModel]]:
    """The settings classes of a type: itself, or those of a union."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _settings(part)


def near(key: str, known: Collection[str]) -> str:
    """`; the nearest: lm.training.lr` for an unknown key; "" if none is near.

    Compares keys at the same level first, then keys with the same ending, then all keys by their last part.
    """
    parent, _, last = key.rpartition(".")
    beside = [name.rpartition(".")[2] for name in known if name.rpartition(".")[0] == parent]
    results = [".".join(filter(None, [parent, name])) for name in get_close_matches(last, beside, n=3, cutoff=0.7)]
    results = results or [name for name in known if name.endswith(f".{key}")]
    for similar in get_close_matches(last, {name.rpartition(".")[2] for name in known}, n=1, cutoff=0.8):
        results = results or [name for name in known if name.rpartition(".")[2] == similar]
    return f"; the nearest: {', '.join(dict.fromkeys(results[:3]))}" if results else ""


def _line(
    detail: Mapping[str, Any],
    file_of: Callable[[tuple[str, ...]], str],
    prefix: tuple[str, ...],
    known: Collection[str],
) -> str:
    location = prefix + tuple(str(part) for part in detail["loc"] if part != "[key]")
    file = file_of(location)
    for_all = len(location) > 2 and file == f"params.yaml: {location[2]}"  # the same problem of every rung: one line
    key, value = ".".join(location[2:] if for_all else location), short(detail["input"])
    where = file if file.startswith(TYPED) else f"in {file}"
    if detail["type"] == "extra_forbidden":
        return f"{key}: unknown key (value {value}){near(key, known)}; remove it or fix its spelling {where}"
    if detail["type"] == "missing":
        return f"{key}: missing; add it {where}"
    message = detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "string_type" and isinstance(detail["input"], bool):
        message += "; YAML reads on, off, yes, no, true and false without quotes as true or false: put it in quotes"
    if isinstance(detail["input"], dict):  # an invalid combination: the message has the keys already
        return f"{f'{key}: ' if key else ''}{message}; change it {where}"
    return f"{key}: {value} is not allowed: {message}; change it {where}"


def combined(problems: list[str], hint: str = "") -> InputError:
    """One error for many problems, with advice."""
    lines = list(dict.fromkeys(_short(line) for problem in problems for line in problem.splitlines()))
    count = f"{len(lines)} problem{'s' if len(lines) > 1 else ''}"
    report = [f"{count} in the configuration; nothing was run.", *(f"  - {line}" for line in lines)]
    return InputError("\n".join(filter(None, [*report, where_installed("\n".join(lines)), hint])))


def where_installed(message: str) -> str:
    """Where to find files of conf/ in a message that the project itself does not have; "" if it has them."""
    if INSTALLED is None:
        return ""
    named = {match[0].rstrip("/") for match in re.finditer(r"\bconf/\w+(?:/[\w.-]+\.yaml)?", message)}
    if all((ROOT / name).exists() or not (INSTALLED.parent / name).exists() for name in named):
        return ""
    return f"Files that conf/ does not have are in {INSTALLED}: copy a file to the same path in conf/ to change it."


def _short(line: str) -> str:
    """A line of a message: long names and values are cut in the middle, passwords of URLs are removed."""
    line = without_secrets(line)
    return line if len(line) <= LINE else f"{line[: LINE * 2 // 3]} … {line[-LINE // 4 :]}"
