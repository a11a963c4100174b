"""Sliding window: the answer whose context has most words of the question. This is the baseline of readers.

    IC(w) = ln(1 + 1 / C(w))                                         C(w): count of w in the paragraph
    sw(A) = max_j Σ_{k=1}^{|S|} IC(P_{j+k}) [P_{j+k} ∈ S],  S = A ∪ Q   (Richardson et al. 2013, algorithm 1)

With options, the answer is the option with the highest sw. Without options, as in Rajpurkar et al. (2016, section 5.1):
candidates are the spans for which the rest of the sentence shares most words and word pairs with the question; of
these, the answer is the span with the highest sw. Difference from the paper: spans are all sequences of at most
`longest` words without words of the question and punctuation, not the constituents of a parse. A longer span gains from
its own words, so `longest` is 1 by default. Only the threshold of no answer is fitted. In scripts without spaces a word
is a grapheme, as in all counts of words, unless the paragraph separates its words.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

import numpy as np
import regex  # type: ignore[import-untyped]
from pydantic import Field

from langladder.ground import artefacts, schema
from langladder.ground.errors import InputError
from langladder.ground.progress import Stopwatch
from langladder.models.making import ModelSettings, TrainingResult
from langladder.models.reading.reader import Found, Reader, read_threshold
from langladder.models.saving import ARRAYS, READING, Saved, write_model
from langladder.text.labelled.questions import Question
from langladder.text.words.normalisation import Normalisation
from langladder.text.words.segmentation import (
    GRAPHEME,
    SPACELESS_CLASS,
    SYLLABLE,
    TSHEG,
    UNSPACED,
    has_unspaced_script,
    reading_of,
)

_LETTER = r"\p{L}\p{N}_"
_MARK = rf"[^{_LETTER}\s\p{{M}}\p{{Cf}}{TSHEG}]"  # Cf: invisible
_WORD = regex.compile(rf"[{_LETTER}][{_LETTER}\p{{M}}\p{{Cf}}]*|{_MARK}")
_SEPARATED = regex.compile(rf"(?V1)[{_LETTER}][[{_LETTER}\p{{M}}\p{{Cf}}]--\u200b]*|{_MARK}")
_SPACED = rf"[{_LETTER}]--[{UNSPACED}{SPACELESS_CLASS}]"
_GRAPHEMES = regex.compile(rf"(?V1)[{_SPACED}][{_SPACED}\p{{M}}\p{{Cf}}]*|{SYLLABLE}|(?!\p{{P}}){GRAPHEME}|{_MARK}")
_WRITTEN = Normalisation(("invisible", "NFC", "lowercase"))
_ENDS = frozenset(".?!。？！؟۔।॥።")


class SlidingWindowConfig(schema.Config):
    """Settings of `SlidingWindow`."""

    options: bool = False
    """Whether it chooses among the options of a question, as in the original paper."""
    longest: int = Field(default=1, ge=1, le=20)
    """Maximum words of a span."""


class Words(NamedTuple):
    """A paragraph's words in lower case and Unicode form NFC, and the character range of each."""

    words: list[str]
    positions: list[tuple[int, int]]


class SlidingWindow(Reader):
    """Built as `cls(config)`."""

    approach: ClassVar[str] = "matching words"
    maker: ClassVar[str] = f"{__name__}.make"
    Config: ClassVar[type[schema.Config]] = SlidingWindowConfig
    config: SlidingWindowConfig

    def __init__(self, config: SlidingWindowConfig) -> None:
        self.config = config

    @property
    def chooses(self) -> bool:
        """See `Reader.chooses`."""
        return self.config.options

    def candidates(self, questions: Sequence[Question], count: int) -> list[list[Found]]:
        """See `Reader.candidates`; the score is the share of the question that is found near the answer."""
        return [(_options if self.chooses else self._spans)(question)[:count] for question in questions]

    def _spans(self, question: Question) -> list[Found]:
        word = _word_of(question.context)
        read, question_words = words_of(question.context, word), words_of(question.question, word).words
        wanted = grams(question_words)
        ranked = []
        for first, last in _runs(read.words, set(question_words), self.config.longest):
            begin, end = _sentence(read.words, first)
            beside = grams(read.words[begin:first]) | grams(read.words[last + 1 : end])
            shared = len(wanted & beside)
            sw = sliding_window(read.words, {*question_words, *read.words[first : last + 1]})
            ranked.append((-shared, -sw, last - first, first, last))
        spans = []
        for shared, _, _, first, last in sorted(ranked):
            start, end = read.positions[first][0], read.positions[last][1]
            spans.append(Found(question.context[start:end], start, -shared / max(1, len(wanted))))
        return spans

    def number_of_parameters(self) -> int:
        """The number of stored values: the threshold."""
        return int(self.threshold is not None)

    def save(self, folder: Path) -> None:
        """See `Reader.save`."""
        write_model(folder, self, self.config, {}, {}, self._write_beside)

    def _write_beside(self, folder: Path) -> None:
        artefacts.write_json(folder / READING, self.reading())

    @classmethod
    def from_saved(cls, saved: Saved, folder: Path) -> Self:
        """See `Model.from_saved`."""
        model = cls(saved.config)  # type: ignore[arg-type]
        if arrays := artefacts.read_arrays(path := Path(folder) / ARRAYS):
            raise InputError(f"{path}: has {', '.join(arrays)[:100]}; a sliding window has no arrays")
        model.threshold = read_threshold(folder)
        return model


def _word_of(paragraph: str) -> regex.Pattern[str]:
    """What a word of a paragraph, and of the questions about it, looks like."""
    if not has_unspaced_script(paragraph):
        return _WORD
    return _SEPARATED if reading_of([paragraph]) in ("separated", "whitespace") else _GRAPHEMES


def words_of(text: str, word: regex.Pattern[str] = _WORD) -> Words:
    """Words and punctuation.

    >>> words_of("Anna's apple.").words
    ['anna', "'", 's', 'apple', '.']
    """
    matches = list(word.finditer(text))
    return Words([_WRITTEN.normalise(match[0]) for match in matches], [match.span() for match in matches])


def grams(words: Sequence[str]) -> set[tuple[str, ...]]:
    """The words without punctuation, and the pairs of neighbouring words without punctuation."""
    kept = [word for word in words if word[0].isalnum()]
    pairs = pairwise(words)
    return {(word,) for word in kept} | {(a, b) for a, b in pairs if a[0].isalnum() and b[0].isalnum()}


def sliding_window(passage: Sequence[str], wanted: set[str]) -> float:
    """sw, see the module docstring."""
    wanted = {word for word in wanted if word[0].isalnum()}
    counts = Counter(passage)
    # IC(w) = ln(1 + 1 / C(w))
    gains = np.array([np.log1p(1 / counts[word]) if word in wanted else 0.0 for word in passage])  # (P,)
    sums = np.concatenate([[0.0], np.cumsum(gains), np.full(len(wanted), gains.sum())])  # windows can end later
    return float((sums[len(wanted) :] - sums[: -len(wanted) or None]).max()) if len(gains) and wanted else 0.0


def _options(question: Question) -> list[Found]:
    options = [option for option in question.options if option]
    if not options:
        raise InputError(
            f"{question.question[:60]!r}: has no options to choose from; set model.options to false to look for spans"
        )
    word = _word_of(question.context)
    passage, question_words = words_of(question.context, word).words, words_of(question.question, word).words
    most = max(1, len(set(question_words))) * np.log(2)
    scored = [(sliding_window(passage, {*question_words, *words_of(option, word).words}), option) for option in options]
    return [Found(option, -1, sw / most) for sw, option in sorted(scored, key=lambda pair: -pair[0])]


def _runs(words: Sequence[str], question_words: set[str], longest: int) -> list[tuple[int, int]]:
    """(first, last) of the sequences of words without punctuation and words of the question."""
    free = [word[0].isalnum() and word not in question_words for word in words]
    return [
        (first, first + more)
        for first in range(len(words))
        for more in range(min(longest, len(words) - first))
        if all(free[first : first + more + 1])
    ]


def _sentence(words: Sequence[str], position: int) -> tuple[int, int]:
    """The start and end of a word's sentence."""
    begin = next((at + 1 for at in range(position - 1, -1, -1) if words[at] in _ENDS), 0)
    return begin, next((at for at in range(position, len(words)) if words[at] in _ENDS), len(words))


def make(
    kind: type[SlidingWindow],
    train: Sequence[Question],
    validation: Sequence[Question],
    *,
    settings: ModelSettings[SlidingWindowConfig],
    **_: object,
) -> tuple[SlidingWindow, TrainingResult]:
    """Fit the threshold; see `tasks.answering`.

    Raises:
        InputError: there is no training question, or no options to choose from.
    """
    if not train:
        raise InputError("reading: no training question; see the report of the stage `corpus`")
    model, clock = kind(settings.model), Stopwatch()
    model.fit_threshold(validation or train, needed=any(not question.answers for question in train))
    return model, TrainingResult([], clock.cost(len(validation)))
