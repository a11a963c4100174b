"""What classifiers and taggers share: scores of each label, confusion matrices, reliability.

A confusion matrix is a heat map: a row the right label, a column what was predicted, readable from two labels to fifty.
The colour of a cell is its share of the row, drawn on a scale of square roots so that rare mistakes can be seen: what
is right in one hue, what is wrong in another. Cells hold their numbers where there is room. The reliability diagram is
that of Guo et al. 2017, figure 1.

The macros of `labels.html.j2` show what these functions make.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import cos, radians, sin, sqrt

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter
from rich.cells import cell_len

from langladder.evaluation.label_scores import SHARES, Answered, Bin, LabelScores
from langladder.faces.report import numbers
from langladder.faces.report.bidi import plain
from langladder.faces.report.inputs import Entry, P
from langladder.faces.report.plots import GRID, INK, SERIES, LinePlot, draw_line, line_plot, visible
from langladder.faces.report.section import Picture, RungPictures
from langladder.faces.report.selection import COLOURED, Aligned, Choice, Loss, aligned, choice, ranked
from langladder.text.words.direction import clusters

MAX_CELLS = 3000  # of all confusion maps together: they would be most of the file's size

LISTED = 5  # confusions that are told in words

AT_FIRST = 3  # rungs side by side in the table of labels

Rungs = Sequence[Entry[P]]

Matrix = tuple[Sequence[Sequence[int]], Sequence[str]]
"""(C, C) counts, row the right label, and the names of the labels."""

NUMBERED = 12  # labels; with more, cells are too small for their numbers

MOST_LABELS = 60  # of a map; with more, those that are confused most

LONGEST = 18  # characters, each with its marks, of a label that are shown


_STYLE = (  # of page.css, for a file of its own
    f"text {{ font: 11.5px 'DejaVu Sans', sans-serif; fill: {INK}; }} .row {{ text-anchor: end; }}"
    f" .count {{ text-anchor: middle; }} path {{ fill: {SERIES[0]}; }} path.wrong {{ fill: {SERIES[1]}; }}"
    f" .frame {{ fill: none; stroke: {GRID}; }}"
)


LabelRow = tuple[tuple[str, int], tuple[str, str]]
"""A label, and how many the test has; its score as shown, and what is beside the score."""


@dataclass(frozen=True)
class LabelTable:
    """A row a label, (label, how many the test has); in each the scores of each rung. Which rungs stand there first."""

    scores: Aligned[tuple[str, int], tuple[str, str]]
    choice: Choice


@dataclass(frozen=True)
class CoverageRow:
    """A rung's title, and what comes of it for each of `SHARES`."""

    title: str
    cells: list[Answered]


def label_table(rungs: Rungs[P], read: Callable[[P], Sequence[LabelRow]], loss: Loss[P]) -> LabelTable:
    """The scores of each label, of the rungs that have any.

    Args:
        read: gives them from a page.
        loss: of a page; the rungs where it is lowest stand there first.
    """
    rungs = [rung for rung in rungs if read(rung.page)]
    return LabelTable(aligned(rungs, read), choice(rungs, loss, AT_FIRST))


def label_rows(scores: Sequence[LabelScores]) -> list[LabelRow]:
    """F₁ of each label, and precision / recall."""
    return [
        (
            (score.label, score.support),
            (f"{100 * score.f1:.1f}", f"{100 * score.precision:.0f} / {100 * score.recall:.0f}"),
        )
        for score in scores
    ]


def label_explanation(what: str) -> str:
    """What a cell of `label_rows` has; what: label, tag, kind."""
    return (
        f"F₁ in per cent, then precision / recall. Precision: the share of what is given this {what} that has it. "
        f"Recall: the share of what has this {what} that is given it."
    )


def coverage_table(rungs: Rungs[P], read: Callable[[P], Sequence[Answered]], loss: Loss[P]) -> list[CoverageRow]:
    """Of each rung, the best first: its accuracy on the share of the test that it is surest of, by `SHARES`."""
    return [
        CoverageRow(rung.title, [_answered(read(rung.page), share) for share in SHARES])
        for rung in ranked(rungs, loss)
        if read(rung.page)
    ]


def _answered(rows: Sequence[Answered], share: float) -> Answered:
    """The first row that answers so much of the test."""
    return next((row for row in rows if row.share >= share), rows[-1])


def confusion_maps(rungs: Rungs[P], read: Callable[[P], Matrix], loss: Loss[P], prefix: str) -> list[RungPictures]:
    """A heat map of each rung, the best first, until they hold `MAX_CELLS`; empty where nothing is ever confused.

    Args:
        prefix: what the maps are of, for those who hear the page.
    """
    drawn: list[RungPictures] = []
    left = MAX_CELLS
    for rung in ranked(rungs, loss):
        matrix, labels = read(rung.page)
        left -= drawn_cells(matrix)
        if left < 0 and drawn:
            break
        figure = Picture(heat_map(matrix, labels, f"{prefix} of {rung.title}"), _in_words(matrix, labels))
        drawn.append(RungPictures(rung.name, rung.title, [figure]))
    return drawn


def chosen_maps(rungs: Rungs[P], drawn: Sequence[RungPictures], loss: Loss[P]) -> Choice:
    """Which of the rungs that have a map show it at first."""
    names = {entry.name for entry in drawn}
    return choice([rung for rung in rungs if rung.name in names], loss, 1, most=2)


def _in_words(matrix: Sequence[Sequence[int]], labels: Sequence[str]) -> str:
    pairs = confusions(matrix, labels, LISTED)
    text = [
        f"{plain(pair.label)} taken for {plain(pair.predicted)} {pair.count:,}× ({numbers.share(pair.share)})"
        for pair in pairs
    ]
    left_out = len(labels) - MOST_LABELS
    more = f" The {MOST_LABELS} labels with most mistakes of {len(labels)}." if left_out > 0 else ""
    return (f"Most often: {', '.join(text)}." if text else "Nothing is confused.") + more


_LETTER, _TURN = 7.4, 60  # px a character; degrees that the labels of columns are turned

_CELL, _ROOM = 14, 8  # px: a cell without its number; about labels


@dataclass(frozen=True)
class Confusion:
    """How often one label was taken for another, and which share of the label's own that is."""

    label: str
    predicted: str
    count: int
    share: float


def confusions(matrix: Sequence[Sequence[int]], labels: Sequence[str], most: int) -> list[Confusion]:
    """What is confused most often, the most frequent first."""
    counts = np.array(matrix, dtype=np.int64)
    np.fill_diagonal(counts, 0)
    rows = np.array(matrix).sum(axis=1)
    order = np.argsort(-counts, axis=None, kind="stable")[:most]
    cells = [divmod(int(index), len(labels)) for index in order]
    return [
        Confusion(
            labels[right],
            labels[predicted],
            int(counts[right, predicted]),
            float(counts[right, predicted] / rows[right]),
        )
        for right, predicted in cells
        if counts[right, predicted]
    ]


def drawn_cells(matrix: Sequence[Sequence[int]]) -> int:
    """Cells that a map draws."""
    return int(np.count_nonzero(np.array(matrix)))


def heat_map(matrix: Sequence[Sequence[int]], labels: Sequence[str], label: str) -> Markup:
    """The map as an `<svg>` element.

    Args:
        matrix: (C, C) counts, row the right label, column what was said.
        label: says what is shown, for those who hear the page.
    """
    kept = _kept(np.array(matrix))
    counts, names = np.array(matrix)[np.ix_(kept, kept)], [visible(labels[index]) for index in kept]
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
            *_heat_cells(counts, names, (left, top, width, height), numbered=numbered),
            Markup("</svg>"),
        ]
    )


def heat_file(matrix: Sequence[Sequence[int]], labels: Sequence[str], label: str) -> str:
    """The map as an SVG file of its own: fixed colours on a white panel."""
    head, rest = str(heat_map(matrix, labels, label)).split(">", 1)
    panel = '<rect width="100%" height="100%" fill="#ffffff"/>'
    space = "http://www.w3.org/2000/svg"
    return f'<?xml version="1.0" encoding="utf-8"?>\n{head} xmlns="{space}"><style>{_STYLE}</style>{panel}{rest}\n'


def _kept(matrix: np.ndarray) -> list[int]:
    """Places of the labels that the map has: all, or those with most mistakes in their row and column."""
    mistakes = matrix.sum(axis=0) + matrix.sum(axis=1) - 2 * np.diag(matrix)
    return sorted(np.argsort(-mistakes, kind="stable")[:MOST_LABELS].tolist())


def _short(name: str) -> str:
    words = clusters(name)
    return name if len(words) <= LONGEST else f"{''.join(words[: LONGEST - 1])}…"


def _names(names: Sequence[str], left: float, top: float, width: int, height: int) -> Iterator[Markup]:
    row = Markup('<text x="{:.0f}" y="{:.0f}" class="row">{}</text>')
    column = Markup('<text transform="translate({:.0f} {:.0f}) rotate(-{})">{}</text>')
    for index, name in enumerate(names):
        yield row.format(left - _ROOM / 2, top + (index + 0.5) * height + 4, plain(_short(name)))
        yield column.format(left + (index + 0.5) * width + 3, top - _ROOM / 2, _TURN, plain(_short(name)))


def _heat_cells(
    counts: np.ndarray, names: Sequence[str], box: tuple[float, float, int, int], *, numbered: bool
) -> Iterator[Markup]:
    left, top, width, height = box
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)  # (C, C)
    cell = Markup('<path d="M{:.0f} {:.0f}h{}v{}h-{}z"{} opacity="{:.2g}"><title>{}</title></path>')
    number = Markup('<text x="{:.0f}" y="{:.0f}" class="count">{:,}</text>')
    for right, predicted in np.argwhere(counts):
        x, y, share = left + predicted * width, top + right * height, float(shares[right, predicted])
        what = "right" if right == predicted else f"taken for {plain(names[predicted])}"
        text = f"{plain(names[right])} {what}: {counts[right, predicted]:,}"
        kind = "" if right == predicted else Markup(' class="wrong"')
        shade = max(0.03, sqrt(share)) * (0.55 if numbered else 0.9)  # ink stays readable on what is numbered
        yield cell.format(x, y, width, height, width, kind, shade, f"{text} ({numbers.share(share)})")
        if numbered:
            yield number.format(x + width / 2, y + height / 2 + 4, counts[right, predicted])


def reliability_plot(
    rungs: Sequence[Entry[P]], read: Callable[[P], Sequence[Bin]], loss: Loss[P], name: str
) -> LinePlot | None:
    """At the left the share that is right over the mean probability of each bin, at the right the share of the test.

    Args:
        read: of a page, its bins. loss: of a page; the rungs where it is lowest have a colour at first.
        name: makes the drawing's ids unique.
    """
    rungs = [rung for rung in rungs if read(rung.page)]
    chosen = choice(rungs, loss, COLOURED)

    def draw(right: Axes, held: Axes) -> None:
        right.plot([0, 1], [0, 1], color=INK, linestyle="--", linewidth=1)
        for number, rung in enumerate(rungs):
            bins = read(rung.page)
            total = sum(entry.count for entry in bins)
            draw_line(right, rung, [(entry.confidence, entry.accuracy) for entry in bins], number, chosen)
            draw_line(held, rung, [(entry.confidence, entry.count / total) for entry in bins], number, chosen)
        for axes, measured in ((right, "of these, right"), (held, "of all test items")):
            axes.set_xlabel("probability that the rung gives its answer")
            axes.set_ylabel(measured)
            axes.set_ylim(-0.02, 1.02)
            axes.set_xlim(0, 1.02)
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))

    label = "Reliability diagram: accuracy of each rung by its predicted probability"
    return line_plot(name, label, chosen, draw, 3.8, panels=2)
