"""Readers in the report: the table's columns, answers beside their paragraphs, options apart from spans."""

from typing import Any

from langladder.evaluation.predictions import Prediction
from langladder.evaluation.reader import KindOfQuestion, ReaderPage, ReaderScores
from langladder.faces.report.inputs import Entry, Meta, ReportInputs, RungMetadata
from langladder.faces.report.page import build_page
from langladder.faces.report.readers import columns, loss, sections
from langladder.faces.report.tables import ladder_rows
from langladder.families import families

SCORES = {
    "questions": 100, "exact": 0.5, "exact_interval": (0.4, 0.6), "f1": 0.6, "f1_interval": (0.5, 0.7),
    "answerable": 80, "answered_exact": 0.55, "answered_f1": 0.65, "no_answer": 0.3,
}  # fmt: skip


ANSWERS = [
    Prediction(0, "where ?", "paris", "paris", right=True, score=1.0, context="<i>in</i> paris ."),
    Prediction(1, "who ?", "anna | the girl", "girl", right=False, score=0.667, context="a b"),
]


def page(name: str, f1: float, options: float | None = None, **scores: Any) -> ReaderPage:
    return ReaderPage(
        name=name,
        approach="matching words",
        parameters=1,
        options=options,
        scores=ReaderScores.model_validate(SCORES | {"f1": f1} | scores),
        kinds=[KindOfQuestion(word="where", questions=100, exact=0.5, f1=f1)],
        right=[f1] * 100,
    )


def report(*pages: ReaderPage) -> ReportInputs:
    rungs = [Entry(item, RungMetadata(title=item.name.upper()), predictions=ANSWERS) for item in pages]
    nothing: dict[str, Any] = {"text": {}, "parallel": {}}
    return ReportInputs(
        meta=Meta(), families=[families()["reader"]], rungs={"reader": rungs}, data=nothing, tokenizers=nothing
    )


def test_answers_stand_beside_their_escaped_paragraphs() -> None:
    html = build_page(report(page("window", 0.4), page("span", 0.9), page("chooser", 0.7, options=4.0)))
    assert "&lt;i&gt;in&lt;/i&gt;" in html and "<i>in</i>" not in html
    assert "anna | the girl" in html and "66.7 %" in html and "Kinds of question" in html
    assert 'href="#predictions"' in html and 'id="predictions"' in html
    assert "SPAN (90.0 %) is better than every other rung" in html
    assert "Readers that find spans" in html and "Readers that choose among options" not in html  # it is alone


def test_columns_stand_where_they_mean_something() -> None:
    plain = page("plain", 0.6, no_answer=None)
    (table,) = ladder_rows(report(plain))
    assert {"options", "answered", "no answer"}.isdisjoint(column.title for column in table.columns)
    both = columns([page("one", 0.6), page("two", 0.6, options=3.5)])
    result = {column.title: column.read(page("two", 0.6, options=3.5), Any) for column in both[:7]}  # type: ignore[arg-type]
    assert (
        result["exact match"] == 0.5 and result["F₁"] == 0.6 and result["options"] == 3.5 and result["no answer"] == 0.3
    )
    assert abs((result["±"] or 0) - 0.1) < 1e-9
    assert loss(plain) == 0.4


def test_no_readers_no_section() -> None:
    assert list(sections(report(), "reader")) == []
    (section,) = sections(report(page("one", 0.5)), "reader")
    assert section.context["paired"] == []  # nothing to compare it with
