"""The section of rungs that are judged item by item: classifiers by texts, taggers by sentences, readers by questions.

All have the same parts: the scores with their intervals, which differences mean something, the scores of each label or
kind of item, calibration, accuracy by the share answered, confusions. A family declares what differs (`Judging`), and
may add a template for what it alone shows. Mistakes of all families are in the section of predictions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic

from langladder.evaluation.label_scores import SHARES, Answered, Bin
from langladder.evaluation.page import Interval
from langladder.faces.report.inputs import Entry, P
from langladder.faces.report.labels import (
    LabelRow,
    Matrix,
    chosen_maps,
    confusion_maps,
    coverage_table,
    label_table,
    reliability_plot,
)
from langladder.faces.report.paired import paired
from langladder.faces.report.plots import score_plot
from langladder.faces.report.section import Section, drawn_lines, in_two_widths
from langladder.faces.report.selection import ranked

DIFFERENCES = "Which differences mean something"


@dataclass(frozen=True)
class Scores(Generic[P]):
    """A table of the scores of each label, or kind of item.

    Attributes:
        heading: above the table. what: of its first column.
        rows: of a page; a table that no page has rows for is left out.
        explanation: what a cell has. side: the corpus of its first column; "": of none.
    """

    heading: str
    what: str
    rows: Callable[[P], Sequence[LabelRow]]
    explanation: str
    side: str = ""


@dataclass(frozen=True)
class Calibration(Generic[P]):
    """The probabilities of a page in bins; in words what is right, what the rung gives, what is counted."""

    bins: Callable[[P], Sequence[Bin]]
    right: str
    answer: str
    items: str


@dataclass(frozen=True)
class Judging(Generic[P]):
    """What differs between families that are judged item by item.

    Attributes:
        id, title: of the section. items: what the test has.
        score: of a page, 0 to 1, the higher the better; interval: of that.
        axis: of the drawing of the scores; "": they are drawn elsewhere. ceiling: the best possible score.
        opening: a sentence above all.
        answered: of a page, the accuracy by the share answered. confusion: of a page, its matrix.
        template: for what only this family shows; context: what it needs.
    """

    id: str
    title: str
    items: str
    score: Callable[[P], float]
    interval: Callable[[P], Interval | None]
    tables: Sequence[Scores[P]]
    axis: str = ""
    ceiling: Callable[[P], float | None] = lambda _: None
    opening: Callable[[Sequence[Entry[P]]], str] = lambda _: ""
    calibration: Calibration[P] | None = None
    answered: Callable[[P], Sequence[Answered]] | None = None
    confusion: Callable[[P], Matrix] | None = None
    template: str = ""
    context: Callable[[Sequence[Entry[P]]], Mapping[str, object]] = lambda _: {}

    def loss(self, page: P) -> float:
        """A rung is better the lower it is."""
        return 1 - self.score(page)


def judged_section(rungs: Sequence[Entry[P]], of: Judging[P]) -> Section:
    """The section of rungs of one kind."""
    groups = dict.fromkeys(rung.page.judged_among for rung in rungs)
    compared = [
        (group or DIFFERENCES, paired([rung for rung in rungs if rung.page.judged_among == group], of.score))
        for group in groups
    ]
    tables = [(table, label_table(rungs, table.rows, of.loss)) for table in of.tables]
    drawn = reliability_plot(rungs, of.calibration.bins, of.loss, f"reliability-{of.id}") if of.calibration else None
    maps = confusion_maps(rungs, of.confusion, of.loss, "What is taken for what by") if of.confusion else []
    context: dict[str, Any] = {
        "opening": of.opening(rungs),
        "dots": _dots(rungs, of) if of.axis else None,
        "paired": [(heading, comparison) for heading, comparison in compared if comparison],
        "items": of.items,
        "tables": [(table, comparison) for table, comparison in tables if comparison.scores.rows],
        "calibrated": of.calibration,
        "reliability": drawn and drawn_lines(drawn),
        "coverage": coverage_table(rungs, of.answered, of.loss) if of.answered else [],
        "shares": SHARES,
        "maps": maps,
        "mapped": chosen_maps(rungs, maps, of.loss),
        "predicted": any(rung.predictions for rung in rungs),
        "template": of.template,
    }
    return Section(of.id, of.title, "items.html.j2", {**context, **of.context(rungs)})


def _dots(rungs: Sequence[Entry[P]], of: Judging[P]) -> Any:
    """The scores with their intervals, the best on top."""
    ceilings = [ceiling for rung in rungs if (ceiling := of.ceiling(rung.page)) is not None]
    draw = partial(
        score_plot,
        list(reversed(ranked(rungs, of.loss))),
        lambda page: (of.score(page), of.interval(page)),
        f"dots-{of.id}",
        of.axis,
        best=max(ceilings, default=None),
        line="Bayes accuracy",
    )
    return in_two_widths(draw)
