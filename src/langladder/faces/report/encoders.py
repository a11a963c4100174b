"""What the report tells of encoders: their table, apart from the causal models', and what they put into gaps."""

from collections.abc import Iterable
from typing import Any

from langladder.evaluation.encoder import EncoderPage, Gap
from langladder.faces.report import numbers
from langladder.faces.report.inputs import ReportInputs
from langladder.faces.report.section import Section
from langladder.faces.report.selection import BESIDE, aligned, choice


def loss(page: EncoderPage) -> float:
    """Pseudo-perplexity per word."""
    return page.pseudo.per_word


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """What the encoders put into the same gaps."""
    rungs = [rung for rung in inputs.rungs_with(family, EncoderPage) if rung.page.gaps]
    if rungs:
        filled = aligned(rungs, lambda page: (((gap.before, gap.word, gap.after), _guesses(gap)) for gap in page.gaps))
        context: dict[str, Any] = {"filled": filled, "fillers": choice(rungs, loss, BESIDE)}
        yield Section("gaps", "What encoders put into gaps", "gaps.html.j2", context)


def _guesses(gap: Gap) -> list[dict[str, Any]]:
    return [
        {
            "word": guess.word,
            "share": numbers.share(guess.probability),
            "true": None if guess.true is None else numbers.share(guess.true),
            "right": guess.word == gap.word,
        }
        for guess in gap.guesses
    ]
