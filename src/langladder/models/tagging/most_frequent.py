"""Most frequent tag: each word gets the tag that it has most often, whatever stands beside it.

The baseline of tagging: 90 % of English words are right by it (Charniak 1997, "Statistical Techniques for Natural
Language Parsing", section 2). Words that the training text lacks get the tag of words with their ending, or simply the
tag that such words have most often.

    P(t | w) = (n(w, t) + γ P(t | ending of w)) / (n(w) + γ)

Shape legend: W words, K tags, S endings.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from langladder.ground import schema
from langladder.models.tagging.counted_tagger import CountedTagger, shaped
from langladder.models.tagging.suffixes import Suffixes
from langladder.text.labelled.labelled import Tagged


class LexicalConfig(schema.Config):
    """Settings of `MostFrequentTag`."""

    unknown: Literal["suffix", "frequent"] = "suffix"
    """How unknown words are tagged: by their ending, or all with the tag that is the most frequent among rare words."""
    prior: float = Field(default=0.1, ge=0.001, le=1000)
    """γ: for how many occurrences the ending of a known word counts."""


class MostFrequentTag(CountedTagger):
    """P(tag | word) counted; what stands beside a word is not looked at."""

    Config: ClassVar[type[schema.Config]] = LexicalConfig
    config: LexicalConfig
    KEYS = ("words", "endings")
    words: dict[str, int]
    counts: np.ndarray  # (W, K)
    suffixes: Suffixes

    def fit(self, sentences: Sequence[Tagged], tags: np.ndarray) -> None:
        """See `CountedTagger.fit`."""
        flat = [word for sentence in sentences for word in sentence.words]
        self.words = {word: row for row, word in enumerate(sorted(set(flat)))}
        self.counts = np.zeros((len(self.words), len(self.tags)))
        np.add.at(self.counts, (np.array([self.words[word] for word in flat]), tags), 1)
        self.suffixes = Suffixes.fit({word: self.counts[row] for word, row in self.words.items()})

    def probabilities(self, word: str) -> np.ndarray:
        """P(t | w): (K,)."""
        by_ending = self.config.unknown == "suffix"
        guess: np.ndarray = self.suffixes.probabilities(word) if by_ending else self.suffixes.prior
        if word not in self.words:
            return guess
        counts: np.ndarray = self.counts[self.words[word]]
        gamma = self.config.prior
        # P(t | w) = (n(w, t) + γ P(t | ending of w)) / (n(w) + γ)
        found: np.ndarray = (counts + gamma * guess) / (counts.sum() + gamma)
        return found

    def scores(self, words: Sequence[str]) -> np.ndarray:
        """See `CountedTagger.scores`."""
        found: np.ndarray = np.log(np.stack([self.probabilities(word) for word in words]))
        return found

    def arrays(self) -> dict[str, np.ndarray]:
        """See `CountedTagger.arrays`."""
        return {"counts": self.counts, "endings": self.suffixes.table, "prior": self.suffixes.prior}

    def lists(self) -> dict[str, list[str]]:
        """See `CountedTagger.lists`."""
        return {"words": list(self.words), "endings": self.suffixes.names}

    def restore(self, arrays: Mapping[str, np.ndarray], lists: Mapping[str, list[str]]) -> None:
        """See `CountedTagger.restore`."""
        K = len(self.tags)
        shaped(arrays, {"counts": (len(lists["words"]), K), "endings": (len(lists["endings"]), K), "prior": (K,)})
        if not (arrays["counts"] >= 0).all() or not (arrays["endings"] > 0).all() or not (arrays["prior"] > 0).all():
            raise ValueError("a count or a probability is below 0")
        self.words = {word: row for row, word in enumerate(lists["words"])}
        self.counts = arrays["counts"]
        self.suffixes = Suffixes(lists["endings"], arrays["endings"], arrays["prior"])
