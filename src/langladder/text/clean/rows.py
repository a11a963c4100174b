"""Cleaning the rows of a corpus: sentence pairs, labelled texts, tagged sentences, dialogues, questions.

    row groups ─ steps, limits, hashes ─┬─ duplicates, splits, held-out text ─┬─ tables of the splits
                 of each, on an engine  └─ of the whole corpus, by hashes     └─ row group by row group

A `Kind` says how its rows are cleaned. The cleaned rows stay in a scratch folder until their splits are written; memory
holds about 40 bytes of each: its hashes, and the place by which splits are cut. Hashes have 64 bits: of ten million
different rows, two have the same one with a probability of 3 in a million.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from langladder.atomic import atomic_file
from langladder.engine.base import current
from langladder.errors import InputError
from langladder.schema import Config
from langladder.text.clean.splitting import TRAIN, Cut, SplitConfig, assign, place
from langladder.text.clean.steps import EXAMPLE_CHARACTERS, EXAMPLES, Book, LimitsConfig
from langladder.text.storage.arrow_arrays import truths
from langladder.text.storage.tables import SPLITS, group_rows, read_group, read_table, write_batches

GONE = -1  # instead of a split
ROWS = 4096  # that are cleaned at a time
GROUP_ROWS = 16_384  # of a row group that is written, at most
GROUP_BYTES = 32 * 2**20  # likewise, about
EXAMPLE = pa.field("example", pa.string())  # beside the columns of a cleaned row: the raw row in a report

Row = dict[str, Any]
Columns = Callable[[str], Iterator[list[Any]]]
"""The name of a column → its values, some rows at a time."""


class CleanRowsConfig(Config):
    """How rows of any kind are cleaned."""

    limits: LimitsConfig = LimitsConfig()
    drop_duplicates: bool = True  # a row that was there before
    held_out_never_in_train: bool = True
    split: SplitConfig = SplitConfig()
    iid: bool = False  # rows are independent samples: nothing repeated is dropped, overlap is only counted


class Facts(NamedTuple):
    """What the corpus has to know of a cleaned row.

    Attributes:
        key: equal for equal rows; of strings, numbers and lists.
        apart: what must not be both in the training split and in a held-out one, as `Kind.apart` names it.
        split_by: rows with the same text go to the same split.
    """

    key: object
    apart: tuple[object, ...]
    split_by: str


@dataclass(frozen=True)
class Kind:
    """A kind of rows. Its functions are of a module, or a `functools.partial` of one, as workers are sent them.

    Attributes:
        schema: columns of the tables.
        apart: names of what a training row must not share with a held-out one.
        clean: (rows, config, book) → each cleaned row, and the reason why it is dropped or None. Changes are noted in
            the book, drops are not. It raises InputError for what is no such row.
        facts: a cleaned row → what is compared.
        example: a row, raw or cleaned → how a report shows it.
        cut: (places, columns, config, splits of the corpus' own) → the splits of some rows.
        all_held_out: the error where no training row is left.
        duplicate: the reason for which a repeated row is dropped.
        across_tables: whether a row that another table has is a repeated one, too.
    """

    schema: pa.Schema
    apart: tuple[str, ...]
    clean: Callable[[list[Row], Any, Book], Iterator[tuple[Row, str | None]]]
    facts: Callable[[Row], Facts]
    example: Callable[[Row], str]
    cut: Callable[[np.ndarray, Columns, Any, Sequence[str]], Cut]
    all_held_out: str
    duplicate: str = "duplicate"
    across_tables: bool = False


class Part(NamedTuple):
    """A row group of a raw table.

    Attributes:
        number: the position of the table among those of the corpus.
        first: the number of its first row in the table, from 1.
        file: where its cleaned rows go.
    """

    number: int
    table: Path
    group: int
    first: int
    file: Path
    kind: Kind
    config: Any
    seed: int


class Notes(NamedTuple):
    """Of the cleaned rows of a part: uint64 hashes (N,) of `key` and of what is kept apart, and places (N,) float64."""

    hashes: dict[str, np.ndarray]
    places: np.ndarray


def clean_part(part: Part) -> tuple[Book, Notes]:
    """Clean a row group: run the steps, drop what is outside the limits, write the rest to `part.file`."""
    kind, book = part.kind, Book()
    names, digests, places = ("key", *kind.apart), list[list[int]](), list[float]()
    schema = kind.schema.append(EXAMPLE)
    tables = [schema.empty_table()]
    for batch in read_group(part.table, kind.schema, part.group, ROWS):
        kept, raw_rows = list[Row](), batch.to_pylist()
        cleaned = kind.clean(raw_rows, part.config, book)
        for raw in raw_rows:
            try:
                row, reason = next(cleaned)
            except InputError as error:
                raise InputError(f"{part.table}, row {part.first + book.read}: {error}") from error
            book.read += 1
            if reason is not None:
                book.drop(reason, kind.example(raw))
                continue
            facts = kind.facts(row)
            digests.append([digest(value) for value in (facts.key, *facts.apart)])
            places.append(place([facts.split_by], part.seed))
            kept.append(row | {EXAMPLE.name: kind.example(raw)[:EXAMPLE_CHARACTERS]})
        tables.append(pa.Table.from_pylist(kept, schema=schema))
    with atomic_file(part.file) as file:
        pq.write_table(pa.concat_tables(tables), file)
    hashes = np.array(digests, dtype=np.uint64).reshape(-1, len(names))  # (N, 1 + apart)
    return book, Notes(dict(zip(names, hashes.T, strict=True)), np.array(places, dtype=np.float64))


def cut_by_place(places: np.ndarray, _columns: Columns, config: Any, own: Sequence[str], unit: str) -> Cut:
    """A `Kind.cut` by documents. unit: what is cut between, for messages."""
    return Cut(assign(places, config.split, own, unit), "documents", [])


def digest(value: object) -> int:
    """64 bits, equal for equal strings and lists of strings, lists of lists and so on."""
    return int.from_bytes(hashlib.blake2b(json.dumps(value).encode(), digest_size=8).digest(), "big")


def repeated(hashes: np.ndarray) -> np.ndarray:
    """(N,) bool: whether a hash stood before."""
    found = np.ones(len(hashes), dtype=np.bool_)
    found[np.unique(hashes, return_index=True)[1]] = False
    return found


def clean_rows(
    tables: Sequence[tuple[str, Path]],
    folder: Path,
    kind: Kind,
    config: Any,
    seed: int,
    splits: Sequence[str] = SPLITS,
) -> "CleanedRows":
    """Clean the rows of some tables and write a table for each split into `folder`, on the current engine.

    Args:
        tables: name and path of each; of two equal rows, the later one goes. A table whose name is neither in SPLITS
            nor `all` may be empty.
        config: a `CleanRowsConfig`, with what `kind` needs beside it.
        seed: salts the hash that cuts splits.
        splits: names of the tables that are written, train first.

    Raises:
        InputError: as `read_table`; what the kind's functions refuse; nothing is left of a table, too little to cut, or
            all training rows share something with held-out ones.
    """
    (scratch := folder / "work").mkdir()
    parts = list[Part]()
    for number, (_, table) in enumerate(tables):
        first = 1
        for group, count in enumerate(group_rows(table, kind.schema)):
            file = scratch / f"{len(parts):06d}.parquet"
            parts.append(Part(number, table, group, first, file, kind, config, seed))
            first += count
    cleaned = list(current().map(clean_part, parts, "cleaning rows"))
    rows = CleanedRows(tables, parts, cleaned, kind, config, splits)
    if config.drop_duplicates and not config.iid:
        rows.drop_duplicates()
    rows.cut()
    if config.held_out_never_in_train and not config.iid:
        rows.drop_held_out()
    for split in splits:
        write_batches(folder / f"{split}.parquet", kind.schema, rows.of_split(split))
    shutil.rmtree(scratch)
    return rows


class CleanedRows:
    """The cleaned rows of a corpus, N in all, and the split of each.

    Attributes:
        book: what was changed and dropped.
        cuts: how tables were cut into splits.
        starts: where the rows of each part begin, and N.
        table: (N,) the table that each row is of, a position in `tables`.
        where: (N,) the split that each goes to, a position in `splits`, or GONE.
        hashes: (N,) uint64 of its key, and of what is kept apart, by name.
        places: (N,) in [0, 1), by which splits are cut.
    """

    def __init__(
        self,
        tables: Sequence[tuple[str, Path]],
        parts: list[Part],
        cleaned: list[tuple[Book, Notes]],
        kind: Kind,
        config: Any,
        splits: Sequence[str],
    ) -> None:
        self.tables, self.parts, self.kind, self.config, self.splits = tables, parts, kind, config, splits
        self.book, self.cuts = Book(), list[Cut]()
        for book, _ in cleaned:
            self.book.add(book)
        sizes = [len(notes.places) for _, notes in cleaned]
        self.starts = np.cumsum([0, *sizes])
        self.table = np.repeat(np.array([part.number for part in parts], dtype=np.int64), sizes)
        self.where = np.full(sum(sizes), TRAIN, dtype=np.int8)
        self.places = np.concatenate([np.zeros(0), *(notes.places for _, notes in cleaned)])
        self.hashes = {
            name: np.concatenate([np.zeros(0, np.uint64), *(notes.hashes[name] for _, notes in cleaned)])
            for name in ("key", *kind.apart)
        }

    def hashes_of(self, name: str, split: str) -> np.ndarray:
        """Hashes of the rows of a split, in the order of its table."""
        found: np.ndarray = self.hashes[name][self.where == self.splits.index(split)]
        return found

    def shares_in_train(self, name: str) -> dict[str, float]:
        """Of each held-out split that has rows, the share of them of which train has something, too."""
        train = self.hashes_of(name, "train")
        held_out = {split: self.hashes_of(name, split) for split in self.splits if split != "train"}
        return {split: round(float(np.isin(found, train).mean()), 6) for split, found in held_out.items() if len(found)}

    def drop_duplicates(self) -> None:
        """Drop each row that stood before: in any table, or in its own."""
        group = np.zeros_like(self.table) if self.kind.across_tables else self.table
        for number in range(len(self.tables)):
            mine = np.flatnonzero(group == number)
            self.where[mine[repeated(self.hashes["key"][mine])]] = GONE
        gone = np.flatnonzero(self.where == GONE)
        raw = (row[EXAMPLE.name] for row in self._some(gone[:EXAMPLES]))
        self._note(self.kind.duplicate, len(gone), raw)

    def cut(self) -> None:
        """Send each row to its split: by its table, or by its place where the corpus lacks splits.

        Raises:
            InputError: nothing is left of a table, or too little to cut.
        """
        own = [name for name, _ in self.tables if name in ("validation", "test")]
        for number, (name, table) in enumerate(self.tables):
            mine = (self.table == number) & (self.where != GONE)
            if not mine.any():
                if name not in (*SPLITS, "all"):
                    continue
                reasons = ", ".join(f"{reason} {count:,}" for reason, count in self.book.dropped.most_common())
                raise InputError(f"{table}: cleaning leaves nothing ({reasons}); relax `clean`")
            if name in ("train", "all") and len(own) < 2:
                found = self.kind.cut(self.places[mine], self._columns(mine), self.config, own)
                self.cuts.append(found)
                self.where[mine] = found.splits
            else:
                self.where[mine] = TRAIN if name == "all" else self.splits.index(name)

    def drop_held_out(self) -> None:
        """Drop training rows of which something is held out, too.

        Raises:
            InputError: none is left.
        """
        held_out = {name: self.hashes[name][self.where > TRAIN] for name in self.kind.apart}
        for name, known in held_out.items():
            goes = (self.where == TRAIN) & np.isin(self.hashes[name], known)
            self.where[goes] = GONE
            examples = map(self.kind.example, self._some(np.flatnonzero(goes)[:EXAMPLES]))
            self._note(f"{name}_is_held_out", int(goes.sum()), examples)
        if not (self.where == TRAIN).any():
            raise InputError(self.kind.all_held_out)

    def of_split(self, split: str) -> Iterator[pa.Table]:
        """The rows of a split, a row group at a time."""
        held = self.kind.schema.empty_table()
        for table in self._read(self.where == self.splits.index(split), self.kind.schema):
            held = pa.concat_tables([held, table])
            while held.num_rows >= GROUP_ROWS or held.nbytes >= GROUP_BYTES:
                yield held.slice(0, GROUP_ROWS).combine_chunks()
                held = held.slice(GROUP_ROWS)
        if held.num_rows:
            yield held.combine_chunks()

    def _note(self, reason: str, count: int, examples: Iterable[str]) -> None:
        if count:
            self.book.dropped[reason] = count
            self.book.examples[reason] = [text[:EXAMPLE_CHARACTERS] for text in examples]

    def _some(self, numbers: np.ndarray) -> Iterator[Row]:
        """A few rows, by their numbers in the corpus, with the column EXAMPLE."""
        chosen = np.zeros(len(self.where), dtype=np.bool_)
        chosen[numbers] = True
        for table in self._read(chosen, self.kind.schema.append(EXAMPLE)):
            yield from table.to_pylist()

    def _columns(self, chosen: np.ndarray) -> Columns:
        """The columns of the chosen rows, (N,) bool."""

        def column(name: str) -> Iterator[list[Any]]:
            for table in self._read(chosen, pa.schema([self.kind.schema.field(name)])):
                yield table.column(0).to_pylist()

        return column

    def _read(self, chosen: np.ndarray, schema: pa.Schema) -> Iterator[pa.Table]:
        """The chosen rows, (N,) bool, part by part."""
        for part, start, end in zip(self.parts, self.starts, self.starts[1:], strict=False):
            if (mine := chosen[start:end]).any():
                yield read_table(part.file, schema).filter(truths(mine))
