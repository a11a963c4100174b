"""Sentences with what parts of speech are about: a word that is noun here and verb there, and one that nobody can tell.

"the walk was long" and "they walk" show which of the two "walk" is. Of "the door was closed ." nobody can say whether
"closed" is an adjective or a verb. The target side of `UNCLEAR` words is their tag.
"""

from langladder.corpora.grammar import Rule
from langladder.corpora.world import World, favour, numbered, production, zipf

THINGS = ("thing", "furniture", "vehicle", "tool", "work")
# (word, chance that it is an adjective and no verb)
STATES = (
    *(("closed", 0.6), ("locked", 0.45), ("frozen", 0.7), ("finished", 0.4), ("damaged", 0.5), ("hidden", 0.55)),
    *(("covered", 0.35), ("decorated", 0.4), ("crowded", 0.7), ("lost", 0.6), ("spoiled", 0.5), ("prepared", 0.45)),
)
# (word, chance that it is an adverb and no adposition)
DIRECTIONS = (("up", 0.6), ("down", 0.65), ("around", 0.5), ("over", 0.4), ("inside", 0.55), ("along", 0.45))
QUALITIES = ("long", "short", "good", "bad")


@production("Spoken")
def spoken(_world: World, ambiguity: float) -> list[Rule]:
    """Spoken → a sentence of microworld | a deed as a noun | one with two words that nobody can tell."""
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
