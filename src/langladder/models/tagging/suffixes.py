"""Tags of unknown words by their endings (Brants 2000, "TnT", section 2.3).

    P(t | l_{n−i+1} … l_n) = (P̂(t | l_{n−i+1} … l_n) + θ P(t | l_{n−i+2} … l_n)) / (1 + θ)

from the longest ending down to none, where P̂ are relative frequencies among rare training words (an unknown word is
more like these) and θ is the standard deviation of the tags' overall frequencies. Capitalised words have endings of
their own. What differs: words with a digit are a class of their own as well.

Shape legend: K tags, S endings.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Self

import numpy as np

LONGEST = 10  # letters of an ending
RARE = 10  # a word that occurs at most so often shows what unknown words are like


class Suffixes:
    """P(t | ending) for every ending of a rare training word.

    Attributes:
        names: S endings, each after a letter for the word's class: a, A (capitalised), 0 (has a digit).
        table: (S, K) smoothed probabilities of their tags.
        prior: (K,) those of any rare word.
    """

    def __init__(self, names: list[str], table: np.ndarray, prior: np.ndarray) -> None:
        self.names, self.table, self.prior = names, table, prior
        self._rows = {name: row for row, name in enumerate(names)}

    @classmethod
    def fit(cls, counts: Mapping[str, np.ndarray]) -> Self:
        """From the tags of each training word: word → (K,) how often it has which."""
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
        names = sorted(endings, key=lambda name: (len(name), name))  # shorter ones before those that go on from them
        table = np.empty((len(names), K))
        rows = {name: row for row, name in enumerate(names)}
        for row, name in enumerate(names):
            shorter = table[rows[name[0] + name[2:]]] if len(name) > 1 else prior
            found = endings[name] / endings[name].sum()
            table[row] = (found + theta * shorter) / (1 + theta)
        return cls(names, table, prior)

    def probabilities(self, word: str) -> np.ndarray:
        """P(t | the longest known ending of the word), (K,)."""
        for ending in reversed(_endings(word)):
            if ending in self._rows:
                found: np.ndarray = self.table[self._rows[ending]]
                return found
        return self.prior


def _endings(word: str) -> list[str]:
    """The word's class alone, then with its last letter, its last two, …"""
    kind = "0" if any(c.isdigit() for c in word) else "A" if word[:1].isupper() else "a"
    folded = word.lower()
    return [kind + folded[len(folded) - n :] for n in range(min(len(folded), LONGEST) + 1)]
