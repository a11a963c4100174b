"""The words of lines: the nonterminals that do not depend on the memory.

Nouns, verbs and whole clauses come from microworld's lexicon and rules of sentences (`corpora.lexicon`,
`corpora.rules`). This module adds tilts: a subject favours some groups of nouns; a mood favours some verbs, adverbs,
feelings and opinions.

A feature `value` of a nonterminal is a value of the memory: "" for none yet (any of the words can be drawn), a key
(only its word), or `UNKNOWN` (any of the words, for a reader who does not know the value).
"""

from functools import cache, lru_cache

from langladder.corpora.documents.grammar import Rule, Symbol
from langladder.corpora.documents.language import (
    NONE,
    STATIC,
    Language,
    by_mood,
    group_tilt,
    one_of_two,
    static,
    word_mood,
    wording,
)
from langladder.corpora.lexicon import Country, Size, article, esperanto_adjective, esperanto_noun, table
from langladder.corpora.rules.statements import facts
from langladder.corpora.world import favour, numbered, zipf

THINGS = ("fruit", "vegetable", "dish", "sweet", "kitchenware", "tool", "clothing", "text", "instrument", "furniture")
KINDS: dict[str, tuple[tuple[str, ...], str]] = {
    # fact → groups of its nouns, and their form: s, p: without article; a, the: with it
    "likes": (("fruit", "vegetable", "sweet", "plant", "bird", "pet", "vehicle", "art"), "p"),
    "fears": (("wild", "insect", "farm", "sea", "tool", "building"), "p"),
    "drinks": (("drink",), "s"),
    "plays": (("instrument",), "the"),
    "wears": (("clothing",), "a"),
}
ACQUIRED = (("found", "trovis", 5), ("bought", "aĉetis", 4), ("borrowed", "pruntis", 3), ("received", "ricevis", 2))
USED = (("showed", "montris"), ("liked", "ŝatis"), ("cleaned", "purigis"), ("kept", "gardis"))
LOST = (("lost", "perdis"), ("sold", "vendis"), ("dropped", "faligis"), ("forgot", "forgesis"))
EATEN = (("ate", "manĝis"), ("finished", "finmanĝis"))
NOT_USED = {"eat", "devour", "buy", "steal", "lose", "sell", "drop", "forget", "find", "borrow", "destroy", "finish"}
INTENSIFIERS = (("very", "tre", 0.45), ("really", "vere", 0.3), ("extremely", "ege", 0.25))
TENSES = (("past", 0.5), ("present", 0.3), ("progressive", 0.2))
NUMERALS = (("two", "du", 0.5), ("three", "tri", 0.3), ("four", "kvar", 0.2))


@lru_cache(maxsize=3)
def language(size: Size) -> Language:
    """The language of a size; cached."""
    return Language(size)


# ---- names and values ----------------------------------------------------------------------------------------------


@static
def name(here: Language, sex: str, second: int, other: str) -> list[Rule]:
    """Name → a name of the sex, for its first or second person; `other` is the name of the other one."""
    shares = one_of_two(here.shares[sex], bool(second), other)
    return [Rule(weight, (one,), (one,), value=one) for one, weight in shares.items()]


@static
def job(here: Language, value: str, with_article: int) -> list[Rule]:
    """Job → (a) farmer."""
    rules = []
    for noun, weight in here.nouns(("job",)):
        if value in (*NONE, noun.singular):
            source = (article(noun.singular), noun.singular) if with_article else (noun.singular,)
            rules.append(Rule(weight, source, (esperanto_noun(noun.root, "s"),), value=noun.singular))
    return rules


@static
def land(here: Language, value: str, part: str) -> list[Rule]:
    """Land → the capital, name, language or currency of a country."""
    return [
        Rule(weight, *country_words(here.lexicon.countries[key])[part], value=key)
        for key, weight in here.shares["country"].items()
        if value in (*NONE, key)
    ]


def country_words(country: Country) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Part → (English, Esperanto)."""
    return {
        "capital": ((country.capital,), (country.capital_root + "o",)),
        "name": ((country.name,), (country.name_root + "o",)),
        "language": ((country.nationality,), ("la", country.nationality_root + "an")),
        "currency": (("the", country.currency), ("la", country.currency_root + "o")),
    }


@static
def kind(here: Language, fact: str, value: str, case: str) -> list[Rule]:
    """Kind → the noun of a fact: apples (likes), tea (drinks), the piano (plays), a hat (wears)."""
    groups, form = KINDS[fact]
    rules = []
    for noun, weight in here.nouns(groups):
        if value in (*NONE, noun.singular):
            number = "p" if form == "p" else "s"
            word, translated = noun.form(number), esperanto_noun(noun.root, number, case)
            before = ("the",) if form == "the" else (article(word),) if form == "a" else ()
            target = ("la", translated) if form == "the" else (translated,)
            rules.append(Rule(weight, (*before, word), target, group_tilt(noun.group), noun.singular, anchors=(word,)))
    return rules


@static
def spot(here: Language, value: str) -> list[Rule]:
    """Spot → the garden."""
    return [
        Rule(
            weight,
            ("the", noun.singular),
            ("la", esperanto_noun(noun.root, "s")),
            group_tilt(noun.group),
            noun.singular,
            anchors=(noun.singular,),
        )
        for noun, weight in here.nouns(("nature", "building", "room"))
        if value in (*NONE, noun.singular)
    ]


@static
def a_thing(here: Language) -> list[Rule]:
    """AThing → a knife | an old knife."""
    return [
        Rule(
            weight,
            (("Indefinite", noun.singular, "n"),),
            (0,),
            group_tilt(noun.group),
            noun.singular,
            anchors=(noun.singular,),
        )
        for noun, weight in here.nouns(THINGS)
    ]


@static
def the_thing(here: Language, value: str, case: str) -> list[Rule]:
    """TheThing → the knife."""
    return [
        Rule(
            weight,
            ("the", noun.singular),
            ("la", esperanto_noun(noun.root, "s", case)),
            group_tilt(noun.group),
            noun.singular,
            anchors=(noun.singular,),
        )
        for noun, weight in here.nouns(THINGS)
        if value in (*NONE, noun.singular)
    ]


@static
def handling(here: Language, value: str, lost: int) -> list[Rule]:
    """Handling → used the knife | lost the knife. A lost thing is gone, and only food is eaten."""
    rules = []
    for noun, weight in here.nouns(THINGS):
        if value in (*NONE, noun.singular):
            rules.append(
                Rule(
                    weight,
                    (("Handled", noun.singular, lost), "the", noun.singular),
                    (0, "la", esperanto_noun(noun.root, "s", "n")),
                    group_tilt(noun.group),
                    noun.singular,
                    anchors=(noun.singular,),
                )
            )
    return rules


@static
def handled(here: Language, key: str, lost: int) -> list[Rule]:
    """Handled → a past verb with a thing as object."""
    noun = here.lexicon.nouns[key]
    if lost:
        verbs = (*(EATEN if noun.kind == "food" else ()), *LOST)
        return [Rule(1 / (rank + 1), (english,), (esperanto,)) for rank, (english, esperanto) in enumerate(verbs)]
    found = here.world.verbs(here.world.beings["teacher"], (noun.kind, noun.group))
    rules = [Rule(weight, (verb.past,), (verb.root + "is",)) for verb, weight in found if verb.base not in NOT_USED]
    known = {str(rule.source[0]) for rule in rules}
    total = sum(rule.weight for rule in rules) or 1.0
    return [*rules, *(Rule(0.1 * total, (one,), (other,)) for one, other in USED if one not in known)]


@static
def pet_noun(here: Language, value: str, case: str, with_article: int) -> list[Rule]:
    """PetNoun → (a) dog."""
    return [
        Rule(
            weight,
            (article(noun.singular), noun.singular) if with_article else (noun.singular,),
            (esperanto_noun(noun.root, "s", case),),
            value=noun.singular,
        )
        for noun, weight in here.nouns(("pet", "farm"))
        if value in (*NONE, noun.singular)
    ]


@static
def pet_name(_here: Language, value: str) -> list[Rule]:
    """PetName → rex."""
    names = table("pets")[0][0].split(", ")
    return [Rule(1 / (rank + 3), (one,), (one,), value=one) for rank, one in enumerate(names) if value in (*NONE, one)]


@cache
def relations() -> dict[str, tuple[str, dict[str, str], dict[str, str]]]:
    """Relation → its inverse, its English words and its Esperanto roots by sex; most frequent first."""
    found = {}
    for key, inverse, words, roots in table("kin"):
        by_sex = [dict(zip("mf", cell.split(), strict=True)) for cell in (words, roots)]
        found[key] = inverse, by_sex[0], by_sex[1]
    return found


@static
def relative_word(
    _here: Language, value: str, sex: str, other: str, case: str, inverse: int, with_article: int
) -> list[Rule]:
    """RelativeWord → (a) sister: the relation of a person of a sex to another; inverse: the value is the other's
    relation."""
    rules = []
    for rank, key in enumerate(relations()):
        if value in (*NONE, key) and (key != "spouse" or sex != other):
            _, words, roots = relations()[relations()[key][0] if inverse else key]
            source = (article(words[sex]), words[sex]) if with_article else (words[sex],)
            rules.append(Rule(1 / (rank + 3), source, (roots[sex] + "o" + case,), value=key))
    return rules


# ---- deeds, feelings, opinions -------------------------------------------------------------------------------------


@static
def acquired(_here: Language) -> list[Rule]:
    """Acquired → found | bought | …"""
    return [Rule(weight, (english,), (esperanto,)) for english, esperanto, weight in ACQUIRED]


@static
def went(here: Language) -> list[Rule]:
    """Went → a past verb of going."""
    return [Rule(weight, (verb.past,), (verb.root + "is",)) for verb, weight in here.verbs("move", "person")]


@static
def rested(here: Language, being: str) -> list[Rule]:
    """Rested → did (not) sing | sang softly: a past verb without an object."""
    rules = []
    for verb, weight in here.verbs("stay", being):
        tilt = word_mood("verbs", verb.base)
        form: Symbol = ("Verb", verb.base, "s", "past")
        rules.append(Rule(0.6 * weight, (form,), (0,), tilt, anchors=verb.forms))
        rules.append(Rule(0.4 * weight, (form, ("Mannered",)), (1, 0), tilt, anchors=verb.forms))
    return rules


@static
def mannered(here: Language) -> list[Rule]:
    """Mannered → an adverb of manner."""
    return [
        Rule(weight, adverb.source, adverb.target, word_mood("adverbs", adverb.source[0]))
        for adverb, weight in zipf(here.lexicon.adverbs["manner"])
    ]


@static
def did_to(here: Language, being: str, other: str) -> list[Rule]:
    """DidTo → a past verb from a being to another."""
    return [
        Rule(weight, (verb.past,), (verb.root + "is",), word_mood("verbs", verb.base))
        for verb, weight in here.verbs("act", being, other)
    ]


@static
def felt(_here: Language) -> list[Rule]:
    """Felt → a feeling."""
    rules = []
    for mood, use, cell in table("feelings"):
        if use == "feelings":
            for rank, entry in enumerate(cell.split(", ")):
                word, root = entry.split()
                rules.append(Rule(1 / (rank + 6), (word,), (esperanto_adjective(root, "s"),), by_mood(mood)))
    return rules


@static
def judged_so(_here: Language) -> list[Rule]:
    """JudgedSo → opinion | opinion and opinion | very opinion | not opinion."""
    return [
        Rule(0.3, (("Opined_", 1),), (0,)),
        Rule(0.3, (("Opined_", 1), "and", ("Opined_", 1)), (0, "kaj", 1)),
        *(Rule(0.22 * share, (one, ("Opined_", 1)), (other, 0)) for one, other, share in INTENSIFIERS),
        Rule(0.18, ("not", ("Opined_", -1)), ("ne", 0)),
    ]


def _opined(here: Language, sign: int) -> list[Rule]:
    """Opined_ → a judging adjective; sign −1: it is negated."""
    return [
        Rule(
            1 / (word.rank + 9),
            (word.word,),
            (esperanto_adjective(word.root, "s"),),
            by_mood("bright" if word.valence * sign > 0 else "dark"),
        )
        for word in here.lexicon.opinions.values()
    ]


STATIC["Opined_"] = _opined


@static
def a_work(here: Language) -> list[Rule]:
    """AWork → a film."""
    return [
        Rule(weight, (("Indefinite", noun.singular, "n"),), (0,), group_tilt(noun.group), anchors=(noun.singular,))
        for noun, weight in here.nouns(("art",))
    ]


@static
def relished(here: Language) -> list[Rule]:
    """Relished → the soup: a thing about which someone states an opinion."""
    return [
        Rule(
            weight,
            ("the", noun.singular),
            ("la", esperanto_noun(noun.root, "s")),
            group_tilt(noun.group),
            anchors=(noun.singular,),
        )
        for noun, weight in here.nouns(("art", "dish", "sweet", "building", "text"))
    ]


# ---- what is said of the world -------------------------------------------------------------------------------------


@static
def weather(_here: Language, value: str, still: int) -> list[Rule]:
    """Weather → it is raining | it is still raining."""
    rules = []
    for rank, (key, english, esperanto) in enumerate(table("weather")):
        if value in (*NONE, key):
            source, target = ([half.split() for half in side.split("|")] for side in (english, esperanto))
            yet, plu = (["still"], ["ankoraŭ"]) if still else ([], [])
            translated = (*plu, *target[0]) if not target[1] else (*target[0], *plu, *target[1])
            rules.append(Rule(1 / (rank + 3), (*source[0], *yet, *source[1]), translated, value=key))
    return rules


@static
def country_fact(here: Language, value: str) -> list[Rule]:
    """CountryFact → a fact about a country: its capital, language, currency, or what people eat there."""
    if value in NONE:
        return [
            Rule(weight, (("CountryFact", key),), (0,), value=key, anchors=here.lexicon.countries[key].words)
            for key, weight in here.shares["country"].items()
        ]
    country = here.lexicon.countries[value]
    known = facts(country)
    rules = [Rule(share, source, target, value=value) for share, source, target in [*known[:3], known[4], known[7]]]
    food = wording(
        0.15,
        f"people in {country.name} often eat {{food}}",
        f"homoj en {country.name_root}o ofte manĝas {{food}}",
        food=("CountryFood", value),
        means=value,
    )
    return [*rules, food]


@static
def country_food(here: Language, country: str) -> list[Rule]:
    """CountryFood → what a country likes to eat."""
    nouns = favour(here.world.nouns(("fruit", "vegetable", "dish", "sweet")), "food", country)
    return [Rule(weight, (noun.plural,), (esperanto_noun(noun.root, "p", "n"),)) for noun, weight in nouns]


@static
def other_country(here: Language, value: str) -> list[Rule]:
    """OtherCountry → a fact about a country other than the previous one."""
    shares = one_of_two(here.shares["country"], True, value)
    return [
        Rule(weight, (("CountryFact", key),), (0,), value=key, anchors=here.lexicon.countries[key].words)
        for key, weight in shares.items()
    ]


@static
def general(here: Language, being: str) -> list[Rule]:
    """General → some dogs that chase the cat sleep | this dog sleeps: a clause about arbitrary beings of a kind."""
    rules = []
    for noun, number, weight in numbered(here.nouns((being,))):
        for tense, share in TENSES:
            # "the dog slept" would refer to the document's pet
            any_one = number == "s" and tense == "past"
            subject: Symbol = ("Any", noun.singular) if any_one else ("NP", noun.singular, number, "", 2, "")
            predicate = ("Predicate", noun.singular, number, tense)
            tilt = group_tilt(noun.group)
            rules.append(Rule(weight * share, (subject, predicate), (0, 1), tilt, anchors=(noun.form(number),)))
    return rules


@static
def others(here: Language) -> list[Rule]:
    """Others → many dogs slept: what other beings did meanwhile."""
    rules = []
    for being in ("animal", "person"):
        for noun, weight in here.nouns((being,)):
            source: tuple[Symbol, ...] = (("NP", noun.singular, "p", "", 1, ""), ("VP", noun.singular, "p", "past"))
            rules.append(Rule(weight, source, (0, 1), group_tilt(noun.group), anchors=(noun.plural,)))
    return rules


STATIC["Any"] = lambda _here, key: [
    Rule(0.4, (("Indefinite", key, ""),), (0,)),
    Rule(0.3, ("this", ("Nominal", key, "s", "")), ("ĉi", "tiu", 0)),
    Rule(0.15, ("every", ("Nominal", key, "s", "")), ("ĉiu", 0)),
    Rule(0.15, (("Indefinite", key, ""), ("Relative", key, "s", 1)), (0, 1)),
]
"""Any → a dog | this dog | every dog | a dog that chases the cat."""


@static
def compare(here: Language) -> list[Rule]:
    """Compare → the dog is bigger than the cat: any comparison from `corpora.rules`."""
    kinds = (
        "animal",
        "person",
        "tool",
        "kitchenware",
        "clothing",
        "furniture",
        "vehicle",
        "instrument",
        "food",
        "place",
    )
    return [
        Rule(weight, (("Compared", noun.singular, number),), (0,), group_tilt(noun.group), anchors=(noun.form(number),))
        for noun, number, weight in numbered(here.nouns(kinds))
    ]


@static
def recipe(here: Language) -> list[Rule]:
    """Recipe → for the soup you need two onions and three carrots."""
    dishes = here.nouns(("dish", "sweet"))
    return [
        wording(
            weight,
            f"for the {noun.singular} you need {{first}} and {{second}}",
            f"por la {esperanto_noun(noun.root, 's')} vi bezonas {{first}} kaj {{second}}",
            first=("Amount", noun.singular, 0),
            second=("Amount", noun.singular, 1),
            anchors=(noun.singular,),
        )
        for noun, weight in dishes
    ]


@static
def amount(here: Language, dish: str, part: int) -> list[Rule]:
    """Amount → two onions: an ingredient of a dish."""
    nouns = favour(here.world.nouns(("vegetable", "fruit")), f"ingredient {part}", dish)
    return [
        Rule(weight * share, (english, noun.plural), (esperanto, esperanto_noun(noun.root, "p", "n")))
        for noun, weight in nouns
        for english, esperanto, share in NUMERALS
    ]
