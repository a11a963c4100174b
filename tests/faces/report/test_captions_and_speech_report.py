"""What the report says of captions and of speech: figures, examples, and where the spikes stand."""

import re
from typing import Any

from small_run_files import entry, report_of, with_rungs

from langladder.faces.report.inputs import Entry, ReportInputs, Timing
from langladder.faces.report.page import build_page
from langladder.faces.report.section import family_sections
from langladder.faces.report.sequences import attended_plot, spikes_plot
from langladder.faces.report.tables import ladder_rows, ladder_summary
from langladder.families import family as family_of

HOSTILE = "<script>alert(1)</script>"
CAPTIONS: dict[str, Any] = {
    "name": "captioner",
    "title": "Captioner",
    "parameters": 470_000,
    "scores": {
        "sentences": 1000,
        "greedy": {"right": 0.951, "facts": 0.991, "bleu": 97.7},
        "beam": {"right": 0.962, "facts": 0.992, "bleu": 98.04},
    },
    "by_question": {"agent_is": {"asked": 424, "said": 0.974}},
    "examples": [
        {"facts": ["agent=dog"], "output": "a dog sleeps .", "allowed": ["the dog sleeps ."], "right": True},
        {"facts": ["agent=owl"], "output": HOSTILE, "allowed": ["the owl sleeps ."], "right": False},
    ],
}
TRANSCRIPTS: dict[str, Any] = {
    "name": "ctc",
    "title": "CTC",
    "parameters": 43_000,
    "scores": {
        "sentences": 500,
        "greedy": {"cer": 0.1632, "wer": 0.64, "exact": 0.03, "search_errors": 0.5},
        "beam": {"cer": 0.1386, "wer": 0.578, "exact": 0.06, "search_errors": None},
    },
    "examples": [
        {
            "text": "a b",
            "greedy": "ab",
            "beam": "a b",
            "frames": 6,
            "blank": [0.1, 0.9, 0.6, 0.9, 0.1, 1.0],
            "labels": {"a": [0.9, 0.1, 0.0, 0.0, 0.0, 0.0], " ": [0.0, 0.0, 0.4, 0.0, 0.0, 0.0],
                       "b": [0.0, 0.0, 0.0, 0.1, 0.9, 0.0]},
            "sounding": [0, 0, -1, -1, 2, 2],
        }
    ],
}  # fmt: skip


def rungs() -> list[Entry[Any]]:
    return [entry("captioner", CAPTIONS, timing=Timing(seconds=65.0)), entry("transcriber", TRANSCRIPTS)]


def test_golden_rows() -> None:
    captioner, recogniser = rungs()
    report = report_of(captioner=[captioner], transcriber=[recogniser])
    (captions,) = family_sections(family_of("captioner"), report)
    (transcripts,) = family_sections(family_of("transcriber"), report)
    (captions_view,), (heard,) = captions.context["captioners"], transcripts.context["recognisers"]
    assert captions_view["task"].rows == [
        ["greedy", "95.1 %", "99.1 %", "97.7"],
        ["beam search", "96.2 %", "99.2 %", "98.0"],
    ]
    assert captions_view["task"].about == "1,000 test examples · 470 k parameters · trained in 1 min 05 s"
    assert captions_view["questions"] == [("agent is", "424", "97.4 %")]
    assert heard["task"].rows[1] == ["beam search", "13.9 %", "57.8 %", "6.0 %", "–"]
    assert [heading for heading, _ in heard["task"].units] == heard["task"].columns[1:]
    assert len(heard["figures"]) == 1


def test_the_ladder_has_their_scores_by_beam_search() -> None:
    captioner, recogniser = rungs()
    tables = {table.family: table for table in ladder_rows(report_of(captioner=[captioner], transcriber=[recogniser]))}
    by_family = {
        name: dict(zip([column.title for column in table.columns], [cell.text for cell in row.cells], strict=True))
        for name, table in tables.items()
        for row in table.rows
    }
    scores = {"right": "96.2 %", "facts": "99.2 %", "BLEU": "98.0", "parameters": "470 k", "time": "1 min 05 s"}
    assert by_family["captioner"] == scores
    assert by_family["transcriber"] == {"CER": "13.9 %", "WER": "57.8 %", "exact": "6.0 %", "parameters": "43 k"}


def test_spikes_bear_their_letters() -> None:
    example = rungs()[1].page.examples[0]
    svg = spikes_plot(example, "one")
    assert svg == spikes_plot(example, "one")
    named = re.findall(r">\s*(a|b|␣)\s*</text>", svg)
    assert sorted(named) == ["a", "a", "b", "b", "␣"]  # a spike each, and what sounded above (silence bears no letter)


def test_the_page_shows_both_and_escapes_what_was_written(inputs: ReportInputs) -> None:
    assert 'id="captions"' not in build_page(inputs) and 'id="transcripts"' not in build_page(inputs)
    captioner, recogniser = rungs()
    page = build_page(with_rungs(with_rungs(inputs, "captioner", [captioner]), "transcriber", [recogniser]))
    for text in (">Captions</h2>", ">Speech</h2>", "13.9 %", "96.2 %", "the owl sleeps .", "Probabilities frame by"):
        assert text in page
    assert HOSTILE not in page and "&lt;script&gt;alert(1)" in page
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_the_summary_holds_scores_without_examples() -> None:
    captioner, recogniser = rungs()
    result = ladder_summary(report_of(captioner=[captioner], transcriber=[recogniser]))
    assert [result[family][0]["name"] for family in ("captioner", "transcriber")] == ["captioner", "ctc"]
    assert result["transcriber"][0]["scores"]["beam"]["cer"] == 0.1386
    assert all("examples" not in result[family][0] for family in ("captioner", "transcriber"))


def test_attention_has_a_row_for_each_letter() -> None:
    """A recogniser with attention: the letters that were read from top to bottom, and the end."""
    read = {
        "blank": [],
        "labels": {},
        "attention": [[0.9, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.1, 0.9], [0.0, 0.0, 1.0]],
    }
    changed = TRANSCRIPTS | {"examples": [TRANSCRIPTS["examples"][0] | read]}
    rung = entry("transcriber", changed)
    svg = attended_plot(rung.page.examples[0], "one")
    assert svg == attended_plot(rung.page.examples[0], "one")
    assert sorted(re.findall(r">\s*(a|b|␣|end)\s*</text>", svg)) == ["a", "a", "b", "b", "end", "␣"]
    (section,) = family_sections(family_of("transcriber"), report_of(transcriber=[rung]))
    assert section.context["recognisers"][0]["attends"] and len(section.context["recognisers"][0]["figures"]) == 1
