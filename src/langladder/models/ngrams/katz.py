"""Katz's back-off: Good-Turing discounts for what was seen, the shorter history for what was not.

Katz 1987, "Estimation of Probabilities from Sparse Data"; Chen and Goodman 1998, section 2.4 (eq. 11 to 13):

    P(w | h) = d_r c(h w) / Σ_x c(h x)   where r = c(h w) > 0,      b(h) P(w | h′)   else
    d_r      = (r* / r − A) / (1 − A),   r* = (r + 1) n_{r+1} / n_r,   A = (k + 1) n_{k+1} / n_1      for r ≤ k, 1 above
    b(h)     = (1 − Σ_{seen x} P(x | h)) / (1 − Σ_{seen x} P(x | h′))

with n_r the number of n-grams of the order that occur r times, and k = 5. Where the text decides otherwise:

* a d_r outside (0, 1), A not below 1, or some n_r that is 0: the largest smaller k that works; failing that, 0.5 is
  taken from every count;
* a history all of whose words occur more than k times would keep all its probability: its total counts one more, as
  SRILM does, and that one goes to the words never seen after it;
* a history after which every word was seen has nothing to give away: relative frequencies;
* what single words give away, all words share evenly (a back-off to unseen words alone would give it all to UNK).
"""

from typing import ClassVar

import numpy as np
from pydantic import Field

from langladder.counts.ngrams import NgramCounts
from langladder.models.ngrams.ngram import NgramModel, PrunableConfig, predicted_counts, uniform
from langladder.models.ngrams.pruning import NEGLIGIBLE, backoff_factors
from langladder.schema import Config


class KatzConfig(PrunableConfig):
    """Settings of Katz's back-off."""

    cutoff: int = Field(default=5, ge=1)  # k: counts above it are trusted as they are


class Katz(NgramModel):
    """Katz back-off model."""

    Config: ClassVar[type[Config]] = KatzConfig
    config: KatzConfig

    def estimate(self, ngrams: NgramCounts, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `NgramModel.estimate`."""
        counts = predicted_counts(ngrams)
        probs = np.empty(len(counts))
        backoffs = np.ones(len(ngrams.starts) - 1)
        for order in range(1, ngrams.order + 1):
            level = ngrams.level(order)
            discounted = np.where(kept[level], discounted_counts(counts[level], self.config.cutoff), 0.0)
            totals = ngrams.history_sums(order, counts[level]).astype(np.float64)
            seen = ngrams.history_sums(order, (kept[level] & (counts[level] > 0)).astype(np.int64))
            given = totals - ngrams.history_sums(order, discounted)
            of = 0 if order == 1 else ngrams.histories(order) - ngrams.level(order - 1).start

            every_word = seen == ngrams.vocab_size - 2
            if order > 1:
                discounted = np.where(every_word[of], counts[level], discounted)
                totals += (given < NEGLIGIBLE * totals) & ~every_word
                probs[level] = discounted / totals[of]
                backoffs[ngrams.level(order - 1)] = backoff_factors(ngrams, order, kept, probs)[2]
            else:
                totals += given < NEGLIGIBLE * totals
                probs[level] = discounted / totals
                probs[level] += (1 - probs[level].sum()) * uniform(ngrams)
        return probs, backoffs


def discounted_counts(counts: np.ndarray, cutoff: int) -> np.ndarray:
    """(G_n,) float64: d_r r of each count r; see the fallbacks above."""
    n = np.bincount(np.minimum(counts, cutoff + 2), minlength=cutoff + 3).astype(np.float64)  # n_0 … n_{k+1}, the rest
    for k in range(cutoff, 0, -1):
        if (n[1 : k + 2] == 0).any():
            continue
        r = np.arange(1, k + 1)
        turing = (r + 1) * n[r + 1] / n[r] / r  # r* / r
        above = (k + 1) * n[k + 1] / n[1]  # A
        if above >= 1:
            continue
        d = (turing - above) / (1 - above)
        if ((d > 0) & (d < 1)).all():
            table = np.concatenate([[0.0], d, [1.0]])
            discounted: np.ndarray = table[np.minimum(counts, k + 1)] * counts
            return discounted
    halved: np.ndarray = np.maximum(counts - 0.5, 0.0)
    return halved
