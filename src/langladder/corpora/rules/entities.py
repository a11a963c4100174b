"""Sentences that name persons, places and organisations; the target side is the IOB2 tag of each word.

Some names are those of a person and of a place, or of a person and of a company. "anna travelled to victoria ." says
which; of "anna talked about victoria ." nobody can tell.
"""

from langladder.corpora.grammar import Rule, Symbol
from langladder.corpora.world import World, favour, production, zipf

KINDS = {"PER": 0.4, "LOC": 0.35, "ORG": 0.25}
SHARED_SHARE = 0.2  # of names whose kind the sentence shows
FAMILIES = ("novak", "rossi", "meyer", "silva", "tanaka", "larsen", "dubois", "petrov", "garcia", "haddad")
CITIES = ("victoria", "florence", "jordan", "charlotte", "sydney", "austin", "lincoln", "madison")
COMPANIES = ("ford", "hilton", "bosch", "barclay", "cartier", "dyson", "ferrari", "heinz")
PARTS = ("ministry", "bank", "university", "museum")
# word: names of the kinds that follow one another, and the words between them
CLEAR: tuple[tuple[float, str], ...] = (
    *((0.14, "PER travelled to LOC"), (0.12, "PER works for ORG in LOC"), (0.1, "ORG opened a shop in LOC")),
    *((0.1, "PER and PER met in LOC"), (0.1, "ORG hired PER yesterday"), (0.08, "LOC lies near LOC")),
    *((0.1, "our friend PER lives in LOC"), (0.08, "the shares of ORG fell"), (0.08, "PER married PER")),
)
OPEN = ("PER talked about ANY", "PER wrote a book about ANY", "ANY was on the mind of PER", "PER never forgot ANY")


@production("Naming")
def naming(_world: World, ambiguity: float) -> list[Rule]:
    """Naming → a sentence that shows of which kind its names are, or one that does not."""
    rules = [_rule(0.5 * share / sum(one for one, _ in CLEAR), f"{pattern} .", ambiguity) for share, pattern in CLEAR]
    return rules + [_rule(0.5 / len(OPEN), f"{pattern} .", ambiguity) for pattern in OPEN]


def _rule(weight: float, pattern: str, ambiguity: float) -> Rule:
    """A rule from a pattern of words and kinds of name."""
    source: list[str | Symbol] = []
    target: list[str | int] = []
    for word in pattern.split():
        if word.isupper():
            target.append(sum(isinstance(item, tuple) for item in source))
            source.append(("AnyName", ambiguity) if word == "ANY" else ("Name", word))
        else:
            source.append(word)
            target.append("O")
    return Rule(weight, tuple(source), tuple(target))


@production("AnyName")
def any_name(_world: World, ambiguity: float) -> list[Rule]:
    """AnyName → a name that is of one kind only, or one that is of two."""
    rules = [Rule((1 - ambiguity) * share, (("OwnName", kind),), (0,)) for kind, share in KINDS.items()]
    return [*rules, Rule(ambiguity, (("SharedName",),), (0,))] if ambiguity else rules


@production("SharedName")
def shared_name(_world: World) -> list[Rule]:
    """SharedName → a city or company that is called like a person, or that person."""
    rules = []
    for kind, names in (("LOC", CITIES), ("ORG", COMPANIES)):
        for rank, name in enumerate(names):
            person = 0.3 + 0.05 * rank  # some are more often meant as a person than others
            rules += [Rule(person, (name,), ("B-PER",)), Rule(1 - person, (name,), (f"B-{kind}",))]
    return rules


@production("Name")
def name(_world: World, kind: str) -> list[Rule]:
    """Name → OwnName | a name that other kinds share."""
    shared = {"PER": (*CITIES, *COMPANIES), "LOC": CITIES, "ORG": COMPANIES}[kind]
    rules = [Rule(SHARED_SHARE / len(shared), (word,), (f"B-{kind}",)) for word in shared]
    return [Rule(1 - SHARED_SHARE, (("OwnName", kind),), (0,)), *rules]


@production("OwnName")
def own_name(world: World, kind: str) -> list[Rule]:
    """OwnName → anna | anna novak; france | paris; bank of france | paris university | novak brothers."""
    countries = favour(zipf(world.lexicon.countries.values()))
    if kind == "LOC":
        both = [(word, weight / 2) for country, weight in countries for word in (country.name, country.capital)]
        return [Rule(weight, (word,), ("B-LOC",)) for word, weight in both]
    if kind == "PER":
        given = [(name, weight) for name, weight in favour(world.names())]
        families = [(given_name, weight, family) for given_name, weight in given for family in FAMILIES]
        rules = [Rule(0.5 * weight, (name,), ("B-PER",)) for name, weight in given]
        return rules + [
            Rule(0.5 * weight / len(FAMILIES), (name, family), ("B-PER", "I-PER")) for name, weight, family in families
        ]
    rules = [Rule(0.3 / len(FAMILIES), (family, "brothers"), ("B-ORG", "I-ORG")) for family in FAMILIES]
    for country, weight in countries:
        for part in PARTS:
            share = 0.35 * weight / len(PARTS)
            rules.append(Rule(share, (part, "of", country.name), ("B-ORG", "I-ORG", "I-ORG")))
            rules.append(Rule(share, (country.capital, part), ("B-ORG", "I-ORG")))
    return rules
