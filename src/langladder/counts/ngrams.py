"""n-gram counts as a trie in flat arrays: no dictionary, no Python loop over the text.

Every n-gram up to the chosen order has a number. Numbers go order by order (word w is n-gram w, then all bigrams, …),
and within an order they are sorted by history, then by word. So the n-grams that extend an n-gram g by one word lie
side by side, at `starts[g] : starts[g + 1]`, with their last words ascending: looking a word up is a binary search,
and walking the trie needs nothing but `words` and `starts`.

A line opens with BOS. BOS is given, never predicted: no n-gram ends in it, and none reaches back across it.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from langladder.errors import InputError
from langladder.text.specials import BOS


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


@njit(cache=True)
def extension(words: np.ndarray, starts: np.ndarray, ngram: int, word: int) -> int:
    """The number of `ngram` followed by `word`; −1 where the text has none such."""
    low, end = starts[ngram], starts[ngram + 1]
    high = end
    while low < high:
        middle = (low + high) // 2
        if words[middle] < word:
            low = middle + 1
        else:
            high = middle
    return low if low < end and words[low] == word else -1


@njit(cache=True)
def _extensions(words: np.ndarray, starts: np.ndarray, ngrams: np.ndarray, following: np.ndarray) -> np.ndarray:
    """`extension` of each n-gram by the word that follows it."""
    found = np.empty(len(ngrams), dtype=np.int64)
    for i in range(len(ngrams)):
        found[i] = extension(words, starts, ngrams[i], following[i])
    return found


def count_ngrams(ids: np.ndarray, order: int, vocab_size: int) -> NgramCounts:
    """Count all n-grams of orders 1 … `order`.

    Args:
        ids: (T,) integer word ids below `vocab_size`; every line opens with BOS.

    Raises:
        InputError: the text is empty, does not open with BOS, or has an id that is not below `vocab_size`.
    """
    _check(ids, vocab_size)
    words = [np.arange(vocab_size, dtype=np.int32)]
    counts = [np.bincount(ids, minlength=vocab_size)]
    suffixes = [np.full(vocab_size, -1, dtype=np.int64)]
    levels = [0, vocab_size]
    starts = np.array([vocab_size], dtype=np.int64)

    at = np.arange(len(ids))  # the positions where an n-gram of the order in hand ends …
    ending = ids.astype(np.int64)  # … and the number of that n-gram
    for _ in range(order - 1):
        # (w_1 … w_n) ending at t = (w_1 … w_{n-1}) ending at t − 1, followed by w_t; its suffix (w_2 … w_n) ends at t.
        extends = np.flatnonzero((np.diff(at) == 1) & (ids[at[1:]] != BOS))
        histories, lower, at = ending[extends], ending[extends + 1], at[extends + 1]
        base, end = levels[-2:]
        keys, repeats = np.unique((histories - base) * vocab_size + ids[at], return_counts=True)

        extensions = np.bincount(keys // vocab_size, minlength=end - base)  # of each n-gram of the order below
        starts = np.concatenate([starts, starts[-1] + np.cumsum(extensions)])
        words.append((keys % vocab_size).astype(np.int32))
        counts.append(repeats)
        levels.append(end + len(keys))

        ending = _extensions(np.concatenate(words), starts, histories, ids[at])
        suffix = np.empty(len(keys), dtype=np.int64)
        suffix[ending - end] = lower
        suffixes.append(suffix)
    return NgramCounts(
        np.array(levels, dtype=np.int64),
        np.concatenate(words),
        starts,
        np.concatenate(suffixes),
        np.concatenate(counts),
    )


def _check(ids: np.ndarray, vocab_size: int) -> None:
    if len(ids) == 0:
        raise InputError("the training text has no words; n-grams cannot be counted")
    if ids[0] != BOS:
        raise InputError(f"the training text opens with id {ids[0]}, but every line must open with BOS ({BOS})")
    low, high = int(ids.min()), int(ids.max())
    if low < 0 or high >= vocab_size:
        raise InputError(f"the training text has id {low if low < 0 else high}, not one of 0 … {vocab_size - 1}")


def continuation_counts(ngrams: NgramCounts) -> np.ndarray:
    """Kneser and Ney's counts: below the highest order, in how many different words' company an n-gram was seen.

        a(w_1 … w_n) = |{v : c(v w_1 … w_n) > 0}|    for n < N, unless w_1 = BOS
        a(w_1 … w_n) = c(w_1 … w_n)                  for n = N, and where w_1 = BOS: nothing stands before BOS

    Returns:
        (G,) int64. BOS alone has 0: it is never predicted.
    """
    longer = ngrams.suffixes[ngrams.vocab_size :]
    adjusted = np.bincount(longer, minlength=len(ngrams.words))
    unextended = adjusted == 0  # the highest order, and whatever opens with BOS
    adjusted[unextended] = ngrams.counts[unextended]
    adjusted[BOS] = 0
    return adjusted
