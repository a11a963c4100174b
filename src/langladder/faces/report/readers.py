"""What the report tells of readers: their table, which differences mean something, kinds of question, answers."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from langladder.evaluation.reader import ReaderPage
from langladder.evaluation.significance import paired_bootstrap
from langladder.faces.report import numbers
from langladder.faces.report.choosing import choice
from langladder.faces.report.columns import Column, cost_columns, half_width, work_columns
from langladder.faces.report.entries import Entry
from langladder.faces.report.inputs import ReportInputs
from langladder.faces.report.labels import paired, ranked
from langladder.faces.report.score_plot import score_plot
from langladder.faces.report.section import Figure, Section
from langladder.faces.report.views import aligned


def loss(page: ReaderPage) -> float:
    """1 − F₁."""
    return 1 - page.scores.f1


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Every reader: which differences mean something, its kinds of question, its answers."""
    rungs = inputs.judged_alike(family, ReaderPage)
    if not rungs:
        return
    dots = score_plot(
        list(reversed(ranked(rungs, loss))),
        lambda page: (page.scores.f1, page.scores.f1_interval),
        "readers",
        "F₁ on the test questions",
    )
    among = [[rung for rung in rungs if (rung.page.options is None) == spans] for spans in (True, False)]
    context = {
        "dots": dots and Figure(Markup(dots)),
        "paired": [(what, _compared(some)) for what, some in zip(("spans", "options"), among, strict=True)],
        "kinds": aligned(rungs, lambda page: [((one.word, one.questions), one) for one in page.kinds]),
        "answers": [(rung, list(map(_answer, rung.page.shown))) for rung in rungs],
        "chosen": choice(rungs, loss, 1, most=2),
    }
    yield Section("questions", "Questions about paragraphs", "readers.html.j2", context)


def _compared(rungs: Sequence[Entry[Any]]) -> Any:
    return paired(rungs, lambda page: np.array(page.right), lambda page: page.scores.f1, paired_bootstrap)


def _answer(one: Any) -> dict[str, Any]:
    return {
        "before": one.before,
        "said": one.said,
        "after": one.after,
        "question": one.question,
        "gold": " | ".join(one.gold) or "no answer",
        "exact": one.exact,
        "f1": numbers.share(one.f1),
    }


SCORES: tuple[Column[ReaderPage], ...] = (
    Column(
        "exact match",
        "share of the test questions whose answer is one of the right ones, normalised as SQuAD does",
        lambda page, _: 100 * page.scores.exact,
        numbers.decimals(1),
        "higher",
        brief=True,
        compared=True,
    ),
    Column(
        "±",
        "half the width of its 95 % interval, by drawing test questions anew (bootstrap); not over seeds",
        lambda page, _: half_width(page.scores.exact_interval),
        numbers.decimals(1),
        None,
        brief=True,
    ),
    Column(
        "F₁",
        "mean F₁ of the words of an answer, the best over the right answers; of no answer 1 where there is none",
        lambda page, _: 100 * page.scores.f1,
        numbers.decimals(1),
        "higher",
        brief=True,
        compared=True,
    ),
    Column(
        "F₁ ±",
        "half the width of its 95 % interval",
        lambda page, _: half_width(page.scores.f1_interval),
        numbers.decimals(1),
        None,
    ),
    Column(
        "answered",
        "exact match on the questions that have an answer",
        lambda page, _: page.scores.answered_exact,
        numbers.share,
        "higher",
        brief=True,
    ),
    Column(
        "no answer",
        "share of the questions without an answer that get none",
        lambda page, _: page.scores.no_answer,
        numbers.share,
        "higher",
        brief=True,
    ),
    Column(
        "options",
        "answers to choose from, on average: an easier task, not comparable; a dash: it finds a span",
        lambda page, _: page.options,
        numbers.decimals(1),
        None,
        brief=True,
    ),
    Column("parameters", "numbers of the model", lambda page, _: page.parameters, numbers.compact, "lower", brief=True),
    *work_columns("token"),
    *cost_columns("rows"),
)


def columns(pages: Sequence[ReaderPage]) -> tuple[Column[ReaderPage], ...]:
    """The columns; of options where a rung chooses, of no answer where a question has none."""
    left_out = set() if any(page.options is not None for page in pages) else {"options"}
    if all(page.scores.no_answer is None for page in pages):
        left_out |= {"answered", "no answer"}
    return tuple(column for column in SCORES if column.title not in left_out)
