"""Interpolated modified Kneser-Ney smoothing: the n-gram model to beat.

Chen and Goodman 1998, "An Empirical Study of Smoothing Techniques for Language Modeling", section 3.3 and eq. 26:

    p(w | h) = (a(h w) − D(a(h w))) / Σ_x a(h x) + γ(h) p(w | h′)
    γ(h)     = (D_1 N_1(h ·) + D_2 N_2(h ·) + D_3+ N_3+(h ·)) / Σ_x a(h x)

with a the count at the highest order and the continuation count below it (`counts.ngrams.continuation_counts`),
N_k(h ·) the number of words seen k times after h, and D_1, D_2, D_3+ one triple an order, in closed form.

Details as in KenLM's `lmplz`: n-grams that open with BOS keep their plain counts; single words are interpolated with
the uniform distribution over everything that can be predicted (all ids but PAD and BOS, so words never seen share γ
of the empty history evenly); where a text is too small for the closed form, fixed discounts take its place.
"""

from typing import ClassVar

import numpy as np
from pydantic import Field, model_validator

from langladder.counts.ngrams import NgramCounts, continuation_counts, count_ngrams
from langladder.models.backoff import BackoffLanguageModel
from langladder.schema import Config
from langladder.text.corpus_ids import TokenStream
from langladder.text.specials import BOS, PAD


class KneserNeyConfig(Config):
    """Settings of the Kneser-Ney model."""

    order: int = Field(default=3, ge=1, le=6)  # 3: two words of history
    fallback_discounts: list[float] = Field(
        default=[0.5, 1.0, 1.5]
    )  # D_1, D_2, D_3+ where the closed form is undefined

    @model_validator(mode="after")
    def _discounts_leave_counts_positive(self) -> "KneserNeyConfig":
        values = self.fallback_discounts
        if len(values) != 3 or not all(0 <= value <= k for k, value in enumerate(values, start=1)):
            raise ValueError(f"fallback_discounts: {values}; allowed: three numbers D_k with 0 ≤ D_k ≤ k")
        return self


class KneserNey(BackoffLanguageModel):
    """Interpolated modified Kneser-Ney n-gram model of orders 1 to 6."""

    Config: ClassVar[type[Config]] = KneserNeyConfig
    config: KneserNeyConfig

    def fit(self, stream: TokenStream) -> None:
        """Count the training stream and estimate the probabilities.

        Raises:
            InputError: the stream is empty, does not open with BOS, or has ids outside the vocabulary.
        """
        ngrams = count_ngrams(stream.ids, self.config.order, self.vocab_size)
        log_probs, log_backoffs = estimate(ngrams, self.config.fallback_discounts)
        self.set_arrays(
            {
                "levels": ngrams.levels,
                "words": ngrams.words,
                "starts": ngrams.starts,
                "log_probs": log_probs,
                "log_backoffs": log_backoffs,
            }
        )


def estimate(ngrams: NgramCounts, fallback_discounts: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """log p(h w) of every n-gram, (G,) float32, and log γ(h) of every one below the highest order, (L,) float32."""
    adjusted = continuation_counts(ngrams)
    probs = np.empty(len(ngrams.words))
    gammas = np.empty(len(ngrams.starts) - 1)
    for order in range(1, ngrams.order + 1):
        level = ngrams.level(order)
        counts = adjusted[level]  # a(h w)
        discounts = closed_form_discounts(counts, fallback_discounts)[np.minimum(counts, 3)]  # D(a(h w))
        if order == 1:
            histories = np.zeros(len(counts), dtype=np.int64)  # the empty one
            lower = np.full(len(counts), 1 / (len(counts) - 2))  # all but PAD and BOS
        else:
            shorter = ngrams.level(order - 1)
            histories = np.repeat(
                np.arange(shorter.stop - shorter.start), np.diff(ngrams.starts[shorter.start : shorter.stop + 1])
            )
            lower = probs[ngrams.suffixes[level]]  # p(w | h′)

        totals = np.bincount(histories, weights=counts)  # Σ_x a(h x); histories at the end may have no extension
        gamma = np.bincount(histories, weights=discounts) / np.maximum(totals, 1)
        probs[level] = (counts - discounts) / totals[histories] + gamma[histories] * lower
        if order > 1:
            gammas[shorter] = 1.0  # a history without extension: nothing was taken from it
            extended = np.flatnonzero(totals)
            gammas[shorter.start + extended] = gamma[extended]

    probs[[PAD, BOS]] = 0.0  # given, never predicted
    with np.errstate(divide="ignore"):
        return np.log(probs).astype(np.float32), np.log(gammas).astype(np.float32)


def closed_form_discounts(counts: np.ndarray, fallback: list[float]) -> np.ndarray:
    """(4,): D_0 = 0, D_1, D_2, D_3+ from how many n-grams have each adjusted count, (G_n,).

    Y = n_1 / (n_1 + 2 n_2),   D_k = k − (k + 1) Y n_{k+1} / n_k

    A text that is small or artificial may leave an n_k at 0 or a D_k outside [0, k]; then the fallback is used.
    """
    n = np.bincount(np.minimum(counts, 5), minlength=6)
    if n[1] and n[2] and n[3]:
        y = n[1] / (n[1] + 2 * n[2])
        discounts = np.array([0.0] + [k - (k + 1) * y * n[k + 1] / n[k] for k in (1, 2, 3)])
        if all(0 <= discounts[k] <= k for k in (1, 2, 3)):
            return discounts
    return np.array([0.0, *fallback])
