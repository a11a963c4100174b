"""What the report tells of classifiers: their table, which differences mean something, what each decision came from."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from langladder.evaluation.classifier import ClassifierPage
from langladder.evaluation.significance import mcnemar
from langladder.faces.report import numbers
from langladder.faces.report.choosing import BESIDE, choice
from langladder.faces.report.columns import Column, cost_columns, half_width, work_columns
from langladder.faces.report.decisions import WEIGHED, inside, seen
from langladder.faces.report.entries import Entry
from langladder.faces.report.inputs import ReportInputs
from langladder.faces.report.labels import label_table, paired
from langladder.faces.report.reliability_plot import reliability_plot
from langladder.faces.report.score_plot import score_plot
from langladder.faces.report.section import Figure, Section, drawn_lines
from langladder.faces.report.views import aligned

Classifiers = Sequence[Entry[ClassifierPage]]


def loss(page: ClassifierPage) -> float:
    """The share of the test texts that is wrong."""
    return 1 - page.scores.accuracy


def below_best(page: ClassifierPage) -> float | None:
    """How far accuracy stands below what can be known, in points (per cent); None where that is unknown."""
    return None if page.bayes_accuracy is None else 100 * (page.bayes_accuracy - page.scores.accuracy)


COLUMNS: tuple[Column[ClassifierPage], ...] = (
    Column(
        "accuracy",
        "share of the test texts that get their own label",
        lambda page, _: page.scores.accuracy,
        numbers.share,
        "higher",
        brief=True,
        compared=True,
    ),
    Column(
        "accuracy ±",
        "half the width of its 95 % interval, in points, by drawing test texts anew (bootstrap); not over seeds",
        lambda page, _: half_width(page.scores.accuracy_interval),
        numbers.decimals(1),
        None,
        brief=True,
    ),
    Column(
        "below the best",
        "points between the accuracy and the Bayes accuracy, that of the best guess under the grammar that drew the "
        "texts, which no classifier beats on average; only a corpus made by a known grammar can tell it",
        lambda page, _: below_best(page),
        numbers.decimals(1),
        "lower",
        brief=True,
    ),
    Column(
        "macro-F₁",
        "mean over the labels of F₁, 2PR / (P + R): every label counts the same, however rare it is",
        lambda page, _: page.scores.macro_f1,
        numbers.share,
        "higher",
        brief=True,
        compared=True,
    ),
    Column(
        "cross-entropy",
        "mean surprise at the right label, in nats per text: counts how sure a wrong answer was",
        lambda page, _: page.scores.cross_entropy,
        numbers.decimals(3),
        "lower",
    ),
    Column(
        "ECE",
        "expected calibration error: how far, on average, the share that is right lies from the probability given",
        lambda page, _: page.scores.calibration_error,
        numbers.share,
        "lower",
        brief=True,
    ),
    Column(
        "parameters",
        "numbers that were estimated or learnt",
        lambda page, _: page.parameters,
        numbers.compact,
        "lower",
        brief=True,
        compared=True,
    ),
    *work_columns("word"),
    *cost_columns("texts"),
)


def columns(pages: Sequence[ClassifierPage]) -> tuple[Column[ClassifierPage], ...]:
    """The same for all."""
    del pages
    return COLUMNS


def headline(inputs: ReportInputs, family: str) -> tuple[str, str] | None:
    """Which classifier is best, and with how much."""
    rungs = inputs.judged_alike(family, ClassifierPage)
    if not rungs:
        return None
    best = min(rungs, key=lambda rung: loss(rung.page))
    text = f"{best.title}, which labels {numbers.share(best.page.scores.accuracy)} of the test texts right"
    below = below_best(best.page)
    if below is not None:
        where = f"{abs(below):.1f} points {'below' if below >= 0 else 'above'}"
        text += f", {where} the best that can be known"
    return "Best classifier on these texts", text


def picture(inputs: ReportInputs, family: str) -> Figure | None:
    """The accuracy of each rung with its interval."""
    rungs = inputs.judged_alike(family, ClassifierPage)
    best = next((rung.page.bayes_accuracy for rung in rungs if rung.page.bayes_accuracy is not None), None)
    svg = score_plot(
        rungs,
        lambda page: (page.scores.accuracy, page.scores.accuracy_interval),
        "accuracy",
        "accuracy of the classifiers on the test texts (higher is better)",
        best=best,
        line="best that can be known",
    )
    caption = "Accuracy of the classifiers with its 95 % interval, the first rung at the foot."
    if best is not None:
        caption += " The dashed line is the Bayes accuracy: what the grammar itself leaves open, nobody can know."
    return None if svg is None else Figure(Markup(svg), caption)


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Which differences mean something, label by label, how sure; then text by text and rung by rung."""
    rungs = inputs.judged_alike(family, ClassifierPage)
    if not rungs:
        return
    reliability = reliability_plot(rungs, lambda page: page.reliability, loss, "reliability")
    context: dict[str, Any] = {
        "paired": paired(rungs, right, lambda page: page.scores.accuracy, mcnemar),
        "labels": label_table(rungs, lambda page: page.per_label, loss),
        "reliability": reliability and drawn_lines(reliability),
        "best": next((rung.page for rung in rungs if rung.page.bayes_accuracy is not None), None),
    }
    yield Section("classifiers", "Classifiers compared", "classifiers.html.j2", context)
    weighed = [rung for rung in rungs if any(one.weights for one in rung.page.shown)]
    context = {
        "texts": aligned(weighed, lambda page: (((one.text, one.second, one.label), seen(one)) for one in page.shown)),
        "weighed": choice(weighed, loss, BESIDE),
        "shown": WEIGHED,
        "rungs": inside(rungs, loss),
        "one": choice(rungs, loss, 1, most=2),
    }
    yield Section("decisions", "What the classifiers decide, and why", "decisions.html.j2", context)


def right(page: ClassifierPage) -> np.ndarray:
    """(N,) bool: which test texts are right."""
    found: np.ndarray = np.frombuffer(page.right.encode(), dtype=np.uint8) == ord("1")
    return found
