"""Leakage: how much of the held-out text stands in the training text.

Measured on word n-grams (13 by default, as in the GPT-3 paper, Brown et al. 2020, appendix C; a shorter line counts
as one n-gram, whole) and on whole lines. Only hashes of the held-out n-grams are kept; the training text streams by.
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from langladder.text.tables import read_column
from langladder.text.words import split_words

_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that multiplying loses nothing modulo 2⁶⁴


class NGrams:
    """Hashes of a text's word n-grams, for words that the held-out text has."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._ids: dict[str, int] = {}
        # powers[k] = BASE^k: an n-gram w_0 … w_{n-1} of random 64-bit word codes hashes to Σ_k code(w_k) · BASE^k
        powers = [1]
        for _ in range(size):
            powers.append(powers[-1] * int(_BASE) % 2**64)
        self._powers = np.array(powers, dtype=np.uint64)

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
        spans = np.minimum(lengths, self.size)  # words in an n-gram of this line
        grams = np.where(lengths > 0, lengths - spans + 1, 0)
        starts = _ranges(np.cumsum(lengths) - lengths, grams)  # (G,) first word of every n-gram
        span = np.repeat(spans, grams)  # (G,)

        codes = _scramble(numbers)
        sums = np.zeros(len(starts), dtype=np.uint64)
        known = np.ones(len(starts), dtype=bool)
        for k in range(self.size):
            inside = k < span
            at = starts[inside] + k
            sums[inside] += codes[at] * self._powers[k]
            known[inside] &= numbers[at] > 0
        sums += span.astype(np.uint64)  # a short line is not the start of a longer n-gram
        return np.where(known, np.maximum(sums, 1), 0), grams


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
            "ngrams_in_train": _share(int(seen[np.searchsorted(wanted, hashes)].sum()), len(hashes)),
            "lines": len(lines),
            "lines_in_train": _share(sum(line in seen_lines for line in lines), len(lines)),
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


def _scramble(numbers: np.ndarray) -> np.ndarray:
    """Random-looking 64-bit codes of small numbers (the finaliser of SplitMix64)."""
    z = numbers * _BASE
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    codes: np.ndarray = z ^ (z >> np.uint64(31))
    return codes


def _share(part: int, whole: int) -> float:
    return round(part / whole, 6) if whole else 0.0
