"""Smaller n-gram models: leave out what hardly changes the distribution.

Stolcke 1998, "Entropy-based Pruning of Backoff Language Models", equations 3 to 6. Leaving h w out of a back-off model
moves its distribution by the relative entropy

    D = −P(h) { p(w|h) [log p(w|h′) + log b′(h) − log p(w|h)] + [log b′(h) − log b(h)] (1 − Σ_{seen x} p(x|h)) }
    b′(h) = (1 − Σ_{seen x ≠ w} p(x|h)) / (1 − Σ_{seen x ≠ w} p(x|h′))

and n-grams with exp(D) − 1 (the relative rise of perplexity) below a threshold go, from the highest order down.

What differs: P(h) is the history's share of the training words, not the product of the model's lower orders, which
under Kneser-Ney are no probabilities of the history (Chelba et al. 2010); and an n-gram stays as long as a longer one
that is kept has it as history *or as suffix*, so that the model stays closed under both.
"""

import numpy as np

from langladder.counts.ngrams import NgramCounts
from langladder.text.specials import BOS

NEGLIGIBLE = 1e-12  # probability mass that is only rounding


def backoff_factors(
    ngrams: NgramCounts, order: int, kept: np.ndarray, probs: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What is left after each history h of order n − 1, in each distribution, by the words kept after it.

    Returns:
        left: (H,) 1 − Σ_{kept x} p(x | h), never below 0.
        room: (H,) 1 − Σ_{kept x} p(x | h′).
        factors: (H,) b(h) = left / room; 1 where nothing is kept, 0 where every word was seen.
    """
    level = ngrams.level(order)
    stays = kept[level]
    left = 1 - ngrams.history_sums(order, probs[level] * stays)
    room = 1 - ngrams.history_sums(order, probs[ngrams.suffixes[level]] * stays)
    left, room = np.maximum(left, 0.0), np.maximum(room, 0.0)
    some = ngrams.history_sums(order, stays.astype(np.int64)) > 0
    factors = np.where(room > NEGLIGIBLE, left / np.maximum(room, NEGLIGIBLE), 0.0)
    return left, room, np.where(some, factors, 1.0)


def entropy_pruned(
    ngrams: NgramCounts, kept: np.ndarray, probs: np.ndarray, backoffs: np.ndarray, threshold: float
) -> tuple[np.ndarray, np.ndarray]:
    """Which n-grams stay, (G,) bool, and the back-off factors then, (L,)."""
    kept, backoffs = kept.copy(), backoffs.copy()
    needed = np.zeros(len(kept), dtype=np.bool_)  # as history or suffix of one that is kept
    lines = int(ngrams.counts[BOS])
    words = int(ngrams.counts[: ngrams.vocab_size].sum()) - lines
    for order in range(ngrams.order, 1, -1):
        level, shorter = ngrams.level(order), ngrams.level(order - 1)
        of = ngrams.histories(order)
        left, room, factors = (values[of - shorter.start] for values in backoff_factors(ngrams, order, kept, probs))
        p, lower = probs[level], probs[ngrams.suffixes[level]]
        with np.errstate(divide="ignore", invalid="ignore"):
            without_it = np.log(left + p) - np.log(room + lower)  # log b′(h)
            change = np.where(left > NEGLIGIBLE, left * (without_it - np.log(factors)), 0.0)
            divergence = -ngrams.counts[of] / words * (p * (np.log(lower) + without_it - np.log(p)) + change)
        goes = kept[level] & ~needed[level] & (np.expm1(divergence) < threshold)
        kept[level] &= ~goes

        stays = kept[level]
        needed[of[stays]] = True
        needed[ngrams.suffixes[level][stays]] = True
        changed = ngrams.history_sums(order, goes.astype(np.int64)) > 0
        backoffs[shorter] = np.where(changed, backoff_factors(ngrams, order, kept, probs)[2], backoffs[shorter])
    return kept, backoffs


def without(
    dropped: np.ndarray,
    levels: np.ndarray,
    words: np.ndarray,
    starts: np.ndarray,
    probs: np.ndarray,
    backoffs: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The tables of a trie without some of its n-grams, none of them the history of one that stays."""
    kept = ~dropped
    number = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(kept)])  # the new number of each n-gram
    lower = kept[: len(backoffs)]
    starts = number[np.concatenate([starts[:-1][lower], starts[-1:]])]
    return number[levels], words[kept], starts, probs[kept], backoffs[lower]
