"""Reward as a function of the distance of a policy: the curves of Gao, Schulman & Hilton (2022), and their peaks.

    d = √KL(π ‖ π_base)
    best-of-n   R(d) = R(0) + d (α − β d)          (section 1, equation 1)
    RL          R(d) = R(0) + d (α − β log d)      (section 1, equation 2)

α says how fast reward grows at first, β how fast a proxy stops telling what is better. With β > 0 the curve peaks:

    best-of-n   d* = α / 2β             R(d*) = R(0) + α² / 4β
    RL          d* = exp(α/β − 1)       R(d*) = R(0) + β d*

The paper sets R(0) to 0; here it is known (the base's reward) or fitted with the others. Both forms are linear in α, β
and R(0), so that least squares have one solution.

Shape legend: N points.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Form = Literal["best_of_n", "rl"]


@dataclass(frozen=True)
class Peak:
    """Where a fitted curve is highest: d = √KL (√nats), and the reward there."""

    d: float
    reward: float


@dataclass(frozen=True)
class RewardFit:
    """A fitted curve.

    Attributes:
        form: which of the two. alpha, beta: reward per √nat. start: R(0).
        error: root of the mean squared residual, in units of reward.
    """

    form: Form
    alpha: float
    beta: float
    start: float
    error: float

    def reward(self, d: float) -> float:
        """R(d), d ≥ 0."""
        # R(d) = R(0) + α d − β d²   |   R(0) + α d − β d log d
        return self.start + self.alpha * d - self.beta * _bent(d, self.form)

    @property
    def peak(self) -> Peak | None:
        """The d > 0 with the highest R; None if there is none, because R always rises (or falls)."""
        if self.beta <= 0 or (self.form == "best_of_n" and self.alpha <= 0):
            return None
        # R'(d) = α − 2βd = 0   |   α − β log d − β = 0
        exponent = self.alpha / self.beta - 1
        if self.form == "rl" and exponent > 300:  # so flat that the peak is beyond all numbers
            return None
        d = self.alpha / (2 * self.beta) if self.form == "best_of_n" else math.exp(exponent)
        return Peak(d, self.reward(d))


def fit_reward(
    kl: Sequence[float], rewards: Sequence[float], form: Form, *, start: float | None = None
) -> RewardFit | None:
    """Fit R(d) to measured points by least squares.

    Args:
        kl: KL(π ‖ π_base) of each point in nats, (N,); an estimate below 0 counts as 0.
        rewards: mean reward at each, gold or proxy, (N,).
        form: `best_of_n` or `rl` (PPO, GRPO and others that move weights).
        start: the base's reward R(0), which the curve then begins at; None: fitted with the others.

    Returns:
        The fit; None where the points have too few different d > 0 to say all that is unknown.
    """
    d = np.sqrt(np.maximum(np.asarray(kl, dtype=np.float64), 0.0))  # (N,)
    gained = np.asarray(rewards, dtype=np.float64) - (start or 0.0)  # (N,)
    unknown = [d, np.array([-_bent(distance, form) for distance in d.tolist()])]
    if start is None:
        unknown.append(np.ones_like(d))
    A = np.stack(unknown, axis=1)  # (N, 2 or 3)
    if len(A) == 0 or np.linalg.matrix_rank(A) < A.shape[1]:
        return None
    # (α, β, R(0)) = argmin ‖A (α, β, R(0)) − R‖²
    coefficients = np.linalg.lstsq(A, gained, rcond=None)[0]
    error = float(np.sqrt(np.mean((A @ coefficients - gained) ** 2)))
    return RewardFit(
        form, float(coefficients[0]), float(coefficients[1]), float(coefficients[2]) if start is None else start, error
    )


def _bent(d: float, form: Form) -> float:
    """d² or d log d, which is 0 at 0."""
    return d * d if form == "best_of_n" else (d * math.log(d) if d > 0 else 0.0)
