"""Reviews: judgements with negation and intensifiers; after "but" the polarity flips, after "and" it stays.

Polarity (1 or -1) refers to the whole predicate: "not boring" is positive. An opinion's valence is in the lexicon.
"""

from langladder.corpora.grammar import Rule
from langladder.corpora.lexicon import esperanto_adjective, esperanto_noun
from langladder.corpora.rules.clauses import PRONOUNS
from langladder.corpora.world import World, favour, numbered, production, zipf

REVIEWED = ("art", "dish", "sweet", "instrument")
INTENSIFIERS = (("very", "tre", 0.45), ("really", "vere", 0.3), ("extremely", "ege", 0.25))
BE = {("s", "present"): "is", ("p", "present"): "are", ("s", "past"): "was", ("p", "past"): "were"}
ESTAS = {"present": "estas", "past": "estis"}
FEELINGS = {1: ("liked", "ŝatis"), -1: ("disliked", "malŝatis")}
POLARITIES = ((1, 0.55), (-1, 0.45))


@production("Review")
def review(_world: World) -> list[Rule]:
    """Review → Judged | Judged , but Judged | Judged and Judged | Felt because Judged."""
    rules = []
    for polarity, share in POLARITIES:
        first = ("Judged", polarity)
        rules += [
            Rule(0.3 * share, (first,), (0,)),
            Rule(0.3 * share, (first, ",", "but", ("Judged", -polarity)), (0, ",", "sed", 1)),
            Rule(0.15 * share, (first, ",", "and", ("Judged", polarity)), (0, ",", "kaj", 1)),
            Rule(0.25 * share, (("Felt", polarity),), (0,)),
        ]
    return rules


@production("Judged")
def judged(world: World, polarity: int) -> list[Rule]:
    """Judged → "the" noun is Predicate."""
    rules = []
    for noun, number, weight in numbered(favour(world.nouns(REVIEWED))):
        for tense, share in (("present", 0.4), ("past", 0.6)):
            source = (("Reviewed", noun.singular, number), (BE[number, tense]), ("Judgement", polarity, number))
            rules.append(Rule(weight * share, source, (0, ESTAS[tense], 1), (noun.form(number),)))
    return rules


@production("Reviewed")
def reviewed(world: World, key: str, number: str) -> list[Rule]:
    """Reviewed → "the" noun."""
    noun = world.lexicon.nouns[key]
    return [Rule(1.0, ("the", noun.form(number)), ("la", esperanto_noun(noun.root, number)))]


@production("Judgement")
def judgement(_world: World, polarity: int, number: str) -> list[Rule]:
    """Judgement → opinion | intensifier opinion | "not" opinion | "not" intensifier opinion (of the other polarity)."""
    same, other = ("Opinion", polarity, number), ("Opinion", -polarity, number)
    return [
        Rule(0.4, (same,), (0,)),
        Rule(0.3, (("Intensified", polarity, number),), (0,)),
        Rule(0.2, ("not", other), ("ne", 0)),
        Rule(0.1, ("not", ("Intensified", -polarity, number)), ("ne", 0)),
    ]


@production("Intensified")
def intensified(_world: World, polarity: int, number: str) -> list[Rule]:
    """Intensified → intensifier opinion."""
    opinion = ("Opinion", polarity, number)
    return [Rule(share, (english, opinion), (esperanto, 0)) for english, esperanto, share in INTENSIFIERS]


@production("Opinion")
def opinion(world: World, polarity: int, number: str) -> list[Rule]:
    """Opinion → a judging adjective of the polarity."""
    words = [word for word in world.lexicon.opinions.values() if word.valence * polarity > 0]
    return [Rule(weight, (word.word,), (esperanto_adjective(word.root, number),)) for word, weight in zipf(words)]


@production("Felt")
def felt(world: World, polarity: int) -> list[Rule]:
    """Felt → name liked "the" noun because it was Judgement: the pronoun agrees with the noun."""
    english, esperanto = FEELINGS[polarity]
    rules = []
    for noun, number, weight in numbered(favour(world.nouns(REVIEWED))):
        pronoun = "they" if number == "p" else "it"
        source = (
            *(("Anyone",), english, "the", noun.form(number), "because", pronoun),
            *(BE[number, "past"], ("Judgement", polarity, number)),
        )
        thing = esperanto_noun(noun.root, number, "n")
        translated = "ili" if number == "p" else PRONOUNS["it"]
        target = (0, esperanto, "la", thing, "ĉar", translated, ESTAS["past"], 1)
        rules.append(Rule(weight, source, target, (noun.form(number),)))
    return rules
