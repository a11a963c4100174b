"""Plain clauses and their openings: a time adverb at the start fixes the tense of a verb that comes much later."""

from langladder.corpora.grammar import Rule
from langladder.corpora.rules.nouns import DEPTH
from langladder.corpora.world import Being, World, favour, numbered, production, zipf

TENSES = {"present": 0.37, "past": 0.31, "progressive": 0.23, "future": 0.09}
OPENED = {"present": 0.25, "past": 0.3, "progressive": 0.25, "future": 0.2}  # shares of the tenses after an opening
LINKS = (("because", "ĉar", 0.4), ("and", "kaj", 0.35), ("while", "dum", 0.25))
LINKED = 0.15
SUBJECTS = {"animal": 0.4, "person": 0.36, "name": 0.2, "pronoun": 0.04}


@production("Action")
def action(_world: World) -> list[Rule]:
    """Action → Clause | Opening Clause."""
    rules = [Rule(0.6 * share, (("Clause", tense),), (0,)) for tense, share in TENSES.items()]
    opened = [Rule(0.4 * share, (("Opening", tense), ("Clause", tense)), (0, 1)) for tense, share in OPENED.items()]
    return rules + opened


@production("Opening")
def opening(world: World, tense: str) -> list[Rule]:
    """Opening → a time adverb of the tense."""
    return [Rule(weight, adverb.source, adverb.target) for adverb, weight in zipf(world.lexicon.adverbs[tense])]


@production("Clause")
def clause(world: World, tense: str) -> list[Rule]:
    """Clause → NP Predicate, for every subject in either number."""
    subjects = []
    for kind in ("animal", "person"):
        nouns = numbered(favour(world.nouns((kind,))))
        subjects += [(noun.singular, noun.form(n), n, SUBJECTS[kind] * weight) for noun, n, weight in nouns]
    subjects += [(name, name, "s", SUBJECTS["name"] * weight) for name, weight in favour(world.names())]
    subjects += [(key, key, "p" if key == "they" else "s", SUBJECTS["pronoun"] / 3) for key in ("he", "she", "they")]
    return [
        Rule(weight, (("NP", key, number, "", DEPTH, ""), ("Predicate", key, number, tense)), (0, 1), (anchor,))
        for key, anchor, number, weight in subjects
    ]


@production("Predicate")
def predicate(world: World, key: str, number: str, tense: str) -> list[Rule]:
    """Predicate → VP | VP , link pronoun VP: the pronoun agrees with the subject of the first clause."""
    rules = [Rule(1.0 - LINKED, (("VP", key, number, tense),), (0,))]
    choices = pronouns(world.beings[key], number)
    for english, esperanto, share in LINKS:
        for pronoun, translated in choices:
            source = (("VP", key, number, tense), ",", english, pronoun, ("VP", key, number, tense))
            rules.append(Rule(LINKED * share / len(choices), source, (0, ",", esperanto, translated, 1)))
    return rules


def pronouns(being: Being, number: str) -> list[tuple[str, str]]:
    """The pronouns that can stand for a being: he or she where the word does not say which."""
    if number == "p":
        return [("they", "ili")]
    if being.kind != "person":
        return [("it", "ĝi")]
    return [pair for gender, pair in (("m", ("he", "li")), ("f", ("she", "ŝi"))) if being.gender in ("", gender)]
