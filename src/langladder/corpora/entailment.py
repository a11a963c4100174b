"""Entailment: triples for the truth sets.

A sentence of microworld, and a sentence that follows from it, contradicts it, or does neither.

Entailment: a modifier is removed, or a noun is replaced by the word for its class. Contradiction: the verb is negated.
Neutral: information is added that the premise does not contain (the three labels are those of Bowman et al. 2015).
"""

from collections.abc import Mapping
from random import Random

from langladder.corpora.lexicon import Noun, Verb
from langladder.corpora.rules.clauses import forms
from langladder.corpora.world import World, draw

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
