"""Cleaning a corpus of any kind: documents, sentence pairs, labelled texts, tagged sentences, dialogues, questions.

    rows = CleanedRows(…)      steps, limits and hashes of each part of the raw tables, on an engine
    rows.drop_duplicates()     by the hashes of the whole corpus
    rows.cut(…)                the split of each item
    rows.drop_held_out(…)      training items that share something with held-out ones
    rows.write()               a table for each split

A kind of rows (`RowType`) gives its columns and its steps; its module makes these five calls. An item is what goes to a
split: a row, or all lines of a document. The cleaned rows stay in a scratch folder until their splits are written;
memory holds about 40 bytes of each item: hashes, words, and the number by which splits are cut.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, repeat
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypedDict, TypeVar

import numpy as np
import pyarrow as pa

from langladder.engine.base import current
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.ground.sorted_runs import mapped, save
from langladder.text.clean.duplicates import DUPLICATE_KINDS, DuplicatesConfig, Scope, TextHashes, decided
from langladder.text.clean.splitting import TRAIN, Cut, SplitConfig, as_fraction, assign, cut, salted
from langladder.text.clean.steps import EXAMPLE_CHARACTERS, EXAMPLES, Book, LimitsConfig
from langladder.text.storage.shards import SPLITS, Shard, TextPart, file_writer, read_file, write_tables
from langladder.text.storage.tables import Row, write_batches
from langladder.text.words.segmentation import InstalledWords

DROPPED = -1  # instead of a split
ROWS = 4096  # cleaned at a time
GROUP_ROWS = 16_384  # of a written row group, at most
GROUP_BYTES = 32 * 2**20  # likewise, about
SCRATCH = "work"  # folder of the cleaned rows, below that of the tables


class CleaningConfig(Config):
    """How rows of any kind are cleaned."""

    limits: LimitsConfig = LimitsConfig()
    split: SplitConfig = SplitConfig()
    words: InstalledWords = "auto"  # how words are split, in limits and statistics
    iid: bool = False  # rows are independent samples: nothing repeated is dropped, overlap is only counted

    @property
    def compared(self) -> DuplicatesConfig:
        """Which duplicates are dropped."""
        return DuplicatesConfig(exact="keep", near="keep")

    @property
    def drops_held_out(self) -> bool:
        """Whether training rows that share something with held-out ones are dropped."""
        return False


class CleanRowsConfig(CleaningConfig):
    """How rows are cleaned that are no lines of documents."""

    drop_duplicates: bool = True  # rows that occurred before
    held_out_never_in_train: bool = True

    @property
    def compared(self) -> DuplicatesConfig:
        """Equal rows, unless they are kept."""
        return DuplicatesConfig(exact="documents" if self.drop_duplicates and not self.iid else "keep")

    @property
    def drops_held_out(self) -> bool:
        """Unless they are kept."""
        return self.held_out_never_in_train and not self.iid


class Cleaned(NamedTuple):
    """A row after the steps.

    Attributes:
        row: a value for each column.
        dropped: the reason why it is dropped, or None.
        key: equal for equal rows; of strings, numbers and lists.
        unshared: what a training row must not share with a held-out one, a value for each name of `RowType.unshared`.
        split_by: items with the same texts go to the same split.
        words: how many there are, where splits are cut by words.
    """

    row: Row
    dropped: str | None
    key: object
    unshared: tuple[object, ...]
    split_by: str
    words: int = 0


Settings = TypeVar("Settings", bound=CleaningConfig)


class RowType(NamedTuple, Generic[Settings]):
    """The columns of rows, and how a batch of them is cleaned. Its functions, which workers get, belong to a module.

    Attributes:
        schema: columns of the tables.
        unshared: names of what a training row must not share with a held-out one.
        clean: (rows, config, book) → the cleaned rows, in their order. Changes are noted in the book, drops are not.
            It raises InputError for a row that is not of this type.
        example: a row, raw or cleaned → its text in a report.
        of_documents: whether rows are lines of documents (schema TEXT), and an item is a document. A changed line, and
            the lines of its document after a changed or dropped one, lose their log-probability, which may depend on
            the lines before.
    """

    schema: pa.Schema
    unshared: tuple[str, ...]
    clean: Callable[[list[Row], Settings, Book], Iterable[Cleaned]]
    example: Callable[[Row], str]
    of_documents: bool = False


class Part(NamedTuple, Generic[Settings]):
    """A part of a raw table. Its cleaned rows and their hashes are in files of its shard."""

    shard: Shard
    row_type: RowType[Settings]
    config: Settings
    seed: int

    def cleaned(self, book: Book) -> Iterator[tuple[Row, Cleaned]]:
        """Each raw row, and what the steps make of it."""
        for batch in self.shard.read(self.row_type.schema, ROWS):
            rows = batch.to_pylist()
            try:
                for raw, row in zip(rows, self.row_type.clean(rows, self.config, book), strict=True):
                    book.read += 1
                    yield raw, row
            except InputError as error:
                raise InputError(f"{self.shard.file}, row {self.shard.first + book.read}: {error}") from error


def hash_lines(part: Part[Settings]) -> None:
    """Save the hashes that find duplicates among the cleaned lines of a part."""
    notes = TextHashes(part.config.compared, "lines")
    for _, row in part.cleaned(Book()):
        if row.dropped is None:
            notes.note(row.split_by)
    notes.save(part.shard.path)


def clean_part(part: Part[Settings]) -> Book:
    """Run the steps, drop what is outside the limits or a duplicate line, write the rest, and note its items."""
    book, items, rows, of_documents = Book(), _Items(part), list[Row](), part.row_type.of_documents
    file = part.shard.path("lines.kinds")
    kinds = iter(mapped(file).tolist()) if file.is_file() else repeat(0)
    altered = None  # the last document with a changed or dropped line
    with file_writer(part.shard.path("rows"), part.row_type.schema) as writer:
        for raw, entry in part.cleaned(book):
            row, dropped, item = entry.row, entry.dropped, raw["document"] if of_documents else book.read
            if dropped is None and (kind := next(kinds)):
                dropped = f"{DUPLICATE_KINDS[kind]}_line"
            if of_documents and (dropped is not None or row != raw):
                altered = item
            if dropped is not None:
                book.drop(dropped, part.row_type.example(raw))
                continue
            number = items.add(item, entry)
            if of_documents:
                row = row | {"document": number} | ({"log_prob": None} if altered == item else {})
            rows.append(row)
            if len(rows) == ROWS:
                writer.write_table(pa.Table.from_pylist(rows, part.row_type.schema))
                rows.clear()
        writer.write_table(pa.Table.from_pylist(rows, part.row_type.schema))
    items.save()
    return book


class _Items:
    """What is noted of each item of a part: hashes, words, bytes of text, and a fraction by which splits are cut."""

    def __init__(self, part: Part[Settings]) -> None:
        self.path, self.seed, self.unshared = part.shard.path, part.seed, len(part.row_type.unshared)
        self.duplicates = TextHashes(part.config.compared, "documents")
        self.hashes: list[list[int]] = []
        self.fractions: list[float] = []
        self.words: list[int] = []
        self.bytes: list[int] = []
        self._open: object = None  # the item whose rows are being added

    def add(self, item: object, cleaned: Cleaned) -> int:
        """Note a row; rows of one item follow one another. Returns the number of the item, from 0."""
        if item != self._open:
            self._close()
            self._open, self._fraction, self._key = item, salted(self.seed), hashlib.blake2b(digest_size=16)
            self._texts: list[str] = []
            self.hashes.append([digest(value) for value in cleaned.unshared])
            self.words.append(0)
            self.bytes.append(0)
        text = cleaned.split_by.encode()
        for hashed, value in ((self._fraction, text), (self._key, _as_bytes(cleaned.key))):
            hashed.update(value)
            hashed.update(b"\n")
        self.words[-1] += cleaned.words
        self.bytes[-1] += len(text)
        if self.duplicates.near:
            self._texts.append(cleaned.split_by)
        return len(self.words) - 1

    def _close(self) -> None:
        if self._open is None:
            return
        key = self._key.digest()
        self.fractions.append(as_fraction(self._fraction.digest()))
        self.hashes[-1].insert(0, int.from_bytes(key[:8], "big"))
        self.duplicates.hashes.append(key)
        self.duplicates.add("\n".join(self._texts))

    def save(self) -> None:
        """Write the files of the part."""
        self._close()
        save(self.path("item.hashes"), np.array(self.hashes, dtype=np.uint64).reshape(-1, 1 + self.unshared))
        save(self.path("fractions"), np.array(self.fractions, dtype=np.float64))
        save(self.path("words"), np.array(self.words, dtype=np.int64))
        save(self.path("bytes"), np.array(self.bytes, dtype=np.int64))
        self.duplicates.save(self.path)


def digest(value: object) -> int:
    """64 bits, equal for equal strings and lists of strings, lists of lists and so on."""
    return int.from_bytes(hashlib.blake2b(_as_bytes(value), digest_size=8).digest(), "big")


def _as_bytes(value: object) -> bytes:
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


class CleanedRows(Generic[Settings]):
    """The cleaned rows of a corpus of N items, and the split of each item.

    Attributes:
        book: what was changed and dropped.
        cuts: how tables were cut into splits.
        starts: where the items of each part begin, and N.
        table: (N,) the table that each item is of, a position in `tables`.
        split: (N,) the split of each item, a position in `splits`, or DROPPED.
        hashes: (N,) uint64 of its key ("key"), and of what is unshared, by name.
        fractions: (N,) in [0, 1), by which splits are cut. words: (N,) as the rows have them.
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
            tables: name and path of each; of two equal items, the later one is dropped.
            folder: of the tables that `write` writes.
            config: a `CleaningConfig`, with what `row_type.clean` needs beyond it.
            seed: salts the hash that cuts splits.
            splits: names of the tables that are written, train first.

        Raises:
            InputError: as `read_table` and `row_type.clean`.
        """
        self.tables, self.folder, self.row_type, self.config, self.splits = tables, folder, row_type, config, splits
        self.book, self.cuts, self.engine = Book(), list[Cut](), current()
        (folder / SCRATCH).mkdir()
        shards = Shard.all_of(dict(tables), folder / SCRATCH)
        self.parts = [Part(shard, row_type, config, seed) for shard in shards]
        if self._compares("lines"):
            for _ in self.engine.map(hash_lines, self.parts, "comparing lines"):
                pass
            kinds, bounds = self._decided(self.parts, "lines")
            for part, start, end in zip(self.parts, bounds, bounds[1:], strict=False):
                save(part.shard.path("lines.kinds"), kinds[start:end])
        for book in self.engine.map(clean_part, self.parts, "cleaning"):
            self.book.add(book)
        names = ("key", *row_type.unshared)
        self.fractions, self.words = self._noted("fractions", np.float64), self._noted("words", np.int64)
        hashes = self._noted("item.hashes", np.uint64).reshape(-1, len(names))
        self.hashes = dict(zip(names, hashes.T, strict=True))
        sizes = [len(mapped(part.shard.path("words"))) for part in self.parts]
        self.starts = np.cumsum([0, *sizes])
        numbers = {name: number for number, (name, _) in enumerate(tables)}
        self.table = np.repeat(np.array([numbers[part.shard.table] for part in self.parts], dtype=np.int8), sizes)
        self.split = np.full(len(self.fractions), TRAIN, dtype=np.int8)

    def drop_duplicates(self, reason: str = "duplicate", *, across_tables: bool = False) -> None:
        """Drop each item that occurred before, in its table, unless the settings keep them.

        Args:
            reason: its name in the report.
            across_tables: in any table.
        """
        if not self._compares("documents"):
            return
        groups = [list(group) for _, group in groupby(self.parts, lambda part: across_tables or part.shard.table)]
        kinds = np.concatenate([np.zeros(0, np.int8), *(self._decided(group, "documents")[0] for group in groups)])
        for kind in np.unique(kinds[kinds > 0]).tolist():
            items = np.flatnonzero(kinds == kind)
            self.split[items] = DROPPED
            self._note(DUPLICATE_KINDS[kind].replace("duplicate", reason), items)

    def cut(self, cut: Callable[["CleanedRows[Settings]", np.ndarray, Sequence[str]], Cut]) -> None:
        """Give each item its split: that of its table, or one that is cut by hash where the corpus lacks splits.

        Args:
            cut: (this object, the items to cut (N,) bool, splits that the corpus has) → their splits.

        Raises:
            InputError: no item of a table is left, or too few to cut. A table whose name is neither in SPLITS nor `all`
                may be empty.
        """
        own = [name for name, _ in self.tables if name in ("validation", "test")]
        for number, (name, table) in enumerate(self.tables):
            items = (self.table == number) & (self.split != DROPPED)
            if not items.any():
                if name not in (*SPLITS, "all"):
                    continue
                reasons = ", ".join(f"{reason} {count:,}" for reason, count in self.book.dropped.most_common())
                raise InputError(f"{table}: cleaning leaves nothing ({reasons}); relax `clean`")
            if name in ("train", "all") and len(own) < 2:
                self.cuts.append(cut(self, items, own))
                self.split[items] = self.cuts[-1].splits
            else:
                self.split[items] = TRAIN if name == "all" else self.splits.index(name)

    def drop_held_out(self, none_left: str) -> None:
        """Drop training items that share something with held-out ones, unless the settings keep them.

        Args:
            none_left: the message where no training item is left.

        Raises:
            InputError: no training item is left.
        """
        if not self.config.drops_held_out:
            return
        held_out = {name: self.hashes[name][self.split > TRAIN] for name in self.row_type.unshared}
        for name, hashes in held_out.items():
            shared = np.flatnonzero((self.split == TRAIN) & np.isin(self.hashes[name], hashes))
            self.split[shared] = DROPPED
            self._note(f"{name}_is_held_out", shared)
        if not (self.split == TRAIN).any():
            raise InputError(none_left)

    def write(self) -> None:
        """Write a table for each split, and remove the scratch folder. Workers write documents, in shards."""
        if self.row_type.of_documents:
            bounds = zip(self.parts, self.starts[:-1].tolist(), np.diff(self.starts).tolist(), strict=True)
            parts = [TextPart(part.shard.path("rows"), start, count) for part, start, count in bounds]
            sizes = self._noted("bytes", np.int64)
            write_tables(self.folder, self.splits, parts, self.split, sizes, self.folder / SCRATCH, self.engine)
        else:
            for number, split in enumerate(self.splits):
                tables = _row_groups(self._read(self.split == number, self.row_type.schema))
                write_batches(self.folder / f"{split}.parquet", self.row_type.schema, tables)
        shutil.rmtree(self.folder / SCRATCH)

    def hashes_of(self, name: str, split: str) -> np.ndarray:
        """Hashes of the items of a split, in the order of its table."""
        hashes: np.ndarray = self.hashes[name][self.split == self.splits.index(split)]
        return hashes

    def shares_in_train(self, name: str) -> dict[str, float]:
        """For each held-out split with items, the share of its items that overlap with train."""
        train = self.hashes_of(name, "train")
        held_out = {split: self.hashes_of(name, split) for split in self.splits if split != "train"}
        return {
            split: round(float(np.isin(hashes, train).mean()), 6) for split, hashes in held_out.items() if len(hashes)
        }

    def column(self, name: str, items: np.ndarray) -> Iterator[Any]:
        """The values of a column in some rows, (N,) bool, which are the items; before `write`."""
        for table in self._read(items, pa.schema([self.row_type.schema.field(name)])):
            yield from table.column(0).to_pylist()

    def _compares(self, scope: Scope) -> bool:
        return scope in (self.config.compared.exact, self.config.compared.near)

    def _decided(self, parts: Sequence[Part[Settings]], scope: Scope) -> tuple[np.ndarray, np.ndarray]:
        return decided([part.shard.path for part in parts], self.config.compared, scope, self.engine.share)

    def _noted(self, kind: str, dtype: type[np.generic]) -> np.ndarray:
        """What the parts noted of each item, (N, …)."""
        return np.concatenate([np.zeros(0, dtype), *(mapped(part.shard.path(kind)).ravel() for part in self.parts)])

    def _note(self, reason: str, items: np.ndarray) -> None:
        """Note dropped items, with the first row of some."""
        if not len(items):
            return
        first = np.zeros(len(self.split), dtype=np.bool_)
        first[items[:EXAMPLES]] = True
        tables = self._read(first, self.row_type.schema)
        rows: Iterator[Row] = (row for table in tables for row in table.to_pylist())
        if self.row_type.of_documents:
            rows = (next(lines) for _, lines in groupby(rows, lambda row: row["document"]))
        self.book.dropped[reason] = len(items)
        self.book.examples[reason] = [self.row_type.example(row)[:EXAMPLE_CHARACTERS] for row in rows]

    def _read(self, items: np.ndarray, schema: pa.Schema) -> Iterator[pa.Table]:
        """The rows of some items, (N,) bool. Documents have the numbers of their items."""
        for part, start, end in zip(self.parts, self.starts.tolist(), self.starts[1:].tolist(), strict=False):
            row = start
            for batch in read_file(part.shard.path("rows"), schema) if items[start:end].any() else ():
                if self.row_type.of_documents:
                    numbers = start + batch.column("document").to_numpy()
                    batch = batch.set_column(0, schema.field("document"), pa.array(numbers))
                else:
                    numbers = np.arange(row, row + batch.num_rows)
                row += batch.num_rows
                yield pa.Table.from_batches([batch.filter(pa.array(items[numbers]))])


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
    """For `CleanedRows.cut`: by items, each `unit` as one."""
    return Cut(assign(rows.fractions[chosen], rows.config.split, own, unit), "documents", [])


def cut_as_configured(
    rows: CleanedRows[Settings], chosen: np.ndarray, own: Sequence[str], unit: str = "documents"
) -> Cut:
    """For `CleanedRows.cut`: by items or by words, as the settings say."""
    return cut(rows.fractions[chosen], rows.words[chosen], rows.config.split, own, unit)


class CutReport(TypedDict, total=False):
    """How missing splits were cut; warnings."""

    cut_by: str
    warnings: list[str]


def cut_report(cuts: list[Cut], more: list[str]) -> CutReport:
    """For the data report: how missing splits were cut; warnings, and `more`."""
    report: CutReport = {"cut_by": cuts[-1].by} if cuts else {}
    if warnings := [line for report in cuts for line in report.warnings] + more:
        report["warnings"] = warnings
    return report
