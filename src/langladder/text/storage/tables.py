"""Tables on disk, written atomically, the same bytes for the same rows.

A table whose name ends in .parquet is one file; any other is a folder of shards (see `shards`), or one of them. Raw,
filtered and clean text has the columns of `TEXT` and is in shards; all other tables are single files. One row of text
is one line; the lines of one document follow one another.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, compress, groupby, islice
from operator import and_, itemgetter
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import pyarrow as pa

from langladder.ground.atomic import atomic_folder
from langladder.ground.progress import tracked
from langladder.text.storage.shards import (
    ROWS,
    ROWS_PER_GROUP,
    SPLITS,
    TABLE,
    TEXT,
    ShardWriter,
    file_writer,
    open_file,
    owner_of,
    pieces,
    read_file,
    shard_files,
)
from langladder.text.words.segmentation import CONVENTIONS

Row = dict[str, Any]
"""A row of a table, column → value, as `pyarrow` gives it."""
T = TypeVar("T")

PAIRS = pa.schema([("source", pa.string()), ("target", pa.string())])

LINES = 8_192  # of a batch
DOCUMENTS = 512  # of a batch


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
        return _write_shards(path, parts)
    rows = 0
    with file_writer(path, schema) as writer:
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


def _write_shards(path: Path, tables: Iterable[pa.Table]) -> int:
    with atomic_folder(path, TABLE) as temporary, ShardWriter(temporary) as writer:
        for table in tables:
            for batch in table.to_batches():
                writer.add(batch)
    return writer.rows


def read_table(path: Path, schema: pa.Schema | None = None) -> pa.Table:
    """Read a whole table; `schema`: its columns, None: all of them.

    Raises:
        InputError: it is missing or damaged, or lacks a column of `schema`.
    """
    files = shard_files(path)
    if schema is None:
        with open_file(files[0], None) as file:
            schema = file.schema_arrow
    batches = [batch for file in files for batch in read_file(file, schema, ROWS_PER_GROUP)]
    return pa.Table.from_batches(batches, batches[0].schema if batches else schema)


def read_batches(path: Path, schema: pa.Schema, rows: int = ROWS_PER_GROUP) -> Iterator[pa.RecordBatch]:
    """Read a table piece by piece: at most `rows` rows in memory. Raises as `read_table` does."""
    batches = (batch for file in shard_files(path) for batch in read_file(file, schema, rows))
    yield from tracked(batches, f"reading {path.stem}", unit="rows", sizes=True)


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
        results = list(group)
        yield Document([text for _, text, _ in results], [log_prob for _, _, log_prob in results])


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
    named = ", ".join(f"{entry['file']} ({entry['why']})" for entry in report.get("skipped", []))
    more = report.get("skipped_files", 0) - len(report.get("skipped", []))
    return f"not read: {named}{f' and {more:,} more' if more else ''}" if named else ""
