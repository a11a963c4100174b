"""The answers of models in Python: a frozen dataclass for a string, a list of them for a list of strings.

Each has `to_frame()`, which needs pandas. A row is a text; if an answer is about parts of a text (tags, fillings,
neighbours), a row is a part, and the column of the text is repeated. A notebook shows the rows as a table. `repr` has
what fits on a line, without details.
"""

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
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
SHOWN = 10
"""Answers that `repr` shows."""
MOST_BITS = 1024
"""2^1024 is larger than every float."""
MOST_ROWS, MOST_COLUMNS = 60, 20
"""Of the table in a notebook."""


def frame_of(rows: Rows) -> "pandas.DataFrame":
    """Rows as a data frame.

    Raises:
        InputError: pandas is not installed.
    """
    with needs("frames", "to_frame"):
        import pandas
    return pandas.DataFrame(rows)


def html_of(rows: Rows) -> str:
    """Rows as a table of HTML, for a notebook."""
    columns = [*rows[0]][:MOST_COLUMNS] if rows else []

    def line(cells: Sequence[object], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(_cell(cell))}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(line([row[name] for name in columns], "td") for row in rows[:MOST_ROWS])
    left = f"<p>{len(rows):,} rows, of which {MOST_ROWS} are shown</p>" if len(rows) > MOST_ROWS else ""
    return f"<table><thead>{line(columns, 'th')}</thead><tbody>{body}</tbody></table>{left}"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_cell(entry)}" for key, entry in value.items())
    return "" if value is None else str(value)


class Result:
    """An answer."""

    def rows(self) -> Rows:
        """Its rows in a data frame, as dictionaries."""
        raise NotImplementedError

    def to_frame(self) -> "pandas.DataFrame":
        """As a pandas data frame. Raises InputError if pandas is not installed."""
        return frame_of(self.rows())

    def _repr_html_(self) -> str:
        return html_of(self.rows())


R = TypeVar("R", bound=Result)


class Answers(Sequence[R], Generic[R]):
    """The answers to a list of texts, in their order."""

    def __init__(self, results: Sequence[R]) -> None:
        self._results = list(results)

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> "Answers[R]": ...
    def __getitem__(self, index: int | slice) -> "R | Answers[R]":
        return Answers(self._results[index]) if isinstance(index, slice) else self._results[index]

    def __len__(self) -> int:
        return len(self._results)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._results == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        more = [f"… {len(self) - SHOWN:,} more"] if len(self) > SHOWN else []
        return "[" + ",\n ".join([*map(repr, self._results[:SHOWN]), *more]) + "]"

    def rows(self) -> Rows:
        """The rows of all answers."""
        return [row for result in self._results for row in result.rows()]

    def _repr_html_(self) -> str:
        return html_of(self.rows())

    def to_frame(self) -> "pandas.DataFrame":
        """All rows as one pandas data frame. Raises InputError if pandas is not installed."""
        return frame_of(self.rows())


@dataclass(frozen=True)
class Score(Result):
    """The score of a text under a language model.

    Attributes:
        bits: −log₂ P(text), its end included; infinite if the model gives it probability 0.
        tokens: each token, `<eos>` last, with its bits.
    """

    text: str
    bits: float
    tokens: list[ScoredToken] = field(repr=False)

    @property
    def perplexity(self) -> float:
        """Per token, the end included: 2^(bits / tokens); infinite if `bits` is."""
        bits = self.bits / len(self.tokens)
        return 2.0**bits if bits < MOST_BITS else math.inf

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
    candidates: list[Candidate] = field(repr=False)

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
    labels: dict[str, float] = field(repr=False)
    details: Classification = field(repr=False)

    @property
    def given(self) -> list[str]:
        """The labels that the text gets: one, or of a multi-label classifier none, one or several."""
        if self.details.given is not None:
            return self.details.given.labels
        return [] if self.label is None else [self.label]

    def rows(self) -> Rows:
        return [{"text": self.text, "label": self.label, "probability": self.probability, "labels": self.labels}]


@dataclass(frozen=True)
class Tagged(Result):
    """The words of a text with their tags, and the probability of each tag given the whole text."""

    text: str
    words: list[str] = field(repr=False)
    tags: list[str]
    probabilities: list[float] = field(repr=False)
    details: TaggedLine = field(repr=False)

    def rows(self) -> Rows:
        parts = zip(self.words, self.tags, self.probabilities, strict=True)
        return [{"text": self.text, "word": word, "tag": tag, "probability": p} for word, tag, p in parts]


@dataclass(frozen=True, repr=False)
class Filled(Result):
    """The likeliest tokens for each `<mask>` of a text, likeliest first."""

    text: str
    gaps: list[list[Filling]]

    def __repr__(self) -> str:
        return f"Filled(text={self.text!r}, best={[gap[0].text for gap in self.gaps if gap]})"

    def rows(self) -> Rows:
        return [
            {"text": self.text, "gap": number, "filling": filling.text, "probability": filling.probability}
            for number, gap in enumerate(self.gaps)
            for filling in gap
        ]


@dataclass(frozen=True)
class Neighbours(Result):
    """The nearest words of a word with their scores, nearest first."""

    word: str
    words: list[str]
    scores: list[float] = field(repr=False)

    def rows(self) -> Rows:
        pairs = zip(self.words, self.scores, strict=True)
        return [{"word": self.word, "neighbour": other, "score": score} for other, score in pairs]


@dataclass(frozen=True, eq=False, repr=False)
class Embedded(Result):
    """The vector of a text, (D,) float32: the mean of the vectors of its words."""

    text: str
    vector: np.ndarray

    def __repr__(self) -> str:
        return f"Embedded(text={self.text!r}, vector of {len(self.vector)} numbers)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Embedded) and self.text == other.text and np.array_equal(self.vector, other.vector)

    __hash__ = None  # type: ignore[assignment]

    def rows(self) -> Rows:
        return [{"text": self.text} | {f"d{index}": float(value) for index, value in enumerate(self.vector)}]


@dataclass(frozen=True)
class Answered(Result):
    """The answer to a question, "" for no answer; `candidates`: as many as were requested, best first."""

    question: str
    text: str
    probability: float | None
    candidates: list[Found] = field(repr=False)

    def rows(self) -> Rows:
        return [{"question": self.question, "text": self.text, "probability": self.probability}]


@dataclass(frozen=True)
class Said(Result):
    """The answer of a model that follows instructions to a text."""

    text: str
    answer: str

    def rows(self) -> Rows:
        return [vars(self)]
