"""The predicted gain of a classifier from more labels: a power law fitted to its errors with parts of the labels.

Models trained on an eighth, a quarter, half and all of the n₁ training texts are wrong on shares e of the test texts:

    ê(n) = a + b n^−c,   a, b ≥ 0   (Cortes et al. 1993; Hestness et al. 2017)

The law is fitted by least squares, each model weighted by n, c on a grid; numbers of texts from which nothing has been
learnt yet (hardly better than one label for all texts) are left out. What twice the labels would add is
Δ = e(n₁) − ê(2 n₁). Its interval is the middle 95 % over resamples of what chance has decided: the test texts, which
are the same for all models; and how well each training went, also the one on twice the labels. The deviation of that is
measured between models trained on equally many texts, its variance falling with 1 / n, and drawn by Student's t. That
the law continues beyond n₁ is assumed.

Shape legend: M models, N test texts, R resamples, G values of c.
"""

from collections.abc import Sequence

import numpy as np

from langladder.evaluation.page import Measured
from langladder.evaluation.significance import SEED, TAILS

RESAMPLES = 1000
POWERS = np.linspace(0.05, 1.5, 30)  # (G,)
LEAST = 3  # numbers of texts through which the law goes
FEWEST = 64  # training texts, for an eighth to be 8
DIGITS = 6


class CurvePoint(Measured):
    """Mean accuracy of the models that were trained on this many texts, and the number of models."""

    texts: int
    accuracy: float
    models: int


class MoreLabels(Measured):
    """The predicted gain from twice the labels.

    Attributes:
        points: measured, from few texts to all.
        accuracy: of the model trained on all, on the test split.
        gain, low, high: Δ with its interval, a share.
        learnt: whether from enough numbers of texts something has been learnt; else the rest says nothing.
    """

    points: list[CurvePoint]
    accuracy: float
    gain: float
    low: float
    high: float
    learnt: bool = True

    @property
    def texts(self) -> int:
        """Number of training texts."""
        return self.points[-1].texts


def more_labels(texts: Sequence[int], right: np.ndarray, chance: float = 0.0) -> MoreLabels | None:
    """Fit the law and extrapolate it; None with fewer than three numbers of texts, or too few texts.

    Args:
        texts: (M,) that each model was trained on; the most of them once.
        right: (M, N) bool, of each test text.
        chance: accuracy of the most frequent label of the test.
    """
    counts = np.array(texts, dtype=np.float64)
    sizes = np.unique(counts)
    if len(sizes) < LEAST or sizes[-1] < FEWEST or right.shape[1] == 0:
        return None
    wrong = 1.0 - right.astype(np.float64)  # (M, N)
    whole, groups = int(counts.argmax()), [np.flatnonzero(counts == size) for size in sizes]
    learnt = np.array([_has_learnt(float(wrong[own].mean()), chance, wrong.shape[1]) for own in groups])
    enough = bool(learnt[-1]) and learnt.sum() >= LEAST
    used = np.isin(counts, sizes[learnt]) if enough else np.full(len(counts), True)  # (M,)

    rng, twice = np.random.default_rng(SEED), 2 * sizes[-1:]  # (1,)
    several = [(size / sizes[-1], wrong[own].mean(axis=1)) for size, own in zip(sizes, groups, strict=True)]
    freedom = max(1, sum(len(some) - 1 for _, some in several))
    deviation = np.sqrt(sum(float(share * ((some - some.mean()) ** 2).sum()) for share, some in several) / freedom)
    scale = deviation * np.sqrt(sizes[-1] / counts)  # (M,)
    drawn = rng.multinomial(wrong.shape[1], np.full(wrong.shape[1], 1 / wrong.shape[1]), RESAMPLES)  # (R, N)
    errors = drawn @ wrong.T / wrong.shape[1]  # (R, M)
    luck = scale * rng.standard_t(freedom, errors.shape)  # (R, M)
    law = _fitted(counts[used], (errors + luck)[:, used], twice)[:, 0]  # (R,)
    low, high = np.quantile(errors[:, whole] - law + deviation * rng.standard_t(freedom, RESAMPLES), TAILS)
    error = float(wrong[whole].mean())
    gain = error - float(_fitted(counts[used], wrong[used].mean(axis=1)[None], twice)[0, 0])
    return MoreLabels(
        points=[
            CurvePoint(texts=int(size), accuracy=round(1 - float(wrong[own].mean()), DIGITS), models=len(own))
            for size, own in zip(sizes, groups, strict=True)
        ],
        accuracy=round(1 - error, DIGITS),
        gain=round(gain, DIGITS),
        low=round(float(low), DIGITS),
        high=round(float(high), DIGITS),
        learnt=enough,
    )


def _has_learnt(error: float, chance: float, items: int) -> bool:
    """Whether a share of errors is below that of one label for all, by more than three standard errors."""
    return 1 - error - chance > 3 * float(np.sqrt(error * (1 - error) / items))


def _fitted(texts: np.ndarray, errors: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """ê at some places: (M,), (R, M), (P,) → (R, P). A model counts as much as it was trained on texts."""
    x, w = texts[None] ** -POWERS[:, None], texts / texts.sum()  # (G, M), (M,)
    x0, e0 = x @ w, errors @ w  # (G,), (R,)
    b = (errors - e0[:, None]) @ (w * (x - x0[:, None])).T / ((x - x0[:, None]) ** 2 @ w)  # (R, G)
    a = e0[:, None] - b * x0  # (R, G)
    through_zero = (errors @ (w * x).T) / (x**2 @ w)  # (R, G): b where a = 0
    b = np.where(a < 0, through_zero, b)
    a = np.where(a < 0, 0.0, a)
    a, b = np.where(b < 0, e0[:, None], a), np.maximum(b, 0.0)
    loss = (a[..., None] + b[..., None] * x - errors[:, None]) ** 2 @ w  # (R, G)
    best, rows = loss.argmin(axis=1), np.arange(len(errors))
    a, b, c = a[rows, best], b[rows, best], POWERS[best]
    return np.asarray(a[:, None] + b[:, None] * sizes ** -c[:, None])
