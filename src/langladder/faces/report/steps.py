"""What each step of history bought on this text and at what cost, in a sentence made from the figures.

A step goes from the best rung of one approach (n-grams, recurrent, Transformer) to the best of the next, in order of
their years; where all rungs have one approach, from each rung to the next. Only measured figures are used, and a step
that bought nothing, or lost, is named so. Which figure counts, and which differences count, is decided in `advice`.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite
from typing import Any

from langladder.faces.report import numbers
from langladder.faces.report.advice import Judged, Measure, is_level, judged, measure_of
from langladder.faces.report.inputs import Entry, P, in_history
from langladder.faces.report.section import Column

MOST = 4
"""At most so many steps have a sentence: the latest ones."""

ALIKE = 0.05
"""Two times, or two changes of a figure, count as the same if they differ by no more than this share."""

NO_GAIN = ", so this step did not pay here"

NOT_SHOWN = ", so these figures do not show that the step pays"

TELLING = 100
"""From this ratio on, both training times are shown instead of their ratio."""


def ladder_steps(rungs: Sequence[Entry[Any]], columns: Sequence[Column[Any]]) -> str:
    """A sentence for each of the last steps; one that there is none, where a single rung was measured."""
    measure = measure_of(columns)
    steps = [] if measure is None else judged(rungs, measure)
    if measure is None or not steps:
        return ""
    if len(steps) == 1:
        return f"{steps[0].title} is the only rung that was measured: there is no step to compare."
    by_name = {entry.name: entry for entry in steps}
    compared = [by_name[rung.name] for rung in representatives(rungs, columns)]
    return " ".join([step(old, new, measure) for old, new in pairwise(compared)][-MOST:])


def representatives(rungs: Sequence[Entry[P]], columns: Sequence[Column[Any]]) -> list[Entry[P]]:
    """The best rung of each approach, in order of history; all rungs, where they have one approach."""
    measure = measure_of(columns)
    if measure is None:
        return []
    values = {rung.name: rung.value for rung in judged(rungs, measure)}
    measured = [rung for rung in in_history(rungs) if rung.name in values]
    approaches = dict.fromkeys(rung.approach for rung in measured)
    if len(approaches) == 1:
        return measured
    best = {
        max(
            (rung for rung in measured if rung.approach == approach), key=lambda rung: measure.sign * values[rung.name]
        ).name
        for approach in approaches
    }
    return [rung for rung in measured if rung.name in best]


def step(old: Judged, new: Judged, measure: Measure) -> str:
    """What `new` has over `old`, and what it costs."""
    title, cost = measure.column.title, _cost(old, new)
    figures = f"{title} {measure.figure(new)} instead of {measure.figure(old)}"
    if not (isfinite(old.value) and isfinite(new.value)):
        return _impossible(old, new, measure, cost)
    if old.value == new.value or is_level(old, new):
        within, lost = "not significantly different from", NOT_SHOWN
        if old.value == new.value:
            within, lost = "as good as", NO_GAIN
        lost = lost if old.cost and new.cost and new.cost > old.cost else ""
        return f"{new.title} is {within} {old.title} ({figures}){cost}{lost}."
    better = measure.sign * (new.value - old.value) > 0
    if title.startswith(("perplexity", "bits")):
        gain = f"{short(100 * abs(1 - new.value / old.value))} %"
        how = f"predicts {gain} {'better' if better else 'worse'} than {old.title}"
    else:
        how = f"is {'ahead of' if better else 'behind'} {old.title} by {measure.gap(new.value - old.value)}"
    cheaper = old.cost and new.cost and new.cost < old.cost
    lost = "" if better or cheaper else NO_GAIN
    if lost and old.pretrained and not new.pretrained:
        lost = f", which is also given {old.pretrained}"
    return f"{new.title} {how} ({figures}){cost}{lost}."


def _impossible(old: Judged, new: Judged, measure: Measure, cost: str) -> str:
    """A step from or to a rung with an infinite perplexity: it gives some of the text probability 0."""
    title = measure.column.title
    if isfinite(new.value):
        return (
            f"{new.title} gives the whole test text a probability above 0 ({title} {measure.figure(new)}), which "
            f"{old.title} does not (its {title} is infinite){cost}."
        )
    if isfinite(old.value):
        return (
            f"{new.title} gives some of the test text probability 0 (its {title} is infinite), which {old.title} does "
            f"not ({title} {measure.figure(old)}): this step did not pay here."
        )
    return f"{new.title} and {old.title} both give some of the test text probability 0 (their {title} is infinite)."


def _cost(old: Judged, new: Judged) -> str:
    """Its training time beside the other's; "" where one of them is not known."""
    if not old.cost or not new.cost:
        return ""
    times = new.cost / old.cost
    apart = dict.fromkeys(rung.pretrained for rung in (old, new) if rung.pretrained)
    without = f" (without the {' and '.join(apart)})" if apart else ""
    if abs(times - 1) <= ALIKE:
        return f", in the same training time{without}"
    if times >= TELLING or times <= 1 / TELLING:
        return f", for {numbers.seconds(new.cost)} of training instead of {numbers.seconds(old.cost)}{without}"
    return f", for {short(times)} × its training time{without}"


def short(value: float) -> str:
    """A number in two or three digits: 0.35, 7.7, 32."""
    return f"{value:.{0 if value >= 9.95 else 1 if value >= 0.995 else 2}f}"
