"""Leakage: how much of the held-out text stands in the training text.

Measured on word n-grams (13 by default, as in the GPT-3 paper, Brown et al. 2020, appendix C; a shorter line counts
as one n-gram, whole) and on whole lines. Only hashes of the held-out n-grams are kept; the training text streams by.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from langladder.text.clean.line_words import mixed
from langladder.text.storage.tables import read_column
from langladder.text.words.words import split_words

_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that multiplying loses nothing modulo 2⁶⁴
_INVERSE = np.uint64(pow(int(_BASE), -1, 2**64))
_ONE = np.uint64(1)


class NGrams:
    """Hashes of a text's word n-grams, for words that the held-out text has.

    Args:
        size: n.
        words: of another's, which then hashes as this one does.
    """

    def __init__(self, size: int, words: Iterable[str] = ()) -> None:
        self.size = size
        self._ids = {word: number for number, word in enumerate(words, start=1)}

    @property
    def words(self) -> list[str]:
        """Those learnt, in the order of their codes."""
        return list(self._ids)

    def hashes(self, lines: list[str], *, learn: bool) -> tuple[np.ndarray, np.ndarray]:
        """Hash every n-gram of each line.

        Args:
            lines: L lines of text.
            learn: give new words a code; else an n-gram with a new word hashes to 0, which no other does.

        Returns:
            (G,) uint64 hashes, line after line; (L,) int64 n-grams in each line.
        """
        words = [split_words(line, "auto") for line in lines]
        flat = chain.from_iterable(words)
        if learn:
            ids = [self._ids.setdefault(word, len(self._ids) + 1) for word in flat]
        else:
            ids = [self._ids.get(word, 0) for word in flat]
        numbers = np.array(ids, dtype=np.uint64)  # (W,)
        lengths = np.array([len(line) for line in words], dtype=np.int64)  # (L,)
        hashes, grams = gram_hashes(mixed(numbers), lengths, self.size)
        starts, spans, _ = _windows(lengths, self.size)
        strange = np.append(0, np.cumsum(numbers == 0))
        return np.where(strange[starts + spans] > strange[starts], 0, np.maximum(hashes, 1)), grams


def gram_hashes(codes: np.ndarray, lengths: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Hash every n-gram of each line: w_0 … w_{n-1} to Σ_k code(w_k) · BASE^k + n.

    Args:
        codes: (W,) uint64, random-looking, of the words of all lines.
        lengths: (L,) int64, words in each line.
        size: n; a line with fewer words is one n-gram, which is not the start of a longer one.

    Returns:
        (G,) uint64 hashes, line after line; (L,) int64 n-grams in each line.
    """
    starts, spans, grams = _windows(lengths, size)
    powers, inverse = (np.cumprod(np.append(_ONE, np.full(len(codes), base))) for base in (_BASE, _INVERSE))
    sums = np.append(np.uint64(0), np.cumsum(codes * powers[:-1]))  # Σ_{i < j} code(w_i) · BASE^i
    hashes: np.ndarray = (sums[starts + spans] - sums[starts]) * inverse[starts] + spans.astype(np.uint64)
    return hashes, grams


def _windows(lengths: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(G,) first word and number of words of every n-gram, (L,) n-grams in each line."""
    spans = np.minimum(lengths, size)
    grams = np.where(lengths > 0, lengths - spans + 1, 0)
    return _ranges(np.cumsum(lengths) - lengths, grams), np.repeat(spans, grams), grams


def measure(train: Path, held_out: dict[str, Path], size: int = 13, column: str = "text") -> dict[str, dict[str, Any]]:
    """Compare each held-out table with the training table.

    Returns:
        For each: n-grams and lines it has, and the share of each that the training text has too.
    """
    ngrams = NGrams(size)
    parts: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for split, path in held_out.items():
        hashed = [ngrams.hashes(lines, learn=True) for lines in read_column(path, column)]
        parts[split] = (np.concatenate([h for h, _ in hashed]), np.concatenate([g for _, g in hashed]))
    wanted = np.unique(np.concatenate([hashes for hashes, _ in parts.values()]))
    texts = {line for path in held_out.values() for lines in read_column(path, column) for line in lines}

    seen = np.zeros(len(wanted), dtype=bool)
    seen_lines: set[str] = set()
    for lines in _pieces(train, column):
        hashes, _ = ngrams.hashes(lines, learn=False)
        at = np.minimum(np.searchsorted(wanted, hashes), len(wanted) - 1)
        seen[at[wanted[at] == hashes]] = True
        seen_lines.update(texts.intersection(lines))

    report = {}
    for split, (hashes, _) in parts.items():
        lines = list(chain.from_iterable(read_column(held_out[split], column)))
        report[split] = {
            "ngram_words": size,
            "ngrams": len(hashes),
            "ngrams_in_train": share(int(seen[np.searchsorted(wanted, hashes)].sum()), len(hashes)),
            "lines": len(lines),
            "lines_in_train": share(sum(line in seen_lines for line in lines), len(lines)),
        }
    return report


def _pieces(path: Path, column: str) -> Iterator[list[str]]:
    for lines in read_column(path, column):
        for start in range(0, len(lines), 8192):
            yield lines[start : start + 8192]


def _ranges(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """start, start + 1, …, `count` of them, for every start in turn."""
    before = np.cumsum(counts) - counts
    ranges: np.ndarray = np.arange(counts.sum()) + np.repeat(starts - before, counts)
    return ranges


def share(part: int, whole: int) -> float:
    """Part of the whole, for a report."""
    return round(part / whole, 6) if whole else 0.0
