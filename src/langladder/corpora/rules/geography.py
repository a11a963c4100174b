"""Countries with their capitals, nationalities and currencies, and the people who travel between them.

In this world every country has a language of its own, called by its nationality.
"""

from langladder.corpora.grammar import Rule
from langladder.corpora.inflection import esperanto_adjective, esperanto_noun
from langladder.corpora.lexicon import Country
from langladder.corpora.world import Side, Target, World, favour, numbered, production, zipf


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
