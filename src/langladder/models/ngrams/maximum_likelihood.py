"""Maximum likelihood: relative frequencies, and what is wrong with them.

    P(w | h) = c(h w) / Σ_x c(h x)

A word never seen after h has probability 0, and with it every text that holds the pair: the scorer counts such tokens
as impossible, and the perplexity of the text is infinite. That is what smoothing is for.

After a history never seen the estimate is 0 / 0. So that P(· | h) is a distribution there too, the longest end of h
that was seen takes its place; in a text this happens only after a token that was impossible already.
"""

from typing import ClassVar

import numpy as np

from langladder.counts.ngrams import NgramCounts
from langladder.models.ngrams.ngram import NgramConfig, NgramModel, predicted_counts
from langladder.schema import Config


class MaximumLikelihoodConfig(NgramConfig):
    """Settings of the unsmoothed n-gram model."""


class MaximumLikelihood(NgramModel):
    """Unsmoothed n-gram model."""

    Config: ClassVar[type[Config]] = MaximumLikelihoodConfig
    config: MaximumLikelihoodConfig

    def estimate(self, ngrams: NgramCounts, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `NgramModel.estimate`."""
        assert kept.all(), "an unsmoothed model has nothing to put in the place of what is pruned"
        probs = relative_frequencies(ngrams)
        backoffs = np.zeros(len(ngrams.starts) - 1)  # what was never seen after a history seen is impossible
        backoffs[np.diff(ngrams.starts) == 0] = 1.0  # nothing was ever seen after it: no estimate
        return probs, backoffs


def relative_frequencies(ngrams: NgramCounts) -> np.ndarray:
    """(G,) c(h w) / Σ_x c(h x) of each n-gram h w."""
    counts = predicted_counts(ngrams)
    frequencies = np.empty(len(counts))
    for order in range(1, ngrams.order + 1):
        level = ngrams.level(order)
        totals = ngrams.history_sums(order, counts[level])
        of = 0 if order == 1 else ngrams.histories(order) - ngrams.level(order - 1).start
        frequencies[level] = counts[level] / totals[of]
    return frequencies
