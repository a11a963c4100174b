"""Base of counted n-gram models: settings, pruning, and the step from counts to back-off tables.

A method says two things, both about n-grams that occur: the probability p(w | h) of the n-gram h w, and the factor b(h)
by which the shorter history's probabilities are multiplied for the words never seen after h (`models.ngrams.backoff` is
that form). All methods end the same way: single words share the room for words never seen evenly, with the uniform
distribution 1 / V′ over the V′ ids that can be predicted (all but PAD and BOS).

Orders are estimated from single words upwards, each by pieces of its histories (`models.ngrams.extensions`): one piece
where memory has room (what the running engine grants, `whole`), else as many as it takes, from file to file. The model
is the same to the bit; its tables are then mapped from files.

Pruning leaves n-grams out of the tables; the probabilities still sum to 1:

* count cut-offs, one per order as `lmplz --prune` takes them: n-grams that occur no more often than that are dropped,
  what they had goes to the shorter history;
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
    """Base of the counted n-gram models."""

    config: NgramConfig
    Config: ClassVar[type[Config]] = NgramConfig

    @abstractmethod
    def estimates(self, pieces: Pieces, kept: list[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """The model, from counts.

        Args:
            pieces: the n-grams, as they are read.
            kept: (G_n,) bool an order; the others are left out of the model and their values are not used.

        Returns:
            probs: (G_n,) float64 an order, p(w | h) of the n-gram h w.
            backoffs: (G_{n-1},) float64 an order, b(h) of the histories of its n-grams; for single words, (1,).
        """

    def fit(self, stream: TokenStream) -> None:
        """Count the training stream and estimate the probabilities.

        Raises:
            InputError: the stream is empty, does not open with BOS, or has ids outside the vocabulary.
        """
        ngrams = count_ngrams(stream.ids, self.config.order, self.vocab_size)
        with working("estimating probabilities"), pieces_of(ngrams) as pieces:
            kept = [self._frequent(pieces, order) for order in range(1, ngrams.order + 1)]
            estimates = Estimates(kept, *self.estimates(pieces, kept))
            if isinstance(self.config, PrunableConfig) and self.config.prune_entropy:
                estimates = entropy_pruned(pieces, estimates, self.config.prune_entropy)
            self.set_arrays(_tables(pieces, estimates))

    def _frequent(self, pieces: Pieces, order: int) -> np.ndarray:
        """(G_n,) bool: what the count cut-offs leave. Histories and suffixes are at least as frequent: kept as well."""
        cuts = self.config.prune if isinstance(self.config, PrunableConfig) else []
        most = cuts[min(order - 2, len(cuts) - 1)] if cuts and order > 1 else -1
        kept = pieces.column(np.bool_)
        for cut in pieces.cuts(order):
            kept.add(pieces.read(pieces.ngrams.counts, cut.ngrams) > most)
        return kept.array()


class OrderwiseModel(NgramModel):
    """Base of methods by which p(w | h) and b(h) follow from the counts after h and from p(· | h′)."""

    distinct_counts: int = 0  # counts up to this one, for `discounts`

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
            discounts: what the method of this name gave for the order.

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
                    p[[PAD, BOS]] = 0.0  # given, never predicted
                probs.add(p)
                backoffs.add(b)
            below = probs.array()
            all_probs.append(below)
            all_backoffs.append(backoffs.array())
        return all_probs, all_backoffs


def _tables(pieces: Pieces, estimates: Estimates) -> dict[str, np.ndarray]:
    """The tables of what is kept, as `BackoffLanguageModel.arrays`."""
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
    """Of those that are kept, float32."""
    found, stays = pieces.read(values, rows), pieces.read(kept, rows)
    with np.errstate(divide="ignore"):
        logarithms: np.ndarray = np.log(found if stays.all() else found[stays])
    return logarithms.astype(np.float32)


def interpolate(after: Extensions, discount: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All interpolated models: each n-gram is discounted, and the shorter history distributes the discount.

        p(w | h) = (a(h w) − D(h w)) / Σ_x a(h x) + γ(h) p(w | h′),     γ(h) = Σ_x D(h x) / Σ_x a(h x)

    Args:
        discount: (E,) D(h w), between 0 and a(h w). An n-gram that is not kept gives all it has.

    Returns:
        probs (E,) and backoffs (H,), γ, as `OrderwiseModel.estimate`.
    """
    if after.order == 1:
        a, d = after.counts, discount
        return (a - d) / a.sum() + d.sum() / a.sum() * after.uniform, np.ones(1)
    probs, gammas = np.empty(len(discount)), np.ones(len(after.starts) - 1)
    kernels.interpolate(after.starts, after.counts, after.kept, discount, after.lower, probs, gammas)
    return probs, gammas
