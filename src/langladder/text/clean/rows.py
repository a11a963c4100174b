"""Cleaning the rows of a corpus: sentence pairs, labelled texts, tagged sentences, dialogues, questions.

    rows = CleanedRows(…)      steps, limits and hashes of each row group, on an engine
    rows.drop_duplicates()     by the hashes of the whole corpus
    rows.cut(…)                the split of each row
    rows.drop_held_out(…)      training rows that share something with held-out ones
    rows.write()               a table for each split

Each kind of rows has a module with its `clean` function and these five calls. The cleaned rows stay in a scratch folder
until their splits are written; memory holds about 40 bytes of each: its hashes, and the number by which splits are cut.
Hashes have 64 bits: of ten million different rows, two have the same one with a probability of 3 in a million.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from langladder.engine.base import current
from langladder.ground.atomic import atomic_file
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.text.clean.splitting import TRAIN, Cut, SplitConfig, assign, hash_fraction
from langladder.text.clean.steps import EXAMPLE_CHARACTERS, EXAMPLES, Book, LimitsConfig
from langladder.text.storage.shards import SPLITS, read_file
from langladder.text.storage.tables import Row, group_rows, read_table, write_batches
from langladder.text.words.segmentation import InstalledWords

DROPPED = -1  # instead of a split
ROWS = 4096  # cleaned at a time
GROUP_ROWS = 16_384  # of a written row group, at most
GROUP_BYTES = 32 * 2**20  # likewise, about
SCRATCH = "work"  # folder of the cleaned rows, below that of the tables
EXAMPLE = pa.field("example", pa.string())  # an extra column of a cleaned row: the raw row, for reports


class CleanRowsConfig(Config):
    """How rows of any kind are cleaned."""

    limits: LimitsConfig = LimitsConfig()
    drop_duplicates: bool = True  # rows that occurred before
    held_out_never_in_train: bool = True
    split: SplitConfig = SplitConfig()
    words: InstalledWords = "auto"  # how words are split, in limits and statistics
    iid: bool = False  # rows are independent samples: nothing repeated is dropped, overlap is only counted


class Cleaned(NamedTuple):
    """A row after the steps.

    Attributes:
        row: a value for each column.
        dropped: the reason why it is dropped, or None.
        key: equal for equal rows; of strings, numbers and lists.
        unshared: what a training row must not share with a held-out one, a value for each name of `RowType.unshared`.
        split_by: rows with the same text go to the same split.
    """

    row: Row
    dropped: str | None
    key: object
    unshared: tuple[object, ...]
    split_by: str


Settings = TypeVar("Settings", bound=CleanRowsConfig)


class RowType(NamedTuple, Generic[Settings]):
    """The columns of rows, and how a batch of them is cleaned. Its functions, which workers get, belong to a module.

    Attributes:
        schema: columns of the tables.
        unshared: names of what a training row must not share with a held-out one.
        clean: (rows, config, book) → the cleaned rows, in their order. Changes are noted in the book, drops are not.
            It raises InputError for a row that is not of this type.
        example: a row, raw or cleaned → its text in a report.
    """

    schema: pa.Schema
    unshared: tuple[str, ...]
    clean: Callable[[list[Row], Settings, Book], Iterable[Cleaned]]
    example: Callable[[Row], str]


class RowGroup(NamedTuple, Generic[Settings]):
    """A row group of a raw table.

    Attributes:
        number: the position of the table among those of the corpus.
        first: the number of its first row in the table, from 1.
        file: the file of its cleaned rows.
    """

    number: int
    table: Path
    group: int
    first: int
    file: Path
    row_type: RowType[Settings]
    config: Settings
    seed: int


class RowHashes(NamedTuple):
    """Of the N cleaned rows of a part: hashes (N, 1 + unshared) uint64 of the key and of what is unshared; fractions
    (N,) float64 in [0, 1), by which splits are cut.
    """

    hashes: np.ndarray
    fractions: np.ndarray


def clean_part(part: RowGroup[Settings]) -> tuple[Book, RowHashes]:
    """Clean a row group: run the steps, drop what is outside the limits, write the rest to `part.file`."""
    book, hashes, fractions = Book(), list[list[int]](), list[float]()
    schema = part.row_type.schema.append(EXAMPLE)
    tables = [schema.empty_table()]
    for batch in read_file(part.table, part.row_type.schema, ROWS, part.group):
        raw_rows, kept = batch.to_pylist(), list[Row]()
        try:
            for raw, one in zip(raw_rows, part.row_type.clean(raw_rows, part.config, book), strict=True):
                book.read += 1
                example = part.row_type.example(raw)
                if one.dropped is not None:
                    book.drop(one.dropped, example)
                    continue
                hashes.append([digest(value) for value in (one.key, *one.unshared)])
                fractions.append(hash_fraction([one.split_by], part.seed))
                kept.append(one.row | {EXAMPLE.name: example[:EXAMPLE_CHARACTERS]})
        except InputError as error:
            raise InputError(f"{part.table}, row {part.first + book.read}: {error}") from error
        tables.append(pa.Table.from_pylist(kept, schema=schema))
    with atomic_file(part.file) as file:
        pq.write_table(pa.concat_tables(tables), file)
    found = np.array(hashes, dtype=np.uint64).reshape(-1, 1 + len(part.row_type.unshared))
    return book, RowHashes(found, np.array(fractions, dtype=np.float64))


def digest(value: object) -> int:
    """64 bits, equal for equal strings and lists of strings, lists of lists and so on."""
    return int.from_bytes(hashlib.blake2b(json.dumps(value).encode(), digest_size=8).digest(), "big")


def repeated(hashes: np.ndarray) -> np.ndarray:
    """(N,) bool: whether a hash occurred before."""
    found = np.ones(len(hashes), dtype=np.bool_)
    found[np.unique(hashes, return_index=True)[1]] = False
    return found


class CleanedRows(Generic[Settings]):
    """The cleaned rows of a corpus, N in all, and the split of each.

    Attributes:
        book: what was changed and dropped.
        cuts: how tables were cut into splits.
        starts: where the rows of each part begin, and N.
        table: (N,) the table that each row is of, a position in `tables`.
        split: (N,) the split of each row, a position in `splits`, or DROPPED.
        hashes: (N,) uint64 of its key ("key"), and of what is unshared, by name.
        fractions: (N,) in [0, 1), by which splits are cut.
    """

    def __init__(
        self,
        tables: Sequence[tuple[str, Path]],
        folder: Path,
        row_type: RowType[Settings],
        config: Settings,
        seed: int,
        splits: Sequence[str] = SPLITS,
    ) -> None:
        """Run the steps and limits over the rows of some tables, on the current engine.

        Args:
            tables: name and path of each; of two equal rows, the later one is dropped.
            folder: of the tables that `write` writes.
            config: a `CleanRowsConfig`, with what `row_type.clean` needs beyond it.
            seed: salts the hash that cuts splits.
            splits: names of the tables that are written, train first.

        Raises:
            InputError: as `read_table` and `row_type.clean`.
        """
        self.tables, self.folder, self.row_type, self.config, self.splits = tables, folder, row_type, config, splits
        self.book, self.cuts, self.parts = Book(), list[Cut](), list[RowGroup[Settings]]()
        (folder / SCRATCH).mkdir()
        for number, (_, table) in enumerate(tables):
            first = 1
            for group, count in enumerate(group_rows(table, row_type.schema)):
                file = folder / SCRATCH / f"{len(self.parts):06d}.parquet"
                self.parts.append(RowGroup(number, table, group, first, file, row_type, config, seed))
                first += count
        names = ("key", *row_type.unshared)
        sizes, hashes, fractions = [0], [np.zeros((0, len(names)), np.uint64)], [np.zeros(0)]
        for book, notes in current().map(clean_part, self.parts, "cleaning rows"):
            self.book.add(book)
            sizes.append(len(notes.fractions))
            hashes.append(notes.hashes)
            fractions.append(notes.fractions)
        self.starts = np.cumsum(sizes)
        self.fractions = np.concatenate(fractions)
        self.hashes = dict(zip(names, np.concatenate(hashes).T, strict=True))
        self.table = np.repeat(np.array([part.number for part in self.parts], dtype=np.int64), sizes[1:])
        self.split = np.full(len(self.fractions), TRAIN, dtype=np.int8)

    def drop_duplicates(self, reason: str = "duplicate", *, across_tables: bool = False) -> None:
        """Drop each row that occurred before, in any table, unless the settings keep them.

        Args:
            reason: its name in the report.
        """
        if not self.config.drop_duplicates or self.config.iid:
            return
        group = np.zeros_like(self.table) if across_tables else self.table
        for number in np.unique(group):
            rows = np.flatnonzero(group == number)
            self.split[rows[repeated(self.hashes["key"][rows])]] = DROPPED
        dropped = np.flatnonzero(self.split == DROPPED)
        self._note(reason, len(dropped), (row[EXAMPLE.name] for row in self._first(dropped)))

    def cut(self, cut: Callable[["CleanedRows[Settings]", np.ndarray, Sequence[str]], Cut]) -> None:
        """Give each row its split: that of its table, or one that is cut by hash where the corpus lacks splits.

        Args:
            cut: (this object, the rows to cut (N,) bool, splits that the corpus has) → their splits.

        Raises:
            InputError: no row of a table is left, or too few to cut. A table whose name is neither in SPLITS nor `all`
                may be empty.
        """
        own = [name for name, _ in self.tables if name in ("validation", "test")]
        for number, (name, table) in enumerate(self.tables):
            rows = (self.table == number) & (self.split != DROPPED)
            if not rows.any():
                if name not in (*SPLITS, "all"):
                    continue
                reasons = ", ".join(f"{reason} {count:,}" for reason, count in self.book.dropped.most_common())
                raise InputError(f"{table}: cleaning leaves nothing ({reasons}); relax `clean`")
            if name in ("train", "all") and len(own) < 2:
                self.cuts.append(cut(self, rows, own))
                self.split[rows] = self.cuts[-1].splits
            else:
                self.split[rows] = TRAIN if name == "all" else self.splits.index(name)

    def drop_held_out(self, none_left: str) -> None:
        """Drop training rows that share something with held-out ones, unless the settings keep them.

        Args:
            none_left: the message where no training row is left.

        Raises:
            InputError: no training row is left.
        """
        if not self.config.held_out_never_in_train or self.config.iid:
            return
        held_out = {name: self.hashes[name][self.split > TRAIN] for name in self.row_type.unshared}
        for name, hashes in held_out.items():
            shared = (self.split == TRAIN) & np.isin(self.hashes[name], hashes)
            self.split[shared] = DROPPED
            examples = map(self.row_type.example, self._first(np.flatnonzero(shared)))
            self._note(f"{name}_is_held_out", int(shared.sum()), examples)
        if not (self.split == TRAIN).any():
            raise InputError(none_left)

    def write(self) -> None:
        """Write a table for each split, and remove the scratch folder."""
        for number, split in enumerate(self.splits):
            path = self.folder / f"{split}.parquet"
            write_batches(
                path, self.row_type.schema, _row_groups(self._read(self.split == number, self.row_type.schema))
            )
        shutil.rmtree(self.folder / SCRATCH)

    def hashes_of(self, name: str, split: str) -> np.ndarray:
        """Hashes of the rows of a split, in the order of its table."""
        found: np.ndarray = self.hashes[name][self.split == self.splits.index(split)]
        return found

    def shares_in_train(self, name: str) -> dict[str, float]:
        """For each held-out split with rows, the share of its rows that overlap with train."""
        train = self.hashes_of(name, "train")
        held_out = {split: self.hashes_of(name, split) for split in self.splits if split != "train"}
        return {split: round(float(np.isin(found, train).mean()), 6) for split, found in held_out.items() if len(found)}

    def column(self, name: str, rows: np.ndarray) -> Iterator[Any]:
        """The values of a column in some rows, (N,) bool; before `write`."""
        for table in self._read(rows, pa.schema([self.row_type.schema.field(name)])):
            yield from table.column(0).to_pylist()

    def _note(self, reason: str, count: int, examples: Iterable[str]) -> None:
        if count:
            self.book.dropped[reason] = count
            self.book.examples[reason] = [text[:EXAMPLE_CHARACTERS] for text in examples]

    def _first(self, numbers: np.ndarray) -> Iterator[Row]:
        """The first few of some rows, by their numbers, with the column EXAMPLE."""
        chosen = np.zeros(len(self.split), dtype=np.bool_)
        chosen[numbers[:EXAMPLES]] = True
        for table in self._read(chosen, self.row_type.schema.append(EXAMPLE)):
            yield from table.to_pylist()

    def _read(self, rows: np.ndarray, schema: pa.Schema) -> Iterator[pa.Table]:
        """Some rows, (N,) bool, part by part."""
        for part, start, end in zip(self.parts, self.starts, self.starts[1:], strict=False):
            if rows[start:end].any():
                yield read_table(part.file, schema).filter(pa.array(rows[start:end]))


def _row_groups(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Rows in tables of GROUP_ROWS, or of fewer where they are long."""
    left = None
    for table in tables:
        left = table if left is None else pa.concat_tables([left, table])
        while left.num_rows >= GROUP_ROWS or left.nbytes >= GROUP_BYTES:
            yield left.slice(0, GROUP_ROWS).combine_chunks()
            left = left.slice(GROUP_ROWS)
    if left is not None and left.num_rows:
        yield left.combine_chunks()


def cut_by_documents(rows: CleanedRows[Settings], chosen: np.ndarray, own: Sequence[str], unit: str) -> Cut:
    """For `CleanedRows.cut`: by documents, each `unit` as one."""
    return Cut(assign(rows.fractions[chosen], rows.config.split, own, unit), "documents", [])
