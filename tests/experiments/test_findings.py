"""Findings: errors, numbers, plots."""

import math
import re
from dataclasses import replace

import pytest
from pydantic import ValidationError

from langladder.experiments.findings import Findings, Plot, Series, Shown, curves, opened, rounded, series
from langladder.experiments.page import ClaimPage
from langladder.experiments.statistics import Verdict
from langladder.faces.report.claims import claim_views, findings_plot, pictures, separated
from langladder.faces.report.inputs import Entry, Meta, ReportInputs, RungMetadata, Timing
from langladder.faces.report.page import build_page
from langladder.families import families


def plot(*lines: Series, **settings: object) -> Plot:
    return Plot.model_validate(
        {"title": "t", "x_label": "delay", "y_label": "share", "series": [line.model_dump() for line in lines]}
        | settings
    )


def claim(holds: bool | None, timed: bool | str | None = "none") -> Entry[ClaimPage]:
    def values(value: object) -> dict[str, object]:
        return {"holds": value, "verdict": "v", "columns": ["a", "b"], "rows": [["x", 0.25]], "plots": []}

    value = {"name": "n", "fingerprint": "f", "findings": {**values(holds), "figures": {}}}
    timing = Timing.model_validate({"timed": None if timed == "none" else values(timed)})
    return Entry(ClaimPage.model_validate(value), RungMetadata(title="T", claim="C"), timing)


def test_what_is_infinite_is_left_out_of_the_figures_and_never_0() -> None:
    """A network that has diverged would else be the best one in every table of metrics."""
    figures = {"good": 1 / 3, "zero": 0.0, "diverged": math.inf, "odd": math.nan}
    values = {"holds": None, "verdict": "v", "columns": ["a"], "rows": [["x"]]}
    drawn = plot(series("a", [1, 2], [0.5, 0.6]), levels={"floor": math.nan, "blind": 0.5})
    result = Findings.model_validate({**values, "plots": [drawn], "figures": figures})
    assert result.figures == {"good": 0.333333, "zero": 0.0}
    assert result.plots[0].levels == {"blind": 0.5}


def test_a_plot_for_the_head_of_the_report_stands_there_with_a_way_to_its_claim() -> None:
    """Where it was measured, and once."""
    drawn = plot(series("a", [16.0, 64.0], [0.5, 0.6]), title="Accuracy by labels", front=True)
    plain = claim(True)
    findings = plain.page.findings.model_copy(update={"plots": [plot(series("b", [1.0], [0.5])), drawn]})
    with_plot = replace(plain, page=plain.page.model_copy(update={"findings": findings, "name": "m"}))
    inputs = ReportInputs(Meta(), list(families().values()), {"claim": [claim(None), with_plot]})
    (picture,) = pictures(inputs, "claim")
    assert 'href="#claim-m"' in picture.caption and "Accuracy by labels" in picture.caption
    without = ReportInputs(Meta(), inputs.families, {"claim": [claim(True)]})
    assert [*pictures(inputs, "probe"), *pictures(without, "claim")] == []
    page = build_page(inputs)
    head = page.index('id="ladder"')
    assert head < page.index("front-m") < page.index('id="claims"')


def test_series_of_unequal_lengths_are_refused() -> None:
    with pytest.raises(ValidationError, match="different lengths"):
        Series(name="a", x=[1.0, 2.0], y=[1.0])
    with pytest.raises(ValidationError, match="different lengths"):
        Series(name="a", x=[1.0], y=[1.0], error=[0.1, 0.1])


def test_rows_that_do_not_fit_their_columns_are_refused() -> None:
    with pytest.raises(ValidationError, match="2 cells"):
        Shown(holds=None, verdict="", columns=["a", "b"], rows=[["x"]], plots=[])


def test_what_is_no_number_is_left_out() -> None:
    line = series("a", [1, 2, 3], [1 / 3, math.inf, math.nan], [0.1, None, 0.2])
    assert line.y == [0.333333, None, None]
    assert line.error == [0.1, None, 0.2]
    assert rounded(123456789.0) == 123457000.0


def test_what_is_drawn_over_whole_numbers_is_a_curve() -> None:
    """Labels, examples, parameters; not shares or categories, and not a single point."""
    lines = [series(name, [16, 64.0, 256], [0.5, None, 0.75]) for name in ("From scratch", "BERT, tuned", "BERT tuned")]
    single, shares = series("one", [3], [0.5]), series("dropout", [0.1, 0.5], [0.5, 0.6])
    names = series("kind", ["a", "b"], [1, 2])
    plots = [plot(*lines, single, title="Accuracy by labels"), plot(shares), plot(names)]
    result = curves(Shown(holds=None, verdict="", columns=[], rows=[], plots=plots))
    known = ["from_scratch", "bert_tuned", "bert_tuned_2"]
    assert result == [
        {"step": step, f"accuracy_by_labels/{name}": value}
        for name in known
        for step, value in ((16, 0.5), (256, 0.75))
    ]


def test_findings_survive_json() -> None:
    findings = Findings(
        holds=True, verdict="v", columns=["a"], rows=[["x"]], plots=[plot(series("s", ["p", "q"], [1, 2]))], figures={}
    )
    assert Findings.model_validate_json(findings.model_dump_json()) == findings


def test_a_verdict_opens_with_whether_it_holds() -> None:
    assert opened(Verdict(True), "so.") == {"holds": True, "reason": "", "verdict": "It holds: so.", "rests_on": []}
    assert opened(Verdict(False), "so.")["verdict"] == "It is refuted here: so."
    assert opened(Verdict(None, "too few"), "so.")["verdict"] == "Not tested (too few): so."


def test_untested_findings_have_no_verdict() -> None:
    outcome = Shown(**opened(Verdict(True), "so."), columns=[], rows=[], plots=[])
    assert outcome.outcome == "holds"
    changed = outcome.model_copy(update=outcome.untested("size"))
    assert (changed.outcome, changed.verdict) == ("not tested", "Not tested (size): so.")


def test_a_plot_draws_every_series_and_level() -> None:
    lines = [series(name, [5, 10, 50], [0.9, 0.5, None], [0.1, 0.1, None]) for name in ("RNN", "LSTM")]
    svg = findings_plot(plot(*lines, log_x=True, levels={"guessing": 0.125}), "p")
    assert svg is not None
    for text in ("RNN", "LSTM", "guessing", "delay", "share", ">50<"):
        assert text in svg


def test_levels_are_distinguished() -> None:
    svg = findings_plot(plot(series("a", [1, 2], [0.5, 0.6]), levels={"chance": 0.5, "best possible": 0.9}), "p") or ""
    assert len(set(re.findall(r"stroke-dasharray: [^;]*", svg))) == 2


def test_labels_along_the_axis_have_room() -> None:
    """Two networks of nearly one size: the second has no label of its own."""
    assert separated([620_345.0, 655_872.0, 3_400_000.0], log=True) == [620_345.0, 3_400_000.0]
    assert separated([1_000.0, 3_390_000.0, 3_400_000.0], log=False) == [1_000.0, 3_400_000.0]
    for positions, log in (([0.0, 1.0, 4.0, 16.0], False), ([16.0, 64.0, 256.0, 1024.0, 4096.0, 9600.0], True)):
        assert separated(positions, log=log) == positions
    assert separated([0.0, 1.0], log=True) == [0.0, 1.0] and separated([3.0], log=False) == [3.0]


@pytest.mark.filterwarnings("error:constrained_layout not applied")
def test_a_plot_is_as_high_as_its_legend() -> None:
    """A probe has a line a language model; a few lines leave the usual height."""

    def height(lines: int) -> float:
        many = [series(f"Kneser–Ney, so many {i}", [1, 2], [0.5, 0.6]) for i in range(lines)]
        match = re.search(r'height="([\d.]+)pt"', findings_plot(plot(*many, levels={"chance": 0.5}), "p") or "")
        return float(match[1]) if match else 0.0

    assert height(1) == height(12) == 244.8  # points
    assert height(40) > height(32) > height(12)


def test_a_log_axis_is_labelled_with_powers() -> None:
    svg = findings_plot(plot(series("a", [0, 1, 2], [1.0, 1e-8, 1e-16]), log_y=True), "p")
    assert svg is not None
    assert "10⁻" in svg and "mathdefault" not in svg


def test_categories_are_named_along_the_axis() -> None:
    svg = findings_plot(plot(series("a", ["tied", "untied"], [3.0, 4.0])), "p")
    assert svg is not None
    assert ">tied<" in svg and ">untied<" in svg


def test_nothing_measured_is_nothing_drawn() -> None:
    assert findings_plot(plot(series("a", [1, 2], [None, math.inf])), "p") is None


@pytest.mark.parametrize(
    ("findings", "timed", "mark"),
    [
        (True, "none", "holds"),
        (False, "none", "refuted"),
        (None, "none", "not tested"),
        (True, True, "holds"),
        (True, False, "holds in part"),
        (False, True, "holds in part"),
        (None, True, "holds"),
    ],
)
def test_a_claim_is_marked_by_all_its_parts(findings: bool | None, timed: bool | str, mark: str) -> None:
    (view,) = claim_views([claim(findings, timed)])
    assert view.mark == mark
    assert view.parts[0].rows == [["x", "0.25"]]
