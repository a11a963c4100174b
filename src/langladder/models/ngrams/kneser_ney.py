"""Interpolated Kneser-Ney smoothing, with three discounts (modified, the strongest n-gram model) or one.

Many word sequences of a new text do not occur in the training text, so a part of each count goes to the shorter
history. Kneser and Ney 1995; Chen and Goodman 1998, "An Empirical Study of Smoothing Techniques for Language Modeling",
section 3.3 and eq. 26:

    p(w | h) = (a(h w) − D(a(h w))) / Σ_x a(h x) + γ(h) p(w | h′)
    γ(h)     = (D_1 N_1(h ·) + D_2 N_2(h ·) + D_3+ N_3+(h ·)) / Σ_x a(h x)

with a the count at the highest order and the continuation count below it (`counts.ngram_pieces.continuation_counts`),
N_k(h ·) the number of words seen k times after h, and D_1, D_2, D_3+ one triple per order, in closed form; or one D for
all counts, as in `models.ngrams.absolute_discounting`.

Details as in KenLM's `lmplz`: n-grams that begin with BOS keep their plain counts. Single words are interpolated with
the uniform distribution over all ids that can be predicted (all except PAD and BOS, so unseen words share γ of the
empty history evenly). If a text is too small for the closed form, fixed discounts are used.
"""

from typing import ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from langladder.counts.ngram_pieces import Pieces, continuation_counts
from langladder.ground.schema import Config
from langladder.models.ngrams.absolute_discounting import closed_form_discount
from langladder.models.ngrams.extensions import Extensions
from langladder.models.ngrams.ngram import OrderwiseModel, PrunableConfig, interpolate


class KneserNeyConfig(PrunableConfig):
    """Settings of the Kneser-Ney model."""

    modified: bool = True  # three discounts per order; false: one
    # D_1, D_2, D_3+ of the modified form if the closed form is undefined
    fallback_discounts: list[float] = Field(default=[0.5, 1.0, 1.5])

    @model_validator(mode="after")
    def _discounts_leave_counts_positive(self) -> Self:
        values = self.fallback_discounts
        if len(values) != 3 or not all(0 < value <= k for k, value in enumerate(values, start=1)):
            raise ValueError(f"fallback_discounts: {values}; allowed: three numbers D_k with 0 < D_k ≤ k")
        return self


class KneserNey(OrderwiseModel):
    """Interpolated Kneser-Ney n-gram model."""

    Config: ClassVar[type[Config]] = KneserNeyConfig
    config: KneserNeyConfig

    distinct_counts = 5

    def counted(self, pieces: Pieces, order: int) -> np.ndarray:
        """(G_n,) int64 a(h w) of an order."""
        return continuation_counts(pieces, order)

    def discounts(self, n: np.ndarray) -> np.ndarray:
        """The discount by count: (4,) D_0 = 0, D_1, D_2, D_3+, or (2,) D_0, D."""
        if self.config.modified:
            return closed_form_discounts(n, self.config.fallback_discounts)
        return np.array([0.0, closed_form_discount(n)])

    def estimate(self, after: Extensions, discounts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return interpolate(after, np.take(discounts, after.counts, mode="clip"))  # clip: the last is for larger counts


def closed_form_discounts(n: np.ndarray, fallback: list[float]) -> np.ndarray:
    """(4,): D_0 = 0, D_1, D_2, D_3+ from the numbers of n-grams with each adjusted count, n_0 … n_4 and more.

    Y = n_1 / (n_1 + 2 n_2),   D_k = k − (k + 1) Y n_{k+1} / n_k

    For a small or artificial text, an n_k can be 0 or a D_k outside (0, k]; then the fallback is used. (With D_k = 0, a
    history that was only seen with words of count k would give unseen words probability 0.)
    """
    if n[1] and n[2] and n[3]:
        y = n[1] / (n[1] + 2 * n[2])
        discounts = np.array([0.0] + [k - (k + 1) * y * n[k + 1] / n[k] for k in (1, 2, 3)])
        if all(1e-9 < discounts[k] <= k for k in (1, 2, 3)):  # 1e-9: zero up to rounding
            return discounts
    return np.array([0.0, *fallback])
