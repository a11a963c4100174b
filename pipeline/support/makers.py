"""Which function makes a rung: what its class names, see `langladder.models.making`."""

from collections.abc import Mapping
from typing import Any

from langladder.schema import locate


def maker(rung: Mapping[str, Any]) -> str:
    """The dotted name of the function that makes a rung, by its settings as in its file."""
    kind = locate(rung["_target_"])
    name: str = kind.maker_from_vectors if (rung.get("input") or {}).get("vectors") else kind.maker
    return name
