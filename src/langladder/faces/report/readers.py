"""Readers in the report: what differs from other rungs that are judged item by item, and the columns of their table."""

from collections.abc import Iterable, Sequence

from langladder.evaluation.reader import ReaderPage
from langladder.faces.report.inputs import ReportInputs
from langladder.faces.report.items import Judging, Scores, judged_section
from langladder.faces.report.labels import LabelRow
from langladder.faces.report.section import Column, Section, page_columns


def loss(page: ReaderPage) -> float:
    """1 − F₁."""
    return JUDGING.loss(page)


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Every reader: which differences mean something, its kinds of question."""
    if rungs := inputs.rungs_with(family, ReaderPage):
        yield judged_section(rungs, JUDGING)


def columns(pages: Sequence[ReaderPage]) -> list[Column[ReaderPage]]:
    """Without those of answerable questions where all are."""
    results = page_columns(pages)
    if all(page.scores.no_answer is None for page in pages):
        return [column for column in results if column.title != "answered"]
    return results


def _kinds(page: ReaderPage) -> list[LabelRow]:
    return [((kind.word, kind.questions), (f"{100 * kind.f1:.1f}", f"{100 * kind.exact:.1f}")) for kind in page.kinds]


JUDGING = Judging[ReaderPage](
    id="questions",
    title="Questions about paragraphs",
    items="test questions",
    score=lambda page: page.scores.f1,
    interval=lambda page: page.scores.f1_interval,
    axis="F₁ on the test questions",
    tables=[
        Scores(
            "Kinds of question",
            "question",
            _kinds,
            "F₁ in per cent by the first word of the question, then the exact match.",
            side="questions",
        )
    ],
)
