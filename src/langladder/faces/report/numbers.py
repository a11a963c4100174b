"""How the report writes numbers: as few digits as tell, a dash where nothing was measured, ∞ for what is infinite."""

import math
from collections.abc import Callable
from functools import wraps

from langladder.evaluation.page import Metric
from langladder.ground.artefacts import INFINITY

DASH = "–"
Style = Callable[[float], str]


def _or_infinite(style: Style) -> Style:
    """The style, with ∞ for infinity."""

    @wraps(style)
    def styled(value: float) -> str:
        return ("−" if value < 0 else "") + INFINITY if math.isinf(value) else style(value)

    return styled


@_or_infinite
def significant(value: float) -> str:
    """Four significant digits below ten thousand, whole numbers with commas above: 0.01234, 42.07, 12,345."""
    if value == 0 or abs(value) >= 9999.5:
        return f"{value:,.0f}"
    text = f"{value:.4g}"
    return text if "e" in text else text.replace("-", "−")


@_or_infinite
def perplexity(value: float) -> str:
    """Two decimals below a hundred, one below a thousand, none above: 34.10, 230.9, 12,345."""
    return f"{value:,.{2 if value < 99.995 else 1 if value < 999.95 else 0}f}"


@_or_infinite
def whole(value: float) -> str:
    """12,345."""
    return f"{value:,.0f}"


def decimals(digits: int) -> Style:
    """A style with so many digits after the point."""
    return _or_infinite(lambda value: f"{value:,.{digits}f}")


@_or_infinite
def share(value: float) -> str:
    """A share in 0..1 as per cent: 0.6123 → 61.2 %."""
    return f"{100 * value:.1f} %"


def points(digits: int) -> Style:
    """A share in 0..1 as per cent without the sign: 0.6123 → 61.23."""
    return _or_infinite(lambda value: f"{100 * value:,.{digits}f}")


@_or_infinite
def percent(value: float) -> str:
    """A number that is per cent already: 12.34 → 12.3 %, 4567.8 → 4,568 %."""
    return f"{value:,.{1 if abs(value) < 999.95 else 0}f} %"


@_or_infinite
def p_value(value: float) -> str:
    """`p = 0.031`."""
    return "p < 0.0001" if value < 1e-4 else f"p = {value:.2g}"


def seconds(value: float) -> str:
    """39 ms, 0.4 s, 12 s, 3 min 20 s, 2 h 05 min."""
    if value < 0.0995:
        return f"{value * 1000:.0f} ms"
    if value < 9.95:
        return f"{value:.1f} s"
    total = round(value)
    if total < 60:
        return f"{total} s"
    if total < 3600:
        return f"{total // 60} min {total % 60:02d} s"
    return f"{total // 3600} h {total % 3600 // 60:02d} min"


@_or_infinite
def memory(value: float) -> str:
    """Bytes as MB or GB (powers of ten)."""
    return f"{value / 1e9:.1f} GB" if value >= 1e9 else f"{value / 1e6:,.{value < 1e6:d}f} MB"


@_or_infinite
def compact(value: float) -> str:
    """A large count in three digits: 1.23 M, 45.6 k, 789."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 0.9995 * size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.0f}"


def style_of(metric: Metric) -> Style:
    """How the values of a metric are written."""
    if metric.unit == "number":
        return decimals(metric.digits)
    if metric.unit == "points":
        return points(metric.digits)
    styles = {"whole": whole, "compact": compact, "share": share, "percent": percent, "bytes": memory}
    return (styles | {"perplexity": perplexity})[metric.unit]
