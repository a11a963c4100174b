"""Most frequent tag: each word gets its most frequent tag, independent of its neighbours.

This is the baseline of tagging: it is right for 90 % of English words (Charniak 1997, "Statistical Techniques for
Natural Language Parsing", section 2). Unknown words get the most frequent tag of words with their ending, or of all
rare words.

    P(t | w) = (n(w, t) + γ P(t | ending of w)) / (n(w) + γ)

Tags of unknown words by their endings (Brants 2000, "TnT", section 2.3):

    P(t | l_{n−i+1} … l_n) = (P̂(t | l_{n−i+1} … l_n) + θ P(t | l_{n−i+2} … l_n)) / (1 + θ)

from the longest ending to none. P̂ are relative frequencies among rare training words, which are more similar to
unknown words, and θ is the standard deviation of the tags' overall frequencies. Capitalised words have separate
endings. Difference from the paper: words with a digit are also a separate class.

Shape legend: W words, K tags, S endings.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from langladder.ground import schema
from langladder.models.tagging.counted_tagger import CountedTagger, shaped
from langladder.text.labelled.labelled import Tagged

LONGEST = 10  # maximum letters of an ending
RARE = 10  # words with at most this count represent unknown words


class Suffixes:
    """P(t | ending) for every ending of a rare training word.

    Attributes:
        names: S endings, each with a prefix for the word's class: a, A (capitalised), 0 (has a digit).
        table: (S, K) smoothed probabilities of their tags.
        prior: (K,) the probabilities of all rare words.
    """

    def __init__(self, names: list[str], table: np.ndarray, prior: np.ndarray) -> None:
        self.names, self.table, self.prior = names, table, prior
        self._rows = {name: row for row, name in enumerate(names)}

    @classmethod
    def fit(cls, counts: Mapping[str, np.ndarray]) -> Self:
        """Estimate from the tags of the training words: word → (K,) counts of its tags."""
        K = len(next(iter(counts.values())))
        endings: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(K))
        rare = [word for word in counts if counts[word].sum() <= RARE] or list(counts)
        total = np.zeros(K)
        for word in rare:
            total += counts[word]
            for ending in _endings(word):
                endings[ending] += counts[word]
        prior = (total + 1e-3) / (total + 1e-3).sum()
        theta = float(prior.std()) or 1.0
        names = sorted(endings, key=lambda name: (len(name), name))  # shorter endings before their extensions
        table = np.empty((len(names), K))
        rows = {name: row for row, name in enumerate(names)}
        for row, name in enumerate(names):
            shorter = table[rows[name[0] + name[2:]]] if len(name) > 1 else prior
            shares = endings[name] / endings[name].sum()
            table[row] = (shares + theta * shorter) / (1 + theta)
        return cls(names, table, prior)

    def probabilities(self, word: str) -> np.ndarray:
        """P(t | the longest known ending of the word), (K,)."""
        for ending in reversed(_endings(word)):
            if ending in self._rows:
                row: np.ndarray = self.table[self._rows[ending]]
                return row
        return self.prior


def _endings(word: str) -> list[str]:
    """The word's class, then the class with its last letter, its last two letters, …"""
    kind = "0" if any(c.isdigit() for c in word) else "A" if word[:1].isupper() else "a"
    folded = word.lower()
    return [kind + folded[len(folded) - n :] for n in range(min(len(folded), LONGEST) + 1)]


class LexicalConfig(schema.Config):
    """Settings of `MostFrequentTag`."""

    unknown: Literal["suffix", "frequent"] = "suffix"
    """How unknown words are tagged: by their ending, or all with the most frequent tag of rare words."""
    prior: float = Field(default=0.1, ge=0.001, le=1000)
    """γ: the number of occurrences that the ending of a known word is worth."""


class MostFrequentTag(CountedTagger):
    """P(tag | word) by counting; the neighbours of a word are ignored."""

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
        shares: np.ndarray = (counts + gamma * guess) / (counts.sum() + gamma)
        return shares

    def scores(self, words: Sequence[str]) -> np.ndarray:
        """See `CountedTagger.scores`."""
        scores: np.ndarray = np.log(np.stack([self.probabilities(word) for word in words]))
        return scores

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
