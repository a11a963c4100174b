"""Tables on disk: Parquet, one file or a folder of shards, which `datasets.load_dataset` and pandas read.

    train.parquet                             one file: pairs, labels, tags, questions, dialogues
    train/data-00000-of-00003.parquet, …      shards: raw, filtered and clean text

A shard is a piece of work for an engine. It holds whole documents and closes after the document with which it reaches
SHARD_BYTES of text; a row group holds at most ROWS lines. So the bytes depend on the rows alone.

The readers and the cleaning write their text in parts, which are joined into shards: workers write the parts and the
shards, the driver decides where shards end. It holds a few bytes of each document, no text.

    part: rows, documents numbered from 0 ─┬─ table and size of each document ─ write_tables → shards of each table
    part: rows, documents numbered from 0 ─┘
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from langladder.engine.base import Engine
from langladder.ground.artefacts import map_arrays, regular_file, write_arrays
from langladder.ground.atomic import Owner, atomic_file
from langladder.ground.errors import InputError
from langladder.text.words.segmentation import CONVENTIONS

SHARD_BYTES = 8_000_000  # of text: a shard closes at the next end of a document, a row group at that of a line
ROWS = 16_384  # lines of a row group, at most
SPLITS = ("train", "validation", "test")
# `document`: lines of one document are consecutive. `log_prob`: natural log of the line's exact probability
# (its end included, given the lines of its document before it) where the corpus knows it, else null.
TEXT = pa.schema([("document", pa.int64()), ("text", pa.string()), ("log_prob", pa.float64())])
ROWS_PER_GROUP = 65_536  # rows that are held at a time, at most
CHARACTERS = 16 * 2**20  # of them, about
LINES = 4096  # of text that are in memory as Python strings
T = TypeVar("T")


def owner_of(what: str, names: Iterable[str], *schemas: pa.Schema) -> Owner:
    """The owner of folders whose tables all have the columns of one of the schemas.

    Args:
        what: such tables, for messages.
        names: of the files, as `Owner` has them.
    """

    def is_marked(folder: Path) -> bool:
        columns = [schema.names for schema in schemas]
        try:
            return all(pq.read_schema(path).names in columns for path in folder.rglob("*.parquet"))
        except pa.ArrowInvalid:
            return False

    return Owner(f"{what} that langladder wrote", tuple(names), is_marked)


_SHARDS = "data-*-of-*.parquet"
TABLE = owner_of("a table of shards", (_SHARDS,), TEXT)
SHARDED = owner_of("tables of text", (CONVENTIONS, *(f"{split}/{_SHARDS}" for split in (*SPLITS, "all"))), TEXT)


def shard_files(table: Path) -> list[Path]:
    """The shards of a table in the order of its rows; for a single file (a table, a shard), that file.

    Raises:
        InputError: there is no such table, or a shard is missing.
    """
    table = Path(table)
    if table.suffix == ".parquet" or table.is_file():
        return [table]
    names = sorted(path.name for path in table.glob(_SHARDS))
    if not names:
        raise InputError(f"{table}: no such file, nor a folder of shards; make the text first (stage `corpus`)")
    if names != [_name(number, len(names)) for number in range(len(names))]:
        names_text = f"{len(names)} of them, {names[0]} to {names[-1]}"
        raise InputError(f"{table}: shards are missing or left over: {names_text}; make it again")
    return [table / name for name in names]


def present_splits(folder: Path) -> list[str]:
    """Names of the tables in a folder, in the order train, validation, test, all.

    Raises:
        InputError: the folder holds none of them.
    """
    names = [
        name
        for name in (*SPLITS, "all")
        if (Path(folder) / f"{name}.parquet").is_file() or any((Path(folder) / name).glob(_SHARDS))
    ]
    if not names:
        raise InputError(f"{folder}: holds no table train or all; make the corpus first (stage `corpus`)")
    return names


def pieces(rows: Iterable[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    """Rows in lists of `ROWS_PER_GROUP` at most, fewer where those are long.

    Args:
        size: characters of a row.
    """
    piece, characters = list[T](), 0
    for row in rows:
        piece.append(row)
        characters += size(row)
        if len(piece) == ROWS_PER_GROUP or characters >= CHARACTERS:
            yield piece
            piece, characters = [], 0
    if piece:
        yield piece


@dataclass(frozen=True)
class Shard:
    """A shard of a table as a piece of an engine's work, and the files that this work leaves.

    Attributes:
        table: the name of its table: a split, or a corpus.
        file: its rows.
        scratch: path of the files that belong to it, to which endings are added.
        group: the row group of the file that it is; None: the whole file.
        first: the number of its first row in the file, from 1.
    """

    table: str
    file: Path
    scratch: Path
    group: int | None = None
    first: int = 1

    @classmethod
    def all_of(cls, tables: Mapping[str, Path], scratch: Path) -> list[Self]:
        """The shards of some tables, in their order: files of a folder, row groups of a single file.

        Their files are numbered in the folder `scratch`.
        """
        shards = list[Self]()
        for name, table in tables.items():
            first = 1
            for group, rows in enumerate(group_rows(table) if table.suffix == ".parquet" else ()):
                shards.append(cls(name, table, scratch / f"{len(shards):06d}", group, first))
                first += rows
            for file in () if table.suffix == ".parquet" else shard_files(table):
                shards.append(cls(name, file, scratch / f"{len(shards):06d}"))
        return shards

    def read(self, schema: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
        """Its rows. Raises InputError as `read_file`."""
        return read_file(self.file, schema, rows, self.group)

    def path(self, ending: str) -> Path:
        """One of the files that belong to it."""
        return self.scratch.with_suffix(f".{ending}")


# ---- one file


def open_file(path: Path, schema: pa.Schema | None) -> pq.ParquetFile:
    """A Parquet file.

    Raises:
        InputError: it is missing or damaged, lacks a column of `schema`, or is text and has one of another type.
    """
    try:
        regular_file(path)
        file = pq.ParquetFile(path)
    except (FileNotFoundError, IsADirectoryError) as error:
        raise InputError(f"{path}: no such file") from error
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a Parquet file ({str(error)[:200]})") from error
    have, wanted = file.schema_arrow, pa.schema([]) if schema is None else schema
    for field in wanted:
        if field.name not in have.names:
            missing = ", ".join(name for name in wanted.names if name not in have.names)
            raise InputError(f"{path}: has no column {missing!r}; its columns are {', '.join(have.names)}")
        if have.names.count(field.name) > 1 or ("document" in have.names and have.field(field.name).type != field.type):
            raise InputError(f"{path}: column {field.name!r} is not of type {field.type}; make it again")
    return file


def group_rows(path: Path) -> list[int]:
    """The rows of each row group of a Parquet file. Raises InputError as `open_file`."""
    with open_file(path, None) as file:
        return [int(file.metadata.row_group(group).num_rows) for group in range(file.metadata.num_row_groups)]


def read_file(path: Path, schema: pa.Schema, rows: int = ROWS, group: int | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of a Parquet file, or of one of its row groups, with the columns of `schema`, so many at a time at most.

    Raises:
        InputError: as `open_file`, or a line of text or its document is null.
    """
    with open_file(path, schema) as file:
        try:
            groups = None if group is None else [group]
            required = [name for name in schema.names if "document" in file.schema_arrow.names and name != "log_prob"]
            for batch in file.iter_batches(batch_size=rows, row_groups=groups, columns=schema.names):
                columns = batch.select(schema.names)
                columns.validate(full=True)  # of a damaged file
                if any(columns.column(name).null_count for name in required):
                    raise InputError(f"{path}: damaged Parquet file (a line or its document is missing)")
                yield columns
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: damaged Parquet file ({str(error)[:200]}); make it again") from error


@contextmanager
def file_writer(path: Path, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """Writes a Parquet file atomically; each table or batch that is written becomes a row group, or several."""
    with atomic_file(path) as temporary, pq.ParquetWriter(str(temporary), schema, compression="zstd") as writer:
        yield writer


class RowGroups:
    """Writes rows of text in row groups of ROWS lines or SHARD_BYTES of text, in whatever pieces they come.

    Args:
        limits: SHARD_BYTES and ROWS of the process that plans the shards, where another one writes them.
    """

    def __init__(self, writer: pq.ParquetWriter, limits: tuple[int, int] | None = None) -> None:
        self._writer = writer
        self._most_bytes, self._most_rows = limits or (SHARD_BYTES, ROWS)
        self._pending: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        bounds, start = _bounds(batch), 0
        while start < batch.num_rows:
            full = int(np.searchsorted(bounds, bounds[start] + self._most_bytes - self._bytes))
            end = min(batch.num_rows, start + self._most_rows - self._rows, full)
            self._pending.append(batch.slice(start, end - start))
            self._rows += end - start
            self._bytes += int(bounds[end] - bounds[start])
            if self._rows >= self._most_rows or self._bytes >= self._most_bytes:
                self.flush()
            start = end

    def flush(self) -> None:
        """End the row group."""
        if self._pending:
            self._writer.write_table(pa.Table.from_batches(self._pending, TEXT))
        self._pending, self._rows, self._bytes = [], 0, 0


def _bounds(batch: pa.RecordBatch) -> np.ndarray:
    """(N + 1,) int64: bytes of text before each row, and in all."""
    sizes = pc.binary_length(batch.column("text")).to_numpy()
    return np.append(0, np.cumsum(sizes, dtype=np.int64))


# ---- a table of text


class ShardWriter:
    """Writes a table of text into an empty folder; close it, or leave its `with` block, to finish.

    Args:
        folder: the table's, or a temporary one until it is complete.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows = 0
        self._shards = 0
        self._bytes = 0  # of text in the open shard
        self._last: int | None = None  # the document of the last row
        self._writer: pq.ParquetWriter | None = None
        folder.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        elif self._writer is not None:
            self._writer.close()

    def add(self, batch: pa.RecordBatch) -> None:
        """Write some rows; rows of one document follow one another."""
        if not batch.num_rows:
            return
        batch = batch.cast(TEXT)
        documents = batch.column("document").to_numpy()
        before = np.append(documents[0] if self._last is None else self._last, documents[:-1])
        opens = np.flatnonzero(documents != before)  # rows that are the first of their document
        bounds, start = _bounds(batch), 0
        self._last = int(documents[-1])
        while start < batch.num_rows:
            opens = opens[opens >= start]
            full = opens[self._bytes + bounds[opens] - bounds[start] >= SHARD_BYTES]
            stop = int(full[0]) if len(full) else batch.num_rows
            self._append(batch.slice(start, stop - start))
            self._bytes += int(bounds[stop] - bounds[start])
            if len(full):
                self._end_shard()
            start = stop
        self.rows += batch.num_rows

    def _append(self, batch: pa.RecordBatch) -> None:
        if self._writer is None:
            self._writer = pq.ParquetWriter(str(self._path(self._shards)), TEXT, compression="zstd")
            self._groups = RowGroups(self._writer)
        self._groups.add(batch)

    def _end_shard(self) -> None:
        if self._writer is None:
            return
        self._groups.flush()
        self._writer.close()
        self._writer, self._bytes = None, 0
        self._shards += 1

    def _path(self, number: int) -> Path:
        return self.folder / f"{number}.open"  # how many there are in all is known in the end

    def close(self) -> None:
        """Finish the last shard, and rename all."""
        self._end_shard()
        if not self._shards:  # a table without rows
            self._append(pa.RecordBatch.from_pylist([], TEXT))
            self._end_shard()
        for number in range(self._shards):
            self._path(number).rename(self.folder / _name(number, self._shards))


def shard_ends(sizes: np.ndarray) -> list[int]:
    """Where each shard of a table ends, (S,) positions after its last document; sizes: (D,) bytes of each document."""
    totals, ends, before = np.cumsum(sizes), list[int](), 0
    while (ends[-1] if ends else 0) < len(sizes):
        ends.append(min(len(sizes), int(np.searchsorted(totals, before + SHARD_BYTES)) + 1))
        before = int(totals[ends[-1] - 1])
    return ends


def _name(number: int, count: int) -> str:
    return f"data-{number:05d}-of-{count:05d}.parquet"


# ---- text in parts


class TextPart(NamedTuple):
    """A part of a corpus: a file of rows whose documents are numbered from 0.

    Attributes:
        rows: the file.
        first: the number of its document 0 in the corpus. This may be the last document of the part before.
        documents: how many it has.
    """

    rows: Path
    first: int
    documents: int


class ShardPlan(NamedTuple):
    """A shard, to be written from parts.

    Attributes:
        file: the file to write.
        table: the number of the shard's table.
        documents: the first in the corpus, and the one after the last; those of this table are the shard's.
        number: of its first document in the table.
        parts: with these documents.
        limits: as in `RowGroups`.
    """

    file: Path
    table: int
    documents: tuple[int, int]
    number: int
    parts: Sequence[TextPart]
    limits: tuple[int, int]


def write_tables(
    folder: Path,
    names: Sequence[str],
    parts: Sequence[TextPart],
    table_of: np.ndarray,
    sizes: np.ndarray,
    scratch: Path,
    engine: Engine,
) -> None:
    """Write tables of a corpus of D documents into a folder.

    Args:
        folder: of the tables.
        names: of the tables, each with at least one document.
        parts: of the corpus, in its order.
        table_of: (D,) int8, for each document the position of its table in `names`; -1: the document is left out.
        sizes: (D,) int64, bytes of text of each document.
        scratch: a folder that all workers see.
    """
    plans = plan_shards(len(names), parts, table_of, sizes, scratch)
    write_arrays(scratch / "tables.safetensors", {"tables": table_of})
    for _ in engine.map(partial(write_shard, tables=scratch / "tables.safetensors"), plans, "writing"):
        pass
    for table, name in enumerate(names):  # moved here: a worker that dies leaves half a file
        (folder / name).mkdir()
        files = [plan.file for plan in plans if plan.table == table]
        for number, file in enumerate(files):
            file.rename(folder / name / _name(number, len(files)))


def plan_shards(
    tables: int, parts: Sequence[TextPart], table_of: np.ndarray, sizes: np.ndarray, scratch: Path
) -> list[ShardPlan]:
    """The shards of all tables; arguments as in `write_tables`, `tables`: how many there are."""
    firsts = np.array([part.first for part in parts])
    stops = firsts + [part.documents for part in parts]
    limits, plans = (SHARD_BYTES, ROWS), list[ShardPlan]()
    for table in range(tables):
        documents, begin = np.flatnonzero(table_of == table), 0
        for end in shard_ends(sizes[documents]):
            first, last = int(documents[begin]), int(documents[end - 1])
            low = int(np.searchsorted(stops, first, side="right"))  # the first part with document `first`
            high = int(np.searchsorted(firsts, last, side="right"))  # after the last part with document `last`
            file = scratch / f"shard-{len(plans):06d}.parquet"
            plans.append(ShardPlan(file, table, (first, last + 1), begin, parts[low:high], limits))
            begin = end
    return plans


def write_shard(plan: ShardPlan, tables: Path) -> None:
    """Write one shard.

    Args:
        tables: file of the table of each document of the corpus.
    """
    first, stop = plan.documents
    table_of = map_arrays(tables)["tables"]
    renumbered = plan.number - 1 + np.cumsum(table_of[first:stop] == plan.table)
    with file_writer(plan.file, TEXT) as writer:
        groups = RowGroups(writer, plan.limits)
        for part in plan.parts:
            for batch in read_file(part.rows, TEXT):
                documents = batch.column("document").to_numpy() + part.first
                kept = (table_of[documents] == plan.table) & (documents >= first) & (documents < stop)
                numbers = pa.array(renumbered[documents[kept] - first])
                groups.add(batch.filter(pa.array(kept)).set_column(0, TEXT.field("document"), numbers))
        groups.flush()
