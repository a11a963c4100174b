"""Taggers in the report: the table's columns, sentences with their mistakes marked, phrases where there are any."""

from typing import Any

from langladder.evaluation.label_scores import Bin, LabelScores
from langladder.evaluation.tagger import TaggedWord, TaggerPage, TaggerScores
from langladder.faces.report.inputs import Entry, Meta, ReportInputs, RungMetadata
from langladder.faces.report.page import build_page
from langladder.faces.report.tables import ladder_rows
from langladder.faces.report.taggers import loss, sections
from langladder.families import families

SCORES = {
    "accuracy": 0.75, "accuracy_interval": (0.7, 0.8), "sentences_right": 0.5, "unknown_words": 2,
    "unknown_accuracy": 0.5, "unknown_interval": None, "macro_f1": 0.7, "cross_entropy": 0.4, "calibration_error": 0.1,
}  # fmt: skip


def page(name: str, right: list[int], **more: Any) -> TaggerPage:
    scores = TaggerScores.model_validate(SCORES | {"accuracy": sum(right) / (2 * len(right))} | more.pop("scores", {}))
    words = [
        TaggedWord(word="<i>the</i>", tag="DET", said="DET", probability=0.9, unknown=False),
        TaggedWord(word="dog", tag="NOUN", said="DET", probability=0.6, unknown=True),
    ]
    labels = [LabelScores(label=tag, support=4, said=4, precision=0.5, recall=0.5, f1=0.5) for tag in ("DET", "NOUN")]
    fields: dict[str, Any] = {"labels": ["DET", "NOUN"], "confusion": [[4, 0], [2, 2]], "per_label": labels} | more
    return TaggerPage(
        name=name,
        approach="counted",
        parameters=10,
        sentences=len(right),
        words=2 * len(right),
        scores=scores,
        reliability=[Bin(count=8, confidence=0.8, accuracy=0.75)],
        right=right,
        shown=[words],
        **fields,
    )


def report(*pages: TaggerPage) -> ReportInputs:
    rungs = [Entry(item, RungMetadata(title=item.name.upper())) for item in pages]
    nothing: dict[str, Any] = {"text": {}, "parallel": {}}
    return ReportInputs(
        meta=Meta(), families=[families()["tagger"]], rungs={"tagger": rungs}, data=nothing, tokenizers=nothing
    )


def test_the_page_marks_mistakes_and_escapes_words() -> None:
    html = build_page(report(page("hmm", [2, 1] * 50), page("best", [2, 2] * 50, bayes_accuracy=0.98)))
    assert "&lt;i&gt;the&lt;/i&gt;" in html and "<i>the</i>" not in html
    assert "<s>DET</s> NOUN" in html and 'class="word unknown"' in html
    assert "BEST (100.0 %) is better than every other rung" in html
    assert "Bayes accuracy 98.0 %" in html and "Each kind of phrase" not in html


def cells(tagger_page: TaggerPage) -> dict[str, str]:
    """The columns that its table has, each with what it shows."""
    (table,) = ladder_rows(report(tagger_page))
    return {column.title: cell.text for column, cell in zip(table.columns, table.rows[0].cells, strict=True)}


def test_columns_of_phrases_and_of_the_ceiling_stand_where_they_mean_something() -> None:
    plain = page("plain", [2, 1])
    titles = list(cells(plain))
    assert "entity F₁" not in titles and "Bayes" not in titles and titles[0] == "accuracy"
    bracketed = page("ner", [2, 1], bayes_accuracy=0.9, scores={"entity_f1": 0.6, "invalid_sequences": 3})
    result = cells(bracketed)
    assert result["entity F₁"] == "60.0 %" and result["invalid"] == "3" and result["Bayes"] == "90.00"
    assert loss(bracketed) == 0.25


def test_phrases_have_a_table_and_no_taggers_no_section() -> None:
    kinds = [LabelScores(label="PER", support=3, said=3, precision=1.0, recall=1.0, f1=1.0)]
    (section,) = sections(report(page("ner", [2, 1], entities=kinds)), "tagger")
    _, (about, table) = section.context["tables"]
    assert about.heading == "Each kind of phrase" and table.scores.rows == [(("PER", 3), [("100.0", "100 / 100")])]
    assert section.context["paired"] == []  # nothing to compare it with
    assert list(sections(report(), "tagger")) == []
