"""Noun phrases: determiners, adjectives and relative clauses, with number, case and possessor.

Features. number: "s" or "p". case: "" or "n" (accusative; English shows none). depth: how many relative clauses
may still nest. owner: "m", "f" or "p" when the clause's subject may own the thing (his, her, their), else "".
"""

from langladder.corpora.grammar import Rule
from langladder.corpora.inflection import article, esperanto_adjective, esperanto_noun
from langladder.corpora.lexicon import Noun
from langladder.corpora.world import DIRECT, World, numbered, production

RELATIVE = {True: 0.22, False: 0.4}  # share of noun phrases with a relative clause: outermost, nested
DEPTH = 4
ADJECTIVE = 0.42
OWNED = 0.4
POSSESSIVES = {"m": "his", "f": "her", "p": "their"}
PRONOUNS = {"he": "li", "she": "ŝi", "they": "ili", "it": "ĝi"}
DETERMINERS: dict[str, list[tuple[str, str, float]]] = {
    # English, Esperanto (ending in a: agrees like an adjective; in u: takes j and n like a correlative), weight
    "s": [("the", "la", 6.0), ("this", "ĉi tiu", 0.8), ("every", "ĉiu", 0.4), ("my", "mia", 0.7), ("our", "nia", 0.4)],
    "p": [
        *(("the", "la", 5.0), ("these", "ĉi tiu", 0.7), ("some", "kelka", 0.8), ("many", "multa", 0.5)),
        *(("two", "du", 0.5), ("three", "tri", 0.3), ("my", "mia", 0.6), ("our", "nia", 0.4)),
    ],
}
INDEFINITE = 1.6  # weight of a/an beside the singular determiners


@production("NP")
def noun_phrase(world: World, key: str, number: str, case: str, depth: int, owner: str) -> list[Rule]:
    """NP → name | pronoun | Core | Core "that" Relative."""
    if key in PRONOUNS:
        return [Rule(1.0, (key,), (PRONOUNS[key],))]
    if key in world.lexicon.names:
        return [Rule(1.0, (key,), (key,))]
    core = ("Core", key, number, case, owner)
    anchors = (world.lexicon.nouns[key].form(number),)
    if depth == 0:
        return [Rule(1.0, (core,), (0,), anchors)]
    relative = RELATIVE[depth == DEPTH]
    clause = ("Relative", key, number, depth)
    return [Rule(1.0 - relative, (core,), (0,), anchors), Rule(relative, (core, clause), (0, 1), anchors)]


@production("Core")
def core(_world: World, key: str, number: str, case: str, owner: str) -> list[Rule]:
    """Core → determiner Nominal | Indefinite."""
    nominal = ("Nominal", key, number, case)
    plain = 1.0 - OWNED if owner else 1.0
    rules = []
    determiners = DETERMINERS[number]
    total = sum(weight for *_, weight in determiners) + (INDEFINITE if number == "s" else 0.0)
    for english, esperanto, weight in determiners:
        rules.append(Rule(plain * weight / total, (english, nominal), (*_agree(esperanto, number, case), 0)))
    if number == "s":
        rules.append(Rule(plain * INDEFINITE / total, (("Indefinite", key, case),), (0,)))
    if owner:
        # sia: the subject's own, whoever it is
        rules.append(Rule(OWNED, (POSSESSIVES[owner], nominal), (esperanto_adjective("si", number, case), 0)))
    return rules


def _agree(determiner: str, number: str, case: str) -> tuple[str, ...]:
    """Esperanto determiner in number and case; la and the numerals do not change."""
    *before, word = determiner.split()
    if word.endswith("u") and word != "du":
        word += ("j" if number == "p" else "") + case
    elif word.endswith("a") and word != "la":
        word = esperanto_adjective(word[:-1], number, case)
    return (*before, word)


@production("Nominal")
def nominal(world: World, key: str, number: str, case: str) -> list[Rule]:
    """Nominal → noun | adjective noun."""
    noun = world.lexicon.nouns[key]
    english, esperanto = noun.form(number), esperanto_noun(noun.root, number, case)
    rules = [Rule(1.0 - ADJECTIVE, (english,), (esperanto,))]
    for adjective, weight in world.adjectives(noun):
        described = esperanto_adjective(adjective.root, number, case)
        rules.append(Rule(ADJECTIVE * weight, (adjective.positive, english), (described, esperanto)))
    return rules


@production("Indefinite")
def indefinite(world: World, key: str, case: str) -> list[Rule]:
    """Indefinite → a/an noun | a/an adjective noun; Esperanto has no such article."""
    rules = nominal(world, key, "s", case)
    return [Rule(rule.weight, (article(str(rule.source[0])), *rule.source), rule.target, (key,)) for rule in rules]


@production("Relative")
def relative(world: World, key: str, number: str, depth: int) -> list[Rule]:
    """Relative → "that" verb object | "that" subject verb; kiu(j) as subject, kiu(j)n as object."""
    rules = []
    pronoun = "kiuj" if number == "p" else "kiu"
    being = world.beings[key]
    for tense, share in (("present", 0.6), ("past", 0.4)):
        if being.kind in ("animal", "person"):
            rules.append(Rule(0.85 * share, ("that", ("Acts", key, number, tense, depth - 1)), (pronoun, 0)))
        if agents(world, world.lexicon.nouns[key]):
            rules.append(Rule(0.15 * share, ("that", ("Agent", key, tense)), (pronoun + "n", 0)))
    return rules


@production("Acts")
def acts(world: World, key: str, number: str, tense: str, depth: int) -> list[Rule]:
    """Acts → verb object, within a relative clause; the object is a living thing, and may carry the next clause."""
    rules = []
    for verb, weight in world.verbs(world.beings[key], ("animal", "person")):
        rules.append(
            Rule(weight, (("Verb", verb.base, number, tense), ("Object", verb.base, depth, "")), (0, 1), verb.forms)
        )
    return rules


@production("Agent")
def agent(world: World, key: str, tense: str) -> list[Rule]:
    """Agent → subject verb, of which `key` is the object: (the bread that) the baker bakes."""
    noun = world.lexicon.nouns[key]
    rules = []
    for subject, number, weight in numbered(agents(world, noun)):
        subject_phrase = ("NP", subject.singular, number, "", 0, "")
        source = (subject_phrase, ("ActsOn", subject.singular, number, tense, key))
        rules.append(Rule(weight, source, (0, 1), (subject.form(number),)))
    return rules


def agents(world: World, noun: Noun) -> list[tuple[Noun, float]]:
    """Who can be the subject of a verb with this noun as its object."""
    kinds = {
        kind
        for verb in world.lexicon.verbs.values()
        if verb.frame in DIRECT and {noun.kind, noun.group} & set(verb.objects)
        for kind in verb.subjects
    }
    return world.nouns([kind for kind in ("animal", "person") if kind in kinds])


@production("ActsOn")
def acts_on(world: World, subject: str, number: str, tense: str, key: str) -> list[Rule]:
    """ActsOn → verb, one that the subject can do to the noun `key`."""
    noun = world.lexicon.nouns[key]
    verbs = world.verbs(world.beings[subject], (noun.kind, noun.group))
    return [Rule(weight, (("Verb", verb.base, number, tense),), (0,), verb.forms) for verb, weight in verbs]
