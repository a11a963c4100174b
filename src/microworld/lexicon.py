"""The words: tables, and the probability of each word of a class in each state.

A state is a subject and a mood: z = 4·subject + mood. The r-th word of a subject or a mood, from 0, has the weight
(r + 2)^−zipf. With w_k(v) its share among the words of its own subject (or mood) k,

    P(v | z) ∝ w_k(v) ((1 − stray)·[k is z's] + stray / number of them)     k: a subject or a mood
    P(v | z) ∝ w_k(v)                                                       k: any, or a class that nothing tilts

A word goes with others, its company, which the tables name: cows are milked, graze, stand in the barn. Where a rule
asks for a word that goes with a word u, it is one of u's company, in every state; r is its rank among them:

    P(v | u) ∝ (r + 2)^−zipf
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path

import numpy as np

from microworld.notation import ClassLine, RuleError, Rules

HERE = Path(__file__).parent
SUBJECTS = ("farm", "kitchen", "sea", "music", "garden", "castle")
MOODS = ("happy", "sad", "angry", "afraid")
ANY = "any"
STRAY = {"subject": 0.03, "mood": 0.02}
"""Share of the words that are drawn from all subjects, or all moods."""
ZIPF = 1.0


@dataclass(frozen=True)
class Extent:
    """How much of the lexicon a world has; less than all of it for tests that add up all texts.

    Attributes:
        subjects, moods: how many of them. words: most words of each subject or mood in a class; 0: all.
    """

    subjects: int = len(SUBJECTS)
    moods: int = len(MOODS)
    words: int = 0

    @property
    def states(self) -> int:
        """The number of states."""
        return self.subjects * self.moods


@cache
def table(name: str) -> tuple[Mapping[str, str], ...]:
    """A table of the lexicon: its rows, column → value.

    Raises:
        RuleError: a row has too many or too few columns, or a subject or mood that does not exist.
    """
    with (HERE / "lexicon" / f"{name}.tsv").open(encoding="utf-8", newline="") as file:
        lines = (line for line in file if not line.startswith("#"))
        results = tuple(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    for number, row in enumerate(results):
        if None in row or None in row.values():
            raise RuleError(f"{location(name, number)}: expected {len(results[0])} columns with tabs between")
        for column, owners in (("subject", SUBJECTS), ("mood", MOODS)):
            if row.get(column, ANY) not in (*owners, ANY):
                raise RuleError(
                    f"{location(name, number)}: {row[column]}: expected a {column}: {', '.join(owners)}, {ANY}"
                )
    return results


def location(name: str, number: int) -> str:
    """File and line of a row of a table."""
    lines = (HERE / "lexicon" / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    return f"{name}.tsv:{[line for line, text in enumerate(lines, start=1) if text[:1] not in ('', '#')][number + 1]}"


def rows(name: str, extent: Extent, condition: tuple[str, str] = ("", "")) -> list[int]:
    """The rows of a table that a world has, by their number in the table."""
    column, value = condition
    kept: dict[str, list[int]] = {}
    for number, row in enumerate(table(name)):
        owner = row.get("subject") or row.get("mood") or ANY
        if not column or row[column] == value:
            kept.setdefault(owner, []).append(number)
    owners = (*SUBJECTS[: extent.subjects], *MOODS[: extent.moods], ANY)
    return [number for owner in owners for number in kept.get(owner, [])[: extent.words or None]]


class Words:
    """The words of one form of a class, and their probabilities.

    Attributes:
        words: distinct. rows: the row of each in its table. index: word → its number. p: (states, words).
        columns: p by word: (words, states). cumulative: state → cumulative probabilities.
    """

    def __init__(self, words: Sequence[str], rows: Sequence[int], p: np.ndarray) -> None:
        self.words, self.rows = list(words), list(rows)
        self.index = {word: number for number, word in enumerate(words)}
        self.p = p / p.sum(axis=1, keepdims=True)
        self.columns = list(np.ascontiguousarray(self.p.T))
        self.cumulative = [list(accumulate(row)) for row in self.p.tolist()]


class WordClass:
    """A class of words: its forms, alone and after a word that it goes with."""

    def __init__(self, name: str, line: ClassLine, extent: Extent, company: Mapping[str, Mapping[int, list[int]]]):
        """
        Args:
            company: class → row of it → rows of this class that go with it.
        """
        self.name, self.line, self.extent, self.company = name, line, extent, company
        self._words: dict[tuple[str, str, int], Words] = {}

    def form(self, form: str, condition: str = "", row: int = -1) -> Words:
        """The words of a form; condition, row: the class and row of the word that they go with."""
        key = (form, condition, row)
        if key not in self._words:
            self._words[key] = self._form(form, condition, row)
        return self._words[key]

    def _form(self, form: str, condition: str, row: int) -> Words:
        if form not in self.line.forms:
            raise RuleError(f"class {self.name} has no form {form or '(none)'}, but {', '.join(self.line.forms)}")
        column, key, value = self.line.forms[form]
        numbers = rows(self.line.table, self.extent, (key, value))
        if not numbers:
            raise RuleError(f"class {self.name} has no words")
        here = table(self.line.table)
        if not condition:
            words = [here[number][column] for number in numbers]
            for rank, word in enumerate(words):
                if word in words[:rank]:
                    raise RuleError(f"{location(self.line.table, numbers[rank])}: {word} is there twice")
            return Words(words, numbers, self._probabilities(numbers))
        partners = [number for number in self.company.get(condition, {}).get(row, ()) if number in numbers]
        if not partners:
            return self.form(form)
        own = np.array([_zipf(rank) for rank in range(len(partners))])
        words = [here[number][column] for number in partners]
        return Words(words, partners, np.tile(own, (self.extent.states, 1)))

    def _probabilities(self, numbers: Sequence[int]) -> np.ndarray:
        """P(v | z), not normalised: (states, words)."""
        here, tilt = table(self.line.table), self.line.tilt
        owners = [here[number].get(tilt, ANY) if tilt else ANY for number in numbers]
        weights = np.array([_zipf(owners[:rank].count(owner)) for rank, owner in enumerate(owners)])
        for owner in set(owners):
            mine = np.array([name == owner for name in owners])
            weights[mine] /= weights[mine].sum()
        classes = (
            (SUBJECTS[: self.extent.subjects] if tilt == "subject" else MOODS[: self.extent.moods]) if tilt else ()
        )
        shares = np.empty((self.extent.states, len(numbers)))
        for state in range(self.extent.states):
            subject, mood = divmod(state, self.extent.moods)
            for rank, owner in enumerate(owners):
                if owner == ANY:
                    share = 1.0
                else:
                    ours = classes.index(owner) == (subject if tilt == "subject" else mood)
                    share = (1 - STRAY[tilt]) * ours + STRAY[tilt] / len(classes)
                shares[state, rank] = share * weights[rank]
        return shares


def _zipf(rank: int) -> float:
    weight: float = (rank + 2.0) ** -ZIPF
    return weight


def check_tables(rules: Rules) -> None:
    """Check that the tables and columns exist that a file of rules names.

    Raises:
        RuleError: one does not, or what follows from a word is not its own; the message names file and line.
    """
    for name, line in rules.classes.items():
        columns = {name for column, key, _ in line.forms.values() for name in (column, key) if name}
        _check_columns(rules.locations[f"class {name}"], line.table, columns | ({line.tilt} - {""}))
    for name, other, column in rules.company:
        _check_columns(rules.locations[f"company {name} {other}"], rules.classes[other].table, {column})
    for name, (base, source) in rules.derived.items():
        where = rules.locations[f"derived {name}"]
        _check_columns(where, source, {name, base})
        for column in (name, base):
            words = [row[column] for row in table(source)]
            if twice := sorted({word for word in words if words.count(word) > 1}):
                raise RuleError(f"{where}: {twice[0]} is there twice in the column {column} of {source}.tsv")


def _check_columns(where: str, name: str, columns: set[str]) -> None:
    if not (HERE / "lexicon" / f"{name}.tsv").is_file():
        raise RuleError(f"{where}: there is no table lexicon/{name}.tsv")
    for column in sorted(columns):
        if column not in table(name)[0]:
            raise RuleError(f"{where}: {name}.tsv has no column {column} ({', '.join(table(name)[0])})")


def classes(
    lines: Mapping[str, ClassLine], company: Sequence[tuple[str, str, str]], extent: Extent
) -> dict[str, WordClass]:
    """The classes of a world.

    Args:
        company: (class, other class, the column of the other that names words of the first).
    """
    results: dict[str, dict[str, dict[int, list[int]]]] = {name: {} for name in lines}
    for name, other, column in company:
        columns = {column for column, *_ in lines[name].forms.values()}
        first = {row[column]: number for number, row in enumerate(table(lines[name].table)) for column in columns}
        for number in rows(lines[other].table, extent):
            for word in table(lines[other].table)[number][column].split(","):
                if word not in first:
                    raise RuleError(f"{location(lines[other].table, number)}: {word} is not in {lines[name].table}.tsv")
                results[name].setdefault(other, {}).setdefault(number, []).append(first[word])
                results[other].setdefault(name, {}).setdefault(first[word], []).append(number)
    return {name: WordClass(name, line, extent, results[name]) for name, line in lines.items()}
