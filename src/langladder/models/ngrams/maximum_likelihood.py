"""Maximum likelihood: relative frequencies, and what is wrong with them.

    P(w | h) = c(h w) / Σ_x c(h x)

A word never seen after h has probability 0, and with it every text that holds the pair: the scorer counts such tokens
as impossible, and the perplexity of the text is infinite. That is what smoothing is for.

After a history never seen the estimate is 0 / 0. So that P(· | h) is a distribution there too, the longest end of h
that was seen takes its place; in a text this happens only after a token that was impossible already.
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
        assert after.kept.all(), "an unsmoothed model has nothing to put in the place of what is pruned"
        # What was never seen after a history seen is impossible; 1 where nothing was ever seen after it: no estimate.
        return relative_frequencies(after), np.where(np.diff(after.starts) == 0, 1.0, 0.0)


def relative_frequencies(after: Extensions) -> np.ndarray:
    """(E,) c(h w) / Σ_x c(h x) of each n-gram h w."""
    frequencies: np.ndarray = after.counts / after.sums(after.counts)[after.of]
    return frequencies
