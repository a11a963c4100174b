"""Models of cross-validation evaluated together: each example by the model of its fold, which was not trained on it.

The pooled figures are those of all N predictions, as if one model had made them; each fold's own figures are beside
them as m ± s, their mean and standard deviation (n − 1) over the K folds. The intervals are those of the N examples.
What s / √K would say of m is too narrow: the folds share most of what they are trained on (Bengio & Grandvalet 2004).
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from statistics import fmean, stdev
from typing import Annotated, Generic, NamedTuple, TypeVar

import numpy as np

from langladder.evaluation.page import LOGGED, Measured, Metric
from langladder.text.labelled.folds import Folds

M = TypeVar("M")
T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
DIGITS = 6


class FoldScores(Measured):
    """Mean and standard deviation of each fold's own figures: accuracy; macro-F₁, or of phrases the entity F₁."""

    folds: Annotated[int, LOGGED]
    accuracy_mean: Annotated[
        float,
        Metric("accuracy by fold", "mean of the accuracy of each fold", unit="share", better="higher", card=None),
    ]
    accuracy_sd: Annotated[
        float,
        Metric(
            "sd of folds",
            "standard deviation of the accuracy over the folds, which have different test sets",
            unit="points",
            digits=1,
            card=None,
        ),
    ]
    f1_mean: Annotated[
        float,
        Metric(
            "F₁ by fold",
            "mean over the folds of macro-F₁, or of the entity F₁ for phrases",
            unit="share",
            better="higher",
            card=None,
        ),
    ]
    f1_sd: Annotated[
        float,
        Metric(
            "F₁ sd of folds",
            "standard deviation of this F₁ over the folds, in points",
            unit="points",
            digits=1,
            card=None,
        ),
    ]

    def __str__(self) -> str:
        return f"{self.folds} folds: {self.accuracy_mean:.1%} ± {100 * self.accuracy_sd:.1f} (sd)"


class OutOfFold(NamedTuple, Generic[M, T]):
    """The models of the folds.

    Attributes:
        fold: of each example, from 1: (N,) int64.
        known: the words that the model of each fold has seen in training.
    """

    models: Sequence[M]
    fold: np.ndarray
    known: Sequence[Collection[str]]

    def of(self, row: int) -> tuple[M, Collection[str]]:
        """The model for an example, and the words that it has seen."""
        index = int(self.fold[row]) - 1
        return self.models[index], self.known[index]

    def rows(self, number: int) -> np.ndarray:
        """The examples of a fold."""
        return np.flatnonzero(self.fold == number)

    def answers(self, examples: Sequence[B], ask: Callable[[M, list[B]], Iterable[A]]) -> list[A]:
        """The prediction of each example's model."""
        results: dict[int, A] = {}
        for number, model in enumerate(self.models, start=1):
            rows = self.rows(number)
            results |= zip(rows.tolist(), ask(model, [examples[row] for row in rows]), strict=True)
        return [results[row] for row in range(len(examples))]

    def scores(self, figures: Callable[[np.ndarray], tuple[float, float]]) -> FoldScores:
        """Mean and standard deviation over the folds of accuracy and F₁."""
        accuracy, f1 = zip(*(figures(self.rows(number)) for number in range(1, len(self.models) + 1)), strict=True)
        return FoldScores(
            folds=len(self.models),
            accuracy_mean=round(fmean(accuracy), DIGITS),
            accuracy_sd=round(stdev(accuracy), DIGITS),
            f1_mean=round(fmean(f1), DIGITS),
            f1_sd=round(stdev(f1), DIGITS),
        )


def out_of_fold(whole: Folds[T], models: Sequence[M], words: Callable[[M, T], Iterable[str]]) -> OutOfFold[M, T]:
    """The models of the folds, each with the words of its training texts."""
    known = [
        {word for row in whole.splits(number)[0] for word in words(model, row)}
        for number, model in enumerate(models, start=1)
    ]
    return OutOfFold(models, whole.fold, known)
