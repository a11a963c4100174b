"""Weighted synchronous context-free grammar: two languages from one derivation, and exact sentence probabilities.

A rule rewrites a nonterminal into a source side and a target side that hold the same nonterminals, the target in its
own order (Lewis & Stearns 1968, "Syntax-directed transduction"; Chiang 2007, section 2). Rules have weights; the
weights of one nonterminal's rules, divided by their sum, are probabilities.

The probability of a string is the sum over its derivations (the inside algorithm: Baker 1979; Manning & Schütze 1999,
section 11.3), computed here with a memoised top-down chart instead of CYK. The chart needs no normal form, and only
expands the nonterminals that the sentence needs, so that lexicalised nonterminals such as ("VP", "eat") are cheap.
Therefore left recursion and empty source sides are not supported.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random
from typing import Any, NamedTuple

Symbol = tuple[Any, ...]
"""A nonterminal: its name, then its features, e.g. ("NP", "dog", "plural")."""


class Rule(NamedTuple):
    """One way to rewrite a nonterminal.

    weight: positive, relative to the other rules of the same nonterminal.
    source: terminals (str) and nonterminals (tuple), not empty.
    target: terminals (str) and indices (int) into the nonterminals of `source`, each exactly once.
    anchors: words of which every source string of this rule contains at least one; none if nothing is known.
        They are only a filter that makes `inside` fast: it skips rules whose anchors are not in the sentence.
    """

    weight: float
    source: tuple[str | Symbol, ...]
    target: tuple[str | int, ...]
    anchors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tree:
    """A derivation: the symbol, the rule that rewrote it, and one subtree for each nonterminal of the source side."""

    symbol: Symbol
    rule: Rule
    children: tuple["Tree", ...]

    def source(self) -> list[str]:
        """Tokens of the source language."""
        tokens: list[str] = []
        self._collect_source(tokens)
        return tokens

    def _collect_source(self, tokens: list[str]) -> None:
        children = iter(self.children)
        for item in self.rule.source:
            if isinstance(item, str):
                tokens.append(item)
            else:
                next(children)._collect_source(tokens)

    def target(self) -> list[str]:
        """Tokens of the target language."""
        tokens: list[str] = []
        self._collect_target(tokens)
        return tokens

    def _collect_target(self, tokens: list[str]) -> None:
        for item in self.rule.target:
            if isinstance(item, str):
                tokens.append(item)
            else:
                self.children[item]._collect_target(tokens)

    def find(self, name: str) -> Iterator["Tree"]:
        """All nodes whose symbol has this name, in preorder."""
        if self.symbol[0] == name:
            yield self
        for child in self.children:
            yield from child.find(name)


class Derivation(NamedTuple):
    """A tree and its natural-log probability: the sum of the logs of its rules' probabilities."""

    tree: Tree
    log_prob: float


@dataclass(slots=True)
class Expansion:
    """The rules of one nonterminal with their cumulative weights; indices for parsing are computed on first use."""

    symbol: Symbol
    rules: list[Rule]
    cumulative: list[float]
    parts: list[list["Expansion"] | None]
    by_anchor: dict[str, list[int]] | None = None

    def probability(self, index: int) -> float:
        """The weight of a rule divided by the sum of all weights."""
        return self.rules[index].weight / self.cumulative[-1]


@dataclass
class Grammar:
    """A synchronous grammar given by a start symbol and a function from a nonterminal to its rules.

    `expand` is called once for each nonterminal, and must be a pure function.
    """

    start: Symbol
    expand: Callable[[Symbol], Sequence[Rule]]
    _expansions: dict[Symbol, Expansion] = field(default_factory=dict, repr=False)

    def rules(self, symbol: Symbol) -> list[tuple[float, Rule]]:
        """(probability, rule) of every rule of a nonterminal."""
        expansion = self._expansion(symbol)
        return [(expansion.probability(index), rule) for index, rule in enumerate(expansion.rules)]

    def _expansion(self, symbol: Symbol) -> Expansion:
        expansion = self._expansions.get(symbol)
        if expansion is None:
            expansion = self._expansions[symbol] = _expand(symbol, list(self.expand(symbol)))
        return expansion

    # -- drawing ---------------------------------------------------------------------------------------------

    def sample(self, rng: Random, symbol: Symbol | None = None) -> Derivation:
        """Draw one derivation of `symbol` (default: the start symbol)."""
        logs: list[float] = []
        tree = self._sample(self._expansion(self.start if symbol is None else symbol), rng, logs)
        return Derivation(tree, math.fsum(logs))

    def _sample(self, expansion: Expansion, rng: Random, logs: list[float]) -> Tree:
        cumulative = expansion.cumulative
        # cumulative[-1] is the sum of the weights; `min` protects against rounding at the upper end
        index = min(bisect_right(cumulative, rng.random() * cumulative[-1]), len(cumulative) - 1)
        rule = expansion.rules[index]
        logs.append(math.log(rule.weight / cumulative[-1]))
        parts = expansion.parts[index]
        if parts is None:
            parts = [self._expansion(symbol) for symbol in _nonterminals(rule)]
            expansion.parts[index] = parts
        return Tree(expansion.symbol, rule, tuple([self._sample(part, rng, logs) for part in parts]))

    # -- inside probability ----------------------------------------------------------------------------------

    def inside(self, tokens: Sequence[str], symbol: Symbol | None = None) -> float:
        """Natural-log probability of the source string, summed over all its derivations; −inf if there is none."""
        chart = Chart(self, tokens)
        probability = chart.spans(self.start if symbol is None else symbol, 0).get(len(tokens), 0.0)
        return math.log(probability) if probability > 0.0 else -math.inf

    # -- enumeration -----------------------------------------------------------------------------------------

    def enumerate(self, symbol: Symbol | None = None) -> Iterator[Derivation]:
        """All derivations of a small grammar without recursion, each once."""
        expansion = self._expansion(self.start if symbol is None else symbol)
        for index, rule in enumerate(expansion.rules):
            log_prob = math.log(expansion.probability(index))
            for children in self._enumerate_all(_nonterminals(rule)):
                total = math.fsum([log_prob, *(child.log_prob for child in children)])
                yield Derivation(Tree(expansion.symbol, rule, tuple(child.tree for child in children)), total)

    def _enumerate_all(self, symbols: list[Symbol]) -> Iterator[tuple[Derivation, ...]]:
        if not symbols:
            yield ()
            return
        for first in self.enumerate(symbols[0]):
            for rest in self._enumerate_all(symbols[1:]):
                yield (first, *rest)


def _expand(symbol: Symbol, rules: list[Rule]) -> Expansion:
    if not rules or min(rule.weight for rule in rules) <= 0.0:
        raise ValueError(f"nonterminal {symbol}: needs at least one rule, and weights above 0")
    return Expansion(symbol, rules, list(accumulate([rule.weight for rule in rules])), [None] * len(rules))


def _nonterminals(rule: Rule) -> list[Symbol]:
    """The nonterminals of the source side, after a check that the target side links each of them once."""
    symbols = [item for item in rule.source if not isinstance(item, str)]
    links = [item for item in rule.target if isinstance(item, int)]
    if not rule.source or sorted(links) != list(range(len(symbols))):
        raise ValueError(f"{rule}: the target side must link each of the {len(symbols)} nonterminals exactly once")
    return symbols


def _by_anchor(expansion: Expansion) -> dict[str, list[int]]:
    """Anchor word → its rules. Terminals of the source side are anchors; "" has the rules without an anchor."""
    if expansion.by_anchor is None:
        expansion.by_anchor = {}
        for index, rule in enumerate(expansion.rules):
            for anchor in rule.anchors or next(((item,) for item in rule.source if isinstance(item, str)), ("",)):
                expansion.by_anchor.setdefault(anchor, []).append(index)
    return expansion.by_anchor


@dataclass
class Chart:
    """Inside probabilities of one sentence: for a nonterminal and a start, each possible end with its probability."""

    grammar: Grammar
    tokens: Sequence[str]
    _cells: dict[tuple[Symbol, int], dict[int, float] | None] = field(default_factory=dict)
    _words: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def words(self, start: int) -> tuple[str, ...]:
        """The words from `start` on, and "" for the rules without an anchor."""
        if start not in self._words:
            self._words[start] = ("", *self.tokens[start:])
        return self._words[start]

    def spans(self, symbol: Symbol, start: int) -> dict[int, float]:
        """End position → probability that `symbol` yields tokens[start:end]."""
        key = (symbol, start)
        if key in self._cells:
            cell = self._cells[key]
            if cell is None:
                raise ValueError(f"nonterminal {symbol} is left-recursive")
            return cell
        self._cells[key] = None
        ends: dict[int, float] = {}
        expansion = self.grammar._expansion(symbol)
        by_anchor = _by_anchor(expansion)
        candidates = dict.fromkeys([index for word in self.words(start) for index in by_anchor.get(word, ())])
        for index in candidates:
            probability = expansion.probability(index)
            for end, yielded in self._match(expansion.rules[index], start).items():
                # β(A, i, j) = Σ_rules P(rule) · P(right side yields tokens[i:j])
                ends[end] = ends.get(end, 0.0) + probability * yielded
        self._cells[key] = ends
        return ends

    def _match(self, rule: Rule, start: int) -> dict[int, float]:
        """End position → probability that the rule's source side yields tokens[start:end]."""
        ends = {start: 1.0}
        for item in rule.source:
            following: dict[int, float] = {}
            for position, probability in ends.items():
                if isinstance(item, str):
                    if position < len(self.tokens) and self.tokens[position] == item:
                        following[position + 1] = following.get(position + 1, 0.0) + probability
                else:
                    for end, yielded in self.spans(item, position).items():
                        following[end] = following.get(end, 0.0) + probability * yielded
            if not following:
                return {}
            ends = following
        return ends
