"""Verb phrases: tense, number, negation, objects, goals, recipients, tools, places and adverbs of manner.

Features. tense: present, past, progressive or future. key and number: of the subject, which the verb agrees with.
"""

from langladder.corpora.grammar import Rule, Symbol
from langladder.corpora.lexicon import Verb
from langladder.corpora.world import World, favour, numbered, production, zipf

NEGATED = 0.15
PREPOSITIONS = (("in", "en", 0.6), ("near", "apud", 0.25), ("behind", "malantaŭ", 0.15))
TOOLS = {"food": ("kitchenware",), "plant": ("tool",)}  # object's kind → what the deed is done with


@production("VP")
def verb_phrase(world: World, key: str, number: str, tense: str) -> list[Rule]:
    """VP → Deed, for every verb that the subject can do."""
    verbs = world.verbs(world.beings[key])
    return [Rule(weight, (("Deed", verb.base, key, number, tense),), (0,), verb.forms) for verb, weight in verbs]


@production("Deed")
def deed(world: World, base: str, key: str, number: str, tense: str) -> list[Rule]:
    """Deed → Verb and what its frame asks for."""
    owner = "p" if number == "p" else world.beings[key].gender
    head = ("Verb", base, number, tense)
    rules = []
    for share, tail, adverb in _tails(world.lexicon.verbs[base], key, owner):
        target = tuple(range(len(tail) + 1))
        if adverb:  # last in English, before the verb in Esperanto
            target = (len(tail), *target[:-1])
        rules.append(Rule(share, (head, *tail), target))
    return rules


def _tails(verb: Verb, key: str, owner: str) -> list[tuple[float, list[Symbol], bool]]:
    """(share, what follows the verb, whether it ends in an adverb)."""
    adverb: Symbol = ("Manner", verb.base)
    where: Symbol = ("Where", key)
    if verb.frame == "stay":
        return [(0.3, [], False), (0.3, [adverb], True), (0.4, [where], False)]
    if verb.frame == "move":
        goal: Symbol = ("Goal", verb.base)
        return [(0.8, [goal], False), (0.2, [goal, adverb], True)]
    thing: Symbol = ("Object", verb.base, 1, owner)
    if verb.frame == "give":
        return [(1.0, [thing, ("Recipient", verb.base)], False)]
    tool = next((kinds for kind, kinds in TOOLS.items() if kind in verb.objects), None)
    if tool and "animal" not in verb.subjects:
        return [(0.5, [thing], False), (0.3, [thing, ("Tool", verb.base, *tool)], False), (0.2, [thing, adverb], True)]
    return [(0.65, [thing], False), (0.3, [thing, adverb], True), (0.05, [thing, where], False)]


@production("Verb")
def verb_form(world: World, base: str, number: str, tense: str) -> list[Rule]:
    """Verb → its form, or the auxiliary, not, and its form."""
    verb = world.lexicon.verbs[base]
    positive, negative, esperanto = forms(verb, number, tense)
    return [Rule(1.0 - NEGATED, positive, esperanto), Rule(NEGATED, negative, ("ne", *esperanto))]


def forms(verb: Verb, number: str, tense: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """(English, English negated, Esperanto) forms that agree with a third-person subject."""
    plural = number == "p"
    if tense == "present":
        does = "do" if plural else "does"
        return (verb.base if plural else verb.third,), (does, "not", verb.base), (verb.root + "as",)
    if tense == "past":
        return (verb.past,), ("did", "not", verb.base), (verb.root + "is",)
    if tense == "future":
        return ("will", verb.base), ("will", "not", verb.base), (verb.root + "os",)
    be = "are" if plural else "is"
    participle = verb.root + "anta" + ("j" if plural else "")
    return (be, verb.progressive), (be, "not", verb.progressive), ("estas", participle)


@production("Object")
def direct_object(world: World, base: str, depth: int, owner: str) -> list[Rule]:
    """Object → NP in the accusative, one of the verb's objects."""
    nouns = numbered(world.objects(world.lexicon.verbs[base]))
    return [
        Rule(weight, (("NP", noun.singular, number, "n", depth, owner),), (0,), (noun.form(number),))
        for noun, number, weight in nouns
    ]


@production("Goal")
def goal(world: World, base: str) -> list[Rule]:
    """Goal → "to" NP."""
    return [
        Rule(weight, ("to", ("NP", noun.singular, number, "", 0, "")), ("al", 0), (noun.form(number),))
        for noun, number, weight in numbered(world.objects(world.lexicon.verbs[base]))
    ]


@production("Recipient")
def recipient(world: World, base: str) -> list[Rule]:
    """Recipient → "to" a person."""
    people = favour(world.nouns(("person",)), "recipient", base)
    rules = [
        Rule(0.8 * weight, ("to", ("NP", noun.singular, number, "", 0, "")), ("al", 0), (noun.form(number),))
        for noun, number, weight in numbered(people)
    ]
    return rules + [Rule(0.2 * weight, ("to", name), ("al", name), (name,)) for name, weight in favour(world.names())]


@production("Tool")
def tool(world: World, base: str, kind: str) -> list[Rule]:
    """Tool → "with" NP, one of the verb's tools."""
    return [
        Rule(weight, ("with", ("NP", noun.singular, number, "", 0, "")), ("per", 0), (noun.form(number),))
        for noun, number, weight in numbered(favour(world.nouns((kind,)), "tool", base))
    ]


@production("Manner")
def manner(world: World, base: str) -> list[Rule]:
    """Manner → one of the verb's adverbs."""
    adverbs = favour(zipf(world.lexicon.adverbs["manner"]), "manner", base)
    return [Rule(weight, adverb.source, adverb.target) for adverb, weight in adverbs]


@production("Where")
def where(_world: World, key: str) -> list[Rule]:
    """Where → preposition Place."""
    return [Rule(share, (english, ("Place", key)), (esperanto, 0)) for english, esperanto, share in PREPOSITIONS]


@production("Place")
def place(world: World, key: str) -> list[Rule]:
    """Place → NP, a place that the subject is often found at."""
    lemma = world.beings[key].lemma
    places = favour(world.nouns(("place",)), "place", lemma)
    return [
        Rule(weight, (("NP", noun.singular, number, "", 0, ""),), (0,), (noun.form(number),))
        for noun, number, weight in numbered(places)
    ]
