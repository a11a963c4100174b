"""Base of counted n-gram models: settings, pruning, and the step from counts to back-off tables.

A method defines two values for n-grams that occur: the probability p(w | h) of the n-gram h w, and the factor b(h) of
the shorter history's probabilities for words that were never seen after h (see `models.ngrams.backoff`). In all
methods, the lowest order distributes the probability of unseen words evenly, with the uniform distribution 1 / V′ over
the V′ ids that can be predicted (all except PAD and BOS).

Orders are estimated from single words upwards, each in pieces of its histories (`models.ngrams.extensions`): one piece
if it fits into the memory limit of the running engine (`whole`), else as many as needed, from file to file. The
resulting model is bit-identical; its tables are then memory-mapped from files.

Pruning leaves n-grams out of the tables; the probabilities still sum to 1:

* count cut-offs, one per order as in `lmplz --prune`: n-grams with at most this count are dropped, and their
  probability goes to the shorter history;
* relative entropy (Stolcke 1998): see `models.ngrams.pruning`.
"""

from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from langladder.counts.ngram_pieces import Pieces, frequencies, pieces_of, plain_counts
from langladder.counts.ngrams import count_ngrams
from langladder.ground.progress import working
from langladder.ground.schema import Config
from langladder.kernels import ngrams as kernels
from langladder.models.ngrams.backoff import BackoffLanguageModel
from langladder.models.ngrams.extensions import Extensions, extensions
from langladder.models.ngrams.pruning import Estimates, entropy_pruned, kept_trie
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, PAD


class NgramConfig(Config):
    """Settings of every n-gram model."""

    order: int = Field(default=3, ge=1, le=6)  # 3: two words of history


class PrunableConfig(NgramConfig):
    """Settings of the n-gram models that can be pruned."""

    # drop n-grams with at most this count, for orders 2, 3, …; the last number also applies to higher orders
    prune: list[int] = Field(default=[])
    prune_entropy: float = Field(default=0.0, ge=0)  # drop n-grams that change perplexity by less; 1e-8 … 1e-6

    @model_validator(mode="after")
    def _cut_offs_keep_histories(self) -> Self:
        if any(cut < 0 for cut in self.prune) or self.prune != sorted(self.prune):
            raise ValueError(
                f"prune: {self.prune}; allowed: cut-offs ≥ 0 for orders 2, 3, …, each at least the previous one"
            )
        if len(self.prune) > max(self.order - 1, 0):
            raise ValueError(
                f"prune: {self.prune} has {len(self.prune)} cut-offs; order {self.order} takes at most one less"
            )
        return self


class NgramModel(BackoffLanguageModel):
    """Base of the counted n-gram models."""

    config: NgramConfig
    Config: ClassVar[type[Config]] = NgramConfig

    @abstractmethod
    def estimates(self, pieces: Pieces, kept: list[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Estimate the model from counts.

        Args:
            pieces: the n-grams in pieces.
            kept: (G_n,) bool per order; the others are left out of the model, and their values are not used.

        Returns:
            probs: (G_n,) float64 per order, p(w | h) of the n-gram h w.
            backoffs: (G_{n-1},) float64 per order, b(h) of the histories of its n-grams; (1,) for single words.
        """

    def fit(self, stream: TokenStream) -> None:
        """Count the training stream and estimate the probabilities.

        Raises:
            InputError: the stream is empty, does not begin with BOS, or has ids outside the vocabulary.
        """
        ngrams = count_ngrams(stream.ids, self.config.order, self.vocab_size)
        with working("estimating probabilities"), pieces_of(ngrams) as pieces:
            kept = [self._frequent(pieces, order) for order in range(1, ngrams.order + 1)]
            estimates = Estimates(kept, *self.estimates(pieces, kept))
            if isinstance(self.config, PrunableConfig) and self.config.prune_entropy:
                estimates = entropy_pruned(pieces, estimates, self.config.prune_entropy)
            self.set_arrays(_tables(pieces, estimates))

    def _frequent(self, pieces: Pieces, order: int) -> np.ndarray:
        """(G_n,) bool: the n-grams that the count cut-offs keep. Histories and suffixes are at least as frequent, so
        they are also kept."""
        cuts = self.config.prune if isinstance(self.config, PrunableConfig) else []
        most = cuts[min(order - 2, len(cuts) - 1)] if cuts and order > 1 else -1
        kept = pieces.column(np.bool_)
        for cut in pieces.cuts(order):
            kept.add(pieces.read(pieces.ngrams.counts, cut.ngrams) > most)
        return kept.array()


class OrderwiseModel(NgramModel):
    """Base of methods that compute p(w | h) and b(h) from the counts after h and from p(· | h′)."""

    distinct_counts: int = 0  # the highest count for `discounts`

    def counted(self, pieces: Pieces, order: int) -> np.ndarray:
        """(G_n,) int64 a(h w) of an order."""
        return plain_counts(pieces, order)

    def discounts(self, n: np.ndarray) -> np.ndarray:
        """The discounts of one order, given n_0, n_1, …: the number of its n-grams with each count."""
        return n

    @abstractmethod
    def estimate(self, after: Extensions, discounts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The probabilities after some histories.

        Args:
            after: H histories and their E extensions.
            discounts: the result of `discounts` for the order.

        Returns:
            probs: (E,) float64, p(w | h) of the n-gram h w.
            backoffs: (H,) float64, b(h).
        """

    def estimates(self, pieces: Pieces, kept: list[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        all_probs, all_backoffs = [], []
        below = np.zeros(0)
        for order in range(1, pieces.ngrams.order + 1):
            counts = self.counted(pieces, order)
            n = np.zeros(self.distinct_counts + 1, dtype=np.int64)
            for cut in pieces.cuts(order) if self.distinct_counts else ():
                n += frequencies(pieces.read(counts, cut.rows), self.distinct_counts)
            discounts = self.discounts(n)
            probs, backoffs = pieces.column(np.float64), pieces.column(np.float64)
            for _, after in extensions(pieces, order, counts, kept[order - 1], below):
                p, b = self.estimate(after, discounts)
                if order == 1:
                    p[[PAD, BOS]] = 0.0  # BOS and PAD are given, never predicted
                probs.add(p)
                backoffs.add(b)
            below = probs.array()
            all_probs.append(below)
            all_backoffs.append(backoffs.array())
        return all_probs, all_backoffs


def _tables(pieces: Pieces, estimates: Estimates) -> dict[str, np.ndarray]:
    """The tables of the kept n-grams, in the form of `BackoffLanguageModel.arrays`."""
    kept, all_probs, all_backoffs = estimates
    log_probs, log_backoffs = pieces.column(np.float32), pieces.column(np.float32)
    for order in range(1, pieces.ngrams.order + 1):
        for cut in pieces.cuts(order):
            log_probs.add(_logarithms(pieces, all_probs[order - 1], kept[order - 1], cut.rows))
            if order > 1:
                log_backoffs.add(_logarithms(pieces, all_backoffs[order - 1], kept[order - 2], cut.history_rows))
    levels, words, starts = kept_trie(pieces, kept)
    tables = {"levels": levels, "words": words, "starts": starts}
    return tables | {"log_probs": log_probs.array(), "log_backoffs": log_backoffs.array()}


def _logarithms(pieces: Pieces, values: np.ndarray, kept: np.ndarray, rows: slice) -> np.ndarray:
    """The values of kept n-grams, float32."""
    columns, stays = pieces.read(values, rows), pieces.read(kept, rows)
    with np.errstate(divide="ignore"):
        logarithms: np.ndarray = np.log(columns if stays.all() else columns[stays])
    return logarithms.astype(np.float32)


def interpolate(after: Extensions, discount: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The common form of interpolated models: n-grams are discounted, and the shorter history distributes the
    discounts.

        p(w | h) = (a(h w) − D(h w)) / Σ_x a(h x) + γ(h) p(w | h′),     γ(h) = Σ_x D(h x) / Σ_x a(h x)

    Args:
        discount: (E,) D(h w), between 0 and a(h w). The discount of an n-gram that is not kept is its full count.

    Returns:
        probs (E,) and backoffs (H,), γ; see `OrderwiseModel.estimate`.
    """
    if after.order == 1:
        a, d = after.counts, discount
        return (a - d) / a.sum() + d.sum() / a.sum() * after.uniform, np.ones(1)
    probs, gammas = np.empty(len(discount)), np.ones(len(after.starts) - 1)
    kernels.interpolate(after.starts, after.counts, after.kept, discount, after.lower, probs, gammas)
    return probs, gammas
