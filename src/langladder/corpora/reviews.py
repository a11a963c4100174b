"""Labelled reviews: five classes from very negative to very positive, at every node of a binary tree, and how sure.

What the whole says follows from its parts: an intensifier strengthens, "not" and who doubts flip the polarity and
weaken, what follows "but" decides, and what follows "although …," too; "and" keeps the stronger side (`sentiment`).
Opinions are independent draws, so that the distribution over labels of a node follows from those of its two parts:

    P(label of node = c | words) = Σ_{a, b : f(a, b) = c} P(left = a | words) · P(right = b | words)
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from langladder.corpora.grammar import Tree
from langladder.corpora.readings import Readings
from langladder.corpora.rules.opinion import INTENSIFIERS
from langladder.corpora.rules.reviews import DENIALS
from langladder.corpora.sentiment import NEUTRAL, negate, strengthen, stronger

LABELS = range(5)
_INTENSIFIERS = {word for word, *_ in INTENSIFIERS}


class Phrase(NamedTuple):
    """A phrase of a review: its label, P(label | words) of each of the five, and a word or two parts."""

    label: int
    chances: tuple[float, ...]
    word: str = ""
    parts: tuple["Phrase", ...] = ()

    def bracketed(self, names: tuple[str, ...]) -> str:
        """The tree in brackets; a label without a name is left out."""
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


# -- putting together: the label, and the distribution over labels ----------------------------------------------


@cache
def _word(word: str) -> Phrase:
    return _certain(NEUTRAL, word)


def _certain(label: int, word: str) -> Phrase:
    return Phrase(label, tuple(float(label == one) for one in LABELS), word)


def _same(label: int) -> int:
    return label


def _change(function: Callable[[int], int], word: Phrase, inner: Phrase) -> Phrase:
    """A word that changes the label of what follows."""
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
