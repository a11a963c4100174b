"""Words that can be read in several ways: what a sentence leaves open, and how likely each reading is.

Where a grammar's strings have one tree each, up to rules of one nonterminal with the same words and another target
side, the choices between those rules are independent given the words, and

    P(reading of a node | sentence) = weight of the rule / Σ weights of the nonterminal's rules with the same words
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from langladder.corpora.grammar import Grammar, Symbol, Tree

Target = tuple[str | int, ...]


@dataclass
class Readings:
    """The readings that the nodes of a grammar's trees have."""

    grammar: Grammar
    _known: dict[Symbol, dict[tuple[str | Symbol, ...], dict[Target, float]]] = field(default_factory=dict, repr=False)

    def of(self, tree: Tree) -> dict[Target, float]:
        """Target side → its probability given the sentence, for the rule at the top of a tree; one is certain."""
        if tree.symbol not in self._known:
            found = self._known[tree.symbol] = {}
            for probability, rule in self.grammar.rules(tree.symbol):
                same = found.setdefault(rule.source, {})
                same[rule.target] = same.get(rule.target, 0.0) + probability
        same = self._known[tree.symbol][tree.rule.source]
        total = sum(same.values())
        return {target: probability / total for target, probability in same.items()}

    def all(self, tree: Tree) -> Iterator[tuple[Tree, dict[Target, float]]]:
        """Every node that has several readings, with them."""
        if len(found := self.of(tree)) > 1:
            yield tree, found
        for child in tree.children:
            yield from self.all(child)
