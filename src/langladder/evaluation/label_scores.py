"""Scores of predicted labels: confusions, F₁ of each label, and calibration.

    P = n_yy / Σ_g n_gy,   R = n_yy / Σ_s n_ys,   F₁ = 2PR / (P + R);
    macro-F₁: the mean over the labels of the test and of the predictions, as scikit-learn's

Calibration asks whether a model knows how sure it may be. Answers are put into ten bins by the probability that the
model gives them (Guo et al. 2017, section 2):

    ECE = Σ_b (n_b / N) |right share of b − mean probability of b|
"""

import math
from collections.abc import Sequence

import numpy as np

from langladder.evaluation.page import Measured


class LabelScores(Measured):
    """The scores of one label. support: number of its items; said: number of predictions."""

    label: str
    support: int
    said: int
    precision: float
    recall: float
    f1: float


def confusion(gold: np.ndarray, predicted: np.ndarray, labels: int) -> np.ndarray:
    """(C, C) int64 from ids (N,) each: row the right label, column the predicted one."""
    matrix: np.ndarray = np.bincount(gold * labels + predicted, minlength=labels * labels).reshape(labels, labels)
    return matrix


def per_label(matrix: np.ndarray, labels: Sequence[str]) -> list[LabelScores]:
    """The scores of each label, from a `confusion`."""
    return scores_of(np.diag(matrix), matrix.sum(axis=1), matrix.sum(axis=0), labels)


def per_label_of_sets(gold: np.ndarray, predicted: np.ndarray, labels: Sequence[str]) -> list[LabelScores]:
    """The scores of each label of multi-label texts, (N, C) bool each."""
    return scores_of((gold & predicted).sum(axis=0), gold.sum(axis=0), predicted.sum(axis=0), labels)


def scores_of(
    right: np.ndarray, support: np.ndarray, predicted: np.ndarray, labels: Sequence[str]
) -> list[LabelScores]:
    """The scores of each label from three counts, (C,) each; 0 if the denominator is 0."""
    precision, recall = right / np.maximum(predicted, 1), right / np.maximum(support, 1)
    f1 = 2 * right / np.maximum(support + predicted, 1)  # = 2PR / (P + R)
    return [
        LabelScores(
            label=label,
            support=int(support[i]),
            said=int(predicted[i]),
            precision=round(float(precision[i]), 6),
            recall=round(float(recall[i]), 6),
            f1=round(float(f1[i]), 6),
        )
        for i, label in enumerate(labels)
    ]


def macro_f1(scores: Sequence[LabelScores]) -> float:
    """Mean F₁ over the labels that the test or the predictions have."""
    present = [score.f1 for score in scores if score.support or score.said]
    return round(sum(present) / max(1, len(present)), 6)


BINS = 10


class Bin(Measured):
    """Answers of about the same confidence: how many, their mean probability, the share that is right."""

    count: int
    confidence: float
    accuracy: float


def reliability(confidence: np.ndarray, right: np.ndarray) -> list[Bin]:
    """The bins that hold something. confidence (N,) in 0..1, right (N,) bool."""
    bin_of = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    return [
        Bin(
            count=int(mine.sum()),
            confidence=round(float(confidence[mine].mean()), 6),
            accuracy=round(float(right[mine].mean()), 6),
        )
        for number in range(BINS)
        if (mine := bin_of == number).any()
    ]


SHARES = (0.5, 0.7, 0.8, 0.9, 0.95, 1.0)


class Answered(Measured):
    """The accuracy if only answers above a probability threshold are given.

    Attributes:
        share: of the items, how many are answered then; those with the threshold's very probability all are.
        accuracy: of these.
    """

    threshold: float
    share: float
    accuracy: float


def coverage(confidence: np.ndarray, right: np.ndarray) -> list[Answered]:
    """Accuracy by share answered, the surest first (El-Yaniv & Wiener 2010); a row for each of `SHARES`, ties once.

    confidence (N,) in 0..1, right (N,) bool. Thresholds are rounded down, so that those who reach them are counted.
    """
    points: list[Answered] = []
    order = np.sort(confidence)[::-1]
    for share in SHARES if len(order) else ():
        threshold = math.floor(1e6 * order[max(1, math.ceil(share * len(order))) - 1]) / 1e6
        answered = confidence >= threshold
        shares = round(float(answered.mean()), 6), round(float(right[answered].mean()), 6)
        row = Answered(threshold=threshold, share=shares[0], accuracy=shares[1])
        if not points or points[-1] != row:
            points.append(row)
    return points


def calibration_error(bins: list[Bin]) -> float:
    """ECE, 0..1."""
    total = max(1, sum(entry.count for entry in bins))
    return round(sum(entry.count / total * abs(entry.accuracy - entry.confidence) for entry in bins), 6)
