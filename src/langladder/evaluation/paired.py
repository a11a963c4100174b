"""Whether two rungs differ on the same test: McNemar's exact test, and the bootstrap over test items.

Of the items on which just one of two rungs is right, half should fall to each if they were equally good (McNemar
1947): with b and c such items, p = 2 P(Binomial(b + c, ½) ≤ min(b, c)), at most 1. Where many pairs are compared, p is
held against a level that falls with their number (Holm 1979).
"""

from collections.abc import Mapping

import numpy as np
from scipy.stats import binom

LEVEL = 0.05
RESAMPLES = 20_000
"""Of the bootstrap: the least p is 1 / (this + 1), and Holm's level for the first of m pairs is 0.05 / m."""
SEED = 0


def mcnemar(first: np.ndarray, second: np.ndarray) -> float:
    """p of the two-sided exact test; (N,) bool each: whether each rung is right on each item."""
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
    drawn = np.random.default_rng(SEED).multinomial(N, counts / N, RESAMPLES) @ values / N  # (RESAMPLES,)
    # centred on what was observed: how often does chance alone give as much
    more = int((np.abs(drawn - observed) >= abs(observed) - 1e-12).sum())
    return (more + 1) / (RESAMPLES + 1)


def holm(values: Mapping[tuple[str, str], float], level: float = LEVEL) -> set[tuple[str, str]]:
    """The pairs whose p stands up to the number of comparisons (Holm 1979)."""
    kept: set[tuple[str, str]] = set()
    for place, (pair, p) in enumerate(sorted(values.items(), key=lambda entry: entry[1])):
        if p > level / (len(values) - place):
            break
        kept.add(pair)
    return kept
