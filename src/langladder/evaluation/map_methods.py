"""The ways to place words on a plane (see `maps`), for who lists them before anything is computed."""

from importlib.util import find_spec
from typing import Literal

from langladder.ground.errors import InputError

MapMethod = Literal["pca", "tsne", "umap"]
METHODS: dict[MapMethod, str] = {"pca": "PCA", "tsne": "t-SNE", "umap": "UMAP"}
"""Method → how people write it."""
PACKAGES = {"umap": ("umap", "umap-learn")}
"""Method → the module that it needs beyond langladder's own, and the package that brings it."""


def missing(method: str) -> str | None:
    """The line that installs what a method needs; None where it is there."""
    module, package = PACKAGES.get(method, ("", ""))
    return f"pip install {package}" if module and find_spec(module) is None else None


def check_method(method: MapMethod) -> None:
    """Refuse a method whose package is not installed.

    Raises:
        InputError: says how to install it.
    """
    if line := missing(method):
        there = ", ".join(name for name in METHODS if not missing(name))
        package = PACKAGES[method][1]
        told = f"map: method {method} needs the package {package}, which is not installed; allowed: {there}"
        raise InputError(f"{told} (`{line}` brings it)")
