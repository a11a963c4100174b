"""Maximum likelihood: relative frequencies, without smoothing.

    P(w | h) = c(h w) / Σ_x c(h x)

A word that was never seen after h has probability 0, and so does every text with this pair. The scorer counts such
tokens as impossible, and the perplexity of the text is infinite. Smoothing solves this problem.

After an unseen history, the estimate is 0 / 0. To make P(· | h) a distribution in this case too, the longest seen
suffix of h is used instead. In a text, this only happens after a token that was already impossible.
"""

from typing import ClassVar

import numpy as np

from langladder.ground.schema import Config
from langladder.models.ngrams.extensions import Extensions
from langladder.models.ngrams.ngram import NgramConfig, OrderwiseModel


class MaximumLikelihoodConfig(NgramConfig):
    """Settings of the unsmoothed n-gram model."""


class MaximumLikelihood(OrderwiseModel):
    """Unsmoothed n-gram model."""

    Config: ClassVar[type[Config]] = MaximumLikelihoodConfig
    config: MaximumLikelihoodConfig

    def estimate(self, after: Extensions, discounts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # noqa: ARG002
        """See `OrderwiseModel.estimate`."""
        assert after.kept.all(), "an unsmoothed model has no probability for pruned n-grams"
        # Words never seen after a seen history are impossible; 1 if nothing was ever seen after it, so there is no
        # estimate.
        return relative_frequencies(after), np.where(np.diff(after.starts) == 0, 1.0, 0.0)


def relative_frequencies(after: Extensions) -> np.ndarray:
    """(E,) c(h w) / Σ_x c(h x) of each n-gram h w."""
    frequencies: np.ndarray = after.counts / after.sums(after.counts)[after.of]
    return frequencies
