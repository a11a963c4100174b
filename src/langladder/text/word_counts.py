"""The running words of a shard as numbers, its different words and their counts: each different piece is cut once.

White space cuts lines into pieces, the reading of the text (`words`, `segmenters`) a piece into words: the words of a
line are those of its pieces. A text has few different pieces, most of which are plain: ASCII letters and digits with
punctuation at the ends. Those are cut by their bytes, the others by `Split`.
"""

from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import regex  # type: ignore[import-untyped]

from langladder.text.character_kernels import LETTER, SIGN, SPACE
from langladder.text.pieces import Classes, Lines, Pieces
from langladder.text.pieces_kernels import expanded
from langladder.text.segmenters import Split, WordChoice, splitter_of
from langladder.text.word_kernels import AFTER, ALNUM, APART, BEFORE, RUNS, WHOLE, plain_words
from langladder.text.words import has_unspaced_script

WAYS = {"whitespace": WHOLE, "auto": WHOLE, "unicode": RUNS}  # the others: APART


class RunningWords(NamedTuple):
    """Lines as words: numbers (R,) int32 of running words; lengths (L,) int64, how many each line has."""

    numbers: np.ndarray
    lengths: np.ndarray


class WordReader:
    """Reads lines as words.

    Args:
        mode: what a word is; `auto` was looked up before (`segmenters.reading`).
    """

    def __init__(self, mode: WordChoice) -> None:
        self._mode = mode
        self._way = WAYS.get(mode, APART)
        self._split: Split | None = None

    def read(self, lines: Lines, words: Pieces) -> RunningWords:
        """Lines as numbers of words. The words are added to `words`, and counted."""
        pieces = Pieces()
        numbers, ends = pieces.cut(lines, _classes(self._mode), "words")
        ids, bounds = self._words_of(pieces, words)
        return RunningWords(*expanded(numbers, ends, ids, bounds, -1, -1))

    def _words_of(self, pieces: Pieces, words: Pieces) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the words of each piece, and where those of each begin and end."""
        known, counts = pieces.lines, pieces.counts
        table = _classes(self._mode).table if self._mode != "whitespace" else _nothing()
        lengths, text, cuts = plain_words(known.text, known.bounds, table, _ascii_kinds(), self._way)
        plain = lengths > 0
        first = words.add(Lines(text, cuts), np.repeat(counts[plain], lengths[plain]))
        rest = [self._cut(known.line(number)) for number in np.flatnonzero(~plain).tolist()]
        lengths[~plain] = [len(row) for row in rest]
        cut = pa.array([word for row in rest for word in row], pa.string())
        second = words.add(Lines.of(cut), np.repeat(counts[~plain], lengths[~plain]))
        ids = np.empty(len(first) + len(second), dtype=np.int32)
        by_bytes = np.repeat(plain, lengths)
        ids[by_bytes], ids[~by_bytes] = first, second
        return ids, np.append(0, np.cumsum(lengths, dtype=np.int64))

    def _cut(self, piece: str) -> list[str]:
        if self._split is None:
            self._split = splitter_of(self._mode)
        return self._split(piece)


@lru_cache(maxsize=2)
def reader(mode: WordChoice) -> WordReader:
    """The reader of a mode, kept for the next shard: segmenters take seconds to load."""
    return WordReader(mode)


@cache
def _classes(mode: WordChoice) -> Classes:
    """White space is what the expressions of `unicode` take for it, else what `str.split` does."""
    if mode == "unicode":
        space = regex.compile(r"\s")
        return Classes(lambda one: SPACE if space.match(one) else SIGN)
    return Classes(lambda one: SPACE if one.isspace() else LETTER if has_unspaced_script(one) else SIGN)


@cache
def _nothing() -> np.ndarray:
    return np.zeros(0x110000, dtype=np.uint8)


@cache
def _ascii_kinds() -> np.ndarray:
    kinds = np.zeros(128, dtype=np.uint8)
    for number in range(128):
        if chr(number).isalnum():
            kinds[number] = ALNUM
        elif regex.match(r"\p{P}", chr(number)):
            kinds[number] = AFTER if chr(number) in "@#&%" else AFTER | BEFORE
    return kinds
