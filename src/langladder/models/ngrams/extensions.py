"""The input of an n-gram model's equations: histories and the n-grams that extend them by one word.

An equation is implemented once, for these arrays. They can be a whole order or a piece of one (see
`counts.ngram_pieces`). The result must not depend on the boundaries of pieces; a piece always has all extensions of its
histories.

Shape legend: H histories, E n-grams.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from langladder.counts.ngram_pieces import Cut, Pieces


@dataclass(frozen=True)
class Extensions:
    """n-grams h w of one order, grouped by history h; single words have only the empty history.

    Attributes:
        order: n.
        vocab_size: V.
        starts: (H + 1,) int64, start of each history's extensions.
        opening: whether each history begins with BOS.
        counts: (E,) int64, a(h w).
        kept: (E,) bool; n-grams that are not kept are left out of the model, and their values are not used.
        lower: (E,) float64, p(w | h′), or another value of the n-gram without its first word; 1 / V′ for single words.
    """

    order: int
    vocab_size: int
    starts: np.ndarray
    opening: slice
    counts: np.ndarray
    kept: np.ndarray
    lower: np.ndarray

    @property
    def uniform(self) -> float:
        """1 / V′, with V′ the number of ids except PAD and BOS."""
        return uniform(self.vocab_size)

    @cached_property
    def of(self) -> np.ndarray:
        """(E,) int64: the index of each n-gram's history."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Σ_w values(h w) for each history h: (E,) → (H,)."""
        if self.order == 1:
            return np.array([values.sum()])
        sums = np.zeros(len(self.starts) - 1, dtype=np.result_type(values, np.int64))
        extended = np.flatnonzero(np.diff(self.starts))
        if len(extended):
            sums[extended] = np.add.reduceat(values, self.starts[extended], dtype=sums.dtype)
        return sums


def extensions(
    pieces: Pieces, order: int, counts: np.ndarray, kept: np.ndarray, below: np.ndarray
) -> Iterator[tuple[Cut, Extensions]]:
    """The pieces of an order.

    Args:
        counts: (G_n,) a(h w).
        kept: (G_n,) bool.
        below: (G_{n-1},) p(w | h′) of the order below, which becomes `lower`; not used for single words.
    """
    ngrams, size = pieces.ngrams, pieces.ngrams.vocab_size
    if order == 1:
        (cut,) = pieces.cuts(1)
        whole = np.array([0, size], dtype=np.int64)
        yield cut, Extensions(1, size, whole, slice(0, 0), counts, kept, np.full(size, uniform(size)))
        return
    opening = ngrams.opening(order - 1)
    for cut, lower in zip(pieces.cuts(order), pieces.at_suffixes(order, below), strict=True):
        first, last = cut.histories.start, cut.histories.stop
        starts = pieces.read(ngrams.starts, slice(first, last + 1)) - cut.ngrams.start
        opens = slice(max(opening.start - first, 0), max(opening.stop - first, 0))
        columns = pieces.read(counts, cut.rows), pieces.read(kept, cut.rows)
        yield cut, Extensions(order, size, starts, opens, *columns, lower)


def uniform(vocab_size: int) -> float:
    """1 / V′, with V′ the number of ids except PAD and BOS."""
    return 1 / (vocab_size - 2)
