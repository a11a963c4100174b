"""What a kind of instruction is: how one is drawn, how it is put into words, and how an answer to it is judged.

A judgement has four parts, each in [0, 1]:

    grammatical  the answer is a word, a phrase or a sentence of the language, as its kind asks
    true         it says what is right by the tables of the world, and nothing else
    form         it has the form that was asked for: one word, a whole sentence, three nouns in a list …
    length       1 up to as many words as were asked for, falling to 0 at twice as many

    reward = (5 · true + 2 · grammatical + 2 · form + length) / 10

What is right but stands among rubbish is not true: the whole answer must be of the form that the content is read from.
"""

import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, NamedTuple, Protocol, TypeVar

from langladder.corpora.lexicon import Size
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
