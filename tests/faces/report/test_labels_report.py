"""What classifiers and taggers are both shown by: labels, confusions, which rungs differ, dots under a line."""

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from pydantic import Field

from langladder.evaluation.label_scores import LabelScores, per_label
from langladder.evaluation.page import Page
from langladder.faces.report.inputs import Entry, RungMetadata
from langladder.faces.report.labels import (
    MAX_CELLS,
    chosen_maps,
    confusion_maps,
    confusions,
    drawn_cells,
    heat_file,
    heat_map,
    label_rows,
    label_table,
)
from langladder.faces.report.paired import Paired, paired
from langladder.faces.report.plots import score_plot

MATRIX = [[8, 2, 0], [1, 9, 0], [0, 3, 0]]
LABELS = ["no", "yes", "<b>"]


class Judged(Page):
    """A page of nothing but which items are right."""

    right: str = ""
    matrix: list[list[int]] = Field(default_factory=list)

    @property
    def item_scores(self) -> list[int]:
        return [int(item) for item in self.right]

    @property
    def accuracy(self) -> float:
        return float(np.mean(self.item_scores))

    @property
    def labels(self) -> list[LabelScores]:
        return per_label(np.array(MATRIX), LABELS)


def rung(name: str, right: int = 0, of: int = 400, matrix: Any = MATRIX) -> Entry[Judged]:
    return Entry(
        Judged(name=name, right="1" * right + "0" * (of - right), matrix=matrix), RungMetadata(title=name.upper())
    )


def compare(*rungs: Entry[Judged]) -> Paired | None:
    return paired(rungs, lambda page: page.accuracy)


def test_a_map_as_a_file_has_its_own_colours_and_panel() -> None:
    file = heat_file(MATRIX, LABELS, "Confusions of one")
    drawn = ElementTree.fromstring(file.encode())
    space = "{http://www.w3.org/2000/svg}"
    assert drawn.tag == f"{space}svg" and drawn.get("aria-label") == "Confusions of one"
    assert "path.wrong { fill: #d55e00; }" in str(drawn.findtext(f"{space}style"))
    assert [cell.text for cell in drawn.iter(f"{space}text") if cell.get("class") == "count"] == list("82193")
    panel = drawn.find(f"{space}rect")
    assert panel is not None and panel.get("fill") == "#ffffff"


def test_golden_confusions() -> None:
    assert drawn_cells(MATRIX) == 5
    rows = [
        (confusion.label, confusion.predicted, confusion.count, round(confusion.share, 3))
        for confusion in confusions(MATRIX, LABELS, 2)
    ]
    assert rows == [("<b>", "yes", 3, 1.0), ("no", "yes", 2, 0.2)]
    assert confusions([[3, 0], [0, 1]], ["a", "b"], 5) == []
    assert confusions([[0, 0], [0, 1]], ["a", "b"], 5) == []  # a label that the test does not have


def test_a_map_has_a_cell_for_what_was_counted_and_escapes_labels() -> None:
    svg = heat_map(MATRIX, LABELS, 'of "one"')
    assert len(re.findall("<path ", svg)) == 5 and len(re.findall('class="wrong"', svg)) == 3
    assert "<title>no taken for yes: 2 (20.0 %)</title>" in svg and "<title>yes right: 9 (90.0 %)</title>" in svg
    assert "<b>" not in svg and "&lt;b&gt;" in svg and 'aria-label="of &#34;one&#34;"' in svg
    assert ">8</text>" in svg and svg == heat_map(MATRIX, LABELS, 'of "one"')


def test_a_map_of_many_labels_is_small_and_without_numbers() -> None:
    many = np.eye(50, dtype=int) * 40
    many[3, 4] = 7
    svg = heat_map(many.tolist(), [f"a-label-of-a-long-name-{i}" for i in range(50)], "map")
    width, height = (int(result) for result in re.findall(r'(?:width|height)="(\d+)"', svg)[:2])
    assert width < 1000 and height < 1000 and 'class="count"' not in svg and "…" in svg


def test_a_map_of_too_many_labels_keeps_those_that_are_confused() -> None:
    many = np.eye(200, dtype=int)
    many[150, 151] = 7
    svg = heat_map(many.tolist(), [f"l{i}" for i in range(200)], "map")
    assert svg.count('class="row"') == 60 and ">l150<" in svg and ">l199<" not in svg


def test_maps_stand_for_the_best_rungs_until_there_are_too_many_cells() -> None:
    full = np.full((50, 50), 3).tolist()
    rungs = [rung(f"r{i}", 100 + i, matrix=full) for i in range(5)]
    names = [str(i) for i in range(50)]
    drawn = confusion_maps(rungs, lambda page: (page.matrix, names), lambda page: -page.accuracy, "Confusions")
    assert [item.name for item in drawn] == ["r4"] and 2500 < MAX_CELLS < 5000
    assert chosen_maps(rungs, drawn, lambda page: -page.accuracy).chosen == ["r4"]
    assert drawn[0].figures[0].caption.startswith("Most often: 0 taken for 1 3× (2.0 %), ")
    (only,) = confusion_maps(rungs[:1], lambda _: ([[1, 0], [0, 1]], LABELS[:2]), lambda page: -page.accuracy, "")
    assert only.figures[0].caption == "Nothing is confused."


def test_golden_label_table() -> None:
    table = label_table([rung("a", 3), rung("b", 2)], lambda page: label_rows(page.labels), lambda page: -page.accuracy)
    assert [key for key, _ in table.scores.rows] == [("no", 10), ("yes", 10), ("<b>", 3)]
    first = table.scores.rows[0][1][0]
    assert first == (f"{1600 / 19:.1f}", "89 / 80")


def test_golden_sentence_names_what_cannot_be_distinguished() -> None:
    result = compare(rung("a", 200), rung("b", 390), rung("c", 389))
    assert result is not None and result.items == 400 and result.comparisons == 3
    assert (
        result.sentence == "B (97.5 %) cannot be told apart from C at the level of 5 %; it is better than all others."
    )
    assert [title for title, _, _ in result.rows] == ["B", "C", "A"]
    assert [(row.difference, row.differs) for row in result.rows[0][2]] == [("+0.2", False), ("+47.5", True)]
    assert [row.p for row in result.rows[0][2]] == ["p = 1", "p < 0.0001"]
    assert result.rows[-1][2] == []


@pytest.mark.parametrize(
    ("shares", "sentence"),
    [
        ((300, 100), "R0 (75.0 %) is better than every other rung, at the level of 5 %."),
        ((300, 300), "R0 (75.0 %) cannot be told apart from R1 at the level of 5 %."),
        ((300,) * 8, "R0 (75.0 %) cannot be told apart from R1, R2, R3, R4 and 3 more at the level of 5 %."),
    ],
)
def test_sentences(shares: tuple[int, ...], sentence: str) -> None:
    result = compare(*(rung(f"r{i}", share) for i, share in enumerate(shares)))
    assert result is not None and result.sentence == sentence


def test_a_rung_of_another_test_is_not_compared() -> None:
    assert compare(rung("a", 5)) is None and compare() is None
    assert compare(rung("a", 0, 0), rung("b", 0, 0)) is None
    result = compare(rung("a", 300), rung("b", 290), rung("c", 5, 10))
    assert result is not None and [title for title, _, _ in result.rows] == ["A", "B"]


def test_dots_with_intervals_and_the_line_that_no_rung_beats() -> None:
    rungs = [rung("a", 300), rung("b", 290)]
    svg = score_plot(rungs, lambda page: (page.accuracy, (0.7, 0.8)), "dots", "accuracy", best=0.9, line="best guess")
    assert svg is not None and "best guess 90.0 %" in svg and ">A</text>" in svg and "75.0 %" in svg
    plain = score_plot(rungs, lambda page: (page.accuracy, None), "dots", "accuracy")
    assert plain is not None and "best guess" not in plain
    assert score_plot([], lambda page: (page.accuracy, None), "dots", "accuracy") is None
