"""Readers in the report: which differences mean something, kinds of question."""

from collections.abc import Iterable, Sequence
from functools import partial

from langladder.evaluation.reader import OPTIONS, SPANS, ReaderPage
from langladder.faces.report.inputs import ReportInputs
from langladder.faces.report.paired import paired
from langladder.faces.report.plots import score_plot
from langladder.faces.report.section import Column, Section, in_two_widths, page_columns
from langladder.faces.report.selection import aligned, ranked


def loss(page: ReaderPage) -> float:
    """1 − F₁."""
    return 1 - page.scores.f1


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Every reader: which differences mean something, its kinds of question."""
    rungs = inputs.rungs_with(family, ReaderPage)
    if not rungs:
        return
    dots = partial(
        score_plot,
        list(reversed(ranked(rungs, loss))),
        lambda page: (page.scores.f1, page.scores.f1_interval),
        "readers",
        "F₁ on the test questions",
    )
    among = {kind: [rung for rung in rungs if rung.page.judged_among == kind] for kind in (SPANS, OPTIONS)}
    context = {
        "dots": in_two_widths(dots),
        "paired": [(kind, paired(some, lambda page: page.scores.f1)) for kind, some in among.items()],
        "kinds": aligned(rungs, lambda page: [((one.word, one.questions), one) for one in page.kinds]),
    }
    yield Section("questions", "Questions about paragraphs", "readers.html.j2", context)


def columns(pages: Sequence[ReaderPage]) -> list[Column[ReaderPage]]:
    """Without those of answerable questions where all are."""
    found = page_columns(pages)
    if all(page.scores.no_answer is None for page in pages):
        return [column for column in found if column.title != "answered"]
    return found
