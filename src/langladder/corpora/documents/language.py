"""Functions for writing rules of documents: wordings in two languages, tilts by subject and mood, the lexicon."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from langladder.corpora.documents.grammar import MOODS, STATES, SUBJECTS, Effect, Grammar, Rule, Symbol, Vector
from langladder.corpora.documents.memory import UNKNOWN
from langladder.corpora.lexicon import Country, Noun, Size, Verb, table
from langladder.corpora.world import DIRECT, PRODUCTIONS, Weighted, favour, world, zipf

NOUN_TILT = 40.0  # factor of the groups that a subject favours
MOOD_TILT = 16.0  # factor of words of the mood; words of the opposite mood get its inverse
OPPOSITE = {"bright": "dark", "dark": "bright"}
NONE = ("", UNKNOWN)

STATIC: dict[str, Callable[..., list[Rule]]] = {}


def static(function: Callable[..., list[Rule]]) -> Callable[..., list[Rule]]:
    """Register the rules of a nonterminal: function(language, *features). The name is in camel case: a_thing →
    AThing."""
    STATIC["".join(part.capitalize() for part in function.__name__.split("_"))] = function
    return function


# ---- writing rules -----------------------------------------------------------------------------------------------


class _Wording(NamedTuple):
    """Parse two lines with gaps into items. gaps: the names of the gaps of the English line, in order."""

    source: tuple[tuple[str, bool], ...]
    target: tuple[str | int, ...]
    gaps: tuple[str, ...]


@cache
def _compiled(english: str, esperanto: str) -> _Wording:
    source = tuple((word.strip("{}"), word.startswith("{")) for word in english.split())
    gaps = tuple(word for word, gap in source if gap)
    target = tuple(gaps.index(word.strip("{}")) if word.startswith("{") else word for word in esperanto.split())
    return _Wording(source, target, gaps)


@cache
def _effects(effects: tuple[tuple[str | int, ...], ...], gaps: tuple[str, ...]) -> tuple[Effect, ...]:
    """The effects of tuples (method, *arguments), in which "{gap}" is the value of a gap."""
    found = []
    for name, *arguments in effects:
        children = tuple(gaps.index(str(one).strip("{}")) for one in arguments if str(one).startswith("{"))
        plain = tuple(one for one in arguments if not str(one).startswith("{"))
        found.append(Effect(str(name), plain, children))
    return tuple(found)


def wording(
    weight: float,
    english: str,
    esperanto: str,
    *,
    effects: tuple[tuple[str | int, ...], ...] = (),
    means: str = "",
    anchors: tuple[str, ...] = (),
    turns: bool = False,
    **gaps: Symbol,
) -> Rule:
    """A rule from two lines with gaps: "{who} lives in {town}".

    Args:
        effects: tuples (method of the memory, *arguments), in which "{town}" is the value of that gap.
        means: the rule's value.
        gaps: the nonterminal of each gap.
    """
    compiled = _compiled(english, esperanto)
    source = tuple([gaps[word] if gap else word for word, gap in compiled.source])
    done = _effects(effects, compiled.gaps) if effects else ()
    return Rule(weight, source, compiled.target, None, means, done, anchors, turns)


# ---- tilts -------------------------------------------------------------------------------------------------------


@cache
def subjects() -> dict[str, tuple[float, frozenset[str], dict[str, float]]]:
    """Subject → its share, the groups of nouns and the kinds of line that it favours."""
    found = {}
    for name, share, groups, kinds in table("subjects"):
        factors = {kind: float(factor) for kind, factor in (pair.split("=") for pair in kinds.split())}
        found[name] = float(share), frozenset(groups.split()), factors
    return found


@cache
def group_tilt(group: str) -> Vector | None:
    """The tilt of nouns of a group."""
    factors = {subject: NOUN_TILT for subject, (_, groups, _) in subjects().items() if group in groups}
    return by_subject(factors) if factors else None


@cache
def line_tilt(kind: str) -> Vector | None:
    """The tilt of a kind of line."""
    factors = {subject: kinds[kind] for subject, (_, _, kinds) in subjects().items() if kind in kinds}
    return by_subject(factors) if factors else None


def by_subject(factors: dict[str, float]) -> Vector:
    """A vector that only depends on the subject."""
    assert factors.keys() <= set(SUBJECTS), factors
    return tuple(factors.get(subject, 1.0) for subject, _ in STATES)


@cache
def by_mood(mood: str) -> Vector | None:
    """The tilt of words of a mood."""
    if mood not in MOODS:
        return None
    opposite = OPPOSITE.get(mood)
    factors = {mood: MOOD_TILT} | ({opposite: 1 / MOOD_TILT} if opposite else {})
    return tuple(factors.get(other, 1.0) for _, other in STATES)


@cache
def word_mood(use: str, word: str) -> Vector | None:
    """The tilt of a verb (base form) or an adverb that belongs to a mood."""
    found = (mood for mood, of, words in table("feelings") if of == use and word in words.split(", "))
    return by_mood(next(found, ""))


# ---- two different values ----------------------------------------------------------------------------------------


def one_of_two(shares: dict[str, float], second: bool, other: str) -> dict[str, float]:
    """The distribution of one of two values that are drawn in sequence without replacement.

        P(a) = p(a)                                  P(b | a) = p(b) / (1 − p(a))
        P(b) = p(b) Σ_{a ≠ b} p(a) / (1 − p(a))      P(a | b) = P(a) P(b | a) / P(b)

    Args:
        second: whether it is the second value.
        other: the other value if it is known; "" or `UNKNOWN`: it does not exist or is not known.
    """
    odds = {key: p / (1 - p) for key, p in shares.items()}
    whole = sum(odds.values())
    if other in NONE:
        return {key: p * (whole - odds[key]) for key, p in shares.items()} if second else shares
    after = {key: p for key, p in shares.items() if key != other}
    if second:
        return {key: p / (1 - shares[other]) for key, p in after.items()}
    return {key: odds[key] / (whole - odds[other]) for key in after}


# ---- the language ------------------------------------------------------------------------------------------------


class Language:
    """The words of a size, and the static part of the grammar over them."""

    def __init__(self, size: Size) -> None:
        self.world = world(size)
        self.lexicon = self.world.lexicon
        self.grammar = Grammar(self._expand)
        self.shares = {
            "country": dict(_named(favour(zipf(self.lexicon.countries.values())))),
            **{sex: dict(favour(self.world.names(sex))) for sex in ("m", "f")},
        }

    def _expand(self, symbol: Symbol) -> list[Rule]:
        name, *features = symbol
        if name in STATIC:
            return STATIC[str(name)](self, *features)
        rules = PRODUCTIONS[str(name)](self.world, *features)
        return [Rule(rule.weight, rule.source, rule.target, anchors=rule.anchors) for rule in rules]

    def nouns(self, groups: Sequence[str]) -> Weighted[Noun]:
        """Nouns of groups or kinds; each group has its own weight."""
        return favour(self.world.nouns(groups))

    def verbs(self, frame: str, subject: str, objects: str = "") -> Weighted[Verb]:
        """Verbs of a frame for a kind of subject and, if given, a kind of object."""
        frames = DIRECT if frame == "act" else (frame,)
        return zipf(
            verb
            for verb in self.lexicon.verbs.values()
            if verb.frame in frames and subject in verb.subjects and (not objects or objects in verb.objects)
        )

    def one(self, value: str) -> bool:
        """Whether a value of the memory is known to the reader."""
        return value not in NONE


def _named(countries: Weighted[Country]) -> list[tuple[str, float]]:
    return [(country.name, weight) for country, weight in countries]
