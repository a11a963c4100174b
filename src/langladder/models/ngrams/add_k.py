"""Add-k smoothing: add k to the count of every n-gram.

Lidstone 1920; k = 1 is Laplace's rule of succession.

    P(w | h) = (c(h w) + k) / (Σ_x c(h x) + k V′)

with V′ the number of ids that can be predicted. After an unseen history, this is uniform.

In the tables, lower orders are not used. So single words have 1 / V′, and the factor of a history h, b(h) = k V′ / (Σ_x
c(h x) + k V′), gives k / (Σ_x c(h x) + k V′) for a word that was never seen after h. Short histories at the beginning
of a line are complete histories: n-grams that begin with BOS are estimated at every order.
"""

from typing import ClassVar

import numpy as np
from pydantic import Field

from langladder.ground.schema import Config
from langladder.models.ngrams.extensions import Extensions
from langladder.models.ngrams.ngram import NgramConfig, OrderwiseModel


class AddKConfig(NgramConfig):
    """Settings of add-k smoothing."""

    k: float = Field(default=1.0, gt=0)  # 1: Laplace; smaller values are nearly always better


class AddK(OrderwiseModel):
    """Add-k n-gram model."""

    Config: ClassVar[type[Config]] = AddKConfig
    config: AddKConfig

    def estimate(self, after: Extensions, discounts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # noqa: ARG002
        """See `OrderwiseModel.estimate`."""
        assert after.kept.all(), "with add-k, a pruned n-gram would have to share the probability of unseen ones"
        totals = after.sums(after.counts)
        room = self.config.k / after.uniform  # k V′
        whole = np.full(len(totals), after.order == self.config.order)  # histories without longer extensions
        whole[after.opening] = True
        estimates = (after.counts + self.config.k) / (totals + room)[after.of]
        probs = np.where(whole[after.of], estimates, after.uniform)
        return probs, np.where(whole, room / (totals + room), 1.0)
