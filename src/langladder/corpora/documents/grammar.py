"""A grammar whose weights depend on a latent state and whose rules depend on the previous text.

The state z has a few values (`STATES`: subjects × moods). A rule has the weight w·tilt(z). With N(A, z), the sum of the
weights of nonterminal A's rules,

    P(rule | A, z) = w · tilt(z) / N(A, z)         log P(derivation | z) = Σ_rules log P(rule | A, z)

So a derivation has a probability in each state: the tree is the same, the weights differ. A `Vector` has one number per
state. Nonterminals are either static (the same in every document, and cached) or expanded from a memory for one line.
Given the memory, the grammar of a line is unambiguous: a sentence has at most one derivation. `parse` nevertheless
finds all derivations, because a reader who does not know the memory (`floors`) can read a sentence in several ways.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import accumulate, product
from math import log
from operator import add
from random import Random
from typing import NamedTuple

import numpy as np

Symbol = tuple[str | int, ...]
"""A nonterminal: its name, then its features, e.g. ("Job", "farmer")."""
Item = str | Symbol
Vector = tuple[float, ...]

SUBJECTS = ("geography", "family", "animals", "food", "work", "weather")
MOODS = ("bright", "plain", "dark")
STATES = tuple(product(SUBJECTS, MOODS))
EVEN: Vector = (1.0,) * len(STATES)


def _times(factor: float, vector: Vector) -> Vector:
    return tuple([factor * one for one in vector])


class Effect(NamedTuple):
    """The effect of a sentence on the memory: the name of a method of `Memory` and its arguments.

    children: indices of children whose values are further arguments.
    """

    name: str
    arguments: tuple[str | int, ...] = ()
    children: tuple[int, ...] = ()


class Rule(NamedTuple):
    """One way to rewrite a nonterminal.

    weight: positive, relative to the other rules of the nonterminal.
    source, target: as in `corpora.grammar.Rule`: English, and Esperanto with indices into the nonterminals of `source`.
    tilt: factors of the weight by state; None: the same in all states.
    value: the key of the thing that the words name ("farmer"), for the memory; "" for none.
    effects: on the memory, applied after the sentence.
    anchors: words of which every string of this rule contains at least one; none if nothing is known.
    turns: whether the mood changes before the rest of the line.
    """

    weight: float
    source: tuple[Item, ...]
    target: tuple[str | int, ...]
    tilt: Vector | None = None
    value: str = ""
    effects: tuple[Effect, ...] = ()
    anchors: tuple[str, ...] = ()
    turns: bool = False


class Node:
    """A derivation: a rule of a nonterminal, and one derivation for each nonterminal of its source side."""

    __slots__ = ("children", "expansion", "index")

    def __init__(self, expansion: "Expansion", index: int, children: tuple["Node", ...]) -> None:
        self.expansion, self.index, self.children = expansion, index, children

    @property
    def rule(self) -> Rule:
        """The rule at the root."""
        return self.expansion.rules[self.index]

    def nodes(self) -> Iterator["Node"]:
        """All nodes in preorder."""
        yield self
        for child in self.children:
            yield from child.nodes()

    def source(self) -> list[str]:
        """Tokens of the English side."""
        children, tokens = iter(self.children), []
        for item in self.rule.source:
            tokens += [item] if isinstance(item, str) else next(children).source()
        return tokens

    def target(self) -> list[str]:
        """Tokens of the Esperanto side."""
        tokens: list[str] = []
        for item in self.rule.target:
            tokens += [item] if isinstance(item, str) else self.children[item].target()
        return tokens

    def value(self) -> str:
        """The value that the words name: the first one in preorder."""
        return next((node.rule.value for node in self.nodes() if node.rule.value), "")

    def turns(self) -> bool:
        """Whether the mood changes in this line."""
        return any(node.rule.turns for node in self.nodes())

    def log_likelihoods(self) -> Vector:
        """log P(derivation | z) for every state z."""
        plain, tilted = 0.0, []
        for node in self.nodes():
            found = node.expansion.log(node.index)
            if isinstance(found, float):
                plain += found
            else:
                tilted.append(found)
        total: Vector = (plain,) * len(STATES)
        return reduce(lambda left, right: tuple(map(add, left, right)), tilted, total)


class Expansion:
    """The rules of one nonterminal, with cached values for drawing and parsing."""

    def __init__(self, symbol: Symbol, rules: Sequence[Rule]) -> None:
        if not rules or min(rule.weight for rule in rules) <= 0.0:
            raise ValueError(f"nonterminal {symbol}: needs at least one rule, and weights above 0")
        self.symbol, self.rules = symbol, rules
        self.tilted = any(rule.tilt for rule in rules)
        self._cumulative: dict[int, list[float]] = {}
        self._totals: Vector | None = None
        self._logs: dict[int, float | Vector] = {}
        self._anchored: dict[str, list[int]] | None = None

    def cumulative(self, state: int) -> list[float]:
        """Cumulative weights of the rules in a state."""
        key = state if self.tilted else 0
        if key not in self._cumulative:
            weights = [rule.weight * (rule.tilt[state] if rule.tilt else 1.0) for rule in self.rules]
            self._cumulative[key] = list(accumulate(weights))
        return self._cumulative[key]

    def totals(self) -> Vector:
        """N(A, z), the sum of the weights in each state."""
        if self._totals is None:
            plain = math.fsum(rule.weight for rule in self.rules if not rule.tilt)
            total = _times(plain, EVEN)
            for rule in self.rules:
                if rule.tilt:
                    total = tuple(map(add, total, _times(rule.weight, rule.tilt)))
            self._totals = total
        return self._totals

    def log(self, index: int) -> float | Vector:
        """log P(rule | nonterminal, z); one number if it is the same in every state."""
        if index not in self._logs:
            rule = self.rules[index]
            if self.tilted:
                weights = _times(rule.weight, rule.tilt or EVEN)
                self._logs[index] = tuple([log(w / n) for w, n in zip(weights, self.totals(), strict=True)])
            else:
                self._logs[index] = log(rule.weight / self.cumulative(0)[-1])
        return self._logs[index]

    def anchored(self, words: Sequence[str]) -> list[int]:
        """The rules with one of these words as an anchor, and the rules without anchors."""
        if self._anchored is None:
            self._anchored = {}
            for index, rule in enumerate(self.rules):
                known = rule.anchors or next(((item,) for item in rule.source if isinstance(item, str)), ("",))
                for anchor in known:
                    self._anchored.setdefault(anchor, []).append(index)
        found = [index for word in ("", *dict.fromkeys(words)) for index in self._anchored.get(word, ())]
        return sorted(set(found))


class Grammar:
    """Nonterminals and their rules; `base` is a grammar with shared, cached nonterminals.

    expand: returns the rules of a nonterminal, or None if it is unknown here (then `base` is used).
    """

    def __init__(self, expand: Callable[[Symbol], Sequence[Rule] | None], base: "Grammar | None" = None) -> None:
        self._expand, self._base = expand, base
        self._expansions: dict[Symbol, Expansion] = {}
        self._first: dict[Symbol, frozenset[str]] = {}
        self._begins: dict[tuple[Symbol, str], bool] = {}
        self._openings: dict[Symbol, dict[str, np.ndarray]] = {}

    def expansion(self, symbol: Symbol) -> Expansion:
        """The rules of a nonterminal."""
        found = self._expansions.get(symbol)
        if found is None:
            rules = self._expand(symbol)
            if rules is None:
                assert self._base is not None, symbol
                found = self._base.expansion(symbol)
            else:
                found = Expansion(symbol, rules)
            self._expansions[symbol] = found
        return found

    @property
    def symbols(self) -> int:
        """The number of nonterminals in the cache."""
        return len(self._expansions)

    def _owner(self, symbol: Symbol) -> "Grammar":
        """The grammar that caches a nonterminal."""
        if self._base is not None and self._base._expansions.get(symbol) is self.expansion(symbol):
            return self._base
        return self

    # -- drawing ---------------------------------------------------------------------------------------------

    def sample(self, symbol: Symbol, state: int, rng: Random) -> Node:
        """Draw a derivation in a state."""
        expansion = self.expansion(symbol)
        cumulative = expansion.cumulative(state)
        index = min(bisect_right(cumulative, rng.random() * cumulative[-1]), len(cumulative) - 1)
        rule = expansion.rules[index]
        children = tuple([self.sample(item, state, rng) for item in rule.source if not isinstance(item, str)])
        return Node(expansion, index, children)

    # -- reading ---------------------------------------------------------------------------------------------

    def parse(self, symbol: Symbol, tokens: Sequence[str]) -> list[Node]:
        """Every derivation of a sentence."""
        return _Chart(self, tokens).spans(symbol, 0).get(len(tokens), [])

    def begins(self, item: Item, word: str) -> bool:
        """Whether the yield of an item can begin with a word."""
        if isinstance(item, str):
            return item == word
        owner = self._owner(item)
        if owner is not self:
            return owner.begins(item, word)
        if self._base is None:  # requested often: cache the set of all first words
            return word in self._first_words(item)
        key = (item, word)
        if key not in self._begins:
            firsts = dict.fromkeys(rule.source[0] for rule in self.expansion(item).rules)
            self._begins[key] = any(self.begins(first, word) for first in firsts)
        return self._begins[key]

    def _first_words(self, symbol: Symbol) -> frozenset[str]:
        if symbol not in self._first:
            firsts = dict.fromkeys(rule.source[0] for rule in self.expansion(symbol).rules)
            words = {item for item in firsts if isinstance(item, str)}
            words.update(*(self._first_words(item) for item in firsts if not isinstance(item, str)))
            self._first[symbol] = frozenset(words)
        return self._first[symbol]

    # -- the next word ---------------------------------------------------------------------------------------

    def openings(self, item: Item) -> dict[str, np.ndarray]:
        """First word of an item's yield → its probability in each state (states,)."""
        if isinstance(item, str):
            return {item: np.ones(len(STATES))}
        owner = self._owner(item)
        if owner is not self:
            return owner.openings(item)
        if item not in self._openings:
            found: dict[str, np.ndarray] = {}
            expansion = self.expansion(item)
            for index, rule in enumerate(expansion.rules):
                share = np.exp(expansion.log(index))
                for word, chances in self.openings(rule.source[0]).items():
                    found[word] = found.get(word, 0.0) + share * chances  # (states,)
            self._openings[item] = found
        return self._openings[item]


class _Chart:
    """The derivations of the spans of one sentence."""

    def __init__(self, grammar: Grammar, tokens: Sequence[str]) -> None:
        self.grammar, self.tokens = grammar, tokens
        self._cells: dict[tuple[Symbol, int], dict[int, list[Node]]] = {}

    def spans(self, symbol: Symbol, start: int) -> dict[int, list[Node]]:
        """End → the derivations of tokens[start:end] from a nonterminal."""
        key = (symbol, start)
        if key not in self._cells:
            ends: dict[int, list[Node]] = {}
            if start < len(self.tokens):
                expansion, word = self.grammar.expansion(symbol), self.tokens[start]
                for index in expansion.anchored(self.tokens[start:]):
                    source = expansion.rules[index].source
                    if self.grammar.begins(source[0], word):
                        for end, children in self._match(source, start):
                            ends.setdefault(end, []).append(Node(expansion, index, children))
            self._cells[key] = ends
        return self._cells[key]

    def _match(self, source: Sequence[Item], start: int) -> list[tuple[int, tuple[Node, ...]]]:
        """(end, children) for all ways in which a source side yields tokens[start:end]."""
        partial: list[tuple[int, tuple[Node, ...]]] = [(start, ())]
        for item in source:
            if isinstance(item, str):
                partial = [(at + 1, done) for at, done in partial if at < len(self.tokens) and self.tokens[at] == item]
            else:
                partial = [
                    (end, (*done, node))
                    for at, done in partial
                    for end, nodes in self.spans(item, at).items()
                    for node in nodes
                ]
            if not partial:
                break
        return partial
