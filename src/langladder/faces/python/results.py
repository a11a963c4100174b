"""The answers of models in Python: a frozen dataclass for a string, a list of them for a list of strings.

Each has `to_frame()`, which needs pandas. A row is a text; if an answer is about parts of a text (tags, fillings,
neighbours), a row is a part, and the column of the text is repeated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np

from langladder.answers.classify import Classification
from langladder.answers.score import ScoredToken
from langladder.answers.tag import TaggedLine
from langladder.answers.translate import Candidate
from langladder.decoding.fill import Filling
from langladder.ground.errors import needs
from langladder.models.reading.reader import Found

if TYPE_CHECKING:
    import pandas

Rows = list[dict[str, Any]]


def frame_of(rows: Rows) -> "pandas.DataFrame":
    """Rows as a data frame.

    Raises:
        InputError: pandas is not installed.
    """
    with needs("frames", "to_frame"):
        import pandas
    return pandas.DataFrame(rows)


class Result:
    """An answer."""

    def rows(self) -> Rows:
        """Its rows in a data frame, as dictionaries."""
        raise NotImplementedError

    def to_frame(self) -> "pandas.DataFrame":
        """As a pandas data frame. Raises InputError if pandas is not installed."""
        return frame_of(self.rows())


R = TypeVar("R", bound=Result)


class Answers(Sequence[R], Generic[R]):
    """The answers to a list of texts, in their order."""

    def __init__(self, found: Sequence[R]) -> None:
        self._found = list(found)

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> "Answers[R]": ...
    def __getitem__(self, index: int | slice) -> "R | Answers[R]":
        return Answers(self._found[index]) if isinstance(index, slice) else self._found[index]

    def __len__(self) -> int:
        return len(self._found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._found == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._found)

    def to_frame(self) -> "pandas.DataFrame":
        """All rows as one pandas data frame. Raises InputError if pandas is not installed."""
        return frame_of([row for one in self._found for row in one.rows()])


@dataclass(frozen=True)
class Score(Result):
    """The score of a text under a language model.

    Attributes:
        bits: −log₂ P(text), its end included; None if the model gives it probability 0.
        tokens: each token, `<eos>` last, with its bits.
    """

    text: str
    bits: float | None
    tokens: list[ScoredToken]

    @property
    def perplexity(self) -> float | None:
        """Per token, the end included: 2^(bits / tokens)."""
        return None if self.bits is None else float(2.0 ** (self.bits / len(self.tokens)))

    def rows(self) -> Rows:
        return [{"text": self.text, "bits": self.bits, "tokens": len(self.tokens), "perplexity": self.perplexity}]


@dataclass(frozen=True)
class Generated(Result):
    """A continued text: `text` is the whole, `continuation` the part that the model wrote."""

    prompt: str
    continuation: str
    text: str

    def rows(self) -> Rows:
        return [vars(self)]


@dataclass(frozen=True)
class Translated(Result):
    """The best translation, "" for a blank text; `candidates`: the `n_best` requested ones, best first."""

    source: str
    text: str
    score: float | None
    candidates: list[Candidate]

    def rows(self) -> Rows:
        return [{"source": self.source, "text": self.text, "score": self.score}]


@dataclass(frozen=True)
class Classified(Result):
    """The label of a text, None for a blank one; `labels`: label → probability, likeliest first.

    Attributes:
        label: for a multi-label classifier all predicted labels, in words; `probability` is that of the set.
        details: the output of the command line, with the reasons if `explain` was requested.
    """

    text: str
    label: str | None
    probability: float | None
    labels: dict[str, float]
    details: Classification

    @property
    def given(self) -> list[str]:
        """The labels that the text gets: one, or of a multi-label classifier none, one or several."""
        if self.details.given is not None:
            return self.details.given.labels
        return [] if self.label is None else [self.label]

    def rows(self) -> Rows:
        return [{"text": self.text, "label": self.label, "probability": self.probability}]


@dataclass(frozen=True)
class Tagged(Result):
    """The words of a text with their tags, and the probability of each tag given the whole text."""

    text: str
    words: list[str]
    tags: list[str]
    probabilities: list[float]
    details: TaggedLine

    def rows(self) -> Rows:
        parts = zip(self.words, self.tags, self.probabilities, strict=True)
        return [{"text": self.text, "word": word, "tag": tag, "probability": p} for word, tag, p in parts]


@dataclass(frozen=True)
class Filled(Result):
    """The likeliest tokens for each `<mask>` of a text, likeliest first."""

    text: str
    gaps: list[list[Filling]]

    def rows(self) -> Rows:
        return [
            {"text": self.text, "gap": number, "filling": one.text, "probability": one.probability}
            for number, gap in enumerate(self.gaps)
            for one in gap
        ]


@dataclass(frozen=True)
class Neighbours(Result):
    """The nearest words of a word with their scores, nearest first."""

    word: str
    words: list[str]
    scores: list[float]

    def rows(self) -> Rows:
        found = zip(self.words, self.scores, strict=True)
        return [{"word": self.word, "neighbour": other, "score": score} for other, score in found]


@dataclass(frozen=True, eq=False)
class Embedded(Result):
    """The vector of a text, (D,) float32: the mean of the vectors of its words."""

    text: str
    vector: np.ndarray

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Embedded) and self.text == other.text and np.array_equal(self.vector, other.vector)

    __hash__ = None  # type: ignore[assignment]

    def rows(self) -> Rows:
        return [{"text": self.text} | {f"d{place}": float(value) for place, value in enumerate(self.vector)}]


@dataclass(frozen=True)
class Answered(Result):
    """The answer to a question, "" for no answer; `candidates`: as many as were requested, best first."""

    question: str
    text: str
    probability: float | None
    candidates: list[Found]

    def rows(self) -> Rows:
        return [{"question": self.question, "text": self.text, "probability": self.probability}]


@dataclass(frozen=True)
class Said(Result):
    """The answer of a model that follows instructions to a text."""

    text: str
    answer: str

    def rows(self) -> Rows:
        return [vars(self)]
