"""Entailment: triples for the truth sets, and pairs to be labelled.

Truth sets: a sentence of microworld, and a sentence that follows from it, contradicts it, or does neither.

Entailment: a modifier is removed, or a noun is replaced by the word for its class. Contradiction: the verb is negated.
Neutral: information is added that the premise does not contain (the three labels are those of Bowman et al. 2015).

Labelled pairs: does the second sentence follow from the first, contradict it, or do neither?

A hypothesis is the premise with one change.

entailment      an adjective or the place is removed, or a noun is replaced by the word for its class
contradiction   the negation is added or removed, or the subject gets the opposite adjective
neutral         a place or an adjective is added

The label is ambiguous for the same verb with another object: "the king bought the lamp" after "the king bought the
book". If both describe the same event, they contradict each other; otherwise the pair is neutral (Bowman et al. 2015,
section 2.1, on event coreference). It is labelled a contradiction with probability `ONE_EVENT`.
"""

from collections.abc import Iterator, Mapping
from random import Random
from typing import NamedTuple

from langladder.corpora.lexicon import Noun, Verb
from langladder.corpora.rules.clauses import forms
from langladder.corpora.world import DIRECT, World, draw

# ---- triples of the truth sets


LABELS = ("entailment", "contradiction", "neutral")


def triples(world: World, counts: Mapping[str, int], count: int, rng: Random) -> list[str]:
    """Lines premise TAB hypothesis TAB label: `count` premises, each with one hypothesis per label."""
    lines: dict[str, None] = {}
    for _ in range(20 * count):
        premise, hypotheses = draw_premise(world, rng)
        words = " ".join((premise, *hypotheses)).split()
        if all(word in counts for word in words):
            pairs = zip(hypotheses, LABELS, strict=True)
            lines.update({f"{premise}\t{hypothesis}\t{label}": None for hypothesis, label in pairs})
        if len(lines) >= len(LABELS) * count:
            break
    return list(lines)


def draw_premise(world: World, rng: Random) -> tuple[str, tuple[str, str, str]]:
    """A premise and its hypotheses in the order of `LABELS`."""
    subject = draw(world.nouns(("person",)), rng)
    verb = draw([pair for pair in world.verbs(world.beings[subject.singular]) if pair[0].frame in ("act", "use")], rng)
    thing = draw(world.objects(verb), rng)
    adjective = draw(world.adjectives(subject), rng).positive
    other = draw(world.adjectives(thing), rng).positive if world.adjectives(thing) else ""
    premise = _sentence(subject, adjective, verb, thing, other)
    general = world.lexicon.classes[thing.group].singular
    follows = rng.choice(
        [_sentence(subject, "", verb, thing, other), _sentence(subject, adjective, verb, thing, "", general)]
    )
    denied = _sentence(subject, adjective, verb, thing, other, negated=True)
    place = draw(world.nouns(("place",)), rng).singular
    open_ = _sentence(subject, adjective, verb, thing, other)[: -len(" .")] + f" near the {place} ."
    return premise, (follows, denied, open_)


def _sentence(
    subject: Noun, adjective: str, verb: Verb, thing: Noun, other: str, general: str = "", negated: bool = False
) -> str:
    positive, negative, _ = forms(verb, "s", "past")
    deed = negative if negated else positive
    words = ("the", adjective, subject.singular, *deed, "the", other, general or thing.singular, ".")
    return " ".join(word for word in words if word)


# ---- pairs to be labelled


ONE_EVENT = 0.65
DENIED = 0.3  # of the premises
ENTAILMENT, CONTRADICTION, NEUTRAL = LABELS


class Statement(NamedTuple):
    """A sentence of the form: the big king did not buy the red lamp near the castle."""

    subject: Noun
    adjective: str
    verb: Verb
    thing: Noun
    other: str  # adjective of the object, or ""
    place: str
    denied: bool

    def __str__(self) -> str:
        positive, negative, _ = forms(self.verb, "s", "past")
        deed = negative if self.denied else positive
        where = ("near", "the", self.place) if self.place else ()
        words = (
            "the",
            self.adjective,
            self.subject.singular,
            *deed,
            "the",
            self.other,
            self.thing.singular,
            *where,
            ".",
        )
        return " ".join(word for word in words if word)


class Pair(NamedTuple):
    """A labelled pair with P(label | pair) of its label and of the most probable label."""

    premise: str
    hypothesis: str
    label: str
    chance: float
    ceiling: float


def draw_pair(world: World, rng: Random, ambiguity: float) -> Pair:
    """Draw a premise, then a change to it."""
    premise = draw_statement(world, rng)
    options = list(changes(world, premise, ambiguity))
    drawn, label = draw([((one, label), weight) for weight, one, label in options], rng)
    # P(label | pair) = Σ weights of changes to this hypothesis and label / Σ weights of changes to this hypothesis
    same = [(weight, one) for weight, other, one in options if other == drawn]
    total = sum(weight for weight, _ in same)
    chances = {name: sum(weight for weight, one in same if one == name) / total for name in LABELS}
    return Pair(str(premise), str(drawn), label, chances[label], max(chances.values()))


def draw_statement(world: World, rng: Random) -> Statement:
    """Draw a premise, with an adjective of the subject and, optionally, one of the object and a place."""
    subject = draw(world.nouns(("person",)), rng)
    verb = draw([pair for pair in world.verbs(world.beings[subject.singular]) if pair[0].frame in DIRECT], rng)
    thing = draw(world.objects(verb), rng)
    described = world.adjectives(thing) if rng.random() < 0.6 else []
    place = draw(world.nouns(("place",)), rng).singular if rng.random() < 0.4 else ""
    adjective = draw(world.adjectives(subject), rng).positive
    other = draw(described, rng).positive if described else ""
    return Statement(subject, adjective, verb, thing, other, place, rng.random() < DENIED)


def changes(world: World, premise: Statement, ambiguity: float) -> Iterator[tuple[float, Statement, str]]:
    """(weight, hypothesis, label) of every change; `ambiguity`: the share of other objects."""
    found: dict[str, list[tuple[float, Statement]]] = {name: [] for name in LABELS}
    entailed = [premise._replace(adjective=""), premise._replace(thing=world.lexicon.classes[premise.thing.group])]
    entailed += [premise._replace(other="")] if premise.other else []
    entailed += [premise._replace(place="")] if premise.place else []
    found[ENTAILMENT] = [(1.0, one) for one in entailed]
    found[CONTRADICTION] = [(1.0, premise._replace(denied=not premise.denied))]
    opposite = world.lexicon.adjectives[premise.adjective].opposite
    found[CONTRADICTION] += [(1.0, premise._replace(adjective=opposite))] if opposite else []
    if not premise.place:
        found[NEUTRAL] = [(weight, premise._replace(place=noun.singular)) for noun, weight in world.nouns(("place",))]
    elif not premise.other:
        described = world.adjectives(premise.thing)
        found[NEUTRAL] = [(weight, premise._replace(other=adjective.positive)) for adjective, weight in described]
    there = {label: options for label, options in found.items() if options}
    for label, options in there.items():
        total = sum(weight for weight, _ in options)
        yield from (((1 - ambiguity) * weight / total / len(there), one, label) for weight, one in options)
    if ambiguity:
        others = [(thing, weight) for thing, weight in world.objects(premise.verb) if thing != premise.thing]
        total = sum(weight for _, weight in others)
        for thing, weight in others:
            one = premise._replace(thing=thing, other="")
            yield ambiguity * ONE_EVENT * weight / total, one, CONTRADICTION
            yield ambiguity * (1 - ONE_EVENT) * weight / total, one, NEUTRAL
