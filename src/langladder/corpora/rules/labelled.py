"""Productions of the tagged corpora: names, parts of speech.

Sentences that name persons, places and organisations; the target side is the IOB2 tag of each word.

Some names are names of both a person and a place, or of a person and a company. "anna travelled to victoria ." shows
which; "anna talked about victoria ." is ambiguous.

Sentences with ambiguous parts of speech: a word that is a noun in one sentence and a verb in another, and words whose
tag no reader can know.

"the walk was long" and "they walk" show which of the two "walk" is. In "the door was closed .", "closed" can be an
adjective or a verb. The target side of `UNCLEAR` words is their tag.
"""

from langladder.corpora.grammar import Rule, Symbol
from langladder.corpora.world import World, favour, numbered, production, zipf

# ---- names


ENTITY_KINDS = {"PER": 0.4, "LOC": 0.35, "ORG": 0.25}
SHARED_SHARE = 0.2  # share of names whose kind the sentence shows
FAMILIES = ("novak", "rossi", "meyer", "silva", "tanaka", "larsen", "dubois", "petrov", "garcia", "haddad")
CITIES = ("victoria", "florence", "jordan", "charlotte", "sydney", "austin", "lincoln", "madison")
COMPANIES = ("ford", "hilton", "bosch", "barclay", "cartier", "dyson", "ferrari", "heinz")
PARTS = ("ministry", "bank", "university", "museum")
# word: names of the kinds in sequence, and the words between them
CLEAR: tuple[tuple[float, str], ...] = (
    *((0.14, "PER travelled to LOC"), (0.12, "PER works for ORG in LOC"), (0.1, "ORG opened a shop in LOC")),
    *((0.1, "PER and PER met in LOC"), (0.1, "ORG hired PER yesterday"), (0.08, "LOC lies near LOC")),
    *((0.1, "our friend PER lives in LOC"), (0.08, "the shares of ORG fell"), (0.08, "PER married PER")),
)
OPEN = ("PER talked about ANY", "PER wrote a book about ANY", "ANY was on the mind of PER", "PER never forgot ANY")


@production("Naming")
def naming(_world: World, ambiguity: float) -> list[Rule]:
    """Naming → a sentence that shows the kind of its names, or one that does not."""
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
    """AnyName → a name of only one kind, or of two kinds."""
    rules = [Rule((1 - ambiguity) * share, (("OwnName", kind),), (0,)) for kind, share in ENTITY_KINDS.items()]
    return [*rules, Rule(ambiguity, (("SharedName",),), (0,))] if ambiguity else rules


@production("SharedName")
def shared_name(_world: World) -> list[Rule]:
    """SharedName → a city or company with the name of a person, or that person."""
    rules = []
    for kind, names in (("LOC", CITIES), ("ORG", COMPANIES)):
        for rank, name in enumerate(names):
            person = 0.3 + 0.05 * rank  # some names refer to a person more often than others
            rules += [Rule(person, (name,), ("B-PER",)), Rule(1 - person, (name,), (f"B-{kind}",))]
    return rules


@production("Name")
def name(_world: World, kind: str) -> list[Rule]:
    """Name → OwnName | a name that is shared with other kinds."""
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


# ---- parts of speech


THINGS = ("thing", "furniture", "vehicle", "tool", "work")
# (word, probability that it is an adjective, not a verb)
STATES = (
    *(("closed", 0.6), ("locked", 0.45), ("frozen", 0.7), ("finished", 0.4), ("damaged", 0.5), ("hidden", 0.55)),
    *(("covered", 0.35), ("decorated", 0.4), ("crowded", 0.7), ("lost", 0.6), ("spoiled", 0.5), ("prepared", 0.45)),
)
# (word, probability that it is an adverb, not an adposition)
DIRECTIONS = (("up", 0.6), ("down", 0.65), ("around", 0.5), ("over", 0.4), ("inside", 0.55), ("along", 0.45))
QUALITIES = ("long", "short", "good", "bad")


@production("Spoken")
def spoken(_world: World, ambiguity: float) -> list[Rule]:
    """Spoken → a sentence of microworld | an action as a noun | a sentence with two ambiguous words."""
    rules = [
        Rule(0.75 * (1 - ambiguity), (("Sentence",),), (0,)),
        Rule(0.25 * (1 - ambiguity), (("Named",), "."), (0,)),
    ]
    return [*rules, Rule(ambiguity, (("Unclear",), "and", ("Unclear",), "."), (0, 1))] if ambiguity else rules


@production("Named")
def named(world: World) -> list[Rule]:
    """Named → the walk was long | name liked the walk."""
    rules = []
    verbs = [verb for verb in world.lexicon.verbs.values() if "person" in verb.subjects]
    for verb, weight in zipf(verb for verb in verbs if verb.frame in ("stay", "move")):
        deed = ("DeedNoun", verb.base)
        share = 0.5 * weight / len(QUALITIES)
        rules += [Rule(share, ("the", deed, "was", word), (0,), (verb.base,)) for word in QUALITIES]
        rules.append(Rule(0.5 * weight, (("Anyone",), "liked", "the", deed), (0, 1), (verb.base,)))
    return rules


@production("DeedNoun")
def deed_noun(_world: World, base: str) -> list[Rule]:
    """DeedNoun → the bare form of a verb."""
    return [Rule(1.0, (base,), ("NOUN",))]


@production("Unclear")
def unclear(world: World) -> list[Rule]:
    """Unclear → the door was State | name looked Direction."""
    rules = [Rule(0.4, (("Anyone",), "looked", ("Direction",)), (0, 1))]
    for noun, number, weight in numbered(favour(world.nouns(THINGS))):
        source = ("the", noun.form(number), "were" if number == "p" else "was", ("State",))
        rules.append(Rule(0.6 * weight, source, (0,), (noun.form(number),)))
    return rules


@production("State")
def state(_world: World) -> list[Rule]:
    """State → a participle, as an adjective or as a verb."""
    return [rule for word, chance in STATES for rule in _either(word, chance, "ADJ", "VERB")]


@production("Direction")
def direction(_world: World) -> list[Rule]:
    """Direction → up, as an adverb or as an adposition."""
    return [rule for word, chance in DIRECTIONS for rule in _either(word, chance, "ADV", "ADP")]


def _either(word: str, chance: float, one: str, other: str) -> list[Rule]:
    return [Rule(chance, (word,), (one,)), Rule(1 - chance, (word,), (other,))]
