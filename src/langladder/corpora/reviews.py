"""Labelled reviews: one of five classes at every node of a binary tree, with its true probability.

Labels are those of the Stanford Sentiment Treebank (Socher et al. 2013): 0 very negative, 1, 2 neutral, 3, 4 very
positive. The label of every phrase follows from its parts. An intensifier strengthens; "not" and "doubts" flip the
polarity and weaken. The clause after "but" or after "although …," determines the label; "and" keeps the stronger side.

Opinions are independent draws, so a node's distribution over labels follows from those of its two parts:

    P(label of node = c | words) = Σ_{a, b : f(a, b) = c} P(left = a | words) · P(right = b | words)

A word has several readings if rules of one nonterminal have the same words and different target sides. If each string
of the grammar has one tree, up to such rules, then the choices between them are independent given the words, and

    P(reading of a node | sentence) = weight of the rule / Σ weights of the nonterminal's rules with the same words
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import NamedTuple

from langladder.corpora.grammar import Grammar, Symbol, Tree
from langladder.corpora.rules.reviews import DENIALS, FEELINGS
from langladder.corpora.world import World

# ---- readings


Target = tuple[str | int, ...]


@dataclass
class Readings:
    """The readings of nodes in a grammar's trees."""

    grammar: Grammar
    _known: dict[Symbol, dict[tuple[str | Symbol, ...], dict[Target, float]]] = field(default_factory=dict, repr=False)

    def of(self, tree: Tree) -> dict[Target, float]:
        """Target side → its probability given the sentence, for the rule at the root of a tree; one with probability 1
        if there is no other."""
        if tree.symbol not in self._known:
            found = self._known[tree.symbol] = {}
            for probability, rule in self.grammar.rules(tree.symbol):
                same = found.setdefault(rule.source, {})
                same[rule.target] = same.get(rule.target, 0.0) + probability
        same = self._known[tree.symbol][tree.rule.source]
        total = sum(same.values())
        return {target: probability / total for target, probability in same.items()}

    def all(self, tree: Tree) -> Iterator[tuple[Tree, dict[Target, float]]]:
        """All nodes with several readings, and these readings."""
        if len(found := self.of(tree)) > 1:
            yield tree, found
        for child in tree.children:
            yield from self.all(child)


# ---- five classes


NEUTRAL = 2


@dataclass(frozen=True)
class Labelled:
    """A phrase with its label: a word, or two phrases."""

    label: int
    word: str = ""
    parts: tuple["Labelled", ...] = ()

    def __str__(self) -> str:
        return f"({self.label} {self.word or ' '.join(map(str, self.parts))})"

    def words(self) -> list[str]:
        """The words of the phrase, from left to right."""
        return [self.word] if self.word else [word for part in self.parts for word in part.words()]


def trees(world: World, counts: Mapping[str, int], count: int, rng: Random) -> list[str]:
    """Draw `count` reviews and write each as a labelled binary tree; reviews with an unknown word are left out."""
    drawn = [label_review(world, world.grammar.sample(rng, ("Review",)).tree) for _ in range(count)]
    return [str(tree) for tree in drawn if all(word in counts for word in tree.words())]


def strengthen(label: int) -> int:
    """very good: 3 → 4, very bad: 1 → 0."""
    return NEUTRAL + 2 * _sign(label)


def negate(label: int) -> int:
    """not good: 3 → 1; not terrible: 0 → 3. The polarity flips and the strength is lost."""
    return NEUTRAL - _sign(label)


def stronger(first: int, second: int) -> int:
    """The label that is further from neutral."""
    return second if abs(second - NEUTRAL) >= abs(first - NEUTRAL) else first


def _sign(label: int) -> int:
    return (label > NEUTRAL) - (label < NEUTRAL)


def label_review(world: World, tree: Tree) -> Labelled:
    """The labelled tree of a Review derivation, with its full stop."""
    first, *others = [_clause(world, child) for child in tree.children]
    clause = first
    if others:
        link = "but" if "but" in tree.rule.source else "and"
        (second,) = others
        label = second.label if link == "but" else stronger(first.label, second.label)
        linked = _join(second.label, _neutral(link), second)
        clause = _join(label, _join(first.label, first, _neutral(",")), linked)
    return _join(clause.label, clause, _neutral("."))


def _clause(world: World, tree: Tree) -> Labelled:
    """Judged: the film was boring. Felt: anna disliked the film because it was boring."""
    if tree.symbol[0] == "Judged":
        (verb,) = [item for item in tree.rule.source if isinstance(item, str)]
        subject = _phrase(*tree.children[0].source())
        return _judge(world, subject, verb, tree.children[1])
    name = tree.children[0].source()[0]
    feeling, *noun, because, pronoun, verb = [item for item in tree.rule.source if isinstance(item, str)]
    polarity = next(sign for sign, (english, _) in FEELINGS.items() if english == feeling)
    felt = _join(NEUTRAL + polarity, Labelled(NEUTRAL + polarity, feeling), _phrase(*noun))
    reason = _judge(world, _neutral(pronoun), verb, tree.children[1])
    reason = _join(reason.label, _neutral(because), reason)
    label = stronger(felt.label, reason.label)
    return _join(label, _neutral(name), _join(label, felt, reason))


def _judge(world: World, subject: Labelled, verb: str, judgement: Tree) -> Labelled:
    said = _judgement(world, judgement)
    return _join(said.label, subject, _join(said.label, _neutral(verb), said))


def _judgement(world: World, tree: Tree) -> Labelled:
    """Judgement, Intensified or Opinion."""
    if tree.symbol[0] == "Opinion":
        word = tree.source()[0]
        return Labelled(NEUTRAL + world.lexicon.opinions[word].valence, word)
    inner = _judgement(world, tree.children[0])
    modifiers = [item for item in tree.rule.source if isinstance(item, str)]
    if not modifiers:
        return inner
    change = strengthen if tree.symbol[0] == "Intensified" else negate
    return _join(change(inner.label), _neutral(modifiers[0]), inner)


def _neutral(word: str) -> Labelled:
    return Labelled(NEUTRAL, word)


def _phrase(first: str, second: str) -> Labelled:
    return _join(NEUTRAL, _neutral(first), _neutral(second))


def _join(label: int, first: Labelled, second: Labelled) -> Labelled:
    return Labelled(label, "", (first, second))


# ---- labelled reviews


LABELS = range(5)


class Phrase(NamedTuple):
    """A phrase of a review: its label, P(label | words) of the five labels, and a word or two parts."""

    label: int
    chances: tuple[float, ...]
    word: str = ""
    parts: tuple["Phrase", ...] = ()

    def bracketed(self, names: tuple[str, ...]) -> str:
        """The tree in bracket notation; labels without a name are left out."""
        inner = self.word or " ".join(part.bracketed(names) for part in self.parts)
        return f"({names[self.label]} {inner})" if names[self.label] else f"({inner})"


def review(tree: Tree, readings: Readings) -> Phrase:
    """The labelled phrase of a derivation of ("Opined", …)."""
    return _first(_view(tree.children[0], readings), _word("."))


def _view(tree: Tree, readings: Readings) -> Phrase:
    if tree.symbol[0] == "Linked":
        return _linked(tree, readings)
    if len(tree.children) == 1:
        return _view(tree.children[0], readings)
    name, inner = tree.children
    _, verb, that, _ = tree.rule.source
    change = negate if verb in DENIALS else _same
    said = _second(_word(str(that)), _view(inner, readings))
    return _second(_word(name.source()[0]), _change(change, _word(str(verb)), said))


def _linked(tree: Tree, readings: Readings) -> Phrase:
    told = _told(tree.children[0], readings)
    if len(tree.children) == 1:
        return told
    rest = _linked(tree.children[1], readings)
    if tree.rule.source[0] == "although":
        return _second(_second(_word("although"), _first(told, _word(","))), rest)
    link = str(tree.rule.source[2])
    return (_both if link == "and" else _second)(_first(told, _word(",")), _second(_word(link), rest))


def _told(tree: Tree, readings: Readings) -> Phrase:
    words = [item for item in tree.rule.source if isinstance(item, str)]
    if tree.children and tree.children[0].symbol[0] == "Anyone":
        feeling, the, noun = words
        felt = _certain(NEUTRAL + int(str(tree.rule.target[-1])), feeling)
        return _second(_word(tree.children[0].source()[0]), _first(felt, _second(_word(the), _word(noun))))
    the, noun, was, *plain = words
    said = _word(plain[0]) if plain else _opinions(tree.children[0], readings)
    return _second(_second(_word(the), _word(noun)), _second(_word(was), said))


def _opinions(tree: Tree, readings: Readings) -> Phrase:
    first, *others = [_graded(child, readings) for child in tree.children]
    words = [item for item in tree.rule.source if isinstance(item, str)]
    if "not" in words:
        first = _change(negate, _word("not"), first)
    if others:
        link = words[-1]
        return (_both if link == "and" else _second)(first, _second(_word(link), others[0]))
    return first


def _graded(tree: Tree, readings: Readings) -> Phrase:
    node = tree.children[0]
    chances = [0.0] * len(LABELS)
    for target, probability in readings.of(node).items():
        chances[NEUTRAL + int(str(target[0]))] += probability
    opinion = Phrase(NEUTRAL + int(str(node.rule.target[0])), tuple(chances), str(node.rule.source[0]))
    word = tree.rule.source[0]
    return _change(strengthen, _word(word), opinion) if isinstance(word, str) else opinion


# -- combining parts: the label, and the distribution over labels ----------------------------------------------


@cache
def _word(word: str) -> Phrase:
    return _certain(NEUTRAL, word)


def _certain(label: int, word: str) -> Phrase:
    return Phrase(label, tuple(float(label == one) for one in LABELS), word)


def _same(label: int) -> int:
    return label


def _change(function: Callable[[int], int], word: Phrase, inner: Phrase) -> Phrase:
    """A word that changes the label of the following phrase."""
    chances = [0.0] * len(LABELS)
    for label in LABELS:
        chances[function(label)] += inner.chances[label]
    return Phrase(function(inner.label), tuple(chances), "", (word, inner))


def _first(first: Phrase, second: Phrase) -> Phrase:
    return Phrase(first.label, first.chances, "", (first, second))


def _second(first: Phrase, second: Phrase) -> Phrase:
    return Phrase(second.label, second.chances, "", (first, second))


def _both(first: Phrase, second: Phrase) -> Phrase:
    """The stronger of two phrases."""
    chances = [0.0] * len(LABELS)
    for one in LABELS:
        for other in LABELS:
            chances[stronger(one, other)] += first.chances[one] * second.chances[other]
    return Phrase(stronger(first.label, second.label), tuple(chances), "", (first, second))
