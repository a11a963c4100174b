"""Stupid back-off: relative frequencies, and a fixed factor for every step to a shorter history.

Brants et al. 2007, "Large Language Models in Machine Translation", section 4, equation 5:

    S(w | h) = c(h w) / Σ_x c(h x)   where h w was seen,      α S(w | h′)   else,      α = 0.4

S is a score: over the words after a history, it does not sum to 1, so it has no perplexity. The model here is

    P(w | h) = S(w | h) / Z(h),   Z(h) = Σ_v S(v | h) = 1 + α (Z(h′) − Σ_{seen x} S(x | h′))

Z is computed from the counts, order by order, so the tables contain P itself, in back-off form with b(h) = α Z(h′) /
Z(h). After the same history, P and S rank words equally. The paper avoids this sum (its texts have 10^12 words); here
it costs little.

Differences from the paper: the recursion does not end at single words but one step later, at the uniform distribution,
so that an unseen word has a score. And c(h) is replaced by Σ_x c(h x), which only differs at the end of the text.
"""

from typing import ClassVar

import numpy as np
from pydantic import Field

from langladder.counts.ngram_pieces import Pieces, plain_counts
from langladder.ground.schema import Config
from langladder.models.ngrams.extensions import Extensions, extensions
from langladder.models.ngrams.maximum_likelihood import relative_frequencies
from langladder.models.ngrams.ngram import NgramModel, PrunableConfig
from langladder.text.tokenize.specials import BOS, PAD


class StupidBackoffConfig(PrunableConfig):
    """Settings of stupid back-off."""

    factor: float = Field(default=0.4, gt=0, le=1)  # α


class StupidBackoff(NgramModel):
    """Stupid back-off, normalised."""

    Config: ClassVar[type[Config]] = StupidBackoffConfig
    config: StupidBackoffConfig

    def estimates(self, pieces: Pieces, kept: list[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """See `NgramModel.estimates`; an order reads S and Z of the order below."""
        all_probs, all_backoffs = [], []
        below, sums_below = np.zeros(0), np.zeros(0)
        for order in range(1, pieces.ngrams.order + 1):
            columns = [pieces.column(np.float64) for _ in range(4)]
            counts = plain_counts(pieces, order)
            suffix_sums = pieces.at_history_suffixes(order, sums_below) if order > 2 else None
            for _, after in extensions(pieces, order, counts, kept[order - 1], below):
                scores = self.scores(after, next(suffix_sums) if suffix_sums else sums_below)
                for column, values in zip(columns, scores, strict=True):
                    column.add(values)
            below, sums_below, probs, backoffs = (column.array() for column in columns)
            all_probs.append(probs)
            all_backoffs.append(backoffs)
        return all_probs, all_backoffs

    def scores(
        self, after: Extensions, lower_sums: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """S(w | h), (E,), of each n-gram and Z(h), (H,), of each history; P and b.

        Args:
            after: histories and extensions; `lower` is S(w | h′).
            lower_sums: Z(h′), (H,), or (1,) if all h′ are the empty history.
        """
        alpha, scores = self.config.factor, relative_frequencies(after)
        if after.order == 1:
            scores[scores == 0] = alpha * after.uniform
            scores[[PAD, BOS]] = 0.0
            sums = after.sums(scores)
            return scores, sums, scores / sums, np.ones(1)
        seen, of_these = after.sums(scores * after.kept), after.sums(after.lower * after.kept)  # Σ_{seen x} S(x | h′)
        some = after.sums(after.kept.astype(np.int64)) > 0
        sums = np.where(some, seen + alpha * np.maximum(lower_sums - of_these, 0.0), lower_sums)
        return scores, sums, scores / sums[after.of], np.where(some, alpha * lower_sums / sums, 1.0)
