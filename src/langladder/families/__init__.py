"""The families of rungs, each declared once in a module of its own.

A module of this package that defines `FAMILY` is a family; nothing else lists them. `TRANSFER` is the same family for
rungs that start from others (`Family.from_base`). Pipeline, report, MLflow, model
cards, the full ladder and the tests go by what is found here (`docs/adding-a-family.md`).
"""

import pkgutil
from functools import cache
from importlib import import_module

from langladder.families.family import AnyFamily
from langladder.ground.errors import InputError


@cache
def families() -> dict[str, AnyFamily]:
    """Name → family, in the order of the report."""
    results = {module.name for module in pkgutil.iter_modules(__path__)} - {"rungs"}  # which imports PyTorch
    modules = [import_module(f"{__name__}.{name}") for name in sorted(results)]
    names = ("FAMILY", "TRANSFER")
    declared = [getattr(module, name) for module in modules for name in names if hasattr(module, name)]
    return {family.name: family for family in sorted(declared, key=lambda family: (family.position, family.name))}


@cache
def kinds() -> dict[str, AnyFamily]:
    """Class of models, a dotted name → the first family whose models are of it; its name is their kind."""
    declared = [entry for entry in families().values() if entry.model]
    return {entry.model: next(first for first in declared if first.model == entry.model) for entry in declared}


def family(name: str) -> AnyFamily:
    """The family with a name.

    Raises:
        InputError: there is none.
    """
    if name not in families():
        raise InputError(f"{name!r} is not a family of rungs; families: {', '.join(families())}")
    return families()[name]
