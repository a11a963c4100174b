"""What the report tells of encoders: their table, apart from the causal models', and what they put into gaps."""

from collections.abc import Iterable, Sequence
from typing import Any

from langladder.evaluation.encoder import EncoderPage, Gap
from langladder.faces.report import numbers
from langladder.faces.report.choosing import BESIDE, choice
from langladder.faces.report.columns import Column, cost_columns, work_columns
from langladder.faces.report.inputs import ReportInputs
from langladder.faces.report.section import Section
from langladder.faces.report.views import aligned

APART = "not comparable with the perplexity of language models, which see one side of each word"

COLUMNS: tuple[Column[EncoderPage], ...] = (
    Column(
        "gaps filled",
        "share of the hidden tokens of the test text (15 % of its tokens) whose likeliest token is right",
        lambda page, _: page.scores.accuracy,
        numbers.share,
        "higher",
        brief=True,
        compared=True,
    ),
    Column(
        "pseudo-perplexity per word",
        "e to the mean surprise per word, each token of a sentence hidden in turn, all others seen (Salazar et al. "
        f"2020); {APART}",
        lambda page, _: page.pseudo.per_word,
        numbers.perplexity,
        "lower",
        brief=True,
        compared=True,
    ),
    Column(
        "pseudo-perplexity per token",
        "the same for each token; compares only encoders that share a tokenizer",
        lambda page, _: page.pseudo.per_token,
        numbers.perplexity,
        "lower",
    ),
)
TRUE: tuple[Column[EncoderPage], ...] = (
    Column(
        "above the truth",
        "hidden words of one token: how far perplexity stands above that of their true distribution, in the mean over "
        "what could have stood there, e^KL − 1; only a corpus made by a known grammar can tell it",
        lambda page, _: None if page.truth is None else page.truth.expected_above_percent,
        numbers.percent,
        "lower",
        brief=True,
        compared=True,
    ),
    Column(
        "hidden words",
        "perplexity of the same hidden words",
        lambda page, _: None if page.truth is None else page.truth.perplexity,
        numbers.perplexity,
        "lower",
    ),
    Column(
        "truth",
        "perplexity of the same hidden words under their true distribution",
        lambda page, _: None if page.truth is None else page.truth.true_perplexity,
        numbers.perplexity,
        None,
    ),
)
PAIRS: tuple[Column[EncoderPage], ...] = (
    Column(
        "next sentence",
        "share of pairs of texts of which it tells rightly whether the second follows the first; half of them do",
        lambda page, _: page.scores.next_sentence,
        numbers.share,
        "higher",
        brief=True,
    ),
)
REST: tuple[Column[EncoderPage], ...] = (
    Column(
        "parameters",
        "numbers that the model stores",
        lambda page, _: page.parameters,
        numbers.compact,
        "lower",
        brief=True,
        compared=True,
    ),
    *work_columns("token"),
    *cost_columns("tokens"),
)


def columns(pages: Sequence[EncoderPage]) -> tuple[Column[EncoderPage], ...]:
    """The columns; the truth's where it is known, the pairs' where any encoder knows pairs."""
    true = TRUE if any(page.truth is not None for page in pages) else ()
    pairs = PAIRS if any(page.scores.next_sentence is not None for page in pages) else ()
    return (*COLUMNS, *true, *pairs, *REST)


def loss(page: EncoderPage) -> float:
    """Pseudo-perplexity per word."""
    return page.pseudo.per_word


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """What the encoders put into the same gaps."""
    rungs = [rung for rung in inputs.judged_alike(family, EncoderPage) if rung.page.gaps]
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
