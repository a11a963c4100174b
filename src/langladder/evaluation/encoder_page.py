"""The page of an encoder: how well it fills gaps, how far it is from the truth, and some gaps to look at.

Pseudo-perplexity and a causal model's perplexity are both e to a mean surprise, but the encoder sees the words on both
sides of each gap and no chain of its answers is a probability of the text: the two are not comparable.
"""

from typing import Any, ClassVar

from pydantic import Field

from langladder.evaluation.page import Measured, Page, Work


class GapScores(Measured):
    """Rows with gaps in the test text.

    Attributes:
        masked: tokens hidden. accuracy: share of them whose likeliest token is right. cross_entropy: nats per token.
        pairs: rows of two texts; next_sentence: share of them told right. None of encoders that know no pairs.
    """

    masked: int
    accuracy: float
    cross_entropy: float
    pairs: int | None = None
    next_sentence: float | None = None


class PseudoScores(Measured):
    """Each token of a sentence hidden in turn, sentences alone (Salazar et al. 2020, equation 1).

    Attributes:
        log_likelihood: Σ log P(token | all the others), in nats. words: whitespace-separated; ends of lines are none.
        unknown_rate: share of UNK among the tokens.
    """

    sentences: int
    tokens: int
    words: int
    log_likelihood: float
    per_token: float
    per_word: float
    unknown_rate: float


class TrueScores(Measured):
    """Whole words that are one token, hidden by themselves; truth: P(word | the rest, one token), from the grammar.

    Attributes:
        words: hidden. perplexity, true_perplexity: e to the mean surprise at the word that stood there.
        above_percent: of the first above the second. divergence: mean KL(truth ‖ model), nats per word.
        expected_above_percent: 100 (e^divergence − 1): the same in the mean over what could have stood there.
    """

    words: int
    perplexity: float
    true_perplexity: float
    above_percent: float
    divergence: float
    expected_above_percent: float


class Guess(Measured):
    """A word for a gap, its probability, and the true one where it is known."""

    word: str
    probability: float
    true: float | None = None


class Gap(Measured):
    """A sentence with a gap: what stands before and after it, what stood in it, what the encoder says."""

    before: str
    word: str
    after: str
    guesses: list[Guess]


class EncoderPage(Page):
    """Of one encoder."""

    detail: ClassVar[dict[str, Any]] = {"gaps": True}

    parameters: int
    work: Work | None = None
    scores: GapScores
    pseudo: PseudoScores
    truth: TrueScores | None = None
    gaps: list[Gap] = Field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """See `Page.figures`."""
        found: dict[str, Any] = {"parameters": self.parameters}
        found |= {f"masked_{name}": getattr(self.scores, name) for name in ("accuracy", "cross_entropy")}
        found |= {"next_sentence_accuracy": self.scores.next_sentence}
        found |= {f"pseudo_perplexity_{name}": getattr(self.pseudo, name) for name in ("per_token", "per_word")}
        if self.truth is not None:
            found |= {f"hidden_word_{name}": value for name, value in self.truth if name != "words"}
        return {name: value for name, value in found.items() if value is not None}
