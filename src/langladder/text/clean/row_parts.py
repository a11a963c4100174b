"""Some rows of a raw table, cleaned: what a worker does, before what only the whole corpus can tell.

Pairs, labelled texts, tagged sentences, dialogues, questions: steps and limits are a row's own affair. A part leaves,
in a scratch folder and named by its number, the rows that stay, and for what is decided over all parts: hashes of each
row (duplicates) and of what of it stands in one split alone (held-out text), its place and number of words (splits).
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import pyarrow as pa

from langladder.atomic import atomic_file
from langladder.errors import InputError
from langladder.schema import Config
from langladder.text.clean.drops import Book, LimitsConfig
from langladder.text.clean.spilled import HASH, as_hashes, save
from langladder.text.clean.splitting import SplitConfig, place
from langladder.text.storage.arrow_arrays import numbers
from langladder.text.storage.tables import read_group
from langladder.text.words.words import split_words

ROWS = 16_384
ROW = pa.field("row", pa.int64())  # of a cleaned one: its place in the raw part

Row = TypeVar("Row")


class CleanRowsConfig(Config):
    """How rows of any sort are cleaned."""

    limits: LimitsConfig = LimitsConfig()
    drop_duplicates: bool = True  # a row that was there before
    held_out_never_in_train: bool = True
    split: SplitConfig = SplitConfig()
    iid: bool = False  # rows are independent samples: nothing repeated is dropped, overlap is only counted


class Cleaning(ABC, Generic[Row]):
    """One sort of rows, and how they are cleaned. Workers are sent it.

    Attributes:
        schema: of the tables.
        apart: names of what a row has that must not stand in the training text and in held-out text.
        duplicate: the reason that is told of a row that was there before.
        across: whether a row goes that stood in another table of the corpus, too.
        unit: what splits are cut between; by_words: whether their words count.
    """

    schema: ClassVar[pa.Schema]
    apart: ClassVar[tuple[str, ...]]
    duplicate: ClassVar[str] = "duplicate"
    across: ClassVar[bool] = False
    unit: ClassVar[str]
    by_words: ClassVar[bool] = False

    def __init__(self, config: Any, seed: int) -> None:
        self.config = config
        self.seed = seed

    @abstractmethod
    def rows(self, batch: pa.RecordBatch) -> Iterable[Row]:
        """The rows of a batch, which has the columns of `schema`, first of all."""

    @abstractmethod
    def batch(self, rows: list[Row]) -> pa.RecordBatch:
        """Cleaned rows, with the columns of `schema`."""

    @abstractmethod
    def cleaner(self, book: Book) -> Callable[[Row], tuple[Row, str | None]]:
        """What cleans a row: it, and the reason why it goes, which is not noted in `book` yet as changes are.

        It raises InputError for what is no such row.
        """

    @abstractmethod
    def key(self, row: Row) -> bytes:
        """Equal of equal rows."""

    @abstractmethod
    def held(self, row: Row) -> tuple[bytes, ...]:
        """What `apart` names."""

    @abstractmethod
    def lines(self, row: Row) -> Iterable[str]:
        """By their hash (`splitting.place`) the row is sent to a split, with all that have the same."""

    @abstractmethod
    def shown(self, row: Row) -> str:
        """The row in a report."""


def as_bytes(value: Any) -> bytes:
    """Equal of equal texts and lists of texts, lists of lists and so on."""
    return json.dumps(value).encode()


@dataclass(frozen=True)
class RowPart(Generic[Row]):
    """Some raw rows.

    Attributes:
        raw: their table; `name`: of the split that it is; `group`: which row group of it; `first`: number of its first
            row in the table, from 1.
        scratch: path of what the part leaves, to which endings are added.
        placed: whether its rows are sent to splits by their places.
    """

    raw: Path
    name: str
    group: int
    first: int
    scratch: Path
    cleaning: Cleaning[Row]
    placed: bool

    def file(self, ending: str) -> Path:
        """One of the files that it leaves."""
        return self.scratch.with_suffix(f".{ending}")


def clean_part(part: RowPart[Any]) -> Book:
    """Run the steps, drop what is outside the limits."""
    cleaning, book, notes = part.cleaning, Book(), _Notes(part)
    clean, schema = cleaning.cleaner(book), cleaning.schema.append(ROW)
    with atomic_file(part.file("arrow")) as file, pa.ipc.new_stream(str(file), schema) as stream:

        def write(rows: list[Any], places: list[int]) -> None:
            columns = [*cleaning.batch(rows).columns, numbers(np.array(places, dtype=np.int64))]
            stream.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))

        kept, places = list[Any](), list[int]()
        for number, raw in enumerate(raw_rows(part)):
            book.read += 1
            try:
                row, reason = clean(raw)
            except InputError as error:
                raise InputError(f"{part.raw}, row {part.first + number}: {error}") from error
            if reason is not None:
                book.drop(reason, cleaning.shown(raw))
                continue
            notes.add(row)
            kept.append(row)
            places.append(number)
            if len(kept) == ROWS:
                write(kept, places)
                kept, places = [], []
        write(kept, places)
    notes.save()
    return book


class _Notes:
    """What a part notes of its rows."""

    def __init__(self, part: RowPart[Any]) -> None:
        self.part = part
        self.hashes: dict[str, list[bytes]] = {kind: [] for kind in ("key", *part.cleaning.apart)}
        self.places: list[float] = []
        self.words: list[int] = []

    def add(self, row: Any) -> None:
        cleaning = self.part.cleaning
        contents = (cleaning.key(row), *cleaning.held(row))
        for digests, content in zip(self.hashes.values(), contents, strict=True):
            digests.append(hashlib.blake2b(content, digest_size=HASH.itemsize).digest())
        if self.part.placed:
            self.places.append(place(cleaning.lines(row), cleaning.seed))
            if cleaning.by_words:
                self.words.append(sum(len(split_words(line, "auto")) for line in cleaning.lines(row)))

    def save(self) -> None:
        for kind, digests in self.hashes.items():
            save(self.part.file(kind), as_hashes(digests))
        if self.part.placed:
            save(self.part.file("places"), np.array(self.places, dtype=np.float64))
        if self.part.placed and self.part.cleaning.by_words:
            save(self.part.file("words"), np.array(self.words, dtype=np.int64))


def raw_rows(part: RowPart[Row]) -> Iterator[Row]:
    """The rows as they were read."""
    for batch in read_group(part.raw, part.cleaning.schema, part.group, ROWS):
        yield from part.cleaning.rows(batch)


def cleaned_batches(part: RowPart[Any]) -> Iterator[pa.RecordBatch]:
    """The cleaned rows, with the column `row`."""
    with pa.OSFile(str(part.file("arrow"))) as file, pa.ipc.open_stream(file) as stream:
        yield from stream
