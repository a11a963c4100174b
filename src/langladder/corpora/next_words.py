"""What the grammar gives every next word: P(w | w_1 … w_{t−1}), the truth that a language model is after.

The prefix probability of a context-free grammar (Jelinek & Lafferty 1991, "Computation of the probability of initial
substring generation by stochastic context-free grammars") is the sum over all derivations whose string begins with the
prefix. Here a top-down chart holds, for a nonterminal A and a start i,

    ends(A, i)[j]       P(A yields w_i … w_{j−1})
    opens(A, i)[j][X]   P(A's yield begins with w_i … w_{j−1}, and the symbol X comes next), j > i

so that one pass over a sentence gives the distribution of the next word after each of its prefixes,

    P(w | w_1 … w_t) ∝ Σ_X opens(S, 0)[t][X] · first(X)[w]

where first(X) is the distribution of the first word of X. The grammar is proper (the strings that X yields sum to 1),
without left recursion and without empty yields, as `grammar` has it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from langladder.corpora.grammar import Grammar, Symbol

END = ""
"""Stands for the end of the sentence among the words."""
Item = str | Symbol


@dataclass
class NextWords:
    """The distributions of next words under a grammar; what is found of its symbols is kept."""

    grammar: Grammar
    _first: dict[Item, dict[str, float]] = field(default_factory=dict, repr=False)

    def after(self, words: Sequence[str]) -> list[dict[str, float]]:
        """The distribution of the next word after each prefix: none of the words, the first, …, all of them.

        Returns:
            One a prefix; an empty one from the place on where no sentence of the grammar begins like this.
        """
        ends, opens = _Chart(self, words).cell(self.grammar.start, 0)
        found = [self.first(self.grammar.start)]
        for length in range(1, len(words) + 1):
            joint: dict[str, float] = {END: ends[length]} if length in ends else {}
            for item, probability in opens.get(length, {}).items():
                for word, share in self.first(item).items():
                    joint[word] = joint.get(word, 0.0) + probability * share
            total = math.fsum(joint.values())
            found.append({word: probability / total for word, probability in joint.items()})
        return found

    @property
    def symbols(self) -> int:
        """How many symbols are kept with their first words."""
        return len(self._first)

    def first(self, item: Item) -> dict[str, float]:
        """The distribution of the first word of what a symbol yields; a word yields itself."""
        if isinstance(item, str):
            return {item: 1.0}
        if item not in self._first:
            found: dict[str, float] = {}
            for probability, rule in self.grammar.rules(item):
                for word, share in self.first(rule.source[0]).items():
                    found[word] = found.get(word, 0.0) + probability * share
            self._first[item] = found
        return self._first[item]


Ends = dict[int, float]
Opens = dict[int, dict[Item, float]]


@dataclass
class _Chart:
    """The cells of one sentence."""

    known: NextWords
    words: Sequence[str]
    _cells: dict[tuple[Symbol, int], tuple[Ends, Opens]] = field(default_factory=dict)

    def cell(self, symbol: Symbol, start: int) -> tuple[Ends, Opens]:
        """ends and opens of a nonterminal that begins at a word."""
        key = (symbol, start)
        if key not in self._cells:
            ends: Ends = {}
            opens: Opens = {}
            for probability, rule in self.known.grammar.rules(symbol):
                if self._fits(rule.source[0], start):
                    self._add(rule.source, start, probability, ends, opens)
            self._cells[key] = ends, opens
        return self._cells[key]

    def _fits(self, item: Item, place: int) -> bool:
        """Whether what an item yields may begin with the word at a place."""
        if place >= len(self.words):
            return False
        word = self.words[place]
        return item == word if isinstance(item, str) else word in self.known.first(item)

    def _add(self, source: Sequence[Item], start: int, weight: float, ends: Ends, opens: Opens) -> None:
        """Add what a rule's source side contributes."""
        places = {start: weight}
        for item in source:
            following: Ends = {}
            for place, probability in places.items():
                if place > start:
                    coming = opens.setdefault(place, {})
                    coming[item] = coming.get(item, 0.0) + probability
                if not self._fits(item, place):
                    continue
                if isinstance(item, str):
                    following[place + 1] = following.get(place + 1, 0.0) + probability
                    continue
                inner_ends, inner_opens = self.cell(item, place)
                for end, yielded in inner_ends.items():
                    following[end] = following.get(end, 0.0) + probability * yielded
                for at, items in inner_opens.items():
                    coming = opens.setdefault(at, {})
                    for inner, share in items.items():
                        coming[inner] = coming.get(inner, 0.0) + probability * share
            places = following
        for end, probability in places.items():
            ends[end] = ends.get(end, 0.0) + probability
