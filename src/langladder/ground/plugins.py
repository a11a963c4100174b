"""Packages outside langladder whose classes a project's files may name: your own rung, optimiser or callback.

The user lists them: `plugins` in params.yaml, or the variable LANGLADDER_PLUGINS (names with commas between them) for
the command line and for servers. A model's folder cannot list any: a class that it names is imported only if it is of
langladder or of a package that the user has listed.
"""

import importlib
import os
import re
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from langladder.ground.errors import InputError

VARIABLE = "LANGLADDER_PLUGINS"
_PACKAGE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", re.ASCII)
OWN = ("langladder", "microworld", "pipeline")


def listed() -> tuple[str, ...]:
    """The packages that the user has listed."""
    return tuple(dict.fromkeys(filter(None, (name.strip() for name in os.environ.get(VARIABLE, "").split(",")))))


def allow(packages: Iterable[str]) -> None:
    """List packages for this process and those that it starts, in addition to those of the variable."""
    if names := dict.fromkeys([*listed(), *packages]):
        os.environ[VARIABLE] = ",".join(names)


def checked_package(name: str) -> str:
    """The name of an installed package.

    Raises:
        ValueError: it is not a package name, or a package that need not be listed.
    """
    if not _PACKAGE.fullmatch(name):
        raise ValueError("must be the name of a package in an import: letters, digits and _")
    if name in OWN or name in sys.stdlib_module_names:
        raise ValueError("must be your own package; this one is part of langladder or of Python")
    if find_spec(name) is None:
        raise ValueError("not installed here; pip install it (pip install -e FOLDER), or remove it from the list")
    return name


def package_of(target: str) -> str | None:
    """The listed package that a dotted path leads into; None if there is none."""
    top = target.partition(".")[0] if isinstance(target, str) and _PATH.fullmatch(target) else None
    return top if top in listed() else None


def folder_of(package: str) -> Path | None:
    """Where an installed package's modules are; None if it is not installed or a single file."""
    spec = find_spec(package)
    return Path(next(iter(spec.submodule_search_locations))) if spec and spec.submodule_search_locations else None


def find(target: str, inside: tuple[str, ...], key: str = "_target_") -> Any:
    """What a dotted path names, imported.

    Args:
        inside: the packages or modules that it may be defined in.

    Raises:
        InputError: it does not exist, or was defined elsewhere and only imported there.
    """
    module, _, name = target.rpartition(".")
    try:
        thing = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"{key}: {target!r} does not exist ({error})") from error
    home = f"{getattr(thing, '__module__', '')}."
    if not callable(thing) or not home.startswith(tuple(f"{package}." for package in inside)):
        raise InputError(f"{key}: {target!r} is not a class or function defined in {', '.join(inside)}")
    return thing


def advice(target: object) -> str:
    """How to list the package of a dotted path that is not allowed; "" if that would not help."""
    top = target.partition(".")[0] if isinstance(target, str) and _PATH.fullmatch(target) else ""
    if not top or top in OWN or top in sys.stdlib_module_names:
        return ""
    return f"; if you trust the package {top}: params.yaml: plugins: [{top}], or {VARIABLE}={top}"
