"""How sure a score is, and whether two rungs differ on the same test.

The interval of a share p of n items is Wilson's (1927), at 95 %, z = 1.96:

    (p + z²/2n ± z √(p (1 − p)/n + z²/4n²)) / (1 + z²/n)

It has a width where all items are right, too: 6 of 6 is [0.61, 1]. Where the n words (pairs, …) of a share come in N
sentences (prompts, …), n is the effective sample size, p (1 − p) / V, with V the variance of the share between the
sentences (Korn & Graubard 1998, for Clopper and Pearson's interval). Other scores have the percentile bootstrap (Efron
& Tibshirani 1993, chapter 13): the items of a set are drawn again and again with replacement, and the middle 95 % of
the scores so found are the interval. Both show how much the *choice of items* moves the score; not how much another
training seed would.

Two rungs: McNemar's exact test (1947). Of the items on which just one of them is right, half should fall to each if
they were equally good: with b and c such items, p = 2 P(Binomial(b + c, ½) ≤ min(b, c)), at most 1. Where an item has
more than two outcomes, the paired randomisation test (Fisher 1935; Riezler & Maxwell 2005): if the rungs were equally
good, each item's difference could as well have the other sign. p is the share of all choices of signs whose sum is as
far from 0 as the observed one. Where many pairs are compared, p is adjusted for their number (Holm 1979).
"""

from collections.abc import Mapping
from math import sqrt

import numpy as np

from langladder.evaluation.page import Interval

RESAMPLES = 2000

SEED = 0

TAILS = (0.025, 0.975)

Z = 1.959964
"""The 97.5 % quantile of the normal distribution."""


def share_interval(right: float, total: float, z: float = Z) -> Interval | None:
    """The interval of a share, (low, high), by Wilson; None where the total is 0.

    Args:
        right, total: numbers of items. Items that share words are taken as independent.
        z: the quantile of the normal distribution; 95 % unless set.
    """
    if total == 0:
        return None
    p, z2 = right / total, z * z
    centre, half = p + z2 / (2 * total), z * sqrt(p * (1 - p) / total + z2 / (4 * total * total))
    low, high = ((centre + side) / (1 + z2 / total) for side in (-half, half))
    return round(max(0.0, low), 6), round(min(1.0, high), 6)


def ratio_interval(part: np.ndarray, whole: np.ndarray) -> Interval | None:
    """The interval of the share Σ part / Σ whole over N items, e.g. words of a sentence; (N,) each, 0 ≤ part ≤ whole.

    The effective sample size is at most Σ whole. Where all is right, or nothing, nothing shows how much the words of a
    sentence have in common: each sentence then counts once. None where there is nothing to divide by.
    """
    part, whole = part[whole > 0], whole[whole > 0]
    N, n = len(whole), float(whole.sum())
    if N == 0:
        return None
    p = float(part.sum()) / n
    # V = N / (N − 1) Σ (part_i − p whole_i)² / (Σ whole)²
    variance = N / max(1, N - 1) * float(np.square(part - p * whole).sum()) / n**2
    size = float(N) if p in (0.0, 1.0) or N == 1 else min(n, p * (1 - p) / variance) if variance else n
    return share_interval(p * size, size)


def crossed_share_interval(right: np.ndarray) -> Interval:
    """The interval of the share of (S, N) answers that are right, of S orders of examples and N items.

    Orders and items are drawn anew, as in `crossed_interval`; where all or none are right, each item counts once.
    """
    N, p = right.shape[1], float(right.mean())
    interval = share_interval(p * N, N) if p in (0.0, 1.0) else crossed_interval(right)
    assert interval is not None
    return interval


def crossed_interval(values: np.ndarray, resamples: int = RESAMPLES) -> Interval:
    """The interval of the mean of (S, N) figures, e.g. of S orders of examples and N items: both are drawn anew.

    With one row it is the bootstrap over the items.
    """
    S, N = values.shape
    rng = np.random.default_rng(SEED)
    rows = rng.multinomial(S, np.full(S, 1 / S), resamples) / S  # (R, S) shares
    items = rng.multinomial(N, np.full(N, 1 / N), resamples) / N  # (R, N)
    # m_r = Σ_s Σ_n u_rs a_sn v_rn
    low, high = np.quantile(((rows @ values) * items).sum(axis=1), TAILS)
    return round(float(low), 6), round(float(high), 6)


def spearman_interval(first: np.ndarray, second: np.ndarray, resamples: int = RESAMPLES) -> Interval | None:
    """The interval of Spearman's ρ of two lists of figures, (P,) each; None for fewer than three pairs.

    Samples in which one side is constant, for which ρ is undefined, are left out.
    """
    from scipy.stats import rankdata  # takes time to load

    if len(first) < 3:
        return None
    rng = np.random.default_rng(SEED)
    correlations = []
    for part in np.array_split(np.arange(resamples), max(1, resamples * len(first) // 200_000)):  # bounds the memory
        drawn = rng.integers(0, len(first), (len(part), len(first)))  # (R, P)
        correlations.append(_correlations(rankdata(first[drawn], axis=1), rankdata(second[drawn], axis=1)))
    values = np.concatenate(correlations)
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return None
    low, high = np.quantile(values, TAILS)
    return round(float(low), 6), round(float(high), 6)


def _correlations(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Pearson's r of each row, (R, P) and (R, P) → (R,); NaN where a row is constant."""
    first = first - first.mean(axis=1, keepdims=True)
    second = second - second.mean(axis=1, keepdims=True)
    lengths = np.sqrt((first * first).sum(axis=1) * (second * second).sum(axis=1))
    correlations: np.ndarray = (first * second).sum(axis=1) / np.where(lengths == 0, np.nan, lengths)
    return correlations


LEVEL = 0.05

EXACT = 16
"""Items that differ, up to which all 2ⁿ choices of signs are counted."""

PAIRED_RESAMPLES = 20_000
"""Drawn where more items differ: the least p is 1 / (this + 1), and Holm's level for the first of m pairs 0.05 / m."""


def mcnemar(first: np.ndarray, second: np.ndarray) -> float:
    """p of the two-sided exact test; (N,) bool each: whether each rung is right on each item."""
    from scipy.stats import binom  # takes time to load

    b, c = int((first & ~second).sum()), int((~first & second).sum())
    # p = 2 P(X ≤ min(b, c)),  X ~ Binomial(b + c, ½)
    return min(1.0, 2.0 * float(binom.cdf(min(b, c), b + c, 0.5)))


def paired_randomisation(first: np.ndarray, second: np.ndarray) -> float:
    """p of the two-sided paired randomisation test; exact where at most `EXACT` items differ.

    Args:
        first, second: (N,) how much each rung gets right of each item (of a sentence, so many words).
    """
    difference = first.astype(np.float64) - second  # (N,)
    size = np.abs(difference[difference != 0])  # (n,); the sign of 0 changes nothing
    if not len(size):
        return 1.0
    reached = abs(float(difference.sum())) - 1e-9 * float(size.sum())  # ties, for all rounding
    if len(size) <= EXACT:
        negative = np.arange(2 ** len(size))[:, None] >> np.arange(len(size)) & 1  # (2ⁿ, n)
        return float((np.abs(size.sum() - 2 * (negative @ size)) >= reached).mean())
    rng = np.random.default_rng(SEED)
    more = 0
    for some in np.array_split(np.arange(PAIRED_RESAMPLES), 1 + PAIRED_RESAMPLES * len(size) // 20_000_000):
        bits = rng.integers(0, 256, (len(some), len(size) // 8 + 1), dtype=np.uint8)
        signs = np.unpackbits(bits, axis=1, count=len(size))  # (R, n), 1: negative
        more += int((np.abs(size.sum() - 2 * (signs @ size)) >= reached).sum())
    return (more + 1) / (PAIRED_RESAMPLES + 1)


def holm(values: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    """The p of each pair, adjusted for the number of comparisons (Holm 1979): to be held against the level itself."""
    adjusted: dict[tuple[str, str], float] = {}
    largest = 0.0
    for rank, (pair, p) in enumerate(sorted(values.items(), key=lambda entry: entry[1])):
        # p̃_(i) = max_{j ≤ i} min(1, (m − j + 1) p_(j))
        largest = adjusted[pair] = max(largest, min(1.0, (len(values) - rank) * p))
    return adjusted
