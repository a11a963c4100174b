"""Tables on disk, written atomically, the same bytes for the same rows.

A table whose name ends in .parquet is one Parquet file; any other is a folder of shards (see `shards`), or one of them.
Raw, filtered and clean text has the columns of `TEXT` and is in shards; parallel text has those of `PAIRS` and is
Parquet, as all other tables are. One row is one line of text; the lines of one document follow one another.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate, compress, groupby, islice
from operator import and_, itemgetter
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from langladder.ground.atomic import Owner, atomic_file, atomic_folder
from langladder.ground.errors import InputError
from langladder.ground.progress import tracked
from langladder.text.storage.shards import (
    ROWS,
    ROWS_PER_GROUP,
    SPLITS,
    TABLE,
    TEXT,
    ShardWriter,
    pieces,
    read_shard,
    shard_files,
    write_dictionary,
)
from langladder.text.words.segmentation import CONVENTIONS

Row = dict[str, Any]
"""A row of a table, column → value, as `pyarrow` gives it."""
T = TypeVar("T")

PAIRS = pa.schema([("source", pa.string()), ("target", pa.string())])

LINES = 8_192  # of a batch
DOCUMENTS = 512  # of a batch


def owner_of(what: str, names: Iterable[str], *schemas: pa.Schema) -> Owner:
    """The owner of folders whose Parquet tables all have the columns of one of the schemas.

    Args:
        what: such tables, for messages.
        names: of the files.
    """

    def is_marked(folder: Path) -> bool:
        columns = [schema.names for schema in schemas]
        try:
            return all(pq.read_schema(path).names in columns for path in folder.glob("*.parquet"))
        except pa.ArrowInvalid:
            return False

    return Owner(f"{what} that langladder wrote", tuple(names), is_marked)


TABLES = owner_of("tables of pairs", (CONVENTIONS, *(f"{split}.parquet" for split in (*SPLITS, "all"))), PAIRS)


def write_table(path: Path, table: pa.Table) -> None:
    """Write a whole table atomically."""
    write_batches(path, table.schema, [table])


def write_batches(path: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> int:
    """Write tables of one schema, one after the other, as one; only one is in memory at a time.

    Returns:
        The number of rows written.
    """
    parts = tracked(tables, f"writing {path.stem}", unit="rows", sizes=True)
    if path.suffix != ".parquet":
        return _write_shards(path, schema, parts)
    rows = 0
    with atomic_file(path) as temporary, pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
        for table in parts:
            writer.write_table(table.cast(schema), row_group_size=ROWS_PER_GROUP)
            rows += table.num_rows
    return rows


def write_rows(path: Path, schema: pa.Schema, rows: Iterable[T], size: Callable[[T], int]) -> int:
    """Write rows one after the other as `write_batches` does; returns how many there are.

    Args:
        size: characters of a row.
    """
    return write_batches(path, schema, (pa.Table.from_pylist(piece, schema) for piece in pieces(rows, size)))


def _write_shards(path: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> int:
    with atomic_folder(path, TABLE) as temporary, ShardWriter(temporary, schema, path.name) as writer:
        for table in tables:
            for batch in table.to_batches():
                writer.add(batch)
    if path.name in (*SPLITS, "all"):
        write_dictionary(path.parent)
    return writer.rows


def read_table(path: Path, schema: pa.Schema | None = None) -> pa.Table:
    """Read a whole table.

    Raises:
        InputError: it is missing or damaged, or lacks a column of `schema`.
    """
    if path.suffix != ".parquet":
        schema = TEXT if schema is None else schema
        return pa.Table.from_batches(_shard_batches(path, schema), schema)
    with _open(path, schema) as file, _damage(path):
        return file.read(columns=None if schema is None else schema.names)


def read_batches(path: Path, schema: pa.Schema, rows: int = ROWS_PER_GROUP) -> Iterator[pa.RecordBatch]:
    """Read a table piece by piece: at most `rows` rows in memory. Raises as `read_table` does."""
    if path.suffix != ".parquet":
        yield from tracked(_shard_batches(path, schema, rows), f"reading {path.stem}", unit="rows", sizes=True)
        return
    with _open(path, schema) as file, _damage(path):
        batches = file.iter_batches(batch_size=rows, columns=schema.names)
        yield from tracked(batches, f"reading {path.stem}", file.metadata.num_rows, "rows", sizes=True)


def group_rows(path: Path, schema: pa.Schema) -> list[int]:
    """The rows of each row group of a Parquet table. Raises as `read_table` does."""
    with _open(path, schema) as file:
        return [int(file.metadata.row_group(group).num_rows) for group in range(file.metadata.num_row_groups)]


def read_group(path: Path, schema: pa.Schema, group: int, rows: int) -> Iterator[pa.RecordBatch]:
    """One row group of a Parquet table: at most `rows` rows in memory beside it. Raises as `read_table` does."""
    with _open(path, schema) as file, _damage(path):
        yield from file.iter_batches(batch_size=rows, row_groups=[group], columns=schema.names)


def _shard_batches(path: Path, schema: pa.Schema, rows: int = ROWS_PER_GROUP) -> Iterator[pa.RecordBatch]:
    for file in shard_files(path):
        yield from read_shard(file, schema, rows)


def read_column(path: Path, column: str) -> Iterator[list[str]]:
    """One text column as lists of strings, piece by piece."""
    for batch in read_batches(path, pa.schema([(column, pa.string())])):
        yield batch.column(0).to_pylist()


class TableLines:
    """Text columns of tables as one iterable of lines, which can be read several times.

    Args:
        columns: tables, and the column of each.
    """

    def __init__(self, columns: list[tuple[Path, str]]) -> None:
        self.columns = columns

    def __iter__(self) -> Iterator[str]:
        return (line for path, column in self.columns for lines in read_column(path, column) for line in lines)

    def shards(self) -> list["TableLines"]:
        """The same lines in parts for an engine, one for each shard; of Parquet in one part."""
        if any(path.suffix == ".parquet" for path, _ in self.columns):
            return [self]
        return [TableLines([(shard, column)]) for path, column in self.columns for shard in shard_files(path)]


def line_batches(lines: Iterable[str]) -> Iterator[list[str]]:
    """Lines in lists of LINES at most."""
    rest = iter(lines)
    while batch := list(islice(rest, LINES)):
        yield batch


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """What shows only when the rows are read."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: damaged Parquet file ({str(error)[:200]})") from error


def _open(path: Path, schema: pa.Schema | None) -> pq.ParquetFile:
    try:
        file = pq.ParquetFile(path)
    except (FileNotFoundError, IsADirectoryError) as error:
        raise InputError(f"{path}: no such file") from error
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a Parquet file ({str(error)[:200]})") from error
    missing = [] if schema is None else [name for name in schema.names if name not in file.schema_arrow.names]
    if missing:
        have = ", ".join(file.schema_arrow.names)
        raise InputError(f"{path}: has no column {', '.join(missing)!r}; its columns are {have}")
    return file


# ---- documents


class Document(NamedTuple):
    """The lines of a document, and their exact log-probabilities where they are known."""

    lines: list[str]
    log_probs: list[float | None]

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(self.lines)

    @property
    def words(self) -> int:
        """The number of words between white space."""
        return sum(len(line.split()) for line in self.lines)

    def select(self, keep: Sequence[bool]) -> Self:
        """The document with only the lines for which `keep` is true.

        Lines after a dropped one lose their log-probability, which may depend on the lines before.
        """
        known = [p if whole else None for p, whole in zip(self.log_probs, accumulate(keep, and_), strict=True)]
        return type(self)(list(compress(self.lines, keep)), list(compress(known, keep)))


def read_documents(path: Path) -> Iterator[Document]:
    """The documents of one table, in its order. Raises InputError as `read_table`."""
    return documents_of(read_batches(path, TEXT, ROWS))


def documents_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Document]:
    """The documents of record batches."""
    rows = (row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True))
    for _, group in groupby(rows, key=itemgetter(0)):
        found = list(group)
        yield Document([text for _, text, _ in found], [log_prob for _, _, log_prob in found])


def write_documents(path: Path, documents: Iterable[Document]) -> None:
    """Write documents, numbered from 0, as a table, atomically."""
    write_batches(path, TEXT, tables_of(documents))


def tables_of(documents: Iterable[Document]) -> Iterator[pa.Table]:
    """Documents, numbered from 0, in tables of limited size."""
    rows = ((number, *row) for number, document in enumerate(documents) for row in zip(*document, strict=True))
    for piece in pieces(rows, lambda row: len(row[1])):
        yield pa.table([list(column) for column in zip(*piece, strict=True)], schema=TEXT)


def document_batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Documents in lists of DOCUMENTS at most."""
    iterator = iter(documents)
    while batch := list(islice(iterator, DOCUMENTS)):
        yield batch


def not_read(report: Mapping[str, Any]) -> str:
    """The skipped files of a data report in a sentence; "" if there are none."""
    named = ", ".join(f"{one['file']} ({one['why']})" for one in report.get("skipped", []))
    more = report.get("skipped_files", 0) - len(report.get("skipped", []))
    return f"not read: {named}{f' and {more:,} more' if more else ''}" if named else ""
