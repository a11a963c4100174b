"""What sets texts with a label and sentences with tags apart, for what handles both: their words, labels and steps."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from langladder.text.drops import Book
from langladder.text.label_files import bracketed
from langladder.text.labelled import LABELLED, TAGGED
from langladder.text.steps import Step
from langladder.text.trees import Tree, parse_tree
from langladder.text.words import split_words

Row = dict[str, Any]
Steps = list[tuple[str, Step]]


class Kind(NamedTuple):
    """A sort of labelled row. text: its words as one string, of a pair both; stepper: cleans a row."""

    schema: pa.Schema
    unit: str
    text: Callable[[Row], str]
    words: Callable[[Row], Sequence[str]]
    labels: Callable[[Row], Sequence[str]]
    ceilings: Callable[[Row], Sequence[float | None]]
    stepper: Callable[[Book, Steps], Callable[[Row], Row]]


def _text(row: Row) -> str:
    text: str = row["text"]
    return text if row["second"] is None else f"{text}\t{row['second']}"


def _words(row: Row) -> list[str]:
    if row["tree"] is not None or row["heads"] is not None:
        return list(row["text"].split(" "))
    return split_words(_text(row), "auto")


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


def _label_stepper(book: Book, steps: Steps) -> Callable[[Row], Row]:
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


def _tag_stepper(book: Book, steps: Steps) -> Callable[[Row], Row]:
    step_word = _word_stepper(book, steps)

    def step(row: Row) -> Row:
        words = list(map(step_word, row["words"]))
        return row if words == row["words"] else row | {"words": words, "log_prob": None, "ceilings": None}

    return step


LABELS = Kind(
    LABELLED,
    "examples",
    _text,
    _words,
    lambda row: [row["label"]],
    lambda row: [row["ceiling"]],
    _label_stepper,
)
TAGS = Kind(
    TAGGED,
    "sentences",
    lambda row: " ".join(row["words"]),
    lambda row: row["words"],
    lambda row: row["tags"],
    lambda row: row["ceilings"] or [None],
    _tag_stepper,
)
