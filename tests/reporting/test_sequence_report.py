"""What the report says of captions and of speech: figures, examples, and where the spikes stand."""

import re
from typing import Any

import pytest

from langladder.reporting.inputs import ReportInputs
from langladder.reporting.page import build_page
from langladder.reporting.rungs import SequenceRung, Timing, Transcript
from langladder.reporting.sequences import sequence_summary, sequence_views
from langladder.reporting.spikes_plot import spikes_plot

HOSTILE = "<script>alert(1)</script>"
CAPTIONS: dict[str, Any] = {
    "name": "captioner",
    "title": "Captioner",
    "kind": "captions",
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
    "kind": "transcripts",
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


def rungs() -> list[SequenceRung]:
    return [SequenceRung.model_validate(value) for value in (CAPTIONS, TRANSCRIPTS)]


def test_golden_rows() -> None:
    captions, transcripts = sequence_views(rungs(), [Timing(seconds=65.0), Timing()])
    assert captions.rows == [["greedy", "95.1 %", "99.1 %", "97.7"], ["beam search", "96.2 %", "99.2 %", "98.0"]]
    assert captions.about == "1,000 test examples · 470 k parameters · trained in 1 min 05 s"
    assert captions.questions == [("agent is", "424", "97.4 %")]
    assert transcripts.rows[1] == ["beam search", "13.9 %", "57.8 %", "6.0 %", "–"]
    assert [heading for heading, _ in transcripts.units] == transcripts.columns[1:]
    assert len(transcripts.figures) == 1 and not captions.figures


def test_spikes_bear_their_letters() -> None:
    example = rungs()[1].examples[0]
    assert isinstance(example, Transcript)
    svg = spikes_plot(example, "one")
    assert svg == spikes_plot(example, "one")
    named = re.findall(r">\s*(a|b|␣)\s*</text>", svg)
    assert sorted(named) == ["a", "a", "b", "b", "␣"]  # a spike each, and what sounded above (silence bears no letter)


def test_the_page_shows_both_and_escapes_what_was_written(inputs: ReportInputs) -> None:
    assert 'id="sequences"' not in build_page(inputs)
    inputs.sequences[:] = rungs()
    page = build_page(inputs)
    for text in ("Captions and speech", "13.9 %", "96.2 %", "the owl sleeps .", 'aria-label="Probabilities frame by'):
        assert text in page
    assert HOSTILE not in page and "&lt;script&gt;alert(1)" in page
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_the_summary_holds_scores_without_examples() -> None:
    found = sequence_summary(rungs())["sequence"]
    assert [one["name"] for one in found] == ["captioner", "ctc"]
    assert found[1]["scores"]["beam"]["cer"] == 0.1386
    assert all("examples" not in one for one in found)


def test_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="kind"):
        SequenceRung.model_validate(CAPTIONS | {"kind": "poems"})
