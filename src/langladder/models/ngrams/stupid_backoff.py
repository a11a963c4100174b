"""Stupid back-off: relative frequencies, and a fixed factor for every step to a shorter history.

Brants et al. 2007, "Large Language Models in Machine Translation", section 4, equation 5:

    S(w | h) = c(h w) / Σ_x c(h x)   where h w was seen,      α S(w | h′)   else,      α = 0.4

S is a score: after one history it does not sum to 1, so no perplexity follows from it. What is given here is

    P(w | h) = S(w | h) / Z(h),   Z(h) = Σ_v S(v | h) = 1 + α (Z(h′) − Σ_{seen x} S(x | h′))

Z follows from the counts, order by order, so the tables hold P itself, in back-off form with b(h) = α Z(h′) / Z(h).
After one history P and S rank words alike. The paper saves this very sum (its texts have 10^12 words); here it costs
little.

What differs: the recursion ends not in single words but one step later, in the uniform distribution, so that a word
never seen keeps a score; and Σ_x c(h x) stands for c(h), which is the same but where the text ends.
"""

from typing import ClassVar

import numpy as np
from pydantic import Field

from langladder.counts.ngrams import NgramCounts
from langladder.models.ngrams.maximum_likelihood import relative_frequencies
from langladder.models.ngrams.ngram import NgramModel, PrunableConfig, uniform
from langladder.schema import Config
from langladder.text.specials import BOS, PAD


class StupidBackoffConfig(PrunableConfig):
    """Settings of stupid back-off."""

    factor: float = Field(default=0.4, gt=0, le=1)  # α


class StupidBackoff(NgramModel):
    """Stupid back-off, normalised."""

    Config: ClassVar[type[Config]] = StupidBackoffConfig
    config: StupidBackoffConfig

    def estimate(self, ngrams: NgramCounts, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `NgramModel.estimate`."""
        alpha = self.config.factor
        scores = relative_frequencies(ngrams)  # S
        single = ngrams.level(1)
        scores[single][scores[single] == 0] = alpha * uniform(ngrams)
        scores[[PAD, BOS]] = 0.0
        sums = np.array([scores[single].sum()])  # Z of the histories one shorter than those of the order in hand
        probs = scores.copy()
        probs[single] /= sums
        backoffs = np.ones(len(ngrams.starts) - 1)
        for order in range(2, ngrams.order + 1):
            level, shorter = ngrams.level(order), ngrams.level(order - 1)
            suffixes = 0 if order == 2 else ngrams.suffixes[shorter] - ngrams.level(order - 2).start  # h′ of each h
            lower_sums = sums[suffixes]  # Z(h′)
            seen = ngrams.history_sums(order, scores[level] * kept[level])
            of_these = ngrams.history_sums(order, scores[ngrams.suffixes[level]] * kept[level])  # Σ_{seen x} S(x | h′)
            some = ngrams.history_sums(order, kept[level].astype(np.int64)) > 0
            sums = np.where(some, seen + alpha * np.maximum(lower_sums - of_these, 0.0), lower_sums)
            backoffs[shorter] = np.where(some, alpha * lower_sums / sums, 1.0)
            probs[level] = scores[level] / sums[ngrams.histories(order) - shorter.start]
        return probs, backoffs
