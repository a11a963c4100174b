"""Witten-Bell smoothing: the chance of something new is how often something new came.

Witten and Bell 1991, method C; interpolated as in Chen and Goodman 1998, section 2.6 (eq. 16, 17):

    P(w | h) = (c(h w) + T(h) P(w | h′)) / (Σ_x c(h x) + T(h)),     T(h) = |{x : c(h x) > 0}|

In the form of `models.ngrams.ngram.interpolate` each count gives away D(h w) = c(h w) T(h) / (Σ_x c(h x) + T(h)).
"""

from typing import ClassVar

import numpy as np

from langladder.counts.ngrams import NgramCounts
from langladder.models.ngrams.ngram import NgramModel, PrunableConfig, interpolate, predicted_counts
from langladder.schema import Config


class WittenBellConfig(PrunableConfig):
    """Settings of Witten-Bell smoothing."""


class WittenBell(NgramModel):
    """Interpolated Witten-Bell n-gram model."""

    Config: ClassVar[type[Config]] = WittenBellConfig
    config: WittenBellConfig

    def estimate(self, ngrams: NgramCounts, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `NgramModel.estimate`."""
        counts = predicted_counts(ngrams)
        taken = np.empty(len(counts))
        for order in range(1, ngrams.order + 1):
            level = ngrams.level(order)
            totals = ngrams.history_sums(order, counts[level])
            types = ngrams.history_sums(order, (counts[level] > 0).astype(np.int64))  # T(h)
            share = types / np.maximum(totals + types, 1)
            of = 0 if order == 1 else ngrams.histories(order) - ngrams.level(order - 1).start
            taken[level] = counts[level] * share[of]
        return interpolate(ngrams, kept, counts, taken)
