"""Documents of raw tables, one after the other: the filter reads, selects and writes them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple, Self

import pyarrow as pa

from langladder.text.storage.shards import TEXT
from langladder.text.storage.tables import pieces, read_batches, write_batches

ROWS = 16_384


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
        """The document with those lines alone for which `keep` is true."""
        return type(self)(list(compress(self.lines, keep)), list(compress(self.log_probs, keep)))


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
    for some in pieces(rows, lambda row: len(row[1])):
        yield pa.table([list(column) for column in zip(*some, strict=True)], schema=TEXT)
