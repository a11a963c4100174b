"""Witten-Bell smoothing: the probability of a new word is estimated from the number of new words so far.

Witten and Bell 1991, method C; interpolated as in Chen and Goodman 1998, section 2.6 (eq. 16, 17):

    P(w | h) = (c(h w) + T(h) P(w | h′)) / (Σ_x c(h x) + T(h)),     T(h) = |{x : c(h x) > 0}|

In the form of `models.ngrams.ngram.interpolate`, the discount of each count is D(h w) = c(h w) T(h) / (Σ_x c(h x) +
T(h)).
"""

from typing import ClassVar

import numpy as np

from langladder.ground.schema import Config
from langladder.models.ngrams.extensions import Extensions
from langladder.models.ngrams.ngram import OrderwiseModel, PrunableConfig, interpolate


class WittenBellConfig(PrunableConfig):
    """Settings of Witten-Bell smoothing."""


class WittenBell(OrderwiseModel):
    """Interpolated Witten-Bell n-gram model."""

    Config: ClassVar[type[Config]] = WittenBellConfig
    config: WittenBellConfig

    def estimate(self, after: Extensions, discounts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # noqa: ARG002
        """See `OrderwiseModel.estimate`."""
        totals = after.sums(after.counts)
        types = after.sums((after.counts > 0).astype(np.int64))  # T(h)
        share = types / np.maximum(totals + types, 1)
        return interpolate(after, after.counts * share[after.of])
