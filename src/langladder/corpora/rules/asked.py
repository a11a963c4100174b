"""Questions to be labelled by what they ask for. Of "what did anna see ?" only the answer would tell.

The target side begins with the label.
"""

from langladder.corpora.grammar import Rule
from langladder.corpora.lexicon import Noun, Verb
from langladder.corpora.world import DIRECT, World, favour, numbered, production, zipf

KINDS = {"animal": "animal", "person": "person", "place": "place", "food": "food", "drink": "food"}  # others: thing
WHEN = ("when", "time"), ("where", "place"), ("why", "reason")
ABOUT = (
    (("what", "is", "the", "capital", "of"), "place"),
    (("what", "is", "the", "currency", "of"), "money"),
    (("what", "do", "people", "speak", "in"), "language"),
    (("who", "comes", "from"), "person"),
)


@production("Asked")
def asked(_world: World, ambiguity: float) -> list[Rule]:
    """Asked → a question whose words say what it asks for, or Open, and a question mark."""
    shares = {"Who": 0.2, "When": 0.25, "HowMany": 0.2, "Which": 0.2, "About": 0.15}
    rules = [Rule((1 - ambiguity) * share, ((name,), "?"), (0,)) for name, share in shares.items()]
    return [*rules, Rule(ambiguity, (("Open",), "?"), (0,))] if ambiguity else rules


@production("About")
def about(world: World) -> list[Rule]:
    """About → a question about a country."""
    countries = favour(zipf(world.lexicon.countries.values()))
    return [Rule(weight, (*words, country.name), (label,)) for country, weight in countries for words, label in ABOUT]


@production("Who")
def who(world: World) -> list[Rule]:
    """Who → who ate the apple."""
    rules = []
    for verb, weight in _verbs(world):
        for noun, number, share in numbered(world.objects(verb)):
            rules.append(Rule(weight * share, ("who", verb.past, "the", noun.form(number)), ("person",)))
    return rules


@production("When")
def when(world: World) -> list[Rule]:
    """When → when did anna eat the apple; also where and why."""
    rules = []
    for word, label in WHEN:
        for verb, weight in _verbs(world):
            for noun, share in favour(world.objects(verb)):
                source = (word, "did", ("Anyone",), verb.base, "the", noun.singular)
                rules.append(Rule(weight * share / 3, source, (label, 0), (verb.base,)))
    return rules


@production("HowMany")
def how_many(world: World) -> list[Rule]:
    """HowMany → how many apples did anna eat."""
    return [
        Rule(weight * share, ("how", "many", noun.plural, "did", ("Anyone",), verb.base), ("number", 0), (verb.base,))
        for verb, weight in _verbs(world)
        for noun, share in favour(world.objects(verb))
    ]


@production("Which")
def which(world: World) -> list[Rule]:
    """Which → which fruit did anna eat: the word for all of a group says of which kind the answer is."""
    rules = []
    for verb, weight in _verbs(world):
        for noun, share in world.objects(verb):
            word = world.lexicon.classes[noun.group].singular
            rules.append(
                Rule(weight * share, ("which", word, "did", ("Anyone",), verb.base), (label_of(noun), 0), (word,))
            )
    return merged(rules)


@production("Open")
def open_(world: World) -> list[Rule]:
    """Open → what did anna see: anything that can be seen."""
    verbs = [pair for pair in _verbs(world) if len({label_of(noun) for noun, _ in world.objects(pair[0])}) > 1]
    anchored = [(verb, weight, (verb.base,)) for verb, weight in verbs]
    return [
        Rule(weight, ("what", "did", ("Anyone",), ("Sought", verb.base)), (1, 0), anchor)
        for verb, weight, anchor in anchored
    ]


@production("Sought")
def sought(world: World, base: str) -> list[Rule]:
    """Sought → the verb, with what its object is."""
    rules = [Rule(weight, (base,), (label_of(noun),)) for noun, weight in world.objects(world.lexicon.verbs[base])]
    return merged(rules)


def label_of(noun: Noun) -> str:
    """What a question asks for whose answer is a noun."""
    return KINDS.get(noun.kind, "thing")


def merged(rules: list[Rule]) -> list[Rule]:
    """Rules that are alike as one, with the sum of their weights."""
    found: dict[tuple[object, object], Rule] = {}
    for rule in rules:
        key = (rule.source, rule.target)
        found[key] = rule._replace(weight=rule.weight + (found[key].weight if key in found else 0.0))
    return list(found.values())


def _verbs(world: World) -> list[tuple[Verb, float]]:
    verbs = [verb for verb in world.lexicon.verbs.values() if verb.frame in DIRECT and "person" in verb.subjects]
    return favour(zipf(verb for verb in verbs if world.objects(verb)))
