"""What classifiers and taggers are both shown by: scores a label, what is taken for what, which rungs differ.

The macros of `labels.html.j2` show what these functions make.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from langladder.evaluation.label_scores import LabelScores
from langladder.evaluation.significance import LEVEL, holm
from langladder.faces.report import numbers
from langladder.faces.report.choosing import Choice, Loss, choice
from langladder.faces.report.enclosed import plain
from langladder.faces.report.entries import Entry
from langladder.faces.report.heat_map import MOST_LABELS, cells, confusions, heat_map
from langladder.faces.report.section import Figure, RungFigures
from langladder.faces.report.views import Aligned, aligned

MAX_CELLS = 3000  # of all confusion maps together: they would be most of the file's size
LISTED = 5  # confusions that are told in words
NAMED = 5  # rungs that a sentence names one by one
AT_FIRST = 3  # rungs side by side in the table of labels

Rungs = Sequence[Entry[Any]]
Matrix = tuple[Sequence[Sequence[int]], Sequence[str]]
"""(C, C) counts, row the right label, and the names of the labels."""


@dataclass(frozen=True)
class LabelTable:
    """A row a label, (label, how many the test has); in each the scores of each rung. Which rungs stand there first."""

    scores: Aligned[tuple[str, int], LabelScores]
    choice: Choice


def label_table(rungs: Rungs, read: Callable[[Any], Sequence[LabelScores]], loss: Loss) -> LabelTable:
    """The scores of each label.

    Args:
        read: gives them from a page.
        loss: of a page; the rungs where it is lowest stand there first.
    """
    return LabelTable(
        aligned(rungs, lambda page: (((one.label, one.support), one) for one in read(page))),
        choice(rungs, loss, AT_FIRST),
    )


def confusion_maps(rungs: Rungs, read: Callable[[Any], Matrix], loss: Loss, prefix: str) -> list[RungFigures]:
    """A heat map of each rung, the best first, until they hold `MAX_CELLS`; empty where nothing is ever confused.

    Args:
        prefix: what the maps are of, for those who hear the page.
    """
    drawn: list[RungFigures] = []
    left = MAX_CELLS
    for rung in ranked(rungs, loss):
        matrix, labels = read(rung.page)
        left -= cells(matrix)
        if left < 0 and drawn:
            break
        figure = Figure(heat_map(matrix, labels, f"{prefix} of {rung.title}"), _in_words(matrix, labels))
        drawn.append(RungFigures(rung.name, rung.title, [figure]))
    return drawn


def chosen_maps(rungs: Rungs, drawn: Sequence[RungFigures], loss: Loss) -> Choice:
    """Which of the rungs that have a map show it at first."""
    names = {one.name for one in drawn}
    return choice([rung for rung in rungs if rung.name in names], loss, 1, most=2)


def _in_words(matrix: Sequence[Sequence[int]], labels: Sequence[str]) -> str:
    found = confusions(matrix, labels, LISTED)
    told = [
        f"{plain(one.label)} taken for {plain(one.said)} {one.count:,}× ({numbers.share(one.share)})" for one in found
    ]
    left_out = len(labels) - MOST_LABELS
    more = f" The {MOST_LABELS} labels with most mistakes of {len(labels)}." if left_out > 0 else ""
    return (f"Most often: {', '.join(told)}." if told else "Nothing is confused.") + more


@dataclass(frozen=True)
class Compared:
    """A better rung against a worse one: the difference in points, p, whether it counts as a difference."""

    difference: str
    p: str
    differs: bool


@dataclass(frozen=True)
class Paired:
    """Rungs against each other, the best first.

    Attributes:
        rows: of each rung its title, its score as shown, and for each rung below it how they compare.
        sentence: which rungs are best and cannot be told apart.
        items: how many the test has; comparisons: how many pairs were tested.
    """

    rows: list[tuple[str, str, list[Compared]]]
    sentence: str
    items: int
    comparisons: int


def paired(
    rungs: Rungs,
    right: Callable[[Any], np.ndarray],
    score: Callable[[Any], float],
    test: Callable[[np.ndarray, np.ndarray], float],
) -> Paired | None:
    """Every two rungs compared on the same test; None where there are no two.

    Args:
        right: of a page, how much it gets right of each item, (N,); of no item where it does not say.
        score: of a page, 0..1, the higher the better: what is shown.
        test: p of two such arrays.
    """
    given = {rung.name: right(rung.page) for rung in rungs}
    items = max(map(len, given.values()), default=0)  # a rung judged on another test is left out
    order = ranked([rung for rung in rungs if items and len(given[rung.name]) == items], lambda page: -score(page))
    if len(order) < 2:
        return None
    found = {(a, b): test(given[a], given[b]) for a, b in combinations([rung.name for rung in order], 2)}
    differ = holm(found)
    rows = []
    for place, rung in enumerate(order):
        below = [
            Compared(
                f"{100 * (score(rung.page) - score(other.page)):+.1f}".replace("+0.0", "0.0"),
                _p(found[rung.name, other.name]),
                (rung.name, other.name) in differ,
            )
            for other in order[place + 1 :]
        ]
        rows.append((rung.title, numbers.share(score(rung.page)), below))
    return Paired(rows, _sentence(rows), items, len(found))


def ranked(rungs: Rungs, loss: Loss) -> list[Entry[Any]]:
    """The best first; those without a figure last."""

    def key(rung: Entry[Any]) -> tuple[bool, float]:
        value = loss(rung.page)
        return value is None, value or 0.0

    return sorted(rungs, key=key)


def _p(value: float) -> str:
    return "p < 0.0001" if value < 1e-4 else f"p = {value:.2g}"


def _sentence(rows: Sequence[tuple[str, str, list[Compared]]]) -> str:
    best, score, below = rows[0]
    level = f"{100 * LEVEL:.0f} %"
    equal = [title for (title, _, _), compared in zip(rows[1:], below, strict=True) if not compared.differs]
    if not equal:
        return f"{best} ({score}) is better than every other rung, at the level of {level}."
    named = equal if len(equal) <= NAMED else [*equal[: NAMED - 1], f"{len(equal) - NAMED + 1} more"]
    told = " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    others = "; it is better than all others" if len(equal) < len(rows) - 1 else ""
    return f"{best} ({score}) cannot be told apart from {told} at the level of {level}{others}."
