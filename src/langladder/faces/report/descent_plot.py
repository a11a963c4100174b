"""A family tree from left to right: at the left the rungs that others grew from, a column further what grew from them.

A rung that nothing grew from takes a row of its own; any other stands in the middle of those that grew from it. So the
drawing is as wide as the longest chain of rungs, and as high as there are ends of chains: many rungs make it longer,
not smaller. A dashed line leads to a rung from another that it learnt from without growing from it (a reward model).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from markupsafe import Markup
from rich.cells import cell_len

from langladder.faces.report.plots import visible
from langladder.ground.errors import InputError

HEIGHT, ROW, GAP, PAD = 42, 52, 56, 10  # px: of a box, from row to row, between columns, beside a text
BULGE = 44  # px that the ends of a dashed line are drawn to the right
_TITLE, _KEY = 8.4, 6.6  # px of a letter in a wide font: of a rung's title, and of its name below it


@dataclass(frozen=True)
class Place:
    """Where a rung's box stands: columns from the left, rows from the top."""

    column: int
    row: float


def descent_plot(
    titles: Mapping[str, str], bases: Mapping[str, str], label: str, beside: Mapping[str, str] = MappingProxyType({})
) -> Markup:
    """The tree as an `<svg>` element.

    Args:
        titles: family/rung → what a reader is shown for it, in the order in which they are drawn.
        bases: family/rung → the one that it grew from; both are among the titles.
        label: says what is shown, for those who hear the page.
        beside: family/rung → another that it learnt from.

    Raises:
        InputError: rungs grow from each other in a circle.
    """
    places = layout(list(titles), bases)
    columns = 1 + max(place.column for place in places.values())
    widths = [max(_width(key, titles[key]) for key in titles if places[key].column == i) for i in range(columns)]
    lefts = [2 + sum(widths[:i]) + GAP * i for i in range(columns)]
    middles = {key: 2 + HEIGHT / 2 + ROW * place.row for key, place in places.items()}
    room = 2 + (BULGE if beside else 0)
    parts = [
        Markup('<svg role="img" aria-label="{}" class="dag descent" width="{w:.0f}" height="{h:.0f}"').format(
            label,
            w=(w := lefts[-1] + widths[-1] + room),
            h=(h := max(middles.values()) + HEIGHT / 2 + 2),
        ),
        Markup(' viewBox="0 0 {:.0f} {:.0f}">').format(w, h),
    ]
    for key, base in bases.items():
        start = lefts[places[base].column] + widths[places[base].column]
        parts.append(_curve(start, middles[base], lefts[places[key].column], middles[key]))
    for key, other in beside.items():
        ends = [lefts[places[one].column] + widths[places[one].column] for one in (other, key)]
        parts.append(_around(ends[0], middles[other], ends[1], middles[key]))
    for key, place in places.items():
        parts.append(_box(key, titles[key], lefts[place.column], middles[key], widths[place.column]))
    return Markup("\n").join([*parts, Markup("</svg>")])


def layout(keys: list[str], bases: Mapping[str, str]) -> dict[str, Place]:
    """The place of each rung."""
    grown: dict[str, list[str]] = {key: [other for other in keys if bases.get(other) == key] for key in keys}
    places: dict[str, Place] = {}
    rows = 0

    def put(key: str, column: int) -> float:
        nonlocal rows
        below = [put(other, column + 1) for other in grown[key]]
        if not below:
            rows += 1
        places[key] = Place(column, (below[0] + below[-1]) / 2 if below else rows - 1)
        return places[key].row

    for key in keys:
        if key not in bases:
            put(key, 0)
    if lost := [key for key in keys if key not in places]:
        raise InputError(f"family tree: {', '.join(lost)} grow from each other in a circle")
    return {key: places[key] for key in keys}


def _width(key: str, title: str) -> float:
    return max(_TITLE * cell_len(visible(title)), _KEY * cell_len(key)) + 2 * PAD


def _curve(x0: float, y0: float, x1: float, y1: float) -> Markup:
    middle = (x0 + x1) / 2
    path = f"M{x0:.1f} {y0:.1f} C{middle:.1f} {y0:.1f} {middle:.1f} {y1:.1f} {x1:.1f} {y1:.1f}"
    return Markup('<path class="edge" d="{}"/>').format(path)


def _around(x0: float, y0: float, x1: float, y1: float) -> Markup:
    """From the right side of one box to the right side of another."""
    x = max(x0, x1) + BULGE
    path = f"M{x0:.1f} {y0 + PAD:.1f} C{x:.1f} {y0 + PAD:.1f} {x:.1f} {y1:.1f} {x1:.1f} {y1:.1f}"
    return Markup('<path class="edge reads" d="{}"/>').format(path)


def _box(key: str, title: str, left: float, middle: float, width: float) -> Markup:
    text = Markup('<text x="{:.1f}" y="{:.1f}" class="{}">{}</text>')
    return Markup('<g><rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}" rx="7"/>{}{}</g>').format(
        left,
        middle - HEIGHT / 2,
        width,
        HEIGHT,
        text.format(left + PAD, middle - 3, "stage", visible(title)),
        text.format(left + PAD, middle + 13, "jobs", key),
    )
