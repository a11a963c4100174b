"""The distributions from which microworld's grammar draws: which beings can do which actions to which things.

A distribution has two levels. The class level follows semantic classes (food is eaten, places are visited) with Zipf
weights inside each group. In addition, part of the probability mass goes to a few *favourites* of the governing word:
each verb has favourite objects; each noun has favourite adjectives, verbs and places. Favourites belong to the lemma,
not to the form. So dog and dogs, or sing and sang, share a signature that distinguishes them from other lemmas. This
makes it possible to learn analogies from distributions alone.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from itertools import count as count_from
from math import gcd
from random import Random
from typing import Any, TypeVar
from zlib import crc32

from langladder.corpora.grammar import Grammar, Rule, Symbol
from langladder.corpora.lexicon import Adjective, Lexicon, Noun, Size, Verb

T = TypeVar("T")
Side = tuple[str | Symbol, ...]
Target = tuple[str | int, ...]
Weighted = list[tuple[T, float]]

PROFILES = 6  # number of profiles of lemmas, in each relation
ZIPF_OFFSET = 3.0  # weight of rank r (from 0) in its row: 1 / (r + offset)
FAVOURITE_SHARES = (0.24, 0.16, 0.1)  # share of the mass for each favourite; the rest follows the class
PLURAL = 0.4  # share of plurals

PRODUCTIONS: dict[str, Callable[..., list[Rule]]] = {}


def production(name: str) -> Callable[[Callable[..., list[Rule]]], Callable[..., list[Rule]]]:
    """Register the function that gives the rules of nonterminals called `name`: function(world, *features)."""

    def register(function: Callable[..., list[Rule]]) -> Callable[..., list[Rule]]:
        PRODUCTIONS[name] = function
        return function

    return register


@dataclass(frozen=True)
class Being:
    """A person or thing in sentences: a noun, a name or a pronoun.

    gender: "m", "f" or "". lemma: the lemma of its favourites ("" for none; a couple shares one).
    """

    key: str
    kind: str
    group: str
    gender: str
    lemma: str


class World:
    """The words of a size, the weights between them, and the grammar over both."""

    def __init__(self, size: Size) -> None:
        self.lexicon = Lexicon(size)
        self.grammar = Grammar(("Sentence",), self._expand)
        self._nouns_of: dict[tuple[str, ...], Weighted[Noun]] = {}
        self._verbs_of: dict[tuple[str, ...], Weighted[Verb]] = {}

    def _expand(self, symbol: Symbol) -> list[Rule]:
        return PRODUCTIONS[symbol[0]](self, *symbol[1:])

    @cached_property
    def beings(self) -> dict[str, Being]:
        """Key → being: singular nouns, names, and the pronouns he, she, they."""
        beings = {}
        for key, noun in self.lexicon.nouns.items():
            lemma = min(key, noun.partner) if noun.partner else key
            beings[key] = Being(key, noun.kind, noun.group, noun.gender, lemma)
        for key, name in self.lexicon.names.items():
            beings[key] = Being(key, "person", "name", name.gender, "")
        for key, gender in (("he", "m"), ("she", "f"), ("they", "")):
            beings[key] = Being(key, "person", "pronoun", gender, "")
        return beings

    # -- choices ---------------------------------------------------------------------------------------------

    def nouns(self, kinds: Sequence[str]) -> Weighted[Noun]:
        """Nouns of these kinds or groups, with their class weights."""
        key = tuple(kinds)
        if key not in self._nouns_of:
            chosen = [noun for noun in self.lexicon.nouns.values() if noun.kind in key or noun.group in key]
            self._nouns_of[key] = zipf(chosen)
        return self._nouns_of[key]

    def names(self, gender: str = "") -> Weighted[str]:
        """Given names, of one gender or both."""
        ranked = [(name.name, weight) for name, weight in zipf(self.lexicon.names.values())]
        return [(name, weight) for name, weight in ranked if gender in ("", self.lexicon.names[name].gender)]

    def verbs(self, being: Being, objects: Sequence[str] = ()) -> Weighted[Verb]:
        """Verbs with `being` as subject, weighted by its favourites; with `objects`, only verbs that take one of
        them."""
        cell = (being.kind, being.group)
        if cell not in self._verbs_of:
            chosen = [verb for verb in self.lexicon.verbs.values() if set(cell) & set(verb.subjects)]
            self._verbs_of[cell] = zipf(chosen)
        favoured = favour(self._verbs_of[cell], "verb", being.lemma)
        if not objects:
            return favoured
        return [pair for pair in favoured if pair[0].frame in DIRECT and set(objects) & set(pair[0].objects)]

    def adjectives(self, noun: Noun, graded: bool = False) -> Weighted[Adjective]:
        """Adjectives that suit a noun, weighted by its favourites; `graded`: only those with -er and -est."""
        kinds = {noun.kind, noun.group}
        chosen = [adjective for adjective in self.lexicon.adjectives.values() if kinds & set(adjective.kinds)]
        favoured = favour(zipf(chosen), "adjective", self.beings[noun.singular].lemma)
        return [pair for pair in favoured if pair[0].pole or not graded]

    def objects(self, verb: Verb) -> Weighted[Noun]:
        """Nouns that can be the object (or the goal) of a verb, weighted by its favourites."""
        return favour(self.nouns(verb.objects), "object", verb.base)


DIRECT = ("act", "use")  # frames with only a direct object


def zipf(items: Iterable[Any]) -> Weighted[Any]:
    """Items that have a `rank`, each with the weight 1 / (rank + offset)."""
    return [(item, 1.0 / (item.rank + ZIPF_OFFSET)) for item in items]


def favour(items: Weighted[T], relation: str = "", lemma: str = "") -> Weighted[T]:
    """Mix class weights with the favourites of a lemma: P = (1 − Σ shares) · class + share of each favourite.

    In each relation, a lemma belongs to one of a few profiles, which have the favourites. So there are few parameters,
    each of them often seen, but a lemma's profiles in all relations together distinguish it from others. Profiles and
    favourites are selected by checksums, the same on every machine and for every seed. Without a lemma, only the class
    weights are used. Weights sum to 1.
    """
    total = sum(weight for _, weight in items)
    count = min(len(FAVOURITE_SHARES), len(items) - 1)
    if not lemma or count < 1:
        return [(item, weight / total) for item, weight in items]
    profile = crc32(f"{relation} of {lemma}".encode()) // 7 % PROFILES
    stride = next(step for step in count_from(len(items) * 5 // 8) if gcd(step, len(items)) == 1)
    shares = [0.0] * len(items)
    for rank, share in enumerate(FAVOURITE_SHARES[:count]):
        # stride and length have no common divisor, so no item is a favourite twice before all have been once
        shares[(profile + rank * PROFILES) * stride % len(items)] += share
    rest = (1.0 - sum(shares)) / total
    return [(item, rest * weight + share) for (item, weight), share in zip(items, shares, strict=True)]


def draw(items: Weighted[T], rng: Random) -> T:
    """Draw an item by its weight."""
    bounds = list(accumulate([weight for _, weight in items]))
    return items[min(bisect_right(bounds, rng.random() * bounds[-1]), len(items) - 1)][0]


def numbered(items: Weighted[T]) -> list[tuple[T, str, float]]:
    """Each item in the singular ("s") and the plural ("p")."""
    return [
        (item, number, weight * share) for item, weight in items for number, share in (("s", 1 - PLURAL), ("p", PLURAL))
    ]


@lru_cache(maxsize=3)
def world(size: Size) -> World:
    """The world of a size; cached."""
    return World(size)
