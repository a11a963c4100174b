"""A confusion matrix as a heat map: a row the right label, a column what was said, readable from two labels to fifty.

The colour of a cell is its share of the row, drawn on a scale of square roots so that rare mistakes can be seen: what
is right in one hue, what is wrong in another. Cells hold their numbers where there is room.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import cos, radians, sin, sqrt

import numpy as np
from markupsafe import Markup
from rich.cells import cell_len

from langladder.faces.report import numbers
from langladder.faces.report.enclosed import plain
from langladder.faces.report.svg import visible
from langladder.text.words.direction import clusters

NUMBERED = 12  # labels; with more, cells are too small for their numbers
MOST_LABELS = 60  # of a map; with more, those that are confused most
LONGEST = 18  # characters, each with its marks, of a label that are shown
_LETTER, _TURN = 7.4, 60  # px a character; degrees that the labels of columns are turned
_CELL, _ROOM = 14, 8  # px: a cell without its number; about labels


@dataclass(frozen=True)
class Confusion:
    """How often one label was taken for another, and which share of the label's own that is."""

    label: str
    said: str
    count: int
    share: float


def confusions(matrix: Sequence[Sequence[int]], labels: Sequence[str], most: int) -> list[Confusion]:
    """What is confused most often, the most frequent first."""
    counts = np.array(matrix, dtype=np.int64)
    np.fill_diagonal(counts, 0)
    rows = np.array(matrix).sum(axis=1)
    order = np.argsort(-counts, axis=None, kind="stable")[:most]
    places = [divmod(int(place), len(labels)) for place in order]
    return [
        Confusion(labels[right], labels[said], int(counts[right, said]), float(counts[right, said] / rows[right]))
        for right, said in places
        if counts[right, said]
    ]


def cells(matrix: Sequence[Sequence[int]]) -> int:
    """Cells that a map draws."""
    return int(np.count_nonzero(np.array(matrix)))


def heat_map(matrix: Sequence[Sequence[int]], labels: Sequence[str], label: str) -> Markup:
    """The map as an `<svg>` element.

    Args:
        matrix: (C, C) counts, row the right label, column what was said.
        label: says what is shown, for those who hear the page.
    """
    kept = _kept(np.array(matrix))
    counts, names = np.array(matrix)[np.ix_(kept, kept)], [visible(labels[place]) for place in kept]
    numbered = len(names) <= NUMBERED
    width = max(34, 8 * len(f"{counts.max():,}") + 8) if numbered else _CELL
    height = 26 if numbered else _CELL
    longest = _LETTER * max(cell_len(_short(name)) for name in names)
    left, top = longest + _ROOM, longest * sin(radians(_TURN)) + 2 * _ROOM
    whole = left + width * len(names) + longest * cos(radians(_TURN)), top + height * len(names) + 2
    size = Markup(' width="{w:.0f}" height="{h:.0f}" viewBox="0 0 {w:.0f} {h:.0f}">').format(w=whole[0], h=whole[1])
    return Markup("\n").join(
        [
            Markup('<svg role="img" aria-label="{}" class="heat"').format(label) + size,
            *_names(names, left, top, width, height),
            Markup('<rect x="{:.0f}" y="{:.0f}" width="{}" height="{}" class="frame"/>').format(
                left, top, width * len(names), height * len(names)
            ),
            *_cells(counts, names, (left, top, width, height), numbered=numbered),
            Markup("</svg>"),
        ]
    )


def _kept(matrix: np.ndarray) -> list[int]:
    """Places of the labels that the map has: all, or those with most mistakes in their row and column."""
    mistakes = matrix.sum(axis=0) + matrix.sum(axis=1) - 2 * np.diag(matrix)
    return sorted(np.argsort(-mistakes, kind="stable")[:MOST_LABELS].tolist())


def _short(name: str) -> str:
    found = clusters(name)
    return name if len(found) <= LONGEST else f"{''.join(found[: LONGEST - 1])}…"


def _names(names: Sequence[str], left: float, top: float, width: int, height: int) -> Iterator[Markup]:
    row = Markup('<text x="{:.0f}" y="{:.0f}" class="row">{}</text>')
    column = Markup('<text transform="translate({:.0f} {:.0f}) rotate(-{})">{}</text>')
    for place, name in enumerate(names):
        yield row.format(left - _ROOM / 2, top + (place + 0.5) * height + 4, plain(_short(name)))
        yield column.format(left + (place + 0.5) * width + 3, top - _ROOM / 2, _TURN, plain(_short(name)))


def _cells(
    counts: np.ndarray, names: Sequence[str], box: tuple[float, float, int, int], *, numbered: bool
) -> Iterator[Markup]:
    left, top, width, height = box
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)  # (C, C)
    cell = Markup('<path d="M{:.0f} {:.0f}h{}v{}h-{}z"{} opacity="{:.2g}"><title>{}</title></path>')
    number = Markup('<text x="{:.0f}" y="{:.0f}" class="count">{:,}</text>')
    for right, said in np.argwhere(counts):
        x, y, share = left + said * width, top + right * height, float(shares[right, said])
        what = "right" if right == said else f"taken for {plain(names[said])}"
        told = f"{plain(names[right])} {what}: {counts[right, said]:,}"
        kind = "" if right == said else Markup(' class="wrong"')
        shade = max(0.03, sqrt(share)) * (0.55 if numbered else 0.9)  # ink stays readable on what is numbered
        yield cell.format(x, y, width, height, width, kind, shade, f"{told} ({numbers.share(share)})")
        if numbered:
            yield number.format(x + width / 2, y + height / 2 + 4, counts[right, said])
