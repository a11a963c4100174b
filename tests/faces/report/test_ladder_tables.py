"""The ladder's rows: marks, dashes, and the three forms they take."""

import json
import math
import re
from dataclasses import replace
from io import StringIO

import pytest
from many_rungs import many_rungs
from rich.console import Console
from small_run_files import TOLD, entry, language_model, only, report_of, with_rungs

from langladder.evaluation.page import declared
from langladder.experiments.findings import Findings, opened
from langladder.experiments.page import ClaimPage
from langladder.experiments.statistics import Verdict
from langladder.faces.report import numbers
from langladder.faces.report.claims import prompts_markdown
from langladder.faces.report.inputs import Entry, ReportInputs, RungMetadata, Timing
from langladder.faces.report.language_models import headline, ladder_plot
from langladder.faces.report.page import build_page
from langladder.faces.report.tables import (
    LadderTable,
    brief,
    ladder_headline,
    ladder_rows,
    ladder_summary,
    to_markdown,
    to_rich,
)
from langladder.families import families
from langladder.ground.artefacts import figures_to_json


def column(table: LadderTable, title: str) -> list[tuple[str, bool]]:
    index = [heading.title for heading in table.columns].index(title)
    return [(row.cells[index].text, row.cells[index].best) for row in table.rows]


def printed(inputs: ReportInputs, width: int) -> str:
    console = Console(file=StringIO(), width=width)
    for table in to_rich(ladder_rows(inputs), width):
        console.print(table)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_the_best_of_each_column_is_marked(inputs: ReportInputs) -> None:
    models = ladder_rows(inputs)[0]
    assert column(models, "perplexity per word") == [("44.21", False), ("35.20", False), ("34.10", True)]
    assert column(models, "above the floor") == [("40.7 %", False), ("12.0 %", False), ("8.5 %", True)]
    assert column(models, "parameters") == [("812 k", True), ("2.9 M", False), ("3.4 M", False)]
    assert column(models, "tokens/s") == [("–", False), ("24.3 k", True), ("19.1 k", False)]
    assert column(models, "time") == [("–", False), ("1 min 01 s", True), ("1 min 15 s", False)]


def test_a_rung_that_starts_from_another_stands_among_the_others(inputs: ReportInputs) -> None:
    """In order of history, and the best of a column is the best of both."""
    tuned = entry("tune", language_model("gpt_longer", "GPT, trained longer", 30.0, 3_400_000))
    dated = {
        rung.name: replace(rung, metadata=rung.metadata.model_copy(update={"year": 2018})) for rung in inputs.of("lm")
    }
    early = replace(tuned, metadata=tuned.metadata.model_copy(update={"year": 2017}))
    both = with_rungs(with_rungs(inputs, "lm", [*dated.values()]), "tune", [early])
    table = ladder_rows(both)[0]
    assert table.rows[0].title == "GPT, trained longer" and len(table.rows) == 4
    assert column(table, "perplexity per word")[0] == ("30.00", True)
    assert table.rows[0].anchor == "rung-tune-gpt_longer" and table.rows[1].anchor.startswith("rung-lm-")
    assert [table.title for table in ladder_rows(both)].count("Language models") == 1


def test_a_single_measured_rung_is_not_the_best_of_anything(inputs: ReportInputs) -> None:
    assert column(ladder_rows(inputs)[0], "memory") == [("–", False), ("812 MB", False), ("–", False)]
    assert not any(cell.best for table in ladder_rows(inputs)[1:] for row in table.rows for cell in row.cells)


def test_one_figure_stands_for_each_rung(inputs: ReportInputs) -> None:
    """What a page of another family holds (an input embedding) is no rung of the list."""
    result = ladder_headline(inputs, TOLD)
    assert result["lm_perplexity_per_word"] == {"kneser_ney": 44.21, "lstm": 35.2, "gpt": 34.1}
    assert [*result] == ["lm_perplexity_per_word", "embedding_analogy", "translator_bleu"]
    assert [*result["embedding_analogy"]] == ["skipgram"]
    assert ladder_headline(inputs, {"lm": ["gpt"]}) == {"lm_perplexity_per_word": {"gpt": 34.1}}
    endless = with_rungs(inputs, "lm", [entry("lm", language_model("a", "a", math.inf, 1000))])
    assert ladder_headline(endless, {"lm": ["a"]}) == {"lm_perplexity_per_word": {"a": "infinite"}}


@pytest.mark.parametrize("family", families())
def test_every_family_has_a_headline(family: str) -> None:
    """A figure that its pages have by that name."""
    page = families()[family].page()
    logged = {item.logged_as("test") for item in declared(page) if item.metric.logged}
    assert page.headlines or any(item.metric.better for item in declared(page))
    assert set(page.headlines) <= logged | {"outcome"}


def test_what_looks_equal_is_marked_alike() -> None:
    rungs = [
        entry("lm", language_model(name, name, value, 1000))
        for name, value in (("a", 20.001), ("b", 20.002), ("c", 30.0))
    ]
    table = ladder_rows(report_of(lm=rungs))[0]
    assert column(table, "perplexity per word") == [("20.00", True), ("20.00", True), ("30.00", False)]


def test_embedding_columns_follow_what_was_measured(inputs: ReportInputs) -> None:
    titles = [heading.title for heading in ladder_rows(inputs)[1].columns]
    assert "semantic" in titles
    assert "syntactic" not in titles
    assert "ρ ws353" in titles


def test_chrf_leads_where_words_are_not_separated(inputs: ReportInputs) -> None:
    def table(inputs: ReportInputs) -> list[str]:
        return [item.title for item in next(t for t in ladder_rows(inputs) if t.family == "translator").columns]

    assert table(inputs)[0] == "BLEU"
    (rung,) = inputs.of("translator")
    chinese = rung.page.scores.model_copy(update={"main": "chrf", "signature": "nrefs:1|tok:zh"})
    inputs = only(inputs, translator=[replace(rung, page=rung.page.model_copy(update={"scores": chinese}))])
    assert table(inputs)[0] == "chrF" and "BLEU" in table(inputs)
    page = build_page(inputs)
    assert "nrefs:1|tok:zh" in page and "prefer chrF" in page


def test_families_without_rungs_have_no_table() -> None:
    assert ladder_rows(report_of()) == []


def test_markdown_tables_are_whole(inputs: ReportInputs) -> None:
    text = to_markdown(ladder_rows(inputs, steps=True))
    tables = [part.splitlines() for part in text.split("\n\n") if part.startswith("| rung")]
    assert len(tables) == 3
    for lines in tables:
        assert len({line.count("|") for line in lines}) == 1
        assert set(lines[1]) <= set("| -:")
    assert "| GPT | **34.10** |" in text
    assert text.endswith("|\n")  # of one rung, there is no step
    assert re.search(r"\|\n\nLSTM predicts .* better than Kneser–Ney 3-gram .*\n\n\*\*", text)


def test_what_a_rung_is_given_more_stands_in_every_table(inputs: ReportInputs) -> None:
    assert not any(table.has_given for table in ladder_rows(inputs)) and "also given" not in build_page(only(inputs))
    first, *others = inputs.of("lm")
    trees = replace(first, metadata=first.metadata.model_copy(update={"also_given": "gold trees", "year": 1995}))
    inputs = with_rungs(inputs, "lm", [trees, *others])
    markdown = to_markdown(brief(ladder_rows(inputs)))
    assert "| rung | also given | perplexity per word |" in markdown
    assert "| Kneser–Ney 3-gram | gold trees | 44.21 |" in markdown and "| LSTM | – | 35.20 |" in markdown
    assert markdown.count("also given") == 1  # in its own table alone
    assert "Kneser–Ney 3-gram (also given gold trees)" in printed(inputs, 160)
    page = build_page(only(inputs, lm=[trees, *others]))
    assert '<td data-value="gold trees">gold trees</td>' in page and "† after a name" in page
    assert "Kneser–Ney 3-gram †, 1995" in page  # on the plot's axis
    assert 'rung, <span class="faint small">year of the method</span>' in page
    assert ladder_summary(inputs)["lm"][0]["also_given"] == "gold trees"
    assert "also_given" not in ladder_summary(inputs)["lm"][1]
    worse = [replace(other, page=other.page.model_copy(update={"scores": first.page.scores})) for other in others]
    best = headline(with_rungs(inputs, "lm", [trees, *worse]), "lm")
    assert best and best[1].startswith("Kneser–Ney 3-gram (also given gold trees), with")


def test_networks_of_different_optimisers_are_named(inputs: ReportInputs) -> None:
    """A table of networks of one optimiser, and of counted rungs, has no such note."""
    first = inputs.of("lm")[0]

    def note(*optimizers: str) -> str:
        named = [
            replace(
                first,
                page=first.page.model_copy(update={"name": f"rung{number}"}),
                metadata=first.metadata.model_copy(update={"optimizer": name, "title": f"rung {number}"}),
            )
            for number, name in enumerate(optimizers)
        ]
        return ladder_rows(replace(inputs, rungs={"lm": named}))[0].note

    assert "optimisers" not in note("", "adamw", "adamw")
    assert note("", "adamw", "adamw", "muon") == "optimisers differ: muon: rung 3; the other networks adamw"


def test_tokens_are_those_of_all_parts_of_a_training() -> None:
    assert Timing(seconds=20.0, tokens_per_second=1_000.0).tokens == 20_000.0
    assert Timing(seconds=20.0).tokens is None


def test_markdown_escapes_bars() -> None:
    rung = entry("lm", language_model("a", "P(w|h)", 20.0, 1000))
    assert "P(w\\|h)" in to_markdown(ladder_rows(report_of(lm=[rung])))


def test_the_terminal_shows_the_same(inputs: ReportInputs) -> None:
    output = printed(inputs, 160)
    assert all(text in output for text in ("Kneser–Ney 3-gram", "34.10", "91.2", "68.8 %"))


@pytest.mark.parametrize("width", [60, 80, 88, 92, 100])
def test_the_full_ladder_fits_a_terminal(width: int) -> None:
    inputs = many_rungs()
    tables = brief(ladder_rows(inputs))
    lines = printed(inputs, width).splitlines()
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for table in tables:  # no figure is cut or wrapped: each that has its column stands whole
        kept = [i for i, column in enumerate(table.columns) if all(word in text for word in column.title.split())]
        assert len(kept) >= (len(table.columns) if width == 100 else 2), table.title
        assert all(row.cells[i].text in text for row in table.rows for i in kept[:2])
        assert all(f" {row.cells[len(kept) - 1].text}" in text for row in table.rows if width == 100)
    assert "…" not in text
    assert text.count(" min") == text.count("59 min 59 s")  # of several words, and never broken between them


def test_the_readme_has_the_telling_columns_only() -> None:
    tables = ladder_rows(many_rungs())
    lines = [line for line in to_markdown(brief(tables)).splitlines() if line.startswith("|")]
    assert max(len(line) - line.index("|", 1) for line in lines) <= 90  # beside the name of the rung
    assert any(len(line) > 120 for line in to_markdown(tables).splitlines())
    assert all(heading.brief for table in brief(tables) for heading in table.columns)


def test_a_column_without_any_value_is_left_out(inputs: ReportInputs) -> None:
    values = [language_model(name, name, 20.0, 1000) for name in ("a", "b")]
    for value in values:
        del value["scores"]["floor_perplexity_per_word"], value["scores"]["above_floor_percent"]
    own_text = report_of(lm=[entry("lm", value) for value in values])
    (table,) = ladder_rows(own_text)
    assert [heading.title for heading in table.columns] == [
        "perplexity per word",
        "perplexity per token",
        "bits per character",
        "bits per byte",
        "parameters",
    ]
    assert "floor" not in to_markdown([table]) + printed(own_text, 100)
    assert "above the floor" in to_markdown(ladder_rows(inputs))


def test_an_infinite_perplexity_is_a_result() -> None:
    table = ladder_rows(many_rungs())[0]
    assert table.rows[0].cells[0].text == "∞"
    assert table.rows[0].cells[0].value == math.inf
    assert not table.rows[0].cells[0].best
    assert column(table, "above the floor")[0] == ("∞", False)


def test_approaches_stand_together_in_the_order_of_their_first_rungs() -> None:
    (table,) = [table for table in ladder_rows(many_rungs()) if table.family == "embedding"]
    approaches = table.approaches()
    assert [name for name, _ in approaches] == ["without text", "counts", "prediction", "inside language models"]
    assert sorted(row.name for _, rows in approaches for row in rows) == sorted(row.name for row in table.rows)


def test_the_summary_holds_scores_but_no_timings(inputs: ReportInputs) -> None:
    summary = ladder_summary(inputs)
    assert summary["lm"][2]["scores"]["floor_perplexity_per_word"] == 31.4159
    assert summary["lm"][2]["title"] == "GPT"
    assert summary["lm"][2]["scores"]["perplexity_per_word"] == 34.1
    assert summary["chosen"]["corpus"] == "microworld"
    text = json.dumps(summary, allow_nan=False)
    assert not any(word in text for word in ("seconds", "samples", "3f2a", "neighbours"))


def test_infinite_is_a_result_everywhere(inputs: ReportInputs) -> None:
    """The unsmoothed n-gram: ∞ in every table and plot, never the best, sorted last; null and a word in JSON."""
    page = language_model("unsmoothed", "Unsmoothed", 20.0, 1000)
    infinite = (
        "perplexity_per_word",
        "perplexity_per_token",
        "bits_per_character",
        "bits_per_byte",
        "above_floor_percent",
    )
    page["scores"] = figures_to_json(page["scores"] | dict.fromkeys(infinite, math.inf)) | {"impossible_tokens": 3}
    with_it = with_rungs(inputs, "lm", [entry("lm", page), *inputs.of("lm")])
    table = ladder_rows(with_it)[0]
    assert [column(table, title)[0] for title in ("perplexity per word", "bits per byte", "above the floor")] == [
        ("∞", False)
    ] * 3
    assert "| Unsmoothed | ∞ |" in to_markdown([table])
    written = json.loads(json.dumps(ladder_summary(with_it), allow_nan=False))["lm"][0]["scores"]
    assert written["perplexity_per_word"] is None and "perplexity_per_word" in written["infinite"]
    assert written["impossible_tokens"] == 3
    assert ">∞<" in (ladder_plot(with_it.of("lm"), None) or "")
    html = build_page(only(with_it, lm=list(with_it.of("lm"))))
    assert 'data-value="Infinity">∞<' in html
    assert headline(with_it, "lm") == headline(inputs, "lm")
    alone = report_of(lm=list(with_it.of("lm")[:1]))
    assert headline(alone, "lm") is None
    assert ">∞<" in (ladder_plot(alone.of("lm"), None) or "")


@pytest.mark.parametrize(
    ("style", "value", "text"),
    [
        (numbers.perplexity, 99.996, "100.0"),
        (numbers.perplexity, 12345.6, "12,346"),
        (numbers.perplexity, math.inf, "∞"),
        (numbers.percent, math.inf, "∞"),
        (numbers.decimals(3), -math.inf, "−∞"),
        (numbers.significant, 0.012345, "0.01235"),
        (numbers.significant, -0.5, "−0.5"),
        (numbers.compact, 999_600, "1 M"),
        (numbers.compact, 812, "812"),
        (numbers.seconds, 0.04, "40 ms"),
        (numbers.seconds, 59.7, "1 min 00 s"),
        (numbers.seconds, 7500, "2 h 05 min"),
        (numbers.memory, 812_000_000, "812 MB"),
        (numbers.memory, 1_340_000_000, "1.3 GB"),
        (numbers.percent, 999.96, "1,000 %"),
        (numbers.perplexity, math.inf, "∞"),
        (numbers.decimals(3), -math.inf, "−∞"),
    ],
)
def test_numbers_golden(style: numbers.Style, value: float, text: str) -> None:
    assert style(value) == text


def test_tasks_in_words_have_a_row_each() -> None:
    verdict = opened(Verdict(True), "right are 80 % | 25 % by guessing.")
    findings = Findings(**verdict, columns=["model"], rows=[["GPT"]], plots=[], figures={})
    task = Entry(ClaimPage(name="last_word", fingerprint="f", findings=findings), metadata=RungMetadata(title="Last"))
    table = prompts_markdown(report_of(prompt=[task]))
    assert table.startswith("\n**Tasks in words**\n\n| name | task | found | figures |\n")
    assert table.endswith("| `last_word` | Last:  | holds | right are 80 % \\| 25 % by guessing. |\n")
    assert prompts_markdown(report_of(lm=[])) == ""
