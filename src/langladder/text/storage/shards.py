"""Text on disk as shards: what `datasets.load_from_disk` reads, written and read here without that library.

A folder of tables (data/clean/text) and one of its tables (train):

    dataset_dict.json                     {"splits": ["train", "validation", "test"]}
    train/data-00000-of-00003.arrow, …    Arrow streams of record batches; a shard is a piece of work for an engine
    train/dataset_info.json, state.json   the columns; the names of the shards, a fingerprint of their content

A shard holds whole documents and closes after the document with which it reaches SHARD_BYTES of text; a record batch
holds at most ROWS lines. So the bytes depend on the rows alone.

The readers and the cleaning write their text in parts, which are joined into shards: workers write the parts and the
shards, the driver decides where shards end. It holds a few bytes of each document, no text.

    part: rows, documents numbered from 0 ─┬─ table and size of each document ─ write_tables → shards of each table
    part: rows, documents numbered from 0 ─┘
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from langladder.engine.base import Engine
from langladder.ground.artefacts import map_arrays, read_json, regular_file, write_arrays, write_json
from langladder.ground.atomic import Owner, atomic_file
from langladder.ground.errors import InputError
from langladder.text.words.segmentation import CONVENTIONS

SHARD_BYTES = 8_000_000  # of text, after which a shard closes at the end of a document, and a batch at that of a line
ROWS = 16_384  # lines of a record batch, at most
SPLITS = ("train", "validation", "test")
# `document`: lines of one document are consecutive. `log_prob`: natural log of the line's exact probability
# (its end included, given the lines of its document before it) where the corpus knows it, else null.
TEXT = pa.schema([("document", pa.int64()), ("text", pa.string()), ("log_prob", pa.float64())])
DICTIONARY, INFO, STATE = "dataset_dict.json", "dataset_info.json", "state.json"
_TYPES = {"string": "string", "int64": "int64", "double": "float64"}  # Arrow's names: those of `datasets`
_MAKER = "langladder"
ROWS_PER_GROUP = 65_536  # rows that are held at a time, at most
CHARACTERS = 16 * 2**20  # of them, about
LINES = 4096  # of text that are in memory as Python strings
T = TypeVar("T")
TextRow = tuple[int, str, float | None]
"""Document, text, log-probability: a row of `TEXT`."""


def _is_table(table: Path) -> bool:
    try:
        found = read_json(table / INFO)
    except InputError:
        return False
    return isinstance(found, dict) and found.get("builder_name") == _MAKER


def _are_tables(folder: Path) -> bool:
    tables = [table for table in folder.iterdir() if table.is_dir()]
    return bool(tables) and all(map(_is_table, tables))


_FILES = (INFO, STATE, "data-*-of-*.arrow")
TABLE = Owner("a table of shards that langladder wrote", _FILES, _is_table)
SHARDED = Owner(
    "tables of text that langladder wrote",
    (DICTIONARY, CONVENTIONS, *(f"{split}/{name}" for split in (*SPLITS, "all") for name in _FILES)),
    _are_tables,
)


def shard_files(table: Path) -> list[Path]:
    """The shards of a table in the order of its rows; for a single file (Parquet, a shard), that file.

    Raises:
        InputError: there is no such table, or a shard is missing.
    """
    table = Path(table)
    if table.suffix == ".parquet" or table.is_file():
        return [table]
    if not (table / STATE).is_file():
        raise InputError(f"{table}: no such file, nor a folder of shards; make the text first (stage `corpus`)")
    names = sorted(path.name for path in table.glob("data-*.arrow"))
    if names != [_name(number, len(names)) for number in range(len(names))] or not names:
        found = f"{len(names)} of them, {names[0]} to {names[-1]}" if names else "none"
        raise InputError(f"{table}: shards are missing or left over: {found}; make it again")
    return [table / name for name in names]


def table_names(folder: Path) -> list[str]:
    """Names of the tables in a folder, in the order train, validation, test, all; [] where there is none."""
    return [name for name in (*SPLITS, "all") if (Path(folder) / name / STATE).is_file()]


def present_splits(folder: Path) -> list[str]:
    """Names of the tables in a folder, shards or Parquet, in the order train, validation, test, all.

    Raises:
        InputError: the folder holds none of them.
    """
    parquet = [name for name in (*SPLITS, "all") if (Path(folder) / f"{name}.parquet").is_file()]
    names = table_names(folder) or parquet
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
    """

    table: str
    file: Path
    scratch: Path

    @classmethod
    def all_of(cls, tables: Mapping[str, Path], scratch: Path) -> list[Self]:
        """The shards of some tables, in their order; their files are numbered in the folder `scratch`."""
        files = [(name, file) for name, table in tables.items() for file in shard_files(table)]
        return [cls(name, file, scratch / f"{number:06d}") for number, (name, file) in enumerate(files)]

    def path(self, ending: str) -> Path:
        """One of the files that belong to it."""
        return self.scratch.with_suffix(f".{ending}")


def read_shard(path: Path, schema: pa.Schema, rows: int = ROWS) -> Iterator[pa.RecordBatch]:
    """The rows of one shard, mapped, with the columns of `schema`, so many at a time at most.

    Raises:
        InputError: the file is missing or damaged, lacks a column, or has one of another type or with nulls in it.
    """
    regular_file(path)
    try:
        with pa.memory_map(str(path)) as file, pa.ipc.open_stream(file) as stream:
            _check_columns(path, stream.schema, schema)
            for batch in stream:
                found = batch.select(schema.names)
                found.validate(full=True)  # else a damaged offset would read outside the file
                if any(found.column(name).null_count for name in schema.names if name != "log_prob"):
                    raise InputError(f"{path}: damaged shard (a line or its document is missing)")
                found = found.replace_schema_metadata(None)
                yield from (found.slice(start, rows) for start in range(0, found.num_rows, rows))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: damaged shard ({str(error)[:200]}); make it again") from error


def _check_columns(path: Path, have: pa.Schema, wanted: pa.Schema) -> None:
    if missing := [name for name in wanted.names if name not in have.names]:
        raise InputError(f"{path}: has no column {', '.join(missing)!r}; its columns are {', '.join(have.names)}")
    for field in wanted:
        if have.names.count(field.name) > 1 or have.field(field.name).type != field.type:
            raise InputError(f"{path}: column {field.name!r} is not of type {field.type}; make it again")


class ShardWriter:
    """Writes a table of shards into an empty folder; close it, or leave its `with` block, to finish.

    Args:
        folder: the table's, or a temporary one until it is complete.
        schema: its columns, `document` and `text` among them.
        name: of the table.
        limits: SHARD_BYTES and ROWS of the process that plans the shards, where another one writes them.
    """

    def __init__(self, folder: Path, schema: pa.Schema, name: str, limits: tuple[int, int] | None = None) -> None:
        self.folder, self.schema, self.name = folder, schema, name
        self._most_bytes, self._most_rows = limits or (SHARD_BYTES, ROWS)
        self.rows = self.documents = 0
        info = {"info": {"features": _features(schema)}}
        self._marked = schema.with_metadata({"huggingface": json.dumps(info)})
        self.digests: list[bytes] = []  # of the shards' files
        self._pending: list[pa.RecordBatch] = []
        self._batch_rows = self._batch_bytes = self._shard_bytes = 0
        self._last: int | None = None  # the document of the last row
        self._writer: Any = None
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
        batch = batch.cast(self.schema)
        documents = batch.column("document").to_numpy()
        before = np.append(documents[0] if self._last is None else self._last, documents[:-1])
        opens = np.flatnonzero(documents != before)  # rows that are the first of their document
        opened = len(opens) + (self._last is None)
        sizes = pc.binary_length(batch.column("text")).to_numpy()
        bounds = np.append(0, np.cumsum(sizes, dtype=np.int64))  # bytes of text before each row, and in all
        self._last, start = int(documents[-1]), 0
        while start < batch.num_rows:
            opens = opens[opens >= start]
            full = opens[self._shard_bytes + bounds[opens] - bounds[start] >= self._most_bytes]
            stop = int(full[0]) if len(full) else batch.num_rows
            self._append(batch, bounds, start, stop)
            if len(full):
                self._end_shard()
            start = stop
        self.rows += batch.num_rows
        self.documents += opened

    def _append(self, batch: pa.RecordBatch, bounds: np.ndarray, start: int, stop: int) -> None:
        """Rows of one shard, cut into record batches."""
        while start < stop:
            filled = int(np.searchsorted(bounds, bounds[start] + self._most_bytes - self._batch_bytes))
            end = min(stop, start + self._most_rows - self._batch_rows, filled)
            self._pending.append(batch.slice(start, end - start))
            self._batch_rows += end - start
            self._batch_bytes += int(bounds[end] - bounds[start])
            self._shard_bytes += int(bounds[end] - bounds[start])
            if self._batch_rows >= self._most_rows or self._batch_bytes >= self._most_bytes:
                self._flush()
            start = end

    def _flush(self) -> None:
        if not self._pending:
            return
        if self._writer is None:
            self._writer = pa.ipc.new_stream(str(self._path(len(self.digests))), self._marked)
        columns = [pa.concat_arrays([one.column(name) for one in self._pending]) for name in self.schema.names]
        batch = pa.record_batch([_plain(column) for column in columns], schema=self._marked)
        self._writer.write_batch(batch)
        self._pending, self._batch_rows, self._batch_bytes = [], 0, 0

    def _end_shard(self) -> None:
        self._flush()
        if self._writer is None:
            return
        self._writer.close()
        with self._path(len(self.digests)).open("rb") as file:
            self.digests.append(hashlib.file_digest(file, "blake2b").digest())
        self._writer, self._shard_bytes = None, 0

    def _path(self, number: int) -> Path:
        return self.folder / f"{number}.open"  # how many there are in all is known in the end

    def close(self) -> None:
        """Finish the last shard; rename all, and describe the table."""
        self._end_shard()
        if not self.digests:  # a table without rows
            pa.ipc.new_stream(str(self._path(0)), self._marked).close()
        shards = [self._path(number) for number in range(max(1, len(self.digests)))]
        finish_table(self.folder, self.schema, self.name, shards, self.digests)


def finish_table(folder: Path, schema: pa.Schema, name: str, shards: Sequence[Path], digests: Sequence[bytes]) -> None:
    """Move shards into the folder of their table, and describe it.

    Args:
        schema, name: as in `ShardWriter`.
        shards: their files, in order; digests: of each.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = [_name(number, len(shards)) for number in range(len(shards))]
    for shard, final in zip(shards, names, strict=True):
        shard.rename(folder / final)
    write_json(folder / INFO, {"builder_name": _MAKER, "features": _features(schema)})
    state: dict[str, object] = {
        "_data_files": [{"filename": final} for final in names],
        "_fingerprint": hashlib.blake2b(b"".join(digests), digest_size=8).hexdigest(),
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": name if name in SPLITS else None,
    }
    write_json(folder / STATE, state)


def shard_ends(sizes: np.ndarray) -> list[int]:
    """Where each shard of a table ends, (S,) positions after its last document; sizes: (D,) bytes of each document."""
    totals, ends, before = np.cumsum(sizes), list[int](), 0
    while (ends[-1] if ends else 0) < len(sizes):
        ends.append(min(len(sizes), int(np.searchsorted(totals, before + SHARD_BYTES)) + 1))
        before = int(totals[ends[-1] - 1])
    return ends


def write_dictionary(folder: Path) -> None:
    """Name the tables of a folder in its dataset_dict.json."""
    write_json(folder / DICTIONARY, {"splits": table_names(folder)})


def _name(number: int, count: int) -> str:
    return f"data-{number:05d}-of-{count:05d}.arrow"


def _features(schema: pa.Schema) -> dict[str, dict[str, str]]:
    return {field.name: {"dtype": _TYPES[str(field.type)], "_type": "Value"} for field in schema}


def _plain(column: pa.Array) -> pa.Array:
    """The same values with nothing below the nulls, which would be written, too."""
    if not column.null_count:
        return column
    known = column.is_valid().to_numpy(zero_copy_only=False)
    return pa.array(column.fill_null(0).to_numpy(), mask=~known)


# ---- text in parts


def read_text_rows(path: Path) -> Iterator[TextRow]:
    """The rows of a part or a shard."""
    for batch in read_shard(path, TEXT, LINES):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def write_text_rows(path: Path, rows: Iterable[TextRow]) -> None:
    """Write the rows of a part, atomically."""
    iterator = iter(rows)
    with atomic_file(path) as temporary, pa.ipc.new_stream(str(temporary), TEXT) as stream:
        while batch := list(islice(iterator, LINES)):
            columns = [
                pa.array(column, field.type) for column, field in zip(zip(*batch, strict=True), TEXT, strict=True)
            ]
            stream.write_batch(pa.record_batch(columns, schema=TEXT))


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
        folder: of a table with this shard alone.
        table: the number of the shard's table.
        documents: the first in the corpus, and the one after the last; those of this table are the shard's.
        number: of its first document in the table.
        parts: with these documents.
        limits: as in `ShardWriter`.
    """

    folder: Path
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
    digests = list(engine.map(partial(write_shard, tables=scratch / "tables.safetensors"), plans, "writing"))
    for table, name in enumerate(names):
        own = [number for number, plan in enumerate(plans) if plan.table == table]
        files = [shard_files(plans[number].folder)[0] for number in own]
        finish_table(folder / name, TEXT, name, files, [digests[number] for number in own])
    write_dictionary(folder)


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
            shard = scratch / f"shard-{len(plans):06d}"
            plans.append(ShardPlan(shard, table, (first, last + 1), begin, parts[low:high], limits))
            begin = end
    return plans


def write_shard(plan: ShardPlan, tables: Path) -> bytes:
    """Write one shard.

    Args:
        tables: file of the table of each document of the corpus.

    Returns:
        The digest of the shard's file.
    """
    first, stop = plan.documents
    table_of = map_arrays(tables)["tables"]
    renumbered = plan.number - 1 + np.cumsum(table_of[first:stop] == plan.table)
    with ShardWriter(plan.folder, TEXT, plan.folder.name, plan.limits) as writer:
        for part in plan.parts:
            for batch in read_shard(part.rows, TEXT):
                documents = batch.column("document").to_numpy() + part.first
                kept = (table_of[documents] == plan.table) & (documents >= first) & (documents < stop)
                numbers = pa.array(renumbered[documents[kept] - first])
                writer.add(batch.filter(pa.array(kept)).set_column(0, "document", numbers))
    return writer.digests[0]
