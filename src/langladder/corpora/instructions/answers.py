"""How answers are judged, by their form: a word, a line of a story, a list, a phrase of Esperanto.

A judgement has four parts, each in [0, 1]:

    grammatical  the answer is a word, a phrase or a line of the language, as its kind asks
    true         its content is right by the tables and rules of microworld, and it says nothing else
    form         it has the requested form: one word, a whole sentence, three nouns in a list …
    length       1 up to the requested number of words, falling to 0 at twice as many

    reward = (5 · true + 2 · grammatical + 2 · form + length) / 10

A right word inside a wrong answer does not count as true: the whole answer must have a form from which the content can
be read. Each judge gets the words of an answer, at least one, and what is wanted, as `Request.wanted` has it.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from microworld.engine import world
from microworld.floors import read_alone
from microworld.lexicon import table
from microworld.translation import Translation

Words = tuple[str, ...]

_WORD = re.compile(r"\w+|[^\w\s]")

REFUSAL = ("i", "do", "not", "know")
SAID = ("yes", "no", *REFUSAL)  # words of answers that no story has
LEADS = {"lands.town": "in", "jobs.word": "a"}
"""Column of a table → the word that may stand before its words in a short answer."""
STATED = 10  # words of the longest sentence that states a fact
REMEMBERED = 200_000  # lines
ARTICLES = {"la": ("s", "pl"), "du": ("pl",)}
"""Determiner of Esperanto → its numbers."""


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


# ---- the language ----------------------------------------------------------------------------------------------------


@cache
def content_words() -> frozenset[str]:
    """Words of the classes of the stories, and of answers to instructions."""
    here = world()
    drawn = [noun.form(form).words for noun in here.classes.values() for form in noun.line.forms]
    derived = [column(f"{source}.{name}") for name, (_, source) in here.rules.derived.items()]
    return frozenset(SAID).union(*drawn, *derived)


@cache
def column(name: str) -> tuple[str, ...]:
    """The words of a column of a table: `lands.town`."""
    source, _, key = name.partition(".")
    return tuple(row[key] for row in table(source))


@cache
def nouns() -> dict[str, str]:
    """Form of a noun → its singular."""
    return {row[number]: row["singular"] for row in table("nouns") for number in ("singular", "plural")}


@lru_cache(maxsize=REMEMBERED)
def is_line(words: Words) -> bool:
    """Whether words, with their full stop or question mark, are a line that a story may have."""
    return read_alone(world(), words) is not None


def ends(words: Words) -> bool:
    """Whether the words end with one full stop, have no other, and are more than that."""
    return len(words) > 2 and words[-1] == "." and words.count(".") == 1


@cache
def esperanto(source: str, number: str) -> dict[str, str]:
    """English word → the same in Esperanto, in the nominative of a number; source: nouns or looks."""
    ending = Translation(world()).rules.endings["noun" if source == "nouns" else "adj"][f"{number}.nom"]
    key = "singular" if source == "nouns" else "word"
    return {row[key]: row["root"] + ending for row in table(source)}


def is_esperanto(words: Words) -> bool:
    """Whether words are an Esperanto noun with an optional determiner and an optional adjective, all of one number."""

    def fits(number: str) -> bool:
        rest = words[number in ARTICLES.get(words[0], ()) :]
        forms = [set(esperanto(source, number).values()) for source in ("looks", "nouns")][-len(rest) :]
        return 1 <= len(rest) <= 2 and all(word in form for word, form in zip(rest, forms, strict=True))

    return any(map(fits, ("s", "pl")))


# ---- the judges ------------------------------------------------------------------------------------------------------


def judge_word(words: Words, right: Sequence[str], among: str | Sequence[str]) -> Judgement:
    """One word. In form: one of `among`, the words of a column or those that are listed."""
    bare_words = bare(words)
    word = bare_words[0] if len(bare_words) == 1 else ""
    form = word in (column(among) if isinstance(among, str) else among)
    return Judgement(float(form or word in content_words()), float(word in right), float(form), length(words, 1))


def judge_short(words: Words, right: str, among: str) -> Judgement:
    """One word, alone or as the stories say it: in rome."""
    lead = len(words) > 1 and words[0] == LEADS.get(among)
    return judge_word(words[lead:], [right], among)


def judge_refusal(words: Words) -> Judgement:
    """True and in form: only a refusal. Other answers can still be grammatical."""
    refused = bare(words) == REFUSAL
    grammatical = refused or judge_word(words, (), ()).grammatical or is_line(words)
    return Judgement(float(grammatical), float(refused), float(refused), length(words, len(REFUSAL)))


def judge_stated(words: Words, story: str, verb: str) -> Judgement:
    """True: the story can go on with this sentence, which has the verb of the question and introduces nobody."""
    stated = f" {verb} " in f" {' '.join(words)} "
    after = world().begun([story.split(), words]) if stated else []
    true = any(len(reader.memory.people) == 1 for reader in after)
    return Judgement(float(is_line(words)), float(true), float(stated and ends(words)), length(words, STATED))


def judge_list(words: Words, right: Sequence[str], number: int) -> Judgement:
    """True: right nouns, in either number / max(requested number, nouns in the answer)."""
    parts = " ".join(bare(words)).replace(" , and ", " , ").replace(" and ", " , ").split(" , ")
    named = [nouns().get(part, "") for part in parts]
    if not all(named):
        return Judgement(0.0, 0.0, 0.0, length(words, number + 1))
    true = len(set(right).intersection(named)) / max(number, len(named))
    form = len(named) == len(set(named)) == number
    return Judgement(1.0, true, float(form), length(words, number + 1))


def judge_changed(words: Words, given: str, right: str) -> Judgement:
    """Another line, made of a given one. In form: one sentence other than that."""
    same = " ".join(words) == right
    form = ends(words) and " ".join(words) != given
    return Judgement(float(same or is_line(words)), float(same), float(form), length(words, len(right.split())))


def judge_line(words: Words, most: int, begins: str = "", mentions: Sequence[str] = ()) -> Judgement:
    """Any line that begins with some words, or mentions one of some words."""
    begun = words[: len(begins.split())] == tuple(begins.split())
    fits, grammatical = begun and (not mentions or not set(mentions).isdisjoint(words)), is_line(words)
    return Judgement(float(grammatical), float(grammatical and fits), float(fits and ends(words)), length(words, most))


def judge_esperanto(words: Words, right: str) -> Judgement:
    """A noun phrase; half true if either the noun or its adjective is right."""
    answer, wanted = bare(words), tuple(right.split())
    grammatical = bool(answer) and is_esperanto(answer)
    same = 0
    if grammatical and len(answer) == len(wanted):
        same = sum(word == other for word, other in zip(answer[1:], wanted[1:], strict=True))
    true = 1.0 if answer == wanted else 0.5 * same / (len(wanted) - 1)
    return Judgement(float(grammatical), true, float(grammatical), length(words, len(wanted)))
