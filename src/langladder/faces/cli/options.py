"""The options of the commands: some are made from the fields of a request, others are shared by several commands.

A field `top_k` becomes the option --top-k, with the field's description as help and the field's limits.
"""

import math
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import click
from pydantic.fields import FieldInfo

from langladder.ground.errors import Damage, InputError
from langladder.ground.remote import File, located
from langladder.ground.schema import Config

Function = TypeVar("Function", bound=Callable[..., Any])
FOLDER = click.Path(path_type=Path)


class Number(click.FloatRange):
    """A finite number within bounds (NaN would pass all bounds)."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number; a usage error for any other text."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class PathOrURL(click.ParamType):  # type: ignore[type-arg]
    """A path, or a URL."""

    name = "path or url"

    def convert(self, value: Any, _param: click.Parameter | None, _context: click.Context | None) -> File:
        """What it names."""
        return located(value)


def options(request: type[Config], **names: str | Sequence[str]) -> Callable[[Function], Function]:
    """Add the options of a request to a command, which receives it as the argument `request`.

    Args:
        names: field → its option or options, if they have another name than the field.
    """
    fields = request.model_fields

    def decorate(function: Function) -> Function:
        @wraps(function)
        def command(**values: Any) -> Any:
            return function(request=request(**{name: values.pop(name) for name in fields}), **values)

        for name, field in reversed(fields.items()):
            flags = names.get(name, f"--{name.replace('_', '-')}")
            flags = [flags] if isinstance(flags, str) else flags
            command = click.option(*flags, name, **_declared(field))(command)
        return command  # type: ignore[return-value]

    return decorate


def _declared(field: FieldInfo) -> dict[str, Any]:
    """The arguments for click of a field: its type with its limits, default and help."""
    kinds = _kinds(field.annotation)
    shared: dict[str, Any] = {"help": field.description, "default": field.default, "metavar": field.title}
    if kinds == [bool]:
        return shared | {"is_flag": True}
    if get_origin(kinds[0]) is not None:  # a sequence
        return shared | {"multiple": True}
    shared["show_default"] = field.default not in (None, "")
    if isinstance(kinds[0], str):
        return shared | {"type": click.Choice(kinds)}
    limits: dict[str, Any] = {}
    for option in field.metadata:
        for bound, side in (("ge", "min"), ("gt", "min"), ("le", "max"), ("lt", "max")):
            if hasattr(option, bound):
                limits |= {side: getattr(option, bound), f"{side}_open": bound in ("gt", "lt")}
    types: dict[Any, click.ParamType[Any]] = {int: click.IntRange(**limits), float: Number(**limits), Path: FOLDER}
    return shared | {"type": types.get(kinds[0])}


def _kinds(annotation: Any) -> list[Any]:
    """The types of a union without None; the values of a literal."""
    if get_origin(annotation) in (Union, UnionType):
        return [kind for part in get_args(annotation) for kind in _kinds(part) if kind is not NoneType]
    return list(get_args(annotation)) if get_origin(annotation) is Literal else [annotation]


def json_option(function: Function) -> Function:
    """The option --json, as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")(function)


def overwrite_option(function: Function) -> Function:
    """The option --overwrite."""
    return click.option("--overwrite", is_flag=True, help="Overwrite what exists.")(function)


def vectors_argument(function: Function) -> Function:
    """The argument VECTORS, first of every command, and the option --damaged, as `damage`."""
    damaged = click.option(
        "--damaged",
        "damage",
        type=click.Choice(["skip", "strict"]),
        default="skip",
        show_default=True,
        callback=lambda _context, _option, policy: Damage(policy),
        help="Damaged entries of VECTORS: skip drops and counts them, strict is an error.",
    )
    return click.argument("vectors", metavar="VECTORS", callback=_existing)(damaged(function))


def _existing(context: click.Context, _: click.Parameter, vectors: str) -> str:
    """VECTORS must exist: the most likely mistake is a word in its place."""
    if not context.resilient_parsing and not located(vectors).exists():
        first = "the first argument is the path of the word vectors, such as models/embedding/skipgram"
        raise InputError(f"{vectors}: no such file or folder; {first}")
    return vectors
