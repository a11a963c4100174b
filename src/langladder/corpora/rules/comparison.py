"""Comparison: degrees of adjectives and their opposites, with the forms of one adjective in one sentence."""

from langladder.corpora.grammar import Rule
from langladder.corpora.inflection import esperanto_adjective, esperanto_noun
from langladder.corpora.lexicon import Adjective, Noun
from langladder.corpora.world import Side, Target, World, favour, numbered, production

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
    denied = 0.1 + 0.05 * adjective.pole  # of two opposites, the plain one is denied more often
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
    """Peer → the word for all of a group: animal, fruit, vehicle."""
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
