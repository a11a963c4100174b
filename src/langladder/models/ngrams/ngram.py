"""What every counted n-gram model shares: settings, pruning, and the way from counts to back-off tables.

A method says two things, both about n-grams that occur: the probability p(w | h) of the n-gram h w, and the factor b(h)
by which the shorter history's probabilities are multiplied for the words never seen after h (`models.ngrams.backoff` is
that form). All methods end the same way: single words share the room for words never seen evenly, with the uniform
distribution 1 / V′ over the V′ ids that can be predicted (all but PAD and BOS).

Pruning leaves n-grams out of the tables; the probabilities still sum to 1:

* count cut-offs, one per order as `lmplz --prune` takes them: n-grams that occur no more often than that are dropped,
  what they had goes to the shorter history;
* relative entropy (Stolcke 1998): see `models.ngrams.pruning`.
"""

from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from langladder.compiled import njit
from langladder.counts.ngrams import NgramCounts, count_ngrams
from langladder.models.ngrams.backoff import BackoffLanguageModel
from langladder.models.ngrams.pruning import entropy_pruned, without
from langladder.progress import working
from langladder.schema import Config
from langladder.text.corpus_ids import TokenStream
from langladder.text.specials import BOS, PAD


class NgramConfig(Config):
    """Settings of every n-gram model."""

    order: int = Field(default=3, ge=1, le=6)  # 3: two words of history


class PrunableConfig(NgramConfig):
    """Settings of the n-gram models that can be made smaller."""

    # Drop what occurs no more often than this, for orders 2, 3, …; the last number holds for the orders after it too.
    prune: list[int] = Field(default=[])
    prune_entropy: float = Field(default=0.0, ge=0)  # drop what raises perplexity by less than this share; 1e-8 … 1e-6

    @model_validator(mode="after")
    def _cut_offs_keep_histories(self) -> Self:
        if any(cut < 0 for cut in self.prune) or self.prune != sorted(self.prune):
            raise ValueError(
                f"prune: {self.prune}; allowed: cut-offs ≥ 0 for orders 2, 3, …, each at least the one before"
            )
        if len(self.prune) > max(self.order - 1, 0):
            raise ValueError(
                f"prune: {self.prune} has {len(self.prune)} cut-offs; order {self.order} takes at most one less"
            )
        return self


class NgramModel(BackoffLanguageModel):
    """Base of the counted n-gram models: subclasses write `estimate`."""

    config: NgramConfig
    Config: ClassVar[type[Config]] = NgramConfig

    @abstractmethod
    def estimate(self, ngrams: NgramCounts, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The model, from counts.

        Args:
            ngrams: the counts, L n-grams below the highest order.
            kept: (G,) bool; the others are left out of the model and their values are not used.

        Returns:
            probs: (G,) float64, p(w | h) of the n-gram h w.
            backoffs: (L,) float64, b(h).
        """

    def fit(self, stream: TokenStream) -> None:
        """Count the training stream and estimate the probabilities.

        Raises:
            InputError: the stream is empty, does not open with BOS, or has ids outside the vocabulary.
        """
        ngrams = count_ngrams(stream.ids, self.config.order, self.vocab_size)
        kept = self._frequent(ngrams)
        with working("estimating probabilities"):
            probs, backoffs = self.estimate(ngrams, kept)
        probs[[PAD, BOS]] = 0.0  # given, never predicted
        words, starts, levels = ngrams.words, ngrams.starts, ngrams.levels
        if isinstance(self.config, PrunableConfig) and self.config.prune_entropy:
            kept, backoffs = entropy_pruned(ngrams, kept, probs, backoffs, self.config.prune_entropy)
        if not kept.all():
            levels, words, starts, probs, backoffs = without(~kept, levels, words, starts, probs, backoffs)
        with np.errstate(divide="ignore"):
            log_probs, log_backoffs = np.log(probs, out=probs), np.log(backoffs, out=backoffs)
        self.set_arrays(
            {
                "levels": levels,
                "words": words,
                "starts": starts,
                "log_probs": log_probs.astype(np.float32),
                "log_backoffs": log_backoffs.astype(np.float32),
            }
        )

    def _frequent(self, ngrams: NgramCounts) -> np.ndarray:
        """(G,) bool: what the count cut-offs leave. Histories and suffixes are at least as frequent: kept as well."""
        kept = np.ones(len(ngrams.words), dtype=np.bool_)
        cuts = self.config.prune if isinstance(self.config, PrunableConfig) else []
        for order in range(2, ngrams.order + 1) if cuts else ():
            level = ngrams.level(order)
            kept[level] = ngrams.counts[level] > cuts[min(order - 2, len(cuts) - 1)]
        return kept


def uniform(ngrams: NgramCounts) -> float:
    """1 / V′: all ids but PAD and BOS."""
    return 1 / (ngrams.vocab_size - 2)


def predicted_counts(ngrams: NgramCounts) -> np.ndarray:
    """(G,) int64: the counts, with 0 for BOS alone: it opens lines, but is never predicted."""
    counts = ngrams.counts.copy()
    counts[BOS] = 0
    return counts


def interpolate(
    ngrams: NgramCounts, kept: np.ndarray, counts: np.ndarray, taken: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """All interpolated models in one: each n-gram gives a part of its count away, which the shorter history spreads.

        p(w | h) = (a(h w) − D(h w)) / Σ_x a(h x) + γ(h) p(w | h′),     γ(h) = Σ_x D(h x) / Σ_x a(h x)

    Args:
        counts: (G,) a(h w).
        taken: (G,) D(h w), between 0 and a(h w). An n-gram that is not kept gives all it has.

    Returns:
        probs (G,) and backoffs (L,), γ, as `NgramModel.estimate`.
    """
    probs = np.empty(len(counts))
    gammas = np.ones(len(ngrams.starts) - 1)
    single = ngrams.level(1)
    a, d = counts[single], taken[single]
    probs[single] = (a - d) / a.sum() + d.sum() / a.sum() * uniform(ngrams)
    for order in range(2, ngrams.order + 1):
        shorter = ngrams.level(order - 1)
        _interpolate(shorter.start, shorter.stop, ngrams.starts, ngrams.suffixes, kept, counts, taken, probs, gammas)
    return probs, gammas


@njit(nogil=True)
def _interpolate(
    first: int,
    last: int,
    starts: np.ndarray,
    suffixes: np.ndarray,
    kept: np.ndarray,
    counts: np.ndarray,
    taken: np.ndarray,
    probs: np.ndarray,
    gammas: np.ndarray,
) -> None:
    """Fill `probs` after, and `gammas` of, the histories numbered first … last − 1."""
    for history in range(first, last):
        total, freed = 0.0, 0.0
        for ngram in range(starts[history], starts[history + 1]):
            total += counts[ngram]
            freed += taken[ngram] if kept[ngram] else counts[ngram]
        if total > 0:  # else the text ends after h
            gammas[history] = freed / total
        for ngram in range(starts[history], starts[history + 1]):
            own = counts[ngram] - taken[ngram] if kept[ngram] else 0.0
            probs[ngram] = own / total + gammas[history] * probs[suffixes[ngram]]
