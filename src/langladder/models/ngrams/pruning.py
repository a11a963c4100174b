"""Smaller n-gram models: remove n-grams that hardly change the distribution.

Stolcke 1998, "Entropy-based Pruning of Backoff Language Models", equations 3 to 6. Removing h w from a back-off model
changes its distribution by the relative entropy

    D = −P(h) { p(w|h) [log p(w|h′) + log b′(h) − log p(w|h)] + [log b′(h) − log b(h)] (1 − Σ_{seen x} p(x|h)) }
    b′(h) = (1 − Σ_{seen x ≠ w} p(x|h)) / (1 − Σ_{seen x ≠ w} p(x|h′))

and n-grams with exp(D) − 1 (the relative increase of perplexity) below a threshold are removed, starting with the
highest order.

Differences from the paper: P(h) is the history's share of the training words, not the product of the model's lower
orders, which are not probabilities of the history with Kneser-Ney (Chelba et al. 2010). And an n-gram is kept if a kept
longer n-gram has it as history *or as suffix*, so that the model stays closed under both.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from langladder.counts.ngram_pieces import Pieces
from langladder.models.ngrams.extensions import Extensions, extensions
from langladder.text.tokenize.specials import BOS

NEGLIGIBLE = 1e-12  # smaller probability mass is only rounding


class Estimates(NamedTuple):
    """An estimated model, order by order; N arrays each.

    Attributes:
        kept: (G_n,) bool, true for n-grams in the model.
        probs: (G_n,) float64 p(w | h).
        backoffs: (G_{n-1},) float64 b(h) of the histories of each order's n-grams; (1,) for n = 1.
    """

    kept: list[np.ndarray]
    probs: list[np.ndarray]
    backoffs: list[np.ndarray]


def backoff_factors(after: Extensions, probs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The probability that the kept words after each history h leave, in both distributions.

    Args:
        probs: (E,) p(w | h).

    Returns:
        left: (H,) 1 − Σ_{kept x} p(x | h), never below 0.
        room: (H,) 1 − Σ_{kept x} p(x | h′).
        factors: (H,) b(h) = left / room; 1 if nothing is kept, 0 if every word was seen.
    """
    left = 1 - after.sums(probs * after.kept)
    room = 1 - after.sums(after.lower * after.kept)
    left, room = np.maximum(left, 0.0), np.maximum(room, 0.0)
    some = after.sums(after.kept.astype(np.int64)) > 0
    factors = np.where(room > NEGLIGIBLE, left / np.maximum(room, NEGLIGIBLE), 0.0)
    return left, room, np.where(some, factors, 1.0)


def entropy_pruned(pieces: Pieces, estimates: Estimates, threshold: float) -> Estimates:
    """The pruned model: fewer kept n-grams, and new back-off factors."""
    ngrams = pieces.ngrams
    lines = int(ngrams.counts[BOS])
    words = int(ngrams.counts[: ngrams.vocab_size].sum()) - lines
    all_kept, all_backoffs = estimates.kept.copy(), estimates.backoffs.copy()
    needed: np.ndarray | None = None  # (G_n,) histories or suffixes of kept n-grams; none in the highest order
    for order in range(ngrams.order, 1, -1):
        kept, histories, factors = pieces.column(np.bool_), pieces.column(np.bool_), pieces.column(np.float64)
        counts = ngrams.counts[ngrams.level(order)]
        for cut, after in extensions(pieces, order, counts, all_kept[order - 1], estimates.probs[order - 2]):
            probs = pieces.read(estimates.probs[order - 1], cut.rows)
            share = pieces.read(ngrams.counts, cut.histories) / words  # P(h)
            goes = after.kept & (np.expm1(_divergence(after, probs, share)) < threshold)
            if needed is not None:
                goes &= ~pieces.read(needed, cut.rows)
            pruned = replace(after, kept=after.kept & ~goes)
            kept.add(pruned.kept)
            histories.add(pruned.sums(pruned.kept.astype(np.int64)) > 0)
            changed = after.sums(goes.astype(np.int64)) > 0
            before = pieces.read(all_backoffs[order - 1], cut.history_rows)
            factors.add(np.where(changed, backoff_factors(pruned, probs)[2], before))
        all_kept[order - 1], all_backoffs[order - 1] = kept.array(), factors.array()
        if order > 2:  # all single words are kept
            needed = _either(pieces, order, histories.array(), pieces.suffix_counts(order, all_kept[order - 1]))
    return Estimates(all_kept, estimates.probs, all_backoffs)


def _divergence(after: Extensions, p: np.ndarray, share: np.ndarray) -> np.ndarray:
    """(E,) D of removing each n-gram; p is p(w | h), and `share`, (H,), is P(h)."""
    left, room, factors = (values[after.of] for values in backoff_factors(after, p))
    lower = after.lower
    with np.errstate(divide="ignore", invalid="ignore"):
        without_it = np.log(left + p) - np.log(room + lower)  # log b′(h)
        change = np.where(left > NEGLIGIBLE, left * (without_it - np.log(factors)), 0.0)
        divergence: np.ndarray = -share[after.of] * (p * (np.log(lower) + without_it - np.log(p)) + change)
    return divergence


def _either(pieces: Pieces, order: int, histories: np.ndarray, suffixes: np.ndarray) -> np.ndarray:
    """(G_{n-1},) bool: whether n-grams of the order below are histories, or suffixes, of kept n-grams."""
    either = pieces.column(np.bool_)
    for cut in pieces.cuts(order - 1):
        either.add(pieces.read(histories, cut.rows) | (pieces.read(suffixes, cut.rows) > 0))
    return either.array()


def kept_trie(pieces: Pieces, all_kept: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`levels`, `words` and `starts` of the kept n-grams, renumbered; their histories must also be kept."""
    ngrams = pieces.ngrams
    orders = range(1, ngrams.order + 1)
    if all(pieces.read(all_kept[order - 1], cut.rows).all() for order in orders for cut in pieces.cuts(order)):
        return ngrams.levels, ngrams.words, ngrams.starts
    words, starts = pieces.column(np.int32), pieces.column(np.int64)
    levels, total = [0], 0
    for order in orders:
        for cut in pieces.cuts(order):
            stays = pieces.read(all_kept[order - 1], cut.rows)
            words.add(pieces.read(ngrams.words, cut.ngrams)[stays])
            if order > 1:
                histories = pieces.read(all_kept[order - 2], cut.history_rows)
                begins = pieces.read(ngrams.starts, cut.histories) - cut.ngrams.start
                number = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(stays)])
                starts.add(total + number[begins[histories]])
            total += int(np.count_nonzero(stays))
        levels.append(total)
    starts.add(np.array([total]))
    return np.array(levels, dtype=np.int64), words.array(), starts.array()
