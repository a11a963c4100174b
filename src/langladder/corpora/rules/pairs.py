"""Sentences that bring together the forms of one lemma (one dog, two dogs) or a couple (the king, the queen)."""

from langladder.corpora.grammar import Rule, Symbol
from langladder.corpora.inflection import esperanto_noun
from langladder.corpora.lexicon import Noun, Verb
from langladder.corpora.rules.nouns import POSSESSIVES
from langladder.corpora.rules.verbs import forms
from langladder.corpora.world import Side, Target, World, favour, numbered, production, zipf

COUNTED = ("animal", "person", "food", "thing", "work", "plant", "place")
NUMERALS = (("two", "du", 0.4), ("three", "tri", 0.3), ("four", "kvar", 0.2), ("five", "kvin", 0.1))
SHARES = {"Counted": 0.42, "Times": 0.33, "Couple": 0.25}


@production("Pair")
def pair(_world: World) -> list[Rule]:
    """Pair → one of the kinds."""
    return [Rule(share, ((kind,),), (0,)) for kind, share in SHARES.items()]


@production("Counted")
def counted(world: World) -> list[Rule]:
    """Counted → name saw one dog, but name saw two dogs | one dog is here and the other dogs are Where."""
    rules = []
    for noun, weight in favour(world.nouns(COUNTED)):
        for share, source, target in _counted(noun):
            rules.append(Rule(weight * share, source, target, (noun.singular,)))
    return rules


def _counted(noun: Noun) -> list[tuple[float, Side, Target]]:
    one, several = ("Described", noun.singular, "s"), ("Described", noun.singular, "p")
    singular, plural = esperanto_noun(noun.root, "s"), esperanto_noun(noun.root, "p")
    others = ("the", "other", noun.plural, "are", ("Where", noun.singular))
    return [
        (
            0.4,
            (("Anyone",), "saw", "one", one, ",", "but", ("Anyone",), "saw", ("Numeral",), several),
            (0, "vidis", "unu", 1, ",", "sed", 2, "vidis", 3, 4),
        ),
        (
            0.6,
            ("one", noun.singular, "is", "here", "and", *others),
            ("unu", singular, "estas", "ĉi", "tie", "kaj", "la", "aliaj", plural, "estas", 0),
        ),
    ]


@production("Described")
def described(world: World, key: str, number: str) -> list[Rule]:
    """Described → Nominal in the accusative."""
    anchors = (world.lexicon.nouns[key].form(number),)
    return [Rule(1.0, (("Nominal", key, number, "n"),), (0,), anchors)]


@production("Numeral")
def numeral(_world: World) -> list[Rule]:
    """Numeral → two | three | four | five."""
    return [Rule(share, (english,), (esperanto,)) for english, esperanto, share in NUMERALS]


@production("Times")
def times(world: World) -> list[Rule]:
    """Times → name sang yesterday, is singing now and will sing tomorrow, for every verb."""
    return [
        Rule(weight, (("Anyone",), ("Tenses", verb.base)), (0, 1), verb.forms)
        for verb, weight in zipf(verb for verb in world.lexicon.verbs.values() if "person" in verb.subjects)
    ]


@production("Tenses")
def tenses(world: World, base: str) -> list[Rule]:
    """Tenses → the verb in several tenses, with an object or goal where it asks for one, then a pronoun for it."""
    verb = world.lexicon.verbs[base]
    if verb.frame == "stay":
        return _tenses(verb, None, "", "")
    if verb.frame == "move":
        return _tenses(verb, ("Goal", base), "there", "tien")
    rules = []
    for noun, number, weight in numbered(world.objects(verb)):
        english, esperanto = ("them", "ilin") if number == "p" else ("it", "ĝin")
        if noun.kind == "person" and number == "s":
            english, esperanto = {"m": ("him", "lin"), "f": ("her", "ŝin"), "": ("them", "ilin")}[noun.gender]
        phrase = ("NP", noun.singular, number, "n", 0, "")
        rules += [
            Rule(weight * rule.weight, rule.source, rule.target, (noun.form(number),))
            for rule in _tenses(verb, phrase, english, esperanto)
        ]
    return rules


def _tenses(verb: Verb, phrase: Symbol | None, english: str, esperanto: str) -> list[Rule]:
    """yesterday he sang … and today he sings: two or three tenses of one verb, the object once, then its pronoun."""
    after: Side = (phrase,) if phrase else ()
    pronoun, translated = ([english] if english else []), ([esperanto] if esperanto else [])
    links = range(len(after))
    rules = []
    for share, (first, when, kiam), (second, then, poste) in (
        (0.3, ("past", "yesterday", "hieraŭ"), ("progressive", "now", "nun")),
        (0.4, ("present", "often", "ofte"), ("past", "yesterday", "hieraŭ")),
        (0.3, ("present", "now", "nun"), ("future", "tomorrow", "morgaŭ")),
    ):
        one, _, unu = forms(verb, "s", first)
        two, _, du = forms(verb, "s", second)
        source: Side = (*one, *after, when, "and", *two, *pronoun, then)
        rules.append(Rule(share, source, (kiam, *unu, *links, "kaj", poste, *du, *translated)))
    return rules


@production("Couple")
def couple(world: World) -> list[Rule]:
    """Couple → the king and the queen VP | the king and his queen VP | the queen loves her king."""
    rules = []
    for noun, weight in favour(world.nouns(("family", "royal", "title"))):
        if not noun.gender:
            continue
        other = world.lexicon.nouns[noun.partner]
        tense_shares = (("present", 0.5), ("past", 0.5))
        for tense, share in tense_shares:
            together = ("VP", noun.singular, "p", tense)
            he, she = esperanto_noun(noun.root, "s"), esperanto_noun(other.root, "s")
            both = ("the", noun.singular, "and", "the", other.singular, together)
            rules.append(Rule(0.4 * share * weight, both, ("la", he, "kaj", "la", she, 0), (noun.singular,)))
            own = ("the", noun.singular, "and", POSSESSIVES[noun.gender], other.singular, together)
            possessive = {"m": "lia", "f": "ŝia"}[noun.gender]
            rules.append(Rule(0.6 * share * weight, own, ("la", he, "kaj", possessive, she, 0), (noun.singular,)))
    return rules
