"""What a kind of instruction is: how one is drawn, how it is put into words, and how an answer to it is judged.

A judgement has four parts, each in [0, 1]:

    grammatical  the answer is a word, a phrase or a sentence of the language, as its kind asks
    true         it says what is right by the tables of the world, and nothing else
    form         it has the form that was asked for: one word, a whole sentence, three nouns in a list …
    length       1 up to as many words as were asked for, falling to 0 at twice as many

    reward = (5 · true + 2 · grammatical + 2 · form + length) / 10

What is right but stands among rubbish is not true: the whole answer must be of the form that the content is read from.

What the gold judge looks up: the words of a world by what they are, and whether words make a sentence of it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import inf
from random import Random
from typing import Any, NamedTuple, Protocol, TypeVar

from langladder.corpora import rules  # noqa: F401 - registers the productions of the grammar
from langladder.corpora.grammar import Symbol
from langladder.corpora.lexicon import Noun, Size, esperanto_adjective, esperanto_noun
from langladder.corpora.world import World

Fields = Mapping[str, Any]
"""What a request asks for, as JSON has it: all that its judge needs beside the world."""
Words = tuple[str, ...]

_WORD = re.compile(r"\w+|[^\w\s]")


class Judgement(NamedTuple):
    """How good an answer is, part by part, each in [0, 1]."""

    grammatical: float
    true: float
    form: float
    length: float

    @property
    def reward(self) -> float:
        """The weighted mean of the parts, in [0, 1]; 1.0 exactly where all are 1."""
        return (5 * self.true + 2 * self.grammatical + 2 * self.form + self.length) / 10

    @property
    def followed(self) -> bool:
        """Whether nothing is wrong with the answer."""
        return min(self) == 1.0


NOTHING = Judgement(0.0, 0.0, 0.0, 0.0)
"""What an empty answer is worth."""


class Request(NamedTuple):
    """One drawn request.

    slots: what fills the gaps of the phrasings. fields: what the judge reads. answers: right ones, the first drawn as
    the demonstration. key: what no two splits share, whatever the phrasing.
    """

    slots: Mapping[str, str]
    fields: Fields
    answers: tuple[str, ...]
    key: str


class Kind(Protocol):
    """A kind of instruction."""

    @property
    def phrasings(self) -> tuple[str, ...]:
        """With {slots}; the last of a seen kind occurs in unseen instructions only."""

    def draw(self, world: World, rng: Random, /) -> Request:
        """One request."""

    def judge(self, world: World, fields: Fields, words: Words, /) -> Judgement:
        """How good an answer is; `words` are those of `words_of`, at least one."""


KINDS: dict[str, Kind] = {}
UNSEEN: set[str] = set()
REWORDED = "reworded"
"""The kind of dialogues whose kind is seen, but not their phrasing."""

K = TypeVar("K", bound=Callable[[], Kind])


def instruction(name: str, *, unseen: bool = False) -> Callable[[K], K]:
    """Register a class as the kind `name`; unseen: never in train."""

    def register(kind: K) -> K:
        KINDS[name] = kind()
        if unseen:
            UNSEEN.add(name)
        return kind

    return register


def split_of(unseen: bool, draw: int) -> str:
    """The split of a request by the tenth that its key falls into: an unseen kind has only one."""
    return "unseen" if unseen else {0: "validation", 1: "test"}.get(draw, "train")


class Asked(NamedTuple):
    """A request as dialogues carry it: the kind that judges, the size of the world, and the fields."""

    kind: str
    size: Size
    fields: Fields


# -- answers -----------------------------------------------------------------------------------------------------


def words_of(answer: str) -> Words:
    """Words and punctuation marks, apart however they are written."""
    return tuple(_WORD.findall(answer))


def bare(words: Words) -> Words:
    """The words without one full stop at the end."""
    return words[:-1] if words[-1] == "." else words


def length(words: Words, most: int) -> float:
    """1 up to `most` words (punctuation not counted), falling to 0 at twice as many; 0 without a word."""
    count = sum(word[0].isalnum() for word in words)
    # max(0, 1 − (n − most) / most) for n > most
    return float(count > 0) if count <= most else max(0.0, 1.0 - (count - most) / most)


def one_word(words: Words, right: set[str], sort: set[str], known: Callable[[str], bool]) -> Judgement:
    """The judgement of an answer that is to be one word.

    Args:
        right: the right words.
        sort: words that have the form that was asked for.
        known: whether the language has a word.
    """
    said = bare(words)
    word = said[0] if len(said) == 1 else ""
    grammatical = bool(word) and (word in sort or known(word))
    return Judgement(float(grammatical), float(word in right), float(word in sort), length(words, 1))


# ---- what is looked up


LONGEST = 16  # words of a sentence that is parsed; no instruction asks for so many
SAID = ("yes", "no", "i", "do", "not", "know")  # of answers, beside the world's own words
RELATIONS = ("capital", "currency", "nationality")
REMEMBERED = 200_000  # parses
DETERMINERS = {"la": "sp", "mia": "s", "nia": "s", "miaj": "p", "niaj": "p", "kelkaj": "p", "multaj": "p"}
"""Determiners of Esperanto in plain letters, and the numbers that they go with; numerals beside them."""
DETERMINERS |= {"du": "p", "tri": "p"}


@dataclass(eq=False)
class Known:
    """The words of a world, and what it knows of them."""

    world: World
    _parsed: dict[tuple[Symbol, Words], bool] = field(default_factory=dict, repr=False)

    @cached_property
    def noun_forms(self) -> dict[str, list[tuple[Noun, str]]]:
        """Form → the nouns that have it, each with the number."""
        forms: dict[str, list[tuple[Noun, str]]] = {}
        for noun in self.world.lexicon.nouns.values():
            for number in "sp":
                forms.setdefault(noun.form(number), []).append((noun, number))
        return forms

    @cached_property
    def countries(self) -> dict[str, set[str]]:
        """What a country has (and "name") → the words for it."""
        found = self.world.lexicon.countries.values()
        return {part: {getattr(country, part) for country in found} for part in ("name", *RELATIONS)}

    @cached_property
    def past_forms(self) -> set[str]:
        """What shows that a sentence is in the past."""
        return {"did", *(verb.past for verb in self.world.lexicon.verbs.values())}

    @cached_property
    def words(self) -> set[str]:
        """Content words that sentences of the world may hold, and the words of the answers to instructions."""
        lexicon = self.world.lexicon
        words = {*self.noun_forms, *lexicon.names, *lexicon.opinions, *SAID}
        words.update(form for noun in lexicon.classes.values() for form in (noun.singular, noun.plural))
        words.update(form for verb in lexicon.verbs.values() for form in verb.forms)
        adverbs = [adverb.source for of_use in lexicon.adverbs.values() for adverb in of_use]
        words.update(adverb[0] for adverb in adverbs if len(adverb) == 1)
        words.update(word for forms in self.countries.values() for word in forms)
        for one in lexicon.adjectives.values():
            words.update(form for form in (one.positive, one.comparative, one.superlative) if form)
        return words

    @cached_property
    def esperanto(self) -> tuple[dict[str, str], dict[str, str]]:
        """Adjectives and nouns of Esperanto, each with its number, "s" or "p"."""
        lexicon = self.world.lexicon
        adjectives = {esperanto_adjective(one.root, n): n for one in lexicon.adjectives.values() for n in "sp"}
        return adjectives, {esperanto_noun(one.root, n): n for one in lexicon.nouns.values() for n in "sp"}

    def is_word(self, word: str) -> bool:
        """Whether the language has a content word."""
        return word in self.words

    # -- phrases and sentences -----------------------------------------------------------------------------------

    def sentence(self, words: Words) -> bool:
        """Whether words, with their full stop, are one sentence of the grammar; False for more than `LONGEST`."""
        return self._parses(("Sentence",), words)

    def phrase(self, words: Words) -> set[str]:
        """The numbers ("s", "p") of which words can be a noun phrase without a relative clause; none: they are none."""
        if not words or words[-1] not in self.noun_forms:
            return set()
        return {
            number
            for noun, number in self.noun_forms[words[-1]]
            if self._parses(("NP", noun.singular, number, "", 0, ""), words)
        }

    def esperanto_phrase(self, words: Words) -> bool:
        """Whether words are a noun of Esperanto behind a determiner, an adjective, both or none, all of one number."""
        adjectives, nouns = self.esperanto
        if not 1 <= len(words) <= 3 or words[-1] not in nouns:
            return False
        number, before = nouns[words[-1]], words[:-1]
        if before and number in DETERMINERS.get(before[0], ""):
            before = before[1:]
        return len(before) <= 1 and all(adjectives.get(word) == number for word in before)

    def _parses(self, symbol: Symbol, words: Words) -> bool:
        if len(words) > LONGEST:
            return False
        key = (symbol, words)
        if key not in self._parsed:
            if len(self._parsed) >= REMEMBERED:
                self._parsed.clear()
            # log P(words) > −inf under the grammar: there is a derivation
            self._parsed[key] = self.world.grammar.inside(words, symbol) > -inf
        return self._parsed[key]


@lru_cache(maxsize=3)
def known(world: World) -> Known:
    """What is known of a world; made once."""
    return Known(world)
