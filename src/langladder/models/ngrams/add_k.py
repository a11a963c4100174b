"""Add-k smoothing: pretend that every n-gram was seen k times more often than it was.

Lidstone 1920; k = 1 is Laplace's rule of succession.

    P(w | h) = (c(h w) + k) / (Σ_x c(h x) + k V′)

with V′ the number of ids that can be predicted. After a history never seen this is uniform.

In the tables: lower orders play no part, so single words hold 1 / V′ and the factor of a history h,
b(h) = k V′ / (Σ_x c(h x) + k V′), makes k / (Σ_x c(h x) + k V′) of it for a word never seen after h. Short histories at
the beginning of a line are whole histories: n-grams that open with BOS are estimated at every order.
"""

from typing import ClassVar

import numpy as np
from pydantic import Field

from langladder.counts.ngrams import NgramCounts
from langladder.models.ngrams.ngram import NgramConfig, NgramModel, predicted_counts, uniform
from langladder.schema import Config


class AddKConfig(NgramConfig):
    """Settings of add-k smoothing."""

    k: float = Field(default=1.0, gt=0)  # 1: Laplace; less is nearly always better


class AddK(NgramModel):
    """Add-k n-gram model."""

    Config: ClassVar[type[Config]] = AddKConfig
    config: AddKConfig

    def estimate(self, ngrams: NgramCounts, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `NgramModel.estimate`."""
        assert kept.all(), "in add-k smoothing an n-gram that is pruned would have to share what unseen ones have"
        counts, whole = predicted_counts(ngrams), ngrams.opens_line()
        whole[ngrams.level(ngrams.order)] = True
        room = self.config.k / uniform(ngrams)  # k V′
        probs = np.full(len(counts), uniform(ngrams))
        backoffs = np.ones(len(ngrams.starts) - 1)
        for order in range(1, ngrams.order + 1):
            level = ngrams.level(order)
            totals = ngrams.history_sums(order, counts[level])
            if order == 1:
                estimates = (counts[level] + self.config.k) / (totals + room)
            else:
                shorter = ngrams.level(order - 1)
                of = ngrams.histories(order) - shorter.start
                estimates = (counts[level] + self.config.k) / (totals[of] + room)
                longest = order == ngrams.order
                backoffs[shorter] = np.where(whole[shorter] | longest, room / (totals + room), 1.0)
            probs[level] = np.where(whole[level], estimates, uniform(ngrams))
        return probs, backoffs
