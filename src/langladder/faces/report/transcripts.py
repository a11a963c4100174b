"""What the report tells of speech recognisers: error rates, transcripts, what the network is sure of at each frame."""

from collections.abc import Iterable

from markupsafe import Markup

from langladder.evaluation.transcripts import TranscriptPage
from langladder.faces.report import numbers
from langladder.faces.report.enclosed import isolated
from langladder.faces.report.inputs import ReportInputs
from langladder.faces.report.searches import Measures, searched
from langladder.faces.report.section import Figure, Section
from langladder.faces.report.spikes_plot import spikes_plot

DRAWN = 3  # pictures of utterances

MEASURES: Measures = {
    "cer": ("CER", "characters to insert, delete or replace, of those said; lower is better", numbers.share),
    "wer": ("WER", "the same of words", numbers.share),
    "exact": ("exact", "share of the sentences without an error", numbers.share),
    "search_errors": (
        "search errors",
        "share of the wrong transcripts where the network itself finds what was said more probable",
        numbers.share,
    ),
}


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Every recogniser: its scores by each search, transcripts, pictures of the first of them."""
    views = [
        {
            "task": searched(rung, MEASURES),
            "examples": rung.page.examples,
            "figures": [
                Figure(
                    Markup(spikes_plot(one, f"spikes-{rung.name}-{i}")),
                    Markup("said: {} · greedy: {} · beam: {}").format(*map(isolated, (one.text, one.greedy, one.beam))),
                )
                for i, one in enumerate(rung.page.examples[:DRAWN])
            ],
        }
        for rung in inputs.judged_alike(family, TranscriptPage)
    ]
    if views:
        yield Section("transcripts", "Speech", "transcripts.html.j2", {"recognisers": views})
