"""Katz's back-off: Good-Turing discounts for seen n-grams, the shorter history for unseen ones.

Katz 1987, "Estimation of Probabilities from Sparse Data"; Chen and Goodman 1998, section 2.4 (eq. 11 to 13):

    P(w | h) = d_r c(h w) / Σ_x c(h x)   where r = c(h w) > 0,      b(h) P(w | h′)   else
    d_r      = (r* / r − A) / (1 − A),   r* = (r + 1) n_{r+1} / n_r,   A = (k + 1) n_{k+1} / n_1      for r ≤ k, 1 above
    b(h)     = (1 − Σ_{seen x} P(x | h)) / (1 − Σ_{seen x} P(x | h′))

with n_r the number of n-grams of the order that occur r times, and k = 5. Exceptions:

* if a d_r is outside (0, 1), A is not below 1, or an n_r is 0, the largest smaller k without this problem is used; if
  there is none, 0.5 is subtracted from every count;
* a history whose words all occur more than k times would keep all of its probability: its total is increased by one,
  as in SRILM, for the words that were never seen after it;
* a history after which every word was seen has relative frequencies, without discounts;
* the discounts of single words are distributed evenly over all words (with a back-off to unseen words only, UNK would
  get everything).
"""

from typing import ClassVar

import numpy as np
from pydantic import Field

from langladder.ground.schema import Config
from langladder.models.ngrams.extensions import Extensions
from langladder.models.ngrams.ngram import OrderwiseModel, PrunableConfig
from langladder.models.ngrams.pruning import NEGLIGIBLE, backoff_factors


class KatzConfig(PrunableConfig):
    """Settings of Katz's back-off."""

    cutoff: int = Field(default=5, ge=1)  # k: larger counts are not discounted


class Katz(OrderwiseModel):
    """Katz back-off model."""

    Config: ClassVar[type[Config]] = KatzConfig
    config: KatzConfig

    @property
    def distinct_counts(self) -> int:  # type: ignore[override]
        """k + 1, because n_{k+1} is the last one that is used."""
        return self.config.cutoff + 2

    def discounts(self, n: np.ndarray) -> np.ndarray:
        return good_turing(n, self.config.cutoff)

    def estimate(self, after: Extensions, discounts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        counts, kept = after.counts, after.kept
        discounted = np.where(kept, discounted_counts(counts, discounts), 0.0)
        totals = after.sums(counts).astype(np.float64)
        freed = totals - after.sums(discounted)
        if after.order == 1:
            totals += freed < NEGLIGIBLE * totals
            probs = discounted / totals
            probs += (1 - probs.sum()) * after.uniform
            return probs, np.ones(1)
        every_word = after.sums((kept & (counts > 0)).astype(np.int64)) == after.vocab_size - 2
        discounted = np.where(every_word[after.of], counts, discounted)
        totals += (freed < NEGLIGIBLE * totals) & ~every_word
        probs = discounted / totals[after.of]
        return probs, backoff_factors(after, probs)[2]


def discounted_counts(counts: np.ndarray, d: np.ndarray) -> np.ndarray:
    """(E,) float64: d_r r of each count r, from the result of `good_turing`."""
    if len(d):
        discounted: np.ndarray = d[np.minimum(counts, len(d) - 1)] * counts
        return discounted
    halved: np.ndarray = np.maximum(counts - 0.5, 0.0)
    return halved


def good_turing(n: np.ndarray, cutoff: int) -> np.ndarray:
    """(k + 2,): d_0 = 0, d_1 … d_k, and 1 for all larger counts, with k ≤ `cutoff`; empty if 0.5 is subtracted from
    all.

    Args:
        n: n_0 … n_{cutoff + 1} and more; see the exceptions above.
    """
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
            return np.concatenate([[0.0], d, [1.0]])
    return np.zeros(0)
