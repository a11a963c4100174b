"""Labelled reviews: one of five classes at every node of a binary tree.

Labels are those of the Stanford Sentiment Treebank (Socher et al. 2013): 0 very negative, 1, 2 neutral, 3, 4 very
positive. The label of every phrase follows from its parts. An intensifier strengthens; "not" and "doubts" flip the
polarity and weaken. The clause after "but" or after "although …," determines the label; "and" keeps the stronger side.
"""

from dataclasses import dataclass

from langladder.corpora.grammar import Tree
from langladder.corpora.rules.reviews import FEELINGS
from langladder.corpora.world import World

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
