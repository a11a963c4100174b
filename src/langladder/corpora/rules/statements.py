"""Statements with their own patterns: geography, comparison, pairs of forms.

Countries with their capitals, nationalities and currencies, and the people who travel between them.

In this world, every country has its own language, named after the nationality.

Comparison: degrees of adjectives and their opposites, with the forms of one adjective in one sentence.

Sentences with several forms of one lemma (one dog, two dogs) or with a couple (the king, the queen).
"""

from langladder.corpora.grammar import Rule, Symbol
from langladder.corpora.lexicon import Adjective, Country, Noun, Verb, esperanto_adjective, esperanto_noun
from langladder.corpora.rules.clauses import POSSESSIVES, forms
from langladder.corpora.world import Side, Target, World, favour, numbered, production, zipf

# ---- geography


@production("Geography")
def geography(world: World) -> list[Rule]:
    """Geography → a fact of one country, or a journey."""
    rules = []
    for country, weight in favour(zipf(world.lexicon.countries.values())):
        rules += [Rule(weight * share, source, target, country.words) for share, source, target in facts(country)]
    return rules


def facts(country: Country) -> list[tuple[float, Side, Target]]:
    """(share, English, Esperanto) of the sentences about one country."""
    name, capital, nation, money = country.name, country.capital, country.nationality, country.currency
    land, city = country.name_root + "o", country.capital_root + "o"
    coin, tongue = country.currency_root + "o", country.nationality_root + "an"
    anyone = ("Anyone",)
    return [
        (0.08, ("the", "capital", "of", name, "is", capital), ("la", "ĉefurbo", "de", land, "estas", city)),
        (0.06, (capital, "is", "the", "capital", "of", name), (city, "estas", "la", "ĉefurbo", "de", land)),
        (0.08, ("the", "currency", "of", name, "is", "the", money), ("la", "valuto", "de", land, "estas", "la", coin)),
        (
            0.16,
            (anyone, "lives", "in", capital, ",", "speaks", nation, "and", "pays", "with", "the", money),
            (0, "loĝas", "en", city, ",", "parolas", "la", tongue, "kaj", "pagas", "per", "la", coin),
        ),
        (
            0.12,
            ("in", name, "people", "speak", nation, "and", "pay", "with", "the", money),
            ("en", land, "oni", "parolas", "la", tongue, "kaj", "pagas", "per", "la", coin),
        ),
        (
            0.16,
            (("Traveller",), "to", name, "to", "learn", nation, "in", capital),
            (0, "al", land, "por", "lerni", "la", tongue, "en", city),
        ),
        (
            0.1,
            ("in", capital, anyone, "paid", "for", ("Ware", name), "with", "the", money),
            ("en", city, 0, "pagis", "por", 1, "per", "la", coin),
        ),
        (
            0.14,
            ("the", ("Folk", name), "from", capital, "never", "left", name),
            ("la", 0, "el", city, "neniam", "forlasis", land + "n"),
        ),
        (
            0.1,
            (anyone, "was", "born", "in", capital, "and", "loves", name),
            (0, "naskiĝis", "en", city, "kaj", "amas", land + "n"),
        ),
    ]


@production("Anyone")
def anyone(world: World) -> list[Rule]:
    """Anyone → a given name."""
    return [Rule(weight, (name,), (name,)) for name, weight in world.names()]


@production("Traveller")
def traveller(_world: World) -> list[Rule]:
    """Traveller → a name and a past verb of going."""
    went = (("travelled", "vojaĝis", 0.6), ("came", "venis", 0.25), ("returned", "revenis", 0.15))
    return [Rule(share, (("Anyone",), english), (0, esperanto)) for english, esperanto, share in went]


@production("Ware")
def ware(world: World, country: str) -> list[Rule]:
    """Ware → NP, something to eat or drink that the country likes."""
    wares = numbered(favour(world.nouns(("food", "drink")), "food", country))
    return [
        Rule(weight, (("NP", noun.singular, number, "", 0, ""),), (0,), (noun.form(number),))
        for noun, number, weight in wares
    ]


@production("Folk")
def folk(world: World, country: str) -> list[Rule]:
    """Folk → nationality and a kind of person."""
    nation = world.lexicon.countries[country]
    rules = []
    for noun, number, weight in numbered(favour(world.nouns(("person",)), "people", country)):
        source = (nation.nationality, noun.form(number))
        target = (esperanto_adjective(nation.nationality_root, number), esperanto_noun(noun.root, number))
        rules.append(Rule(weight, source, target, (noun.form(number),)))
    return rules


@production("Question")
def question(world: World) -> list[Rule]:
    """Question → a question about a country, and its answer."""
    countries = favour(zipf(world.lexicon.countries.values()))
    return [
        Rule(weight * share, (*asked, "?", *answer), (*demand, "?", *reply), country.words)
        for country, weight in countries
        for share, (asked, answer), (demand, reply) in questions(country)
    ]


Exchange = tuple[tuple[str, ...], tuple[str, ...]]


def questions(country: Country) -> list[tuple[float, Exchange, Exchange]]:
    """(share, English question and answer, Esperanto question and answer)."""
    name, land = country.name, country.name_root + "o"
    return [
        (
            0.4,
            (("what", "is", "the", "capital", "of", name), (country.capital,)),
            (("kio", "estas", "la", "ĉefurbo", "de", land), (country.capital_root + "o",)),
        ),
        (
            0.3,
            (("what", "is", "the", "currency", "of", name), ("the", country.currency)),
            (("kio", "estas", "la", "valuto", "de", land), ("la", country.currency_root + "o")),
        ),
        (
            0.3,
            (("what", "do", "people", "speak", "in", name), (country.nationality,)),
            (("kion", "oni", "parolas", "en", land), ("la", country.nationality_root + "an")),
        ),
    ]


# ---- comparison


THINGS = ("animal", "person", "tool", "kitchenware", "clothing", "furniture", "vehicle", "instrument", "food", "place")
BE = {"s": "is", "p": "are"}
DEGREES = {1: ("very", "tre"), -1: ("rather", "iom")}  # by pole: very big, rather small


@production("Comparison")
def comparison(world: World) -> list[Rule]:
    """Comparison → Compared, for every noun in either number."""
    return [
        Rule(weight, (("Compared", noun.singular, number),), (0,), (noun.form(number),))
        for noun, number, weight in numbered(favour(world.nouns(THINGS)))
    ]


@production("Compared")
def compared(world: World, key: str, number: str) -> list[Rule]:
    """Compared → a sentence in which a noun is measured by one of its adjectives."""
    noun = world.lexicon.nouns[key]
    return [
        Rule(weight * share, source, target, (adjective.positive, adjective.comparative, adjective.superlative))
        for adjective, weight in world.adjectives(noun, graded=True)
        for share, source, target in _sentences(noun, number, adjective)
    ]


def _sentences(noun: Noun, number: str, adjective: Adjective) -> list[tuple[float, Side, Target]]:
    """(share, English, Esperanto): bigger than; the biggest; big, bigger, biggest; not big but small; very big."""
    word, translated = noun.form(number), esperanto_noun(noun.root, number)
    measured = esperanto_adjective(adjective.root, number)
    plain, attribute = ("the", word, BE[number]), ("the", adjective.positive, word, BE[number])
    la, la_attribute = ("la", translated, "estas"), ("la", measured, translated, "estas")
    rival, contrast, degree = ("Rival", noun.kind), ("Opposite", adjective.positive, number), DEGREES[adjective.pole]
    more, pli = (adjective.comparative, "than", rival), ("pli", measured, "ol", 0)
    most = ("the", adjective.superlative, ("Peer", noun.group, number), ("Where", noun.singular))
    plej = ("la", "plej", measured, 0, 1)
    rise = (adjective.positive, ",", ("Rise", noun.kind, adjective.positive))
    denied = 0.1 + 0.05 * adjective.pole  # of two opposites, the plain one is negated more often
    return [
        (0.15, (*plain, *more), (*la, *pli)),
        (0.2, (*attribute, *more), (*la_attribute, *pli)),
        (0.1, (*plain, *most), (*la, *plej)),
        (0.2, (*attribute, *most), (*la_attribute, *plej)),
        (0.15, (*plain, *rise), (*la, measured, ",", 0)),
        (denied, (*plain, "not", adjective.positive, "but", contrast), (*la, "ne", measured, "sed", 0)),
        (0.1, (*plain, degree[0], adjective.positive), (*la, degree[1], measured)),
    ]


@production("Opposite")
def opposite(world: World, adjective: str, number: str) -> list[Rule]:
    """Opposite → the adjective at the other pole."""
    other = world.lexicon.adjectives[world.lexicon.adjectives[adjective].opposite]
    return [Rule(1.0, (other.positive,), (esperanto_adjective(other.root, number),))]


@production("Rival")
def rival(world: World, kind: str) -> list[Rule]:
    """Rival → "the" noun of the kind, in either number."""
    return [
        Rule(weight, ("the", noun.form(number)), ("la", esperanto_noun(noun.root, number)), (noun.form(number),))
        for noun, number, weight in numbered(favour(world.nouns((kind,))))
    ]


@production("Peer")
def peer(world: World, group: str, number: str) -> list[Rule]:
    """Peer → the word for the whole group: animal, fruit, vehicle."""
    noun = world.lexicon.classes[group]
    return [Rule(1.0, (noun.form(number),), (esperanto_noun(noun.root, number),))]


@production("Rise")
def rise(world: World, kind: str, adjective: str) -> list[Rule]:
    """Rise → "the" noun is bigger and "the" noun is the biggest: the three degrees in one sentence."""
    graded = world.lexicon.adjectives[adjective]
    source = (("More", kind, graded.positive), "and", ("Most", kind, graded.positive))
    return [Rule(1.0, source, (0, "kaj", 1))]


@production("More")
def more(world: World, kind: str, adjective: str) -> list[Rule]:
    """More → "the" noun is bigger."""
    graded = world.lexicon.adjectives[adjective]
    return _measured(world, kind, graded, (graded.comparative,), ("pli",))


@production("Most")
def most(world: World, kind: str, adjective: str) -> list[Rule]:
    """Most → "the" noun is the biggest."""
    graded = world.lexicon.adjectives[adjective]
    return _measured(world, kind, graded, ("the", graded.superlative), ("la", "plej"))


def _measured(
    world: World, kind: str, adjective: Adjective, english: tuple[str, ...], esperanto: tuple[str, ...]
) -> list[Rule]:
    rules = []
    for noun, number, weight in numbered(favour(world.nouns((kind,)))):
        subject = ("la", esperanto_noun(noun.root, number), "estas")
        source = ("the", noun.form(number), BE[number], *english)
        target = (*subject, *esperanto, esperanto_adjective(adjective.root, number))
        rules.append(Rule(weight, source, target, (noun.form(number),)))
    return rules


# ---- pairs of forms


COUNTED = ("animal", "person", "food", "thing", "work", "plant", "place")
NUMERALS = (("two", "du", 0.4), ("three", "tri", 0.3), ("four", "kvar", 0.2), ("five", "kvin", 0.1))
PAIR_SHARES = {"Counted": 0.42, "Times": 0.33, "Couple": 0.25}


@production("Pair")
def pair(_world: World) -> list[Rule]:
    """Pair → one of the kinds."""
    return [Rule(share, ((kind,),), (0,)) for kind, share in PAIR_SHARES.items()]


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
    """Tenses → the verb in several tenses, with an object or goal if it requires one, then a pronoun for it."""
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
