"""What the settings of every network of attention have in common: named sizes, and widths that can be divided."""

from collections.abc import Mapping
from typing import Any


def with_preset(values: Any, presets: Mapping[str, dict[str, Any]]) -> Any:
    """Settings as given, and below them those of the size that `preset` names. Raises ValueError at another name."""
    chosen = values.get("preset") if isinstance(values, dict) else None
    if not isinstance(chosen, str):  # the field's own check tells of other types
        return values
    if chosen not in presets:
        raise ValueError(f"preset={chosen!r}: allowed is {', '.join(presets)}, or null")
    return presets[chosen] | values


def check_width(width: int, heads: int, positions: str) -> None:
    """Raise ValueError unless heads can share the width, and sines and cosines stand in pairs."""
    if width % heads:
        raise ValueError(f"width={width} is not divisible by heads={heads}: each head takes an equal part")
    if positions == "sinusoidal" and width % 2:
        raise ValueError(f"width={width} is odd: sinusoidal positions come in pairs (sine, cosine)")
