"""Means and spreads over seeds, differences with intervals, and verdicts.

A difference d is measured once per seed, on the same N test texts if there are any. Seeds and texts are random draws,
so the variance of the mean has a part of each, and Student's t has the degrees of freedom of Welch and Satterthwaite:

    v = s²(d of a seed) / S + s²(d of a text) / N        95 %:  mean d ± t(ν) √v
    ν = v² / Σ v_i² / (n_i − 1)

A claim ends in one of three ways (Schuirmann 1987 on equivalence): with `by`, the smallest difference that counts,

                 holds                  refuted              not tested
    better       the interval above 0   all of it below by   otherwise: too few seeds, or too little power
    as good      all of it above −by    all of it below −by  likewise
    equal        all of it in ±by       all of it outside    likewise

Shares near 0 or 1 vary little or not at all in a sample, so s² alone would give an interval without width. A share of
items of one model, or of the runs of several seeds, has Wilson's interval, and a difference of two of them Newcombe's
(1998, method 10). Where texts are right or wrong, Σ d² of the texts is increased by 1, or by 2 beside a fixed level:
half a text, or one, is added to each outcome (Agresti & Min 2005; Agresti & Coull 1998).

The best of K others is chosen by the results themselves. With δ_j, the difference to other j, what counts is min_j δ_j.
Each δ_j has an interval of confidence 1 − 0.05 / K, so all of them hold together with 95 % (Bonferroni; Hsu 1981):

    min_j δ_j  lies between  min_j low_j  and  min_j high_j

Shape legend: S seeds, N test texts.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from langladder.evaluation.significance import share_interval

LEAST_SEEDS = 5
"""Minimum number of seeds. With fewer, Student's t is too wide, and the spread is too often small by chance."""
CONFIDENCE = 0.95


class Verdict(NamedTuple):
    """Whether a claim holds; None: it was not tested, with a reason. `rests_on`: the differences behind the verdict."""

    holds: bool | None
    reason: str = ""
    rests_on: tuple["Judged", ...] = ()


def every(verdicts: Iterable[Verdict]) -> Verdict:
    """Holds if all of them hold; refuted if one is refuted."""
    return _joined(list(verdicts), decisive=False)


def some(verdicts: Iterable[Verdict]) -> Verdict:
    """Holds if one of them holds; refuted if all are refuted."""
    return _joined(list(verdicts), decisive=True)


def _joined(verdicts: list[Verdict], *, decisive: bool) -> Verdict:
    """`decisive` if one of the verdicts is `decisive`; else not tested, with the reasons of those not tested; else the
    opposite."""
    rests_on = tuple(judged for verdict in verdicts for judged in verdict.rests_on)
    if any(verdict.holds is decisive for verdict in verdicts):
        return Verdict(decisive, "", rests_on)
    reasons = list(dict.fromkeys(verdict.reason for verdict in verdicts if verdict.holds is None))
    return Verdict(None if reasons else not decisive, "; ".join(reasons), rests_on)


def gated(gates: Iterable[Verdict], verdict: Verdict) -> Verdict:
    """The verdict if all gates hold; else not tested, with the reason of a gate."""
    closed = list(dict.fromkeys(gate.reason for gate in gates if not gate.holds))
    return Verdict(None, "; ".join(closed), verdict.rests_on) if closed else verdict


class Difference(NamedTuple):
    """The difference of two means, with a 95 % interval. `seeds` None: one model, with an interval over test items."""

    mean: float
    low: float
    high: float
    seeds: int | None = None
    what: str = ""

    def __str__(self) -> str:
        if not math.isfinite(self.low):
            return f"{100 * self.mean:+.1f} points (one seed)"
        return f"{100 * self.mean:+.1f} points ({100 * self.low:+.1f} to {100 * self.high:+.1f})"

    @property
    def half(self) -> float:
        """Half of the interval's width, for error bars."""
        return (self.high - self.low) / 2

    def exceeds(self, by: float = 0.0) -> Verdict:
        """The verdict on "better"; see the module docstring.

        Args:
            by: the smallest difference that counts.
        """
        return self._judged(by, holds=self.low > 0, refuted=self.high <= by)

    def within(self, by: float) -> Verdict:
        """The verdict on "as good"; see the module docstring."""
        return self._judged(by, holds=self.low > -by, refuted=self.high < -by)

    def equals(self, by: float) -> Verdict:
        """The verdict on "equal", with a margin on both sides (two one-sided tests); see the module docstring."""
        inside, outside = self.low > -by and self.high < by, self.high < -by or self.low > by
        return self._judged(by, holds=inside, refuted=outside)

    def __neg__(self) -> "Difference":
        return self._replace(mean=0.0 - self.mean, low=0.0 - self.high, high=0.0 - self.low)  # never −0

    def _judged(self, by: float, *, holds: bool, refuted: bool) -> Verdict:
        rests_on = (Judged(self, by),)
        if self.seeds is not None and self.seeds < LEAST_SEEDS:
            return Verdict(None, f"{self.seeds} seed{'s' * (self.seeds != 1)}, {LEAST_SEEDS} are needed", rests_on)
        if refuted or holds:
            return Verdict(not refuted, "", rests_on)
        return Verdict(None, "too little power", rests_on)


class Judged(NamedTuple):
    """A difference, positive in favour of the claim, and the smallest one that counts."""

    difference: Difference
    by: float


def difference(first: ArrayLike, second: ArrayLike, confidence: float = CONFIDENCE) -> Difference:
    """The paired difference of (S,) values, or of (S, N) values per test text. One side can be a number, a fixed level.

    A seed with an infinite value or NaN is left out, and does not count in `seeds`. Values per text of type bool are
    shares of right texts.
    """
    from scipy.special import stdtrit  # slow import

    sides = [np.asarray(side) for side in (first, second)]
    right = [side.dtype == bool for side in sides]
    each = sides[0].astype(np.float64) - sides[1].astype(np.float64)
    each = each[:, None] if each.ndim == 1 else each  # (S, N)
    each = each[np.isfinite(each).all(axis=1)]
    if not len(each):
        return Difference(math.nan, -math.inf, math.inf, 0)
    middle, parts = float(each.mean()), list[tuple[float, int]]()
    for axis, added in ((1, 0.0), (0, 0.0 if not any(right) else 1.0 if all(right) else 2.0)):
        means = each.mean(axis=axis)
        if len(means) > 1:
            # s²/n, with s² = Σ (m − m̄)² / (n − 1); of texts that are right or wrong Σ (m − m̄)² + added
            parts.append((float(means.var(ddof=1)) / len(means) + added / len(means) ** 2, len(means) - 1))
    # v = s²/S + s²/N
    variance = sum(part for part, _ in parts)
    if not parts:
        return Difference(middle, -math.inf, math.inf, len(each))
    if variance < np.finfo(np.float64).eps ** 2:
        return Difference(middle, middle, middle, len(each))
    # ν = v² / Σ v_i² / (n_i − 1)
    freedom = variance**2 / sum(part**2 / count for part, count in parts)
    half = float(stdtrit(freedom, (1 + confidence) / 2)) * math.sqrt(variance)
    return Difference(middle, middle - half, middle + half, len(each))


def from_best(others: Iterable[Difference]) -> Difference:
    """The difference from the best of several others: the least one, with an interval for the least one.

    Args:
        others: the difference to each of the others, with intervals that hold together; see the module docstring.
    """
    differences = list(others)
    nearest = min(differences, key=lambda entry: entry.mean)
    return nearest._replace(low=min(entry.low for entry in differences), high=min(entry.high for entry in differences))


def of_shares(
    first: tuple[float, int], second: tuple[float, int], confidence: float = CONFIDENCE, seeds: int | None = None
) -> Difference:
    """The difference of two shares, each with its number of items (Newcombe); with 0 items, a share is a fixed level.

    Args:
        seeds: the number of networks, if the items are their runs; None: items of one model.
    """
    z, (p, q) = normal_quantile(confidence), (first[0], second[0])
    (low_p, high_p), (low_q, high_q) = (
        share_interval(share * count, count, z) or (share, share) for share, count in (first, second)
    )
    middle = p - q
    low, high = middle - math.hypot(p - low_p, high_q - q), middle + math.hypot(high_p - p, q - low_q)
    return Difference(middle, low, high, seeds)


def of_one_model(first: ArrayLike, second: ArrayLike) -> Difference:
    """The difference of (N,) values per item of one model; the interval is over items."""
    each = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    error = float(each.std(ddof=1)) / math.sqrt(len(each)) if len(each) > 1 else math.inf
    middle, half = float(each.mean()), normal_quantile(CONFIDENCE) * error
    return Difference(middle, middle - half, middle + half)


def normal_quantile(confidence: float) -> float:
    """z such that a standard normal variable lies within ±z with this probability."""
    return statistics.NormalDist().inv_cdf((1 + confidence) / 2)


def above(values: ArrayLike, level: float, what: str) -> Verdict:
    """A gate: values, one per seed, are above a level, by their interval."""
    gap = difference(values, level)
    return _gate(gap.exceeds(), f"{what} {gap.mean + level:.3g} is not above {level:.3g}, by its interval")


def below(values: ArrayLike, level: float, what: str) -> Verdict:
    """A gate: values, one per seed, are below a level, by their interval."""
    gap = difference(values, level)
    return _gate((-gap).exceeds(), f"{what} {gap.mean + level:.3g} is not below {level:.3g}, by its interval")


def _gate(beats: Verdict, closed: str) -> Verdict:
    """Holds if the values beat the level; else not tested, with the reason `closed` or too little power."""
    return Verdict(True) if beats.holds else Verdict(None, f"{closed} ({beats.reason})" if beats.reason else closed)


def mean(values: Sequence[float]) -> float:
    """The mean of one or more values."""
    return statistics.fmean(values)


def finite(values: Sequence[float]) -> list[float]:
    """The values that are finite numbers; a diverged run can have none."""
    return [value for value in values if math.isfinite(value)]


def spread(values: Sequence[float]) -> float | None:
    """Standard deviation between repetitions; None if there is only one."""
    return statistics.stdev(values) if len(values) > 1 else None
