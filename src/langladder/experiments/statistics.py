"""Means and spreads over repetitions with other seeds, and differences with intervals.

Shape legend: S seeds, N test texts, R resamples.
"""

import statistics
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from langladder.data.batches import generator

RESAMPLES = 1000


def mean(values: Sequence[float]) -> float:
    """The mean of one or more values."""
    return statistics.fmean(values)


def spread(values: Sequence[float]) -> float | None:
    """Standard deviation between repetitions; None where there is only one."""
    return statistics.stdev(values) if len(values) > 1 else None


class Difference(NamedTuple):
    """Accuracy of one less that of another, with a 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.mean:+.1f} points ({100 * self.low:+.1f} to {100 * self.high:+.1f})"


def difference(first: np.ndarray, second: np.ndarray) -> Difference:
    """Of (S, N) bool each; the interval by a bootstrap over seeds and test texts at once, both kept in pairs."""
    each = first.astype(np.float64) - second  # (S, N)
    S, N = each.shape
    random = generator(0)
    seeds = random.multinomial(S, np.full(S, 1 / S), RESAMPLES) / S  # (R, S) shares
    texts = random.multinomial(N, np.full(N, 1 / N), RESAMPLES) / N  # (R, N)
    # d_r = Σ_s Σ_n u_rs (a_sn − b_sn) v_rn
    drawn = np.einsum("rn,rn->r", seeds @ each, texts)  # (R,)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Difference(float(each.mean()), float(low), float(high))
