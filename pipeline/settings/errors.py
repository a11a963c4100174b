"""Configuration errors, collected and said at once: key, value, what is allowed, which file."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError

from langladder.errors import InputError


@contextmanager
def explain(file_of: Callable[[tuple[str, ...]], str], prefix: tuple[str, ...] = ()) -> Iterator[None]:
    """Turn a pydantic `ValidationError` into an `InputError` with one line a problem."""
    try:
        yield
    except ValidationError as error:
        lines = [_line(detail, file_of, prefix) for detail in error.errors(include_url=False)]
        raise InputError("\n".join(lines)) from error


def _line(detail: Any, file_of: Callable[[tuple[str, ...]], str], prefix: tuple[str, ...]) -> str:
    location = prefix + tuple(str(part) for part in detail["loc"])
    key = ".".join(location)
    file = file_of(location)
    if detail["type"] == "extra_forbidden":
        return f"{key}: unknown key (value {detail['input']!r}); remove it or mend its spelling in {file}"
    if detail["type"] == "missing":
        return f"{key}: missing; add it in {file}"
    message = detail["msg"].removeprefix("Value error, ")
    if isinstance(detail["input"], dict):  # an impossible combination: the message names the keys itself
        return f"{key}: {message}; change it in {file}"
    return f"{key}: {detail['input']!r} is not allowed: {message}; change it in {file}"


def together(problems: list[str]) -> InputError:
    """One error for many problems."""
    lines = list(dict.fromkeys(line for problem in problems for line in problem.splitlines()))
    count = f"{len(lines)} problem{'s' if len(lines) > 1 else ''}"
    return InputError(f"{count} in the configuration; nothing was run.\n" + "\n".join(f"  - {line}" for line in lines))
