"""Every rung against every other on the same prompts: win rates, and one rating for all of them.

Of a prompt the rung whose answer has the higher gold reward wins; equal rewards are half a win for each. The strengths
p of K rungs are those of Bradley & Terry (1952), P(i beats j) = p_i / (p_i + p_j), of highest likelihood, found by the
MM algorithm (Hunter 2004, equation 3). They are shown as Elo does: 400 points are ten times the odds.

A rung that always wins would have an infinite strength. So every pair plays `PRIOR` more games that end as draws (a
prior, as Laplace's): against a rung that it beats on all N prompts, its odds are 2N/PRIOR + 1.

Shape legend: K rungs, N prompts, R samples of the bootstrap.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from langladder.evaluation.page import Interval
from langladder.evaluation.significance import SEED, TAILS, ratio_interval
from langladder.ground.errors import InputError

PRIOR = 1.0
RESAMPLES = 500
MEAN = 1000.0
"""Elo points of the mean rung."""
SCALE = 400.0
STEPS, CLOSE = 10_000, 1e-8
"""Maximum number of steps, and the change of log p at which they stop."""


@dataclass(frozen=True)
class Standing:
    """A rung's place in the ranking.

    Attributes:
        rating: Elo points; interval: its middle 95 % when prompts are resampled.
        wins: of each rung, the share of the prompts on which this one wins, draws half; None of itself.
        intervals: of each of them, over prompts (Wilson).
    """

    rating: float
    interval: Interval
    wins: list[float | None]
    intervals: list[Interval | None]


def tournament(rewards: Sequence[Sequence[float]], resamples: int = RESAMPLES) -> list[Standing]:
    """Set K rungs against each other.

    Args:
        rewards: (K, N) gold reward of each rung's answer to each prompt, the same prompts for all.

    Raises:
        InputError: fewer than two rungs, or not the same number of prompts, one at least, for each.
    """
    K, lengths = len(rewards), {len(reward) for reward in rewards}
    if K < 2 or len(lengths) != 1 or not max(lengths):
        raise InputError(
            f"{K} rungs with {sorted(lengths)} rewards; a comparison needs two or more rungs with one reward per prompt"
        )
    values = np.array(rewards, dtype=np.float64)  # (K, N)
    (N,) = lengths
    drawn = np.random.default_rng(SEED).multinomial(N, np.full(N, 1 / N), resamples)  # (R, N) how often each prompt
    counts = np.concatenate([np.ones((1, N), dtype=drawn.dtype), drawn])  # (1 + R, N), the first as it is
    wins = np.zeros((len(counts), K, K))  # of the row's rung over the column's
    intervals: list[list[Interval | None]] = [[None] * K for _ in range(K)]
    for i in range(K):
        for j in range(i + 1, K):
            won = (values[i] > values[j]) + 0.5 * (values[i] == values[j])  # (N,)
            wins[:, i, j] = counts @ won
            wins[:, j, i] = N - wins[:, i, j]
            intervals[i][j] = ratio_interval(won, np.ones(N))
            intervals[j][i] = ratio_interval(1 - won, np.ones(N))
    strengths = bradley_terry(wins[0])  # (K,)
    different, back = np.unique(wins[1:].reshape(resamples, -1), axis=0, return_inverse=True)
    drawn_strengths = bradley_terry(different.reshape(-1, K, K), begin=strengths)[back.reshape(-1)]  # (R, K)
    ratings = elo(np.concatenate([strengths[None], drawn_strengths]))  # (1 + R, K)
    low, high = np.quantile(ratings[1:], TAILS, axis=0)
    return [
        Standing(
            round(float(ratings[0, i]), 3),
            (round(float(low[i]), 3), round(float(high[i]), 3)),
            [None if i == j else round(float(wins[0, i, j]) / N, 6) for j in range(K)],
            intervals[i],
        )
        for i in range(K)
    ]


def bradley_terry(wins: np.ndarray, prior: float = PRIOR, begin: np.ndarray | None = None) -> np.ndarray:
    """The strengths of highest likelihood, (…, K), their geometric mean 1.

    Args:
        wins: (…, K, K) how often the row's rung beats the column's, draws half to each; the diagonal is not looked at.
        prior: games more between every two rungs that end as draws.
        begin: strengths (K,) to begin with; None: all alike.
    """
    K = wins.shape[-1]
    won = np.where(~np.eye(K, dtype=bool), wins + prior / 2, 0.0).reshape(-1, K, K)  # (S, K, K)
    games = won + np.swapaxes(won, -1, -2)
    total = won.sum(axis=-1)  # W_i
    p = np.broadcast_to(np.ones(K) if begin is None else begin, total.shape).copy()  # (S, K)
    moving = np.arange(len(p))
    for _ in range(STEPS):
        new = mm_step(p[moving], total[moving], games[moving])
        moved = np.abs(np.log(new) - np.log(p[moving])).max(axis=-1)
        p[moving] = new
        moving = moving[moved >= CLOSE]
        if not len(moving):
            break
    return p.reshape(wins.shape[:-1])


def mm_step(p: np.ndarray, total: np.ndarray, games: np.ndarray) -> np.ndarray:
    """One step of MM: strengths (…, K), wins of each (…, K), games of each two (…, K, K) → strengths (…, K)."""
    # p_i ← W_i / Σ_{j≠i} n_ij / (p_i + p_j)
    new = total / (games / (p[..., :, None] + p[..., None, :])).sum(axis=-1)
    normalised: np.ndarray = new / np.exp(np.log(new).mean(axis=-1, keepdims=True))
    return normalised


def elo(strengths: np.ndarray) -> np.ndarray:
    """Elo points: 400 log₁₀ p_i, shifted so that their mean is `MEAN`."""
    points = SCALE * np.log10(strengths)
    shifted: np.ndarray = points - points.mean(axis=-1, keepdims=True) + MEAN
    return shifted
