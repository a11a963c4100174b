"""The other shapes of sequence task on the page: captions of scenes, and transcripts of speech with their frames."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from langladder.reporting import numbers
from langladder.reporting.rungs import Caption, SequenceRung, Timing, Transcript
from langladder.reporting.spikes_plot import spikes_plot

SEARCHES = {"greedy": "greedy", "beam": "beam search"}
DRAWN = 3  # pictures of utterances


# measure: (its heading, what it is, how it is shown)
MEASURES: dict[str, dict[str, tuple[str, str, numbers.Style]]] = {
    "captions": {
        "right": ("right", "share of the captions that the grammar allows for their scene", numbers.share),
        "facts": ("facts", "share of the facts that the caption says, each in its place", numbers.share),
        "bleu": ("BLEU", "against all sentences that the grammar allows for the scene", numbers.decimals(1)),
    },
    "transcripts": {
        "cer": ("CER", "characters to insert, delete or replace, of those said; lower is better", numbers.share),
        "wer": ("WER", "the same of words", numbers.share),
        "exact": ("exact", "share of the sentences without an error", numbers.share),
        "search_errors": (
            "search errors",
            "share of the wrong transcripts where the network itself finds what was said more probable",
            numbers.share,
        ),
    },
}


@dataclass(frozen=True)
class SequenceView:
    """One task ready for the page."""

    name: str
    title: str
    kind: str
    about: str
    units: list[tuple[str, str]]
    columns: list[str]
    rows: list[list[str]]
    questions: list[tuple[str, str, str]]
    captions: list[Caption]
    transcripts: list[Transcript]
    figures: list[tuple[Markup, str]]


def sequence_views(rungs: Sequence[SequenceRung], timings: Sequence[Timing]) -> list[SequenceView]:
    """Every task with its table, examples and pictures."""
    return [_view(rung, timing) for rung, timing in zip(rungs, timings, strict=True)]


def sequence_summary(rungs: Sequence[SequenceRung]) -> dict[str, Any]:
    """What `reports/ladder.json` holds of them; no timings."""
    return {"sequence": [rung.model_dump(exclude={"examples"}) for rung in rungs]}


def _view(rung: SequenceRung, timing: Timing) -> SequenceView:
    measures = MEASURES[rung.kind]
    rows = []
    for search, title in SEARCHES.items():
        values = rung.scores.get(search, {})
        cells = [(values.get(name), style) for name, (_, _, style) in measures.items()]
        rows.append([title, *(numbers.DASH if value is None else style(value) for value, style in cells)])
    transcripts = [example for example in rung.examples if isinstance(example, Transcript)]
    drawn = [(spikes_plot(one, f"spikes-{rung.name}-{i}"), one) for i, one in enumerate(transcripts[:DRAWN])]
    return SequenceView(
        name=rung.name,
        title=rung.title,
        kind=rung.kind,
        about=_about(rung, timing),
        units=[(heading, explanation) for heading, explanation, _ in measures.values()],
        columns=["search", *(heading for heading, _, _ in measures.values())],
        rows=rows,
        questions=[
            (question.replace("_", " "), numbers.whole(found["asked"]), numbers.share(found["said"]))
            for question, found in rung.by_question.items()
        ],
        captions=[example for example in rung.examples if isinstance(example, Caption)],
        transcripts=transcripts,
        figures=[(Markup(svg), f"said: {one.text} · greedy: {one.greedy} · beam: {one.beam}") for svg, one in drawn],
    )


def _about(rung: SequenceRung, timing: Timing) -> str:
    parts = [f"{numbers.whole(rung.scores['sentences'])} test examples"] if "sentences" in rung.scores else []
    if rung.parameters is not None:
        parts.append(f"{numbers.compact(rung.parameters)} parameters")
    if timing.seconds is not None:
        parts.append(f"trained in {numbers.seconds(timing.seconds)}")
    return " · ".join(parts)
