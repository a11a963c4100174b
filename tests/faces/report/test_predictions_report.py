"""The section of predictions: which rows of a rung it has, that texts are escaped, and that it goes where none are."""

from dataclasses import replace

from classifier_files import classifier
from small_run_files import HOSTILE, entry, with_rungs

from langladder.evaluation.predictions import Prediction
from langladder.faces.report.inputs import ReportInputs
from langladder.faces.report.page import build_page
from langladder.faces.report.predictions import RIGHT, WRONG, chosen, sections

ROWS = [
    Prediction(0, HOSTILE, "yes", "no", right=False, probability=0.9, loss=2.5, unknown="cat"),
    Prediction(1, "fine", "yes", "yes", right=True, probability=0.6, loss=0.5),
]


def with_rows(inputs: ReportInputs, family: str, rows: list[Prediction]) -> ReportInputs:
    return with_rungs(inputs, family, [replace(item, predictions=rows) for item in inputs.of(family)])


def test_rows_of_a_classifier_stand_in_a_table_to_be_filtered(inputs: ReportInputs) -> None:
    labelled = with_rungs(inputs, "classifier", [entry("classifier", classifier("one"))])
    page = build_page(with_rows(labelled, "classifier", ROWS))
    assert page.count('data-right="wrong"') == page.count('data-right="right"') == 1
    assert "Predictions for the test items" in page and "table.predictions" in page
    assert HOSTILE not in page and "&lt;script&gt;alert(" in page
    assert "0.900" in page and ">2.50<" in page


def test_without_predictions_there_is_no_such_section(inputs: ReportInputs) -> None:
    assert not list(sections(inputs))
    assert "Predictions for the test items" not in build_page(inputs)


def test_lines_of_a_language_model_have_their_loss_alone(inputs: ReportInputs) -> None:
    lines = [Prediction(n, f"line {n}", "", "", loss=float(n)) for n in range(WRONG + 5)]
    (section,) = sections(with_rows(inputs, "lm", lines))
    (table,) = section.context["tables"]
    assert table.by_loss and [row.prediction.loss for row in table.rows[:2]] == [WRONG + 4.0, WRONG + 3.0]
    assert '<th scope="col">truth</th>' not in build_page(with_rows(inputs, "lm", lines))


def test_the_surest_mistakes_come_first_and_what_is_right_though_unsure() -> None:
    rows = [Prediction(n, "x", "a", "a" if n % 2 else "b", right=bool(n % 2), probability=n / 100) for n in range(100)]
    result = chosen(rows)
    assert len(result) == WRONG + RIGHT
    assert [item.probability for item in result[:2]] == [0.98, 0.96] and not result[WRONG - 1].right
    assert [item.probability for item in result[WRONG : WRONG + 2]] == [0.01, 0.03]


def test_a_word_stands_with_its_sentence(inputs: ReportInputs) -> None:
    words = [Prediction(4, word, "N", "V", right=False, probability=0.5, loss=1.0) for word in ("the", "dog")]
    labelled = with_rungs(inputs, "classifier", [entry("classifier", classifier("one"))])
    (section,) = sections(with_rows(labelled, "classifier", words))
    assert {row.around for row in section.context["tables"][0].rows} == {"the dog"}
