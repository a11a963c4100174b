"""Interpolated absolute discounting: subtract the same amount from every count.

Ney, Essen and Kneser 1994; Chen and Goodman 1998, section 2.7 (eq. 19, 20):

    P(w | h) = (c(h w) − D) / Σ_x c(h x) + γ(h) P(w | h′),     γ(h) = D |{x : c(h x) > 0}| / Σ_x c(h x)
    D        = n_1 / (n_1 + 2 n_2),     n_k the number of n-grams of the order that occur k times

one D per order, in closed form (from the leaving-one-out likelihood), or set.
"""

from typing import ClassVar

import numpy as np
from pydantic import Field

from langladder.ground.schema import Config
from langladder.models.ngrams.extensions import Extensions
from langladder.models.ngrams.ngram import OrderwiseModel, PrunableConfig, interpolate

FALLBACK = 0.5  # used if no n-gram of an order occurs once, or none twice


class AbsoluteDiscountingConfig(PrunableConfig):
    """Settings of absolute discounting."""

    discount: float | None = Field(default=None, gt=0, le=1)  # D of all orders; null: closed form for each order


class AbsoluteDiscounting(OrderwiseModel):
    """Interpolated absolute discounting."""

    Config: ClassVar[type[Config]] = AbsoluteDiscountingConfig
    config: AbsoluteDiscountingConfig

    distinct_counts = 3

    def discounts(self, n: np.ndarray) -> np.ndarray:
        """(2,): the discount by count: D_0 = 0, D."""
        return np.array([0.0, self.config.discount or closed_form_discount(n)])

    def estimate(self, after: Extensions, discounts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return interpolate(after, np.take(discounts, after.counts, mode="clip"))  # clip: the last is for larger counts


def closed_form_discount(n: np.ndarray) -> float:
    """D = n_1 / (n_1 + 2 n_2); 0.5 if this is 0, 1 or undefined, which is possible for a small text."""
    once, twice = int(n[1]), int(n[2])
    return once / (once + 2 * twice) if once and twice else FALLBACK
