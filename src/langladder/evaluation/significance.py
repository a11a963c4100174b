"""How sure a score is, and whether two rungs differ on the same test.

Intervals of 95 % by the percentile bootstrap (Efron & Tibshirani 1993, chapter 13): the items of a set are drawn again
and again with replacement, and the middle 95 % of the scores so found are the interval. It shows how much the *choice
of items* moves the score; not how much another training seed would.

Two rungs: McNemar's exact test (1947). Of the items on which just one of them is right, half should fall to each if
they were equally good: with b and c such items, p = 2 P(Binomial(b + c, ½) ≤ min(b, c)), at most 1. Where an item has
more than two outcomes, the bootstrap over test items. Where many pairs are compared, p is held against a level that
falls with their number (Holm 1979).
"""

from collections.abc import Mapping

import numpy as np

from langladder.evaluation.page import Interval

RESAMPLES = 2000

SEED = 0

TAILS = (0.025, 0.975)


def share_interval(right: int, total: int) -> Interval | None:
    """The interval of a share, (low, high); None where the total is 0.

    Of `total` items drawn with replacement, Binomial(total, right / total) are right: the bootstrap's distribution is
    known in closed form, so that nothing need be drawn. Items that share words are taken as independent.
    """
    from scipy.stats import binom  # takes time to load

    if total == 0:
        return None
    low, high = (float(binom.ppf(tail, total, right / total)) / total for tail in TAILS)
    return round(low, 6), round(high, 6)


def ratio_interval(part: np.ndarray, whole: np.ndarray, resamples: int = RESAMPLES) -> Interval | None:
    """The interval of Σ part / Σ whole over items that are drawn together, e.g. words of a sentence; (N,) each.

    None where there is nothing to divide by. Samples without anything to divide by are left out.
    """
    if not whole.sum():
        return None
    rng = np.random.default_rng(SEED)
    found = []
    for some in np.array_split(np.arange(resamples), max(1, resamples * len(part) // 2_000_000)):  # bounds the memory
        drawn = rng.integers(0, len(part), (len(some), len(part)))  # (R, N)
        below = whole[drawn].sum(axis=1)
        found.append((part[drawn].sum(axis=1) / np.maximum(below, 1))[below > 0])
    low, high = np.quantile(np.concatenate(found), TAILS)
    return round(float(low), 6), round(float(high), 6)


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
    found = []
    for part in np.array_split(np.arange(resamples), max(1, resamples * len(first) // 200_000)):  # bounds the memory
        drawn = rng.integers(0, len(first), (len(part), len(first)))  # (R, P)
        found.append(_correlations(rankdata(first[drawn], axis=1), rankdata(second[drawn], axis=1)))
    values = np.concatenate(found)
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

PAIRED_RESAMPLES = 20_000
"""Of the bootstrap: the least p is 1 / (this + 1), and Holm's level for the first of m pairs is 0.05 / m."""


def mcnemar(first: np.ndarray, second: np.ndarray) -> float:
    """p of the two-sided exact test; (N,) bool each: whether each rung is right on each item."""
    from scipy.stats import binom  # takes time to load

    b, c = int((first & ~second).sum()), int((~first & second).sum())
    # p = 2 P(X ≤ min(b, c)),  X ~ Binomial(b + c, ½)
    return min(1.0, 2.0 * float(binom.cdf(min(b, c), b + c, 0.5)))


def paired_bootstrap(first: np.ndarray, second: np.ndarray) -> float:
    """p that the better of two rungs is better by chance, two-sided (Berg-Kirkpatrick et al. 2012, section 3).

    Args:
        first, second: (N,) how much each rung gets right of each item (of a sentence, so many words).
    """
    difference = first.astype(np.float64) - second  # (N,)
    N, observed = len(difference), difference.mean()
    # N items drawn with replacement: how many have each of the K values that differences take is Multinomial(N, shares)
    values, counts = np.unique(difference, return_counts=True)  # (K,) each
    drawn = np.random.default_rng(SEED).multinomial(N, counts / N, PAIRED_RESAMPLES) @ values / N  # (PAIRED_RESAMPLES,)
    # centred on the observed difference: how often is a difference this large only chance
    more = int((np.abs(drawn - observed) >= abs(observed) - 1e-12).sum())
    return (more + 1) / (PAIRED_RESAMPLES + 1)


def holm(values: Mapping[tuple[str, str], float], level: float = LEVEL) -> set[tuple[str, str]]:
    """The pairs whose p stands up to the number of comparisons (Holm 1979)."""
    kept: set[tuple[str, str]] = set()
    for rank, (pair, p) in enumerate(sorted(values.items(), key=lambda entry: entry[1])):
        if p > level / (len(values) - rank):
            break
        kept.add(pair)
    return kept
