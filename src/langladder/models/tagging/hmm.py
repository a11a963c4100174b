"""Hidden Markov model: each tag depends on the previous tag, and each word on its tag (Church 1988; Brants 2000,
"TnT").

    P(w, t) = ∏_i P(t_i | t_{i−1}) P(w_i | t_i) · P(end | t_T),   t_0 = begin
    P(t | t′) = λ n(t′, t) / n(t′) + (1 − λ) n(t) / N              λ by deleted interpolation (Brants, figure 1)
    P(w | t) ∝ P(t | w) / P(t)                                     Bayes; P(w) is the same for every tag

P(t | w) is that of `most_frequent`: from counts, and from the ending if the word is rare or unknown. The most probable
tags are computed with Viterbi, P(t_i | w) with forward–backward; both use the chain of a CRF with these logarithms as
scores. Differences from TnT: a tag depends on one previous tag, not two, and a known word can have a tag that it never
had in training.

Shape legend: K tags.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import ClassVar

import numpy as np

from langladder.ground import schema
from langladder.models.tagging.most_frequent import LexicalConfig, MostFrequentTag
from langladder.models.tagging.tagger import allowed_steps
from langladder.nn.crf import Chain
from langladder.text.labelled.labelled import Tagged


class HMMConfig(LexicalConfig):
    """Settings of `HMM`."""

    constraints: bool = True
    """Whether invalid transitions of phrase tags (IOB2, IOBES) are forbidden."""


class HMM(MostFrequentTag):
    """Hidden Markov model of order 1, counted and smoothed."""

    Config: ClassVar[type[schema.Config]] = HMMConfig
    config: HMMConfig
    steps: np.ndarray  # (K + 1, K + 1): n(t′, t); the last row is the beginning, the last column the end

    def fit(self, sentences: Sequence[Tagged], tags: np.ndarray) -> None:
        """See `CountedTagger.fit`."""
        super().fit(sentences, tags)
        K = len(self.tags)
        self.steps = np.zeros((K + 1, K + 1))
        bounds = np.cumsum([0, *(len(sentence.words) for sentence in sentences)])
        for first, last in pairwise(bounds):
            if first < last:
                path = np.concatenate([[K], tags[first:last], [K]])
                np.add.at(self.steps, (path[:-1], path[1:]), 1)

    def scores(self, words: Sequence[str]) -> np.ndarray:
        """log P(w | t) up to a constant per word: (T, K)."""
        frequency = self.steps.sum(axis=0)[:-1] + 1e-3  # (K,)
        # log P(w | t) = log P(t | w) − log P(t) + log P(w)
        scores: np.ndarray = super().scores(words) - np.log(frequency / frequency.sum())
        return scores

    def chain(self) -> Chain:
        """log P(t | t′), −∞ if the scheme forbids it."""
        probabilities = transition_probabilities(self.steps)
        allowed = allowed_steps(self.tags) if self.config.constraints else None
        if allowed is not None:
            probabilities[:-1, :-1][~allowed.transitions] = 0
            probabilities[-1, :-1][~allowed.start] = 0
            probabilities[:-1, -1][~allowed.end] = 0
            probabilities /= np.maximum(probabilities.sum(axis=1, keepdims=True), 1e-300)
        with np.errstate(divide="ignore"):
            logs = np.log(probabilities)
        return Chain(logs[:-1, :-1].copy(), logs[-1, :-1].copy(), logs[:-1, -1].copy())

    def arrays(self) -> dict[str, np.ndarray]:
        """See `CountedTagger.arrays`."""
        return super().arrays() | {"steps": self.steps}

    def restore(self, arrays: Mapping[str, np.ndarray], lists: Mapping[str, list[str]]) -> None:
        """See `CountedTagger.restore`."""
        K, steps = len(self.tags), arrays["steps"]
        if steps.shape != (K + 1, K + 1) or steps.dtype != np.float64 or not (steps >= 0).all():
            raise ValueError(f"steps is {steps.dtype} {steps.shape}, expected counts, float64 {(K + 1, K + 1)}")
        super().restore({name: array for name, array in arrays.items() if name != "steps"}, lists)
        self.steps = steps


def transition_probabilities(steps: np.ndarray) -> np.ndarray:
    """P(t | t′) from n(t′, t): (K + 1, K + 1) → the same shape, rows sum to 1."""
    after, before, total = steps.sum(axis=0), steps.sum(axis=1), steps.sum()
    # deleted interpolation: each transition votes for the estimate that predicts it better without itself
    array = (after - 1)[None, :] / max(1.0, total - 1)
    two = (steps - 1) / np.maximum(before - 1, 1)[:, None]
    weight = float(steps[(steps > 0) & (two > array)].sum() / max(1.0, total))
    weight = min(weight, 0.999)  # every transition stays possible
    frequency = (after + 1e-3) / (after + 1e-3).sum()
    counted = np.divide(steps, before[:, None], out=np.tile(frequency, (len(steps), 1)), where=before[:, None] > 0)
    # P(t | t′) = λ n(t′, t) / n(t′) + (1 − λ) n(t) / N
    probabilities: np.ndarray = weight * counted + (1 - weight) * frequency
    return probabilities
