"""The interface of a kind of instruction: how requests are drawn and phrased, and how answers are judged.

A judgement has four parts, each in [0, 1]:

    grammatical  the answer is a word, a phrase or a sentence of the language, as its kind asks
    true         its content is right by the tables of the world, and it says nothing else
    form         it has the requested form: one word, a whole sentence, three nouns in a list …
    length       1 up to the requested number of words, falling to 0 at twice as many

    reward = (5 · true + 2 · grammatical + 2 · form + length) / 10

A right word inside a wrong answer does not count as true: the whole answer must have a form from which the content can
be read.

`Known` is the gold judge's lexicon: the words of a world by category, and a check whether words form a sentence.
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
"""The content of a request as JSON values: everything that its judge needs besides the world."""
Words = tuple[str, ...]

_WORD = re.compile(r"\w+|[^\w\s]")


class Judgement(NamedTuple):
    """The four parts of a judgement, each in [0, 1]."""

    grammatical: float
    true: float
    form: float
    length: float

    @property
    def reward(self) -> float:
        """The weighted mean of the parts, in [0, 1]; exactly 1.0 if all parts are 1."""
        return (5 * self.true + 2 * self.grammatical + 2 * self.form + self.length) / 10

    @property
    def followed(self) -> bool:
        """Whether all parts of the judgement are 1."""
        return min(self) == 1.0


NOTHING = Judgement(0.0, 0.0, 0.0, 0.0)
"""The judgement of an empty answer."""


class Request(NamedTuple):
    """One drawn request.

    slots: values of the gaps in phrasings. fields: the input of the judge. answers: right answers; the first one is the
    demonstration. key: identifies the request in any phrasing; no key is in two splits.
    """

    slots: Mapping[str, str]
    fields: Fields
    answers: tuple[str, ...]
    key: str


class Kind(Protocol):
    """A kind of instruction."""

    @property
    def phrasings(self) -> tuple[str, ...]:
        """Templates with {slots}; the last one of a seen kind is only used in unseen instructions."""

    def draw(self, world: World, rng: Random, /) -> Request:
        """One request."""

    def judge(self, world: World, fields: Fields, words: Words, /) -> Judgement:
        """The judgement of an answer; `words` are the result of `words_of`, at least one."""


KINDS: dict[str, Kind] = {}
UNSEEN: set[str] = set()
REWORDED = "reworded"
"""The name of the kind of dialogues with a seen kind in an unseen phrasing."""

K = TypeVar("K", bound=Callable[[], Kind])


def instruction(name: str, *, unseen: bool = False) -> Callable[[K], K]:
    """Register a class as the kind `name`; unseen: not in train."""

    def register(kind: K) -> K:
        KINDS[name] = kind()
        if unseen:
            UNSEEN.add(name)
        return kind

    return register


def split_of(unseen: bool, draw: int) -> str:
    """The split of a request, from the tenth of its key; an unseen kind has only one split."""
    return "unseen" if unseen else {0: "validation", 1: "test"}.get(draw, "train")


class Asked(NamedTuple):
    """A request as stored in dialogues: the kind that judges it, the size of the world, and the fields."""

    kind: str
    size: Size
    fields: Fields


# -- answers -----------------------------------------------------------------------------------------------------


def words_of(answer: str) -> Words:
    """Words and punctuation marks, separated even if written together."""
    return tuple(_WORD.findall(answer))


def bare(words: Words) -> Words:
    """The words without a full stop at the end."""
    return words[:-1] if words[-1] == "." else words


def length(words: Words, most: int) -> float:
    """1 up to `most` words (punctuation not counted), falling to 0 at twice as many; 0 without a word."""
    count = sum(word[0].isalnum() for word in words)
    # max(0, 1 − (n − most) / most) for n > most
    return float(count > 0) if count <= most else max(0.0, 1.0 - (count - most) / most)


def one_word(words: Words, right: set[str], sort: set[str], known: Callable[[str], bool]) -> Judgement:
    """The judgement of an answer that should be one word.

    Args:
        right: the right words.
        sort: words with the requested form.
        known: a function that tests whether the language has a word.
    """
    said = bare(words)
    word = said[0] if len(said) == 1 else ""
    grammatical = bool(word) and (word in sort or known(word))
    return Judgement(float(grammatical), float(word in right), float(word in sort), length(words, 1))


# ---- what is looked up


LONGEST = 16  # maximum words of a parsed sentence; no instruction asks for more
SAID = ("yes", "no", "i", "do", "not", "know")  # words of answers, in addition to the world's words
RELATIONS = ("capital", "currency", "nationality")
REMEMBERED = 200_000  # parses
DETERMINERS = {"la": "sp", "mia": "s", "nia": "s", "miaj": "p", "niaj": "p", "kelkaj": "p", "multaj": "p"}
"""Determiners of Esperanto in plain letters with their numbers, and numerals."""
DETERMINERS |= {"du": "p", "tri": "p"}


@dataclass(eq=False)
class Known:
    """The words of a world, and its facts about them."""

    world: World
    _parsed: dict[tuple[Symbol, Words], bool] = field(default_factory=dict, repr=False)

    @cached_property
    def noun_forms(self) -> dict[str, list[tuple[Noun, str]]]:
        """Form → the nouns with this form, each with the number."""
        forms: dict[str, list[tuple[Noun, str]]] = {}
        for noun in self.world.lexicon.nouns.values():
            for number in "sp":
                forms.setdefault(noun.form(number), []).append((noun, number))
        return forms

    @cached_property
    def countries(self) -> dict[str, set[str]]:
        """Relation of countries (and "name") → its words."""
        found = self.world.lexicon.countries.values()
        return {part: {getattr(country, part) for country in found} for part in ("name", *RELATIONS)}

    @cached_property
    def past_forms(self) -> set[str]:
        """Words that show that a sentence is in the past tense."""
        return {"did", *(verb.past for verb in self.world.lexicon.verbs.values())}

    @cached_property
    def words(self) -> set[str]:
        """Content words of sentences of the world, and of answers to instructions."""
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
        """The possible numbers ("s", "p") of words as a noun phrase without a relative clause; empty if they are not
        one."""
        if not words or words[-1] not in self.noun_forms:
            return set()
        return {
            number
            for noun, number in self.noun_forms[words[-1]]
            if self._parses(("NP", noun.singular, number, "", 0, ""), words)
        }

    def esperanto_phrase(self, words: Words) -> bool:
        """Whether words are an Esperanto noun with an optional determiner and an optional adjective, all of the same
        number."""
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
            # log P(words) > −inf under the grammar means that there is a derivation
            self._parsed[key] = self.world.grammar.inside(words, symbol) > -inf
        return self._parsed[key]


@lru_cache(maxsize=3)
def known(world: World) -> Known:
    """The lexicon of a world; cached."""
    return Known(world)
