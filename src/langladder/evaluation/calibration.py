"""Whether a model knows how sure it may be: the reliability diagram and the expected calibration error.

Answers are put into ten bins by the probability that the model gives them (Guo et al. 2017, section 2):

    ECE = Σ_b (n_b / N) |right share of b − mean probability of b|
"""

import numpy as np

from langladder.evaluation.page import Measured

BINS = 10


class Bin(Measured):
    """Answers of about the same confidence: how many, their mean probability, the share that is right."""

    count: int
    confidence: float
    accuracy: float


def reliability(confidence: np.ndarray, right: np.ndarray) -> list[Bin]:
    """The bins that hold something. confidence (N,) in 0..1, right (N,) bool."""
    places = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    return [
        Bin(
            count=int(mine.sum()),
            confidence=round(float(confidence[mine].mean()), 6),
            accuracy=round(float(right[mine].mean()), 6),
        )
        for place in range(BINS)
        if (mine := places == place).any()
    ]


def calibration_error(bins: list[Bin]) -> float:
    """ECE, 0..1."""
    total = max(1, sum(one.count for one in bins))
    return round(sum(one.count / total * abs(one.accuracy - one.confidence) for one in bins), 6)
