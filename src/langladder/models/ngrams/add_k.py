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

from langladder.ground.schema import Config
from langladder.models.ngrams.extensions import Extensions
from langladder.models.ngrams.ngram import NgramConfig, OrderwiseModel


class AddKConfig(NgramConfig):
    """Settings of add-k smoothing."""

    k: float = Field(default=1.0, gt=0)  # 1: Laplace; less is nearly always better


class AddK(OrderwiseModel):
    """Add-k n-gram model."""

    Config: ClassVar[type[Config]] = AddKConfig
    config: AddKConfig

    def estimate(self, after: Extensions, discounts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # noqa: ARG002
        """See `OrderwiseModel.estimate`."""
        assert after.kept.all(), "in add-k smoothing an n-gram that is pruned would have to share what unseen ones have"
        totals = after.sums(after.counts)
        room = self.config.k / after.uniform  # k V′
        whole = np.full(len(totals), after.order == self.config.order)  # histories with no longer ones behind them
        whole[after.opening] = True
        estimates = (after.counts + self.config.k) / (totals + room)[after.of]
        probs = np.where(whole[after.of], estimates, after.uniform)
        return probs, np.where(whole, room / (totals + room), 1.0)
