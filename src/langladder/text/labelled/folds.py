"""Cross-validation: all labelled examples are divided into K folds, each of which is the test once.

The examples of all splits are divided, also those held out: those of each label in the order of their hashes, one fold
after the other, so that every fold has about the same share of every label. Equal texts share a fold. The model of fold
k is tested on fold k, validated on fold k + 1 (1 after the last) and trained on all others. Folds depend on the texts
alone: they are the same for every rung and seed, so that rungs can be compared in pairs.

Shape legend: N examples.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from langladder.ground.errors import InputError
from langladder.text.clean.splitting import hash_fraction
from langladder.text.storage.shards import SPLITS

T = TypeVar("T")
LEAST = 3  # texts of a label: one to test, one to validate, one to train on
Read = Callable[[Path], list[T]]
DealtBy = Callable[[T], tuple[str, str]]
"""The text of an example, and the label by which it is stratified."""


class Number(Protocol):
    """Which fold or part, from 1, of how many."""

    number: int
    of: int


class Folds(NamedTuple, Generic[T]):
    """The examples of all splits, and the fold of each, from 1: (N,) int64."""

    rows: list[T]
    fold: np.ndarray
    of: int

    @classmethod
    def read(cls, folder: Path, read: Read[T], dealt_by: DealtBy[T], count: int) -> "Folds[T]":
        """Divide the examples of a clean corpus.

        Raises:
            InputError: fewer texts than folds, or a label with fewer than `LEAST` texts.
        """
        rows = [row for split in SPLITS for row in read(folder / f"{split}.parquet")]
        first = _labels_of_texts(map(dealt_by, rows))
        if len(first) < count:
            raise InputError(f"folds: {count}, but {folder} has {len(first)} different texts; set fewer folds")
        few = min((counts := Counter(first.values())).items(), key=lambda pair: pair[1])
        if len(counts) > 1 and few[1] < LEAST:
            raise InputError(
                f"folds: {count}, but the label {few[0][:60]!r} has {few[1]} different texts, and in folds a label "
                f"needs {LEAST}: one to test, one to validate, one to train on; give more of them, leave the label out "
                f"(params.yaml: data: {{labels: {{rename: {{{few[0][:60]!r}: null}}}}}}), or set folds: 1"
            )
        return cls(rows, deal(map(dealt_by, rows), count), count)

    def splits(self, number: int) -> tuple[list[T], list[T]]:
        """The training and validation examples of a fold."""
        validates = number % self.of + 1
        train = ~np.isin(self.fold, (number, validates))
        return self._of(train), self._of(self.fold == validates)

    def _of(self, chosen: np.ndarray) -> list[T]:
        return [self.rows[row] for row in np.flatnonzero(chosen)]


def training_splits(
    folder: Path, read: Read[T], dealt_by: DealtBy[T], fold: Number | None, part: Number | None = None
) -> tuple[list[T], list[T]]:
    """Training and validation examples: of the corpus' own splits, of a fold, or of a part of both splits.

    A part has fewer validation examples, too.
    """
    if fold is not None:
        return Folds.read(folder, read, dealt_by, fold.of).splits(fold.number)
    train, validation = read(folder / "train.parquet"), read(folder / "validation.parquet")
    if part is None:
        return train, validation
    return _part(train, dealt_by, part), _part(validation, dealt_by, part)


def _part(rows: list[T], dealt_by: DealtBy[T], part: Number) -> list[T]:
    dealt = deal(map(dealt_by, rows), part.of)
    return [rows[row] for row in np.flatnonzero(dealt == part.number)]


def deal(rows: Iterable[tuple[str, str]], count: int) -> np.ndarray:
    """The number from 1 to `count` of each text with its label: (N,) int64."""
    rows = list(rows)
    first = _labels_of_texts(rows)
    order = sorted(first, key=lambda text: (first[text], hash_fraction([text], 0), text))
    number = {text: position % count + 1 for position, text in enumerate(order)}
    return np.array([number[text] for text, _ in rows], dtype=np.int64)


def _labels_of_texts(rows: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Each text once, with its first label."""
    labels: dict[str, str] = {}
    for text, label in rows:
        labels.setdefault(text, label)
    return labels
