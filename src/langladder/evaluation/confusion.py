"""Which label is taken for which: the confusion matrix, and precision, recall and F₁ of each label.

P = n_yy / Σ_g n_gy,   R = n_yy / Σ_s n_ys,   F₁ = 2PR / (P + R);   macro-F₁: the mean over the labels of the test
"""

from collections.abc import Sequence

import numpy as np

from langladder.evaluation.page import Measured


class LabelScores(Measured):
    """Of one label. support: how many are of it; said: how many are taken for it."""

    label: str
    support: int
    said: int
    precision: float
    recall: float
    f1: float


def confusion(gold: np.ndarray, said: np.ndarray, labels: int) -> np.ndarray:
    """(C, C) int64 from ids (N,) each: row the right label, column what was said."""
    found: np.ndarray = np.bincount(gold * labels + said, minlength=labels * labels).reshape(labels, labels)
    return found


def per_label(matrix: np.ndarray, labels: Sequence[str]) -> list[LabelScores]:
    """The scores of each label; 0 where there is nothing to divide by."""
    right, support, said = np.diag(matrix), matrix.sum(axis=1), matrix.sum(axis=0)
    precision, recall = right / np.maximum(said, 1), right / np.maximum(support, 1)
    f1 = 2 * right / np.maximum(support + said, 1)  # = 2PR / (P + R)
    return [
        LabelScores(
            label=label,
            support=int(support[i]),
            said=int(said[i]),
            precision=round(float(precision[i]), 6),
            recall=round(float(recall[i]), 6),
            f1=round(float(f1[i]), 6),
        )
        for i, label in enumerate(labels)
    ]


def macro_f1(scores: Sequence[LabelScores]) -> float:
    """Mean F₁ over the labels that the test has."""
    present = [score.f1 for score in scores if score.support]
    return round(sum(present) / max(1, len(present)), 6)
