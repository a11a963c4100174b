"""The true distribution of a hidden word: P(w | the other words) under the grammar that drew the sentence.

    P(w | rest) = P(sentence with w) / Σ_v P(sentence with v)

One chart gives all words at once. A span that covers the gap has a probability for every word in it, a span that does
not has one number; no derivation covers the gap twice, so that products stay linear in the gap (the inside algorithm
over a lattice of one confusion set: Baker 1979; Manning & Schütze 1999, section 11.3).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from langladder.corpora.grammar import Grammar, Rule, Symbol, _by_two, _Chart, _Expansion

Words = dict[str, float]
"""What stands in the gap, with the probability of the span then; {"": p} of a span without the gap."""

NONE = ""


def hidden_word(grammar: Grammar, tokens: Sequence[str], place: int) -> Words:
    """Word → P(word | the rest), largest first; {} where the grammar has no such sentence.

    Args:
        tokens: of the sentence. place: of the hidden one; what stands there does not matter.
    """
    chart = _GapChart(grammar, list(tokens), place)
    found = chart.spans(grammar.start, 0).get(len(tokens), {})
    total = sum(found.values())
    return {word: p / total for word, p in sorted(found.items(), key=lambda item: (-item[1], item[0]))}


@dataclass
class _GapChart:
    """Inside probabilities with a gap: for a nonterminal and a start, each possible end with the words of the gap."""

    grammar: Grammar
    tokens: list[str]
    place: int
    _cells: dict[tuple[Symbol, int], dict[int, Words] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """What begins behind the gap has a chart of plain numbers."""
        self._behind = _Chart(self.grammar, self.tokens)

    def spans(self, symbol: Symbol, start: int) -> dict[int, Words]:
        """End position → the words of the gap, with the probability that `symbol` yields tokens[start:end]."""
        if start > self.place:
            return {end: {NONE: p} for end, p in self._behind.spans(symbol, start).items()}
        key = (symbol, start)
        if key in self._cells:
            cell = self._cells[key]
            if cell is None:
                raise ValueError(f"nonterminal {symbol} is left-recursive")
            return cell
        self._cells[key] = None
        ends: dict[int, Words] = {}
        expansion = self.grammar._expansion(symbol)
        for index in self._possible(expansion, start):
            for end, words in self._match(expansion.rules[index], start).items():
                _add(ends.setdefault(end, {}), words, expansion.probability(index))
        self._cells[key] = ends
        return ends

    def _possible(self, expansion: _Expansion, start: int) -> list[int]:
        """The rules that lack at most one word, which then is that of the gap, and can begin at `start`; in order."""
        shown = {"", *self.tokens[start : self.place], *self.tokens[self.place + 1 :]}
        by_two = _by_two(expansion)
        possible = sorted({index for word in shown for index in by_two.get(word, ())})
        if start == self.place:
            return possible
        here = self.tokens[start] if start < len(self.tokens) else None
        firsts = ((index, expansion.rules[index].source[0]) for index in possible)
        return [index for index, first in firsts if first == here or not isinstance(first, str)]

    def _match(self, rule: Rule, start: int) -> dict[int, Words]:
        ends: dict[int, Words] = {start: {NONE: 1.0}}
        for item in rule.source:
            following: dict[int, Words] = {}
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


def _add(total: Words, words: Words, factor: float) -> None:
    for word, p in words.items():
        total[word] = total.get(word, 0.0) + factor * p


def _add_product(total: Words, before: Words, inside: Words) -> None:
    """One of the two has no gap in it."""
    if NONE in inside:
        _add(total, before, inside[NONE])
    else:
        _add(total, inside, before[NONE])
