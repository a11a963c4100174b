"""The true distributions of words under the grammar: of the next word, and of a hidden one.

The next word: P(w | w_1 … w_{t−1}) under the grammar, the true value of a language model's prediction.

The prefix probability of a context-free grammar (Jelinek & Lafferty 1991, "Computation of the probability of initial
substring generation by stochastic context-free grammars") is the sum over all derivations whose string begins with the
prefix. Here a top-down chart holds, for a nonterminal A and a start i,

    ends(A, i)[j]       P(A yields w_i … w_{j−1})
    opens(A, i)[j][X]   P(A's yield begins with w_i … w_{j−1}, and the symbol X comes next), j > i

so that one pass over a sentence gives the distribution of the next word after each of its prefixes,

    P(w | w_1 … w_t) ∝ Σ_X opens(S, 0)[t][X] · first(X)[w]

where first(X) is the distribution of the first word of X. The grammar is proper (the strings that X yields sum to 1),
without left recursion and without empty yields, as `grammar` has it.

A hidden word: P(w | the other words) under the grammar that drew the sentence.

    P(w | rest) = P(sentence with w) / Σ_v P(sentence with v)

One chart gives the probabilities of all words. A span with the gap has one probability per word in the gap; a span
without it has one number. No derivation covers the gap twice, so products stay linear in the gap (the inside algorithm
over a lattice of one confusion set: Baker 1979; Manning & Schütze 1999, section 11.3).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from langladder.corpora.grammar import Chart, Expansion, Grammar, Rule, Symbol, rules_by_two_words

# ---- the next word


END = ""
"""The word that represents the end of the sentence."""
Item = str | Symbol


@dataclass
class NextWords:
    """The distributions of next words under a grammar; results for its symbols are cached."""

    grammar: Grammar
    _first: dict[Item, dict[str, float]] = field(default_factory=dict, repr=False)

    def after(self, words: Sequence[str]) -> list[dict[str, float]]:
        """The distribution of the next word after each prefix, from no word to all words.

        Returns:
            One distribution per prefix. It is empty if no sentence of the grammar begins with the prefix.
        """
        ends, opens = _PrefixChart(self, words).cell(self.grammar.start, 0)
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
        """The number of symbols whose first words are cached."""
        return len(self._first)

    def first(self, item: Item) -> dict[str, float]:
        """The distribution of the first word of a symbol's yield; a word yields itself."""
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
class _PrefixChart:
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
        """Whether the yield of an item can begin with the word at a position."""
        if place >= len(self.words):
            return False
        word = self.words[place]
        return item == word if isinstance(item, str) else word in self.known.first(item)

    def _add(self, source: Sequence[Item], start: int, weight: float, ends: Ends, opens: Opens) -> None:
        """Add the contributions of a rule's source side."""
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


# ---- a hidden word


GapWords = dict[str, float]
"""Word in the gap → probability of the span with it; {"": p} for a span without the gap."""

NONE = ""


def hidden_word(grammar: Grammar, tokens: Sequence[str], place: int) -> GapWords:
    """Word → P(word | the rest), largest first; {} if the grammar has no such sentence.

    Args:
        tokens: of the sentence. place: the position of the hidden word; the token there is ignored.
    """
    chart = _GapChart(grammar, list(tokens), place)
    found = chart.spans(grammar.start, 0).get(len(tokens), {})
    total = sum(found.values())
    return {word: p / total for word, p in sorted(found.items(), key=lambda item: (-item[1], item[0]))}


@dataclass
class _GapChart:
    """Inside probabilities with a gap: for a nonterminal and a start, the words of the gap for each possible end."""

    grammar: Grammar
    tokens: list[str]
    place: int
    _cells: dict[tuple[Symbol, int], dict[int, GapWords] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """A span that begins after the gap uses a chart of plain numbers."""
        self._behind = Chart(self.grammar, self.tokens)

    def spans(self, symbol: Symbol, start: int) -> dict[int, GapWords]:
        """End position → word in the gap → probability that `symbol` yields tokens[start:end]."""
        if start > self.place:
            return {end: {NONE: p} for end, p in self._behind.spans(symbol, start).items()}
        key = (symbol, start)
        if key in self._cells:
            cell = self._cells[key]
            if cell is None:
                raise ValueError(f"nonterminal {symbol} is left-recursive")
            return cell
        self._cells[key] = None
        ends: dict[int, GapWords] = {}
        expansion = self.grammar._expansion(symbol)
        for index in self._possible(expansion, start):
            for end, words in self._match(expansion.rules[index], start).items():
                _add(ends.setdefault(end, {}), words, expansion.probability(index))
        self._cells[key] = ends
        return ends

    def _possible(self, expansion: Expansion, start: int) -> list[int]:
        """The rules that can begin at `start` and lack at most one word, which is then in the gap; in order."""
        shown = {"", *self.tokens[start : self.place], *self.tokens[self.place + 1 :]}
        by_two = rules_by_two_words(expansion)
        possible = sorted({index for word in shown for index in by_two.get(word, ())})
        if start == self.place:
            return possible
        here = self.tokens[start] if start < len(self.tokens) else None
        firsts = ((index, expansion.rules[index].source[0]) for index in possible)
        return [index for index, first in firsts if first == here or not isinstance(first, str)]

    def _match(self, rule: Rule, start: int) -> dict[int, GapWords]:
        ends: dict[int, GapWords] = {start: {NONE: 1.0}}
        for item in rule.source:
            following: dict[int, GapWords] = {}
            for position, before in ends.items():
                if isinstance(item, str):
                    if position == self.place:
                        following.setdefault(position + 1, {})[item] = before[NONE]
                    elif position < len(self.tokens) and self.tokens[position] == item:
                        following[position + 1] = before
                else:
                    for end, inside in self.spans(item, position).items():
                        _add_product(following.setdefault(end, {}), before, inside)
            if not following:
                return {}
            ends = following
        return ends


def _add(total: GapWords, words: GapWords, factor: float) -> None:
    for word, p in words.items():
        total[word] = total.get(word, 0.0) + factor * p


def _add_product(total: GapWords, before: GapWords, inside: GapWords) -> None:
    """The product of two spans, of which at most one has the gap."""
    if NONE in inside:
        _add(total, before, inside[NONE])
    else:
        _add(total, inside, before[NONE])
