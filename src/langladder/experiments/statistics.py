"""Means and spreads over repetitions with other seeds."""

import statistics
from collections.abc import Sequence


def mean(values: Sequence[float]) -> float:
    """The mean of one or more values."""
    return statistics.fmean(values)


def spread(values: Sequence[float]) -> float | None:
    """Standard deviation between repetitions; None where there is only one."""
    return statistics.stdev(values) if len(values) > 1 else None
