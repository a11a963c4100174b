"""Interpolated absolute discounting: take the same amount from every count.

Ney, Essen and Kneser 1994; Chen and Goodman 1998, section 2.7 (eq. 19, 20):

    P(w | h) = (c(h w) − D) / Σ_x c(h x) + γ(h) P(w | h′),     γ(h) = D |{x : c(h x) > 0}| / Σ_x c(h x)
    D        = n_1 / (n_1 + 2 n_2),     n_k the number of n-grams of the order that occur k times

one D per order, in closed form (that of the leaving-one-out likelihood), or given.
"""

from typing import ClassVar

import numpy as np
from pydantic import Field

from langladder.counts.ngrams import NgramCounts
from langladder.models.ngrams.ngram import NgramModel, PrunableConfig, interpolate, predicted_counts
from langladder.schema import Config

FALLBACK = 0.5  # where no n-gram of an order occurs once, or none twice


class AbsoluteDiscountingConfig(PrunableConfig):
    """Settings of absolute discounting."""

    discount: float | None = Field(default=None, gt=0, le=1)  # of all orders; null: closed form, order by order


class AbsoluteDiscounting(NgramModel):
    """Interpolated absolute discounting."""

    Config: ClassVar[type[Config]] = AbsoluteDiscountingConfig
    config: AbsoluteDiscountingConfig

    def estimate(self, ngrams: NgramCounts, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `NgramModel.estimate`."""
        counts = predicted_counts(ngrams)
        return interpolate(ngrams, kept, counts, one_discount(ngrams, counts, self.config.discount))


def one_discount(ngrams: NgramCounts, counts: np.ndarray, given: float | None) -> np.ndarray:
    """(G,): what each n-gram gives away, D, or 0 where its count is 0."""
    taken = np.empty(len(counts))
    for order in range(1, ngrams.order + 1):
        level = ngrams.level(order)
        np.multiply(counts[level] > 0, given or closed_form_discount(counts[level]), out=taken[level])
    return taken


def closed_form_discount(counts: np.ndarray) -> float:
    """D = n_1 / (n_1 + 2 n_2); 0.5 where that is 0 or 1 or undefined, as a small text can make it."""
    once, twice = int(np.count_nonzero(counts == 1)), int(np.count_nonzero(counts == 2))
    return once / (once + 2 * twice) if once and twice else FALLBACK
