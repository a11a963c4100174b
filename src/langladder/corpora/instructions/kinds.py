"""A kind of instruction: how requests are drawn and worded, and the judgement of an answer.

A judgement has four parts, each in [0, 1]:

    grammatical  the answer is a word, a phrase or a line of the language, as its kind asks
    true         its content is right by the tables and rules of microworld, and it says nothing else
    form         it has the requested form: one word, a whole sentence, three nouns in a list …
    length       1 up to the requested number of words, falling to 0 at twice as many

    reward = (5 · true + 2 · grammatical + 2 · form + length) / 10

A right word inside a wrong answer does not count as true: the whole answer must have a form from which the content can
be read.
"""

import csv
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

Wanted = Mapping[str, Any]
"""What the judge of a kind reads of a request, as JSON values: the arguments of `Kind.judge`."""
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

    slots: values of the gaps in phrasings. wanted: the input of the judge. answer: a right one, without its full stop.
    key: identifies the request in any phrasing; no key is in two splits.
    """

    slots: Mapping[str, str]
    wanted: Wanted
    answer: str
    key: str


class Kind(NamedTuple):
    """A kind of instruction.

    draw: one request. judge: the judgement of an answer, at least one word; its other arguments are `Request.wanted`.
    phrasings: templates with {slots}. reworded: one that is only used in unseen instructions; "": the kind is unseen.
    """

    draw: Callable[[Random], Request]
    judge: Callable[..., Judgement]
    phrasings: tuple[str, ...]
    reworded: str


@cache
def rows(name: str) -> tuple[Mapping[str, str], ...]:
    """The rows of a table in this folder, column → value."""
    with Path(__file__).with_name(f"{name}.tsv").open(encoding="utf-8", newline="") as file:
        lines = (line for line in file if not line.startswith("#"))
        return tuple(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


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
