"""Reviews: those of the corpus, and labelled ones.

Reviews: judgements with negation and intensifiers; after "but" the polarity flips, after "and" it stays.

Polarity (1 or -1) refers to the whole predicate: "not boring" is positive. An opinion's valence is in the lexicon.

Labelled reviews: opinions under "not", intensifiers, "but", "and", "although", "believes" and "doubts".

The rules do not draw a polarity. Opinions are drawn independently, and the label of the whole follows from its parts
(`corpora.reviews`). The target side is the valence of each opinion, which the words of `UNCLEAR` do not show.
"""

from langladder.corpora.grammar import Rule, Symbol
from langladder.corpora.lexicon import esperanto_adjective, esperanto_noun
from langladder.corpora.rules.clauses import PRONOUNS
from langladder.corpora.world import World, favour, numbered, production, zipf

# ---- reviews of the corpus


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


# ---- reviews to be labelled


DEPTH = 4  # maximum nested attitudes
LINKS = 3  # maximum clauses linked in sequence
ATTITUDES = (("believes", 0.2), ("knows", 0.15), ("says", 0.15), ("doubts", 0.3), ("denies", 0.2))
DENIALS = ("doubts", "denies")
SHAPES = (("", 0.46), ("but", 0.24), ("and", 0.12), ("although", 0.18))
PLAIN = ("new", "old", "long", "short", "local")  # words without a valence
PLAIN_SHARE = 0.1
# (word, strength, probability that it is meant positively); readers cannot know which
UNCLEAR = (
    *(("wicked", 2, 0.7), ("unreal", 2, 0.6), ("insane", 2, 0.55), ("quirky", 1, 0.65), ("raw", 1, 0.4)),
    *(("weird", 1, 0.35), ("sentimental", 1, 0.4), ("daring", 1, 0.7), ("slick", 1, 0.55), ("moody", 1, 0.45)),
)


@production("Opined")
def opined(_world: World, ambiguity: float) -> list[Rule]:
    """Opined → View, and a full stop."""
    return [Rule(1.0, (("View", ambiguity, DEPTH), "."), (0,))]


@production("View")
def view(_world: World, ambiguity: float, depth: int) -> list[Rule]:
    """View → Linked | name believes that View | name doubts that View."""
    rules = [Rule(0.7 if depth else 1.0, (("Linked", ambiguity, LINKS),), (0,))]
    if depth:
        inner = ("View", ambiguity, depth - 1)
        rules += [Rule(0.3 * share, (("Anyone",), verb, "that", inner), (0, 1)) for verb, share in ATTITUDES]
    return rules


@production("Linked")
def linked(_world: World, ambiguity: float, links: int) -> list[Rule]:
    """Linked → Told | Told , but Linked | Told , and Linked | although Told , Linked."""
    told, rest = ("Told", ambiguity), ("Linked", ambiguity, links - 1)
    rules = []
    for link, share in SHAPES:
        source: tuple[str | Symbol, ...] = (told, ",", link, rest) if link != "although" else (link, told, ",", rest)
        if not link:
            rules.append(Rule(share if links else 1.0, (told,), (0,)))
        elif links:
            rules.append(Rule(share, source, (0, 1)))
    return rules


@production("Told")
def told(world: World, ambiguity: float) -> list[Rule]:
    """Told → "the" noun was Opinions | "the" noun was new | name liked "the" noun."""
    rules = []
    for noun, number, weight in numbered(favour(world.nouns(REVIEWED))):
        thing, anchor = noun.form(number), (noun.form(number),)
        said = ("the", thing, BE[number, "past"])
        rules.append(Rule(0.8 * weight, (*said, ("Opinions", ambiguity)), (0,), anchor))
        rules += [Rule(PLAIN_SHARE / len(PLAIN) * weight, (*said, word), ("0",), anchor) for word in PLAIN]
        for sign, (felt, _) in FEELINGS.items():
            rules.append(Rule(0.05 * weight, (("Anyone",), felt, "the", thing), (0, str(sign)), anchor))
    return rules


@production("Opinions")
def opinions(_world: World, ambiguity: float) -> list[Rule]:
    """Opinions → Graded | not Graded | not Graded but Graded | Graded and Graded."""
    graded = ("Graded", ambiguity)
    return [
        Rule(0.5, (graded,), (0,)),
        Rule(0.25, ("not", graded), (0,)),
        Rule(0.15, ("not", graded, "but", graded), (0, 1)),
        Rule(0.1, (graded, "and", graded), (0, 1)),
    ]


@production("Graded")
def graded(_world: World, ambiguity: float) -> list[Rule]:
    """Graded → Valued | intensifier Valued."""
    valued = ("Valued", ambiguity)
    return [Rule(0.6, (valued,), (0,)), *(Rule(0.4 * share, (word, valued), (0,)) for word, _, share in INTENSIFIERS)]


@production("Valued")
def valued(world: World, ambiguity: float) -> list[Rule]:
    """Valued → a judging adjective with its valence; an unclear one, with one of two valences."""
    clear = zipf(world.lexicon.opinions.values())
    total = sum(weight for _, weight in clear)
    rules = [Rule((1 - ambiguity) * weight / total, (word.word,), (str(word.valence),)) for word, weight in clear]
    if ambiguity:
        for word, strength, well in UNCLEAR:
            share = ambiguity / len(UNCLEAR)
            rules += [
                Rule(share * well, (word,), (str(strength),)),
                Rule(share * (1 - well), (word,), (str(-strength),)),
            ]
    return rules
