"""Infinite figures in JSON, which has no word for them: null, and the key's name in a list beside it.

{"perplexity_per_word": null, "infinite": ["perplexity_per_word"]}      infinite: a result
{"perplexity_per_word": null}                                           not measured
"""

import math
from collections.abc import Mapping
from typing import Any

KEY = "infinite"
SIGN = "∞"


def to_plain(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The figures as JSON can hold them; `infinite` is there only where one is."""
    infinite = [key for key, value in figures.items() if isinstance(value, float) and math.isinf(value)]
    plain = {key: None if key in infinite else value for key, value in figures.items()}
    return plain | {KEY: infinite} if infinite else plain


def from_plain(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The figures as numbers again (`infinite` is taken off)."""
    values = {key: value for key, value in figures.items() if key != KEY}
    return values | dict.fromkeys(figures.get(KEY, ()), math.inf)


def show(value: float, form: str) -> str:
    """The number in a format such as `.2f`, ∞ where it is infinite."""
    return f"{value:{form}}".replace("inf", SIGN)
