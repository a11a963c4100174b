"""Typed settings: unknown keys, wrong types and values out of range are errors, all reported at once."""

import importlib
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator

from langladder.ground import plugins
from langladder.ground.errors import InputError

PACKAGES = ("embeddings", "experiments", "families", "models", "tasks")
"""The packages whose classes and functions a file may name; and of `CORPORA`, functions."""
CORPORA = ("corpora", "text")

MOST = 10**10
"""The largest integer allowed in any setting."""

_TARGET = re.compile(rf"langladder\.(?:{'|'.join(PACKAGES)})(?:\.[a-z][a-z0-9_]*)+\.[A-Z][A-Za-z0-9]*")

_FUNCTION = re.compile(rf"langladder\.(?:{'|'.join(PACKAGES + CORPORA)})(?:\.[a-z][a-z0-9_]*)+")


class Config(BaseModel):
    """Base of every settings class: frozen, no unknown keys, no silent conversion between types, no NaN or infinity.

    Subclasses state ranges with `Field(ge=1)`, choices with `Literal[...]`, and impossible combinations in a
    `model_validator(mode="after")` that raises `ValueError` naming both keys, both values and what is allowed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @model_validator(mode="after")
    def _counts_are_countable(self) -> Self:
        """No integer above `MOST`, if a setting has no bound of its own: probably a typing error."""
        fields = type(self).model_fields
        for name, value in self.__dict__.items():
            bounded = any(
                hasattr(bound, "lt") or hasattr(bound, "le") for bound in getattr(fields.get(name), "metadata", ())
            )
            if isinstance(value, int) and abs(value) > MOST and not bounded:
                raise ValueError(f"{name}={short(value)} is larger than {MOST:,}; write a smaller number")
        return self


NAMES = (
    "a name has letters and digits of any language, _ and -; it begins with a letter or digit and has at most 100 bytes"
)
"""The rule of `checked_name` in words, for messages."""


def checked_name(name: str) -> str:
    """The name of a rung, a choice or a corpus, which becomes a part of paths, of keys and of commands.

    No separators, no dots, no spaces, no control characters: no name leads out of its folder. Letters with marks are
    written in Unicode's composed form (NFC), so that every system finds the same file.

    Raises:
        ValueError: it breaks the rule `NAMES`.
    """
    kinds = [unicodedata.category(character) for character in name]
    fits = all(
        kind[0] in "LM" or kind == "Nd" or character in "_-" for kind, character in zip(kinds, name, strict=True)
    )
    if not fits or not name or kinds[0][0] not in "LN" or len(name.encode()) > 100:
        raise ValueError(NAMES)
    if not unicodedata.is_normalized("NFC", name):
        raise ValueError(f"write it in Unicode's composed form (NFC): {unicodedata.normalize('NFC', name)!r}")
    return name


Name = Annotated[str, AfterValidator(checked_name)]


def locate(target: str) -> Any:
    """Class named by a dotted path inside this package, e.g. `langladder.models.language.gpt.GPT`.

    A file can only name classes of `PACKAGES`, whose modules only define things, and of the packages that the user has
    listed (`plugins`): nothing else is imported, so no file runs other code.

    Raises:
        InputError: another path, or no such class.
    """
    if package := plugins.package_of(target):
        kind = plugins.find(target, (package,))
        if not isinstance(kind, type):
            raise InputError(f"_target_: {target!r} is not a class")
        return kind
    allowed = f"allowed: langladder.<{'|'.join(PACKAGES)}>.<module>.<Class>"
    if not isinstance(target, str) or not _TARGET.fullmatch(target):
        raise InputError(
            f"_target_: {str(target)[:200]!r} is not a class of langladder that can be named "
            f"({allowed}){plugins.advice(target)}"
        )
    module_name, _, class_name = target.rpartition(".")
    try:
        value = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"_target_: {target!r} does not exist ({error})") from error
    if not isinstance(value, type) or not value.__module__.startswith(
        tuple(f"langladder.{package}." for package in PACKAGES)
    ):
        raise InputError(f"_target_: {target!r} is not a class of langladder ({allowed})")
    return value


def locate_function(name: str) -> Callable[..., Any]:
    """Function that a class of langladder names by its dotted path, e.g. `langladder.models.language.counted.make`.

    The module is imported here, so that Lightning is loaded only if it is needed.

    Raises:
        InputError: another path, or no such function.
    """
    if package := plugins.package_of(name):
        function_of_plugin: Callable[..., Any] = plugins.find(name, (package,), "_maker_")
        return function_of_plugin
    if not isinstance(name, str) or not _FUNCTION.fullmatch(name):
        raise InputError(f"_maker_: {str(name)[:200]!r} is not a function of langladder that can be named")
    module, _, function = name.rpartition(".")
    try:
        result: Callable[..., Any] = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise InputError(f"_maker_: {name!r} does not exist ({error})") from error
    return result


C = TypeVar("C", bound=Config)


def checked(kind: type[C], value: object, where: str) -> C:
    """Settings out of a file.

    Raises:
        InputError: they do not fit `kind`; one line with all keys, `where` first.
    """
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise InputError(f"{where}: {'; '.join(map(_message_of, error.errors(include_url=False)))}") from error


def _message_of(problem: Mapping[str, Any]) -> str:
    key = ".".join(map(str, problem["loc"]))
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "missing" or isinstance(problem["input"], dict):  # the message already names keys and values
        return f"{key}: {message}" if key else message
    return f"{key[:60]}: {short(problem['input'])} is not allowed ({message})"


def short(value: object) -> str:
    """A value for a message: never longer than 60 characters."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, deep lists
        text = f"a very large {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:60]}…"
