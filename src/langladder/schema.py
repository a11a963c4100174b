"""Typed settings: unknown keys, wrong types and values out of range are errors, all reported at once."""

import importlib
from typing import Any, ClassVar, Protocol

from pydantic import BaseModel, ConfigDict

from langladder.errors import InputError


class Config(BaseModel):
    """Base of every settings class: frozen, no unknown keys, no silent conversion between types.

    Subclasses state ranges with `Field(ge=1)`, choices with `Literal[...]`, and impossible combinations in a
    `model_validator(mode="after")` that raises `ValueError` naming both keys, both values and what is allowed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Rung(Protocol):
    """What a rung's class offers: its own settings class."""

    Config: ClassVar[type[Config]]


def locate(target: str) -> Any:
    """Class named by a dotted path inside this package, e.g. `langladder.models.gpt.GPT`.

    Only `langladder.*` is looked up, so a config file can name no other code.
    """
    module_name, _, class_name = target.rpartition(".")
    if not module_name.startswith("langladder."):
        raise InputError(f"_target_: {target!r} is not a class of langladder (allowed: langladder.<module>.<Class>)")
    try:
        return getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"_target_: {target!r} does not exist ({error})") from error
