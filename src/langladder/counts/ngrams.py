"""n-gram counts as a trie in flat arrays: no dictionary, no Python loop over the text.

Every n-gram up to the chosen order has a number. Numbers go order by order (word w is n-gram w, then all bigrams, …),
and within an order they are sorted by history, then by word. So the n-grams that extend an n-gram g by one word lie
side by side, at `starts[g] : starts[g + 1]`, with their last words ascending: looking a word up is a binary search,
and walking the trie needs nothing but `words` and `starts`.

A text whose n-grams may not fit into the memory that the engine grants is counted in parts on disk, to the same numbers
(`counts.ngram_spills`); its arrays are then mapped from files.

A line opens with BOS. BOS is given, never predicted: no n-gram ends in it, and none reaches back across it.
"""

from dataclasses import dataclass

import numpy as np

from langladder.counts.kernels import extension, lengthen
from langladder.counts.ngram_spills import BYTES_A_POSITION, count_by_parts
from langladder.engine.base import Serial, current
from langladder.errors import InputError
from langladder.memory import forget
from langladder.progress import tracked
from langladder.text.tokenize.specials import BOS

BYTES_A_WORD, BYTES_AN_NGRAM = 36, 28  # of counting in memory
PIECE = 1 << 22  # ids that are looked at together
MOST_NUMBERS = (1 << 31) - 1  # positions and n-grams that are counted in memory: what 32 bits tell apart


@dataclass(frozen=True)
class NgramCounts:
    """All n-grams of orders 1 … N of a text, G in all, L of them of orders below N.

    Attributes:
        levels: (N + 1,) int64. Order n has the numbers `levels[n - 1]` … `levels[n] - 1`; order 1 has the V word ids.
        words: (G,) int32, the last word of each n-gram.
        starts: (L + 1,) int64, where the extensions of each n-gram begin.
        suffixes: (G,) int64, the number of the n-gram without its first word; −1 for single words.
        counts: (G,) int64, how often each occurs. For BOS alone: how many lines begin.
    """

    levels: np.ndarray
    words: np.ndarray
    starts: np.ndarray
    suffixes: np.ndarray
    counts: np.ndarray

    @property
    def order(self) -> int:
        """The highest order N."""
        return len(self.levels) - 1

    @property
    def vocab_size(self) -> int:
        """V, the number of word ids."""
        return int(self.levels[1])

    def level(self, order: int) -> slice:
        """The numbers of one order's n-grams."""
        return slice(int(self.levels[order - 1]), int(self.levels[order]))

    def opening(self, order: int) -> slice:
        """The numbers of one order's n-grams that open with BOS, side by side: no longer history than theirs exists."""
        first, last = BOS, BOS + 1
        for _ in range(order - 1):
            first, last = int(self.starts[first]), int(self.starts[last])
        return slice(first, last)

    def number(self, ngram: list[int]) -> int:
        """The number of an n-gram given by its word ids; −1 where the text has none such."""
        found = ngram[0]
        for word in ngram[1:]:
            found = int(extension(self.words, self.starts, found, word)) if found >= 0 else -1
        return found

    def count(self, ngram: list[int]) -> int:
        """How often the text has this n-gram."""
        number = self.number(ngram)
        return int(self.counts[number]) if number >= 0 else 0


def count_ngrams(ids: np.ndarray, order: int, vocab_size: int) -> NgramCounts:
    """Count all n-grams of orders 1 … `order`: one counting sort of the text an order.

    Where the arrays could be larger than what the running engine grants (`whole`), they are made on disk, below the
    system's folder for temporary files (TMPDIR), and are read-only; the engine's workers help if they are here.

    Args:
        ids: (T,) integer word ids below `vocab_size`; every line opens with BOS.

    Raises:
        InputError: the text is empty, does not open with BOS, or has an id that is not below `vocab_size`.
    """
    _check(ids, vocab_size)
    most = vocab_size + (order - 1) * len(ids)  # n-grams; memory is taken only where something is written
    room = current().whole
    if BYTES_A_WORD * len(ids) + BYTES_AN_NGRAM * most > room or most > MOST_NUMBERS:
        engine = current() if current().here else Serial(memory=current().memory)
        at_once = max(1, (engine.share if engine.workers > 1 else room) // BYTES_A_POSITION)
        at_once = min(at_once, MOST_NUMBERS)
        return NgramCounts(**count_by_parts(ids, order, vocab_size, at_once, engine))
    ids = ids.astype(np.int32)
    words, counts, suffixes = np.empty(most, np.int32), np.empty(most, np.int64), np.empty(most, np.int64)
    starts = np.empty(most + 1, np.int64)
    words[:vocab_size] = np.arange(vocab_size)
    counts[:vocab_size] = np.bincount(ids, minlength=vocab_size)
    suffixes[:vocab_size] = -1
    starts[0] = vocab_size

    # All positions where a word is predicted, by that word. (NumPy sorts 16-bit numbers by radix, ten times faster.)
    sortable = ids.astype(np.uint16) if vocab_size <= 1 << 16 else ids
    by_word = np.argsort(sortable, kind="stable").astype(np.int32)
    by_word = by_word[ids[by_word] != BOS]
    scratch = np.empty_like(by_word)
    ending, longer = ids, np.empty_like(ids)  # the number of the n-gram of the order in hand that ends at each position
    levels = [0, vocab_size]
    for _ in tracked(range(order - 1), "counting n-grams", unit="orders"):
        base, end = levels[-2:]
        levels.append(lengthen(ids, by_word, scratch, base, end, ending, longer, words, counts, suffixes, starts))
        ending, longer = longer, np.empty_like(ids) if ending is ids else ending
    total, lower = levels[-1], levels[-2]
    return NgramCounts(
        np.array(levels, dtype=np.int64), words[:total], starts[: lower + 1], suffixes[:total], counts[:total]
    )


def _check(ids: np.ndarray, vocab_size: int) -> None:
    if len(ids) == 0:
        raise InputError("the training text has no words; n-grams cannot be counted")
    if ids[0] != BOS:
        raise InputError(f"the training text opens with id {ids[0]}, but every line must open with BOS ({BOS})")
    low, high = 0, 0
    for begin in range(0, len(ids), PIECE):
        piece = ids[begin : begin + PIECE]
        low, high = min(low, int(piece.min())), max(high, int(piece.max()))
        forget(piece)
    if low < 0 or high >= vocab_size:
        raise InputError(f"the training text has id {low if low < 0 else high}, not one of 0 … {vocab_size - 1}")
