"""Two ladders side by side: which rungs, which figures, which difference, and that it fits a terminal."""

import json
from dataclasses import replace
from io import StringIO

import pytest
from many_rungs import many_rungs
from rich.console import Console
from small_run_files import FAMILIES, entry, language_model, report_of, with_rungs

from langladder.faces.report.comparison import (
    Compared,
    across,
    across_markdown,
    across_rows,
    compare,
    differing,
    drawn,
    read_summary,
)
from langladder.faces.report.inputs import Meta, ReportInputs
from langladder.faces.report.tables import ladder_summary
from langladder.ground.errors import InputError


def reread(inputs: ReportInputs) -> ReportInputs:
    """As it comes back from reports/ladder.json."""
    return read_summary(json.loads(json.dumps(ladder_summary(inputs), allow_nan=False)), "ladder.json", FAMILIES)


UNWRITTEN = {"positions": []}
"""Figures that a ladder does not hold."""


def of(**scores: float) -> ReportInputs:
    values = [language_model(name, name.upper(), value, 1000) for name, value in scores.items()]
    return report_of(lm=[entry("lm", value) for value in values])


def printed_lines(a: ReportInputs, b: ReportInputs, width: int) -> list[str]:
    console = Console(file=StringIO(), width=width)
    for table in compare(a, b):
        console.print(drawn(table, width))
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined,no-any-return]


def test_the_written_ladder_says_what_was_measured() -> None:
    inputs = many_rungs()
    again = reread(inputs)
    assert ladder_summary(again) == ladder_summary(inputs)
    for family in ("lm", "embedding", "translator"):
        result = [
            [rung.page.scores.model_copy(update=UNWRITTEN) for rung in item.of(family)] for item in (again, inputs)
        ]
        assert result[0] == result[1]


def test_figures_stand_beside_each_other_with_their_difference() -> None:
    (result,) = compare(of(a=20.0, b=30.0, c=float("inf")), of(a=18.5, b=31.25, c=float("inf")))
    assert result.measures == ["perplexity per word", "bits per byte", "parameters"]
    assert [(title, cells[:1]) for title, cells in result.rows] == [
        ("A", [Compared("20.00", "18.50", "−1.50", True)]),
        ("B", [Compared("30.00", "31.25", "+1.25", False)]),
        ("C", [Compared("∞", "∞", "=", None)]),
    ]


def test_a_rung_that_only_one_has_keeps_its_place() -> None:
    (result,) = compare(of(first=40.0, a=20.0, gone=21.0, b=30.0), of(new=50.0, a=20.0, b=30.0))
    assert [title for title, _ in result.rows] == ["FIRST", "NEW", "A", "GONE", "B"]
    assert result.rows[3][1][:1] == [Compared("21.00", "–", "", None)]
    assert result.rows[1][1][:1] == [Compared("–", "50.00", "", None)]


def test_measures_can_be_named() -> None:
    a, b = (replace(reread(many_rungs(seed)), families=FAMILIES[:1]) for seed in (1, 2))
    (result,) = compare(a, b, ["perplexity per token"])
    assert result.measures == ["perplexity per token"]
    both = reread(many_rungs(1)), reread(many_rungs(2))
    measures = {item.title: item.measures for item in compare(*both)}
    assert measures["Word vectors"] == ["analogies", "ρ wordsim353", "dimension"]
    assert measures["Classifiers"] == ["accuracy", "macro-F₁", "parameters"]
    known = "perplexity per word, perplexity per token, bits per character, bits per byte, above the floor, parameters"
    with pytest.raises(InputError, match=f"no such measure; there are {known}$"):
        compare(a, b, ["beauty"])


@pytest.mark.parametrize("width", [64, 80, 100])
def test_two_full_ladders_fit_a_terminal(width: int) -> None:
    lines = printed_lines(reread(many_rungs(1)), reread(many_rungs(2)), width)
    assert max(map(len, lines)) <= width
    assert sum("LSTM" in line for line in lines) > 9
    assert not any("…" in line for line in lines)


def test_rungs_stand_beside_data_sets_with_their_ranks() -> None:
    runs = [of(a=20.0, b=30.0, gone=25.0), of(a=31.0, new=10.0, b=29.0), of(b=20.0, a=20.0)]
    (result,) = across(runs)
    assert (result.family, result.measure) == ("lm", "perplexity per word")
    rows = {name: ([cell.text for cell in cells], rank) for name, _, cells, rank in result.rows}
    # of a and b, which all have: 1 and 2, 2 and 1, 1.5 and 1.5
    assert rows["a"] == (["20.00", "31.00", "20.00"], 1.5) and rows["b"] == (["30.00", "29.00", "20.00"], 1.5)
    assert rows["gone"] == (["25.00", "–", "–"], None) and rows["new"] == (["–", "10.00", "–"], None)
    best = {name: [cell.best for cell in cells] for name, _, cells, _ in result.rows}
    assert best["a"] == [True, False, True] and best["new"] == [False, True, False]
    assert best["b"] == [False, False, True] and best["gone"] == [False, False, False]
    text = across_markdown([result], ["x", "y|z", "w"]).splitlines()
    assert text[:4] == [
        "**Language models**",
        "",
        "| perplexity per word | x | y\\|z | w | mean rank |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    assert "| A | **20.00** | 31.00 | **20.00** | 1.5 |" in text and "| NEW | – | **10.00** | – | – |" in text
    csv = across_rows([result], ["x", "y", "w"])
    assert csv[0] == ["family", "rung", "title", "measure", "data_set", "value", "margin"] and len(csv) == 1 + 8
    assert ["lm", "a", "A", "perplexity per word", "y", 31.0, ""] in csv


def test_cells_have_their_margin_and_measures_can_be_named() -> None:
    runs = [reread(many_rungs(seed)) for seed in (1, 2)]
    result = {item.title: item for item in across(runs)}
    name, _, cells, rank = result["Classifiers"].rows[0]
    page = next(rung.page for rung in runs[1].of("classifier") if rung.name == name)
    low, high = page.scores.accuracy_interval
    assert cells[1].value == page.scores.accuracy and cells[1].margin == pytest.approx((high - low) / 2)
    assert " ± " in cells[1].text and rank is not None
    named = across(runs, ["macro", "parameters"])
    assert [item.measure for item in named if item.title == "Classifiers"] == ["macro-F₁", "parameters"]
    with pytest.raises(InputError, match="no such measure"):
        across(runs, ["beauty"])


def test_what_was_chosen_otherwise_is_named() -> None:
    a = Meta(size="small", corpus="microworld", seed=1)
    assert differing(a, a.model_copy(update={"corpus": "text"})) == {"corpus": ("microworld", "text")}


@pytest.mark.parametrize("value", [{}, [], {"chosen": {}, "lm": [{"name": 3}], "embedding": [], "translator": []}])
def test_another_file_is_refused(value: object) -> None:
    with pytest.raises(InputError, match=r"HEAD: not a reports/ladder\.json"):
        read_summary(value, "HEAD", FAMILIES)


def test_families_that_neither_has_are_left_out() -> None:
    inputs = with_rungs(many_rungs(), "translator", [])
    assert [item.title for item in compare(inputs, inputs)] == ["Language models", "Classifiers", "Word vectors"]
