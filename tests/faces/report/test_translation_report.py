"""What the report says of translators: TER, search errors, how BLEU comes about, n-best lists."""

from typing import Any
from xml.etree import ElementTree

from small_run_files import entry, translator, with_rungs

from langladder.faces.report.inputs import Entry, ReportInputs
from langladder.faces.report.page import build_page
from langladder.faces.report.tables import ladder_rows, ladder_summary
from langladder.faces.report.translators import attention_plot, loss, search_errors_plot

NAMESPACE = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{NAMESPACE}text")]


def bare() -> Entry[Any]:
    """A rung whose translations are all right, and whose search was tried with one width only."""
    value = translator("bare") | {"search_errors": {"sentences": 9, "wrong": 0, "search": 0, "model": 0}}
    return entry("translator", value | {"by_width": [], "by_length": [], "examples": []})


def test_the_table_has_ter_and_search_errors(inputs: ReportInputs) -> None:
    table = next(table for table in ladder_rows(inputs) if table.family == "translator")
    titles = [heading.title for heading in table.columns]
    cells = dict(zip(titles, [cell.text for cell in table.rows[0].cells], strict=True))
    assert (cells["TER"], cells["search errors"]) == ("3.2", "5.3 %")
    assert {heading.title: heading.better for heading in table.columns}["TER"] == "lower"


def test_a_rung_without_wrong_translations_has_no_share_of_them(inputs: ReportInputs) -> None:
    inputs = with_rungs(inputs, "translator", [*inputs.of("translator"), bare()])
    table = next(table for table in ladder_rows(inputs) if table.family == "translator")
    index = [heading.title for heading in table.columns].index("search errors")
    assert [row.cells[index].text for row in table.rows] == ["5.3 %", "–"]
    inputs = with_rungs(inputs, "translator", [bare()])
    table = next(table for table in ladder_rows(inputs) if table.family == "translator")
    assert "search errors" not in [heading.title for heading in table.columns]


def test_search_errors_by_width_are_drawn(inputs: ReportInputs) -> None:
    drawn = search_errors_plot(inputs.of("translator"), loss)
    assert drawn is not None
    assert {"1", "5", "beam width", "search errors, % of the wrong", "BLEU"} <= set(texts(drawn.svg))
    assert list(drawn.choice.titles) == ["attention"]
    assert drawn == search_errors_plot(inputs.of("translator"), loss)
    assert search_errors_plot([], loss) is None
    assert search_errors_plot([bare()], loss) is None
    again = search_errors_plot([*inputs.of("translator"), bare()], loss)
    assert again is not None and list(again.choice.titles) == ["attention"]


def test_the_page_shows_precisions_widths_and_other_candidates(inputs: ReportInputs) -> None:
    page = build_page(inputs)
    assert "How BLEU is computed" in page
    assert "<td>97.5 %</td><td>94.5 %</td><td>91.8 %</td><td>89.4 %</td><td>15,531</td><td>15,605</td>" in page
    assert "<td>0.995</td><td>91.2</td>" in page
    assert "Search errors and BLEU by beam width" in page
    assert 'la kato dormas . <span class="faint small" dir="ltr">-0.162</span><br>the &lt;script&gt;' in page
    assert '<script>alert("x")</script>' not in page


def test_the_summary_keeps_search_errors(inputs: ReportInputs) -> None:
    (result,) = ladder_summary(inputs)["translator"]
    assert result["search_errors"]["share"] == 0.052632
    assert result["by_width"][0]["errors"]["share"] == 0.4


def test_attention_as_a_file_of_its_own(inputs: ReportInputs) -> None:
    svg = attention_plot(inputs.of("translator")[0].page.examples[0], "attention", "T", standalone=True)
    assert svg is not None
    assert svg.startswith("<?xml")
    assert "var(" not in svg
