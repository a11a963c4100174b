"""Cleaning a text with a label, and a sentence with tags: their words, labels and steps.

Cleaning is light: a text keeps its label, and a word its tag. Where words have a tag, a head or a place in a tree, the
steps work on each word alone, and one that they would take out or cut in two stays as it is.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import pyarrow as pa

from langladder.text.clean.drops import Book, outside
from langladder.text.clean.row_parts import Cleaning, CleanRowsConfig, as_bytes
from langladder.text.clean.steps import Step, StepsConfig, build_steps
from langladder.text.labelled.label_files import bracketed
from langladder.text.labelled.labelled import LABELLED, TAGGED
from langladder.text.labelled.trees import Tree, parse_tree
from langladder.text.words.words import split_words

Row = dict[str, Any]
Steps = list[tuple[str, Step]]


class CleanLabelledConfig(CleanRowsConfig):
    """How labelled text is cleaned. drop_duplicates: a text that was there before with the same label."""

    steps: StepsConfig = StepsConfig()


class LabelledRows(Cleaning[Row]):
    """A sort of labelled rows. labels_in: the column that has them."""

    apart = ("text",)
    labels_in: ClassVar[str]

    @abstractmethod
    def text(self, row: Row) -> str:
        """Its words as one string, of a pair both texts."""

    @abstractmethod
    def words_of(self, row: Row) -> Sequence[str]:
        """Its words."""

    @abstractmethod
    def labels(self, row: Row) -> Sequence[str]:
        """Its label, or its tags."""

    @abstractmethod
    def ceilings(self, row: Row) -> Sequence[float | None]:
        """How often the best guess of each label is right, None where that is not known."""

    @abstractmethod
    def stepper(self, book: Book, steps: Steps) -> Callable[[Row], Row]:
        """What runs the steps on a row."""

    def rows(self, batch: pa.RecordBatch) -> Iterable[Row]:
        """See `Cleaning.rows`."""
        found: list[Row] = batch.to_pylist()
        return found

    def batch(self, rows: list[Row]) -> pa.RecordBatch:
        """See `Cleaning.batch`."""
        return pa.RecordBatch.from_pylist(rows, schema=self.schema)

    def cleaner(self, book: Book) -> Callable[[Row], tuple[Row, str | None]]:
        """See `Cleaning.cleaner`."""
        step = self.stepper(book, build_steps(self.config.steps))

        def clean(raw: Row) -> tuple[Row, str | None]:
            row = step(raw)
            return row, "empty" if row.get("second") == "" else outside(self.text(row), self.config.limits)

        return clean

    def key(self, row: Row) -> bytes:
        """The text and its labels."""
        return as_bytes([self.text(row), *self.labels(row)])

    def held(self, row: Row) -> tuple[bytes, ...]:
        """The text."""
        return (self.text(row).encode(),)

    def lines(self, row: Row) -> Iterable[str]:
        """The text."""
        return [self.text(row)]

    def shown(self, row: Row) -> str:
        """The text."""
        return self.text(row)


class Labelled(LabelledRows):
    """Texts with a label."""

    schema = LABELLED
    unit = "examples"
    labels_in = "label"

    def text(self, row: Row) -> str:
        """See `LabelledRows.text`."""
        text: str = row["text"]
        return text if row["second"] is None else f"{text}\t{row['second']}"

    def words_of(self, row: Row) -> Sequence[str]:
        """See `LabelledRows.words_of`."""
        if row["tree"] is not None or row["heads"] is not None:
            return list(row["text"].split(" "))
        return split_words(self.text(row), "auto")

    def labels(self, row: Row) -> Sequence[str]:
        """See `LabelledRows.labels`."""
        return [row["label"]]

    def ceilings(self, row: Row) -> Sequence[float | None]:
        """See `LabelledRows.ceilings`."""
        return [row["ceiling"]]

    def stepper(self, book: Book, steps: Steps) -> Callable[[Row], Row]:
        """See `LabelledRows.stepper`."""
        step_word = _word_stepper(book, steps)

        def step(row: Row) -> Row:
            if row["tree"] is None and row["heads"] is None:
                texts = {name: book.apply(steps, row[name]) for name in ("text", "second") if row[name] is not None}
            else:
                texts = {"text": " ".join(map(step_word, row["text"].split(" ")))}
            if all(row[name] == text for name, text in texts.items()):
                return row
            if row["tree"] is not None:
                children, word, label, _ = parse_tree(row["tree"])
                texts["tree"] = bracketed(Tree(children, word, label, tuple(texts["text"].split(" "))), {})[-1]
            return row | texts | {"log_prob": None, "ceiling": None}  # known of the text as it was

        return step


class TaggedRows(LabelledRows):
    """Sentences with a tag a word."""

    schema = TAGGED
    unit = "sentences"
    labels_in = "tags"

    def text(self, row: Row) -> str:
        """See `LabelledRows.text`."""
        return " ".join(row["words"])

    def words_of(self, row: Row) -> Sequence[str]:
        """See `LabelledRows.words_of`."""
        words: list[str] = row["words"]
        return words

    def labels(self, row: Row) -> Sequence[str]:
        """See `LabelledRows.labels`."""
        tags: list[str] = row["tags"]
        return tags

    def ceilings(self, row: Row) -> Sequence[float | None]:
        """See `LabelledRows.ceilings`."""
        return row["ceilings"] or [None]

    def stepper(self, book: Book, steps: Steps) -> Callable[[Row], Row]:
        """See `LabelledRows.stepper`."""
        step_word = _word_stepper(book, steps)

        def step(row: Row) -> Row:
            words = list(map(step_word, row["words"]))
            return row if words == row["words"] else row | {"words": words, "log_prob": None, "ceilings": None}

        return step


def _word_stepper(book: Book, steps: Steps) -> Callable[[str], str]:
    """Steps on a word by itself; one that they would take out or cut in two stays."""
    known: dict[str, str] = {}

    def step(word: str) -> str:
        if word not in known:
            after = word
            for _, one in steps:
                after = one(after)
            known[word] = after if len(after.split()) == 1 and not set("()") & set(after) else word
        if known[word] != word:
            book.changed["words"] += 1
        return known[word]

    return step
