"""Columns of text as lines: one by one as strings, or many at once as Arrow holds them."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa

from langladder.text.pieces import Lines
from langladder.text.shards import shard_files
from langladder.text.tables import read_batches, read_column

ROWS = 8_192


class TableLines:
    """Text columns of tables as one iterable of lines that can be gone through again.

    Attributes:
        columns: tables, and the column of each.
        scratch: a folder for what workers leave while they go through the shards; None: no workers.
    """

    def __init__(self, columns: list[tuple[Path, str]], scratch: Path | None = None) -> None:
        self.columns = columns
        self.scratch = scratch

    def __iter__(self) -> Iterator[str]:
        for path, column in self.columns:
            for lines in read_column(path, column):
                yield from lines

    def shards(self) -> list[tuple[Path, str]]:
        """The shards of the tables, and the column of each."""
        return [(shard, column) for path, column in self.columns for shard in shard_files(path)]


def batches(lines: Iterable[str]) -> Iterator[Lines]:
    """Lines, many at once."""
    if not isinstance(lines, TableLines):
        rest = iter(lines)
        while chunk := list(islice(rest, ROWS)):
            yield Lines.of(pa.array(chunk, pa.string()))
        return
    for path, column in lines.columns:
        for batch in read_batches(path, pa.schema([(column, pa.string())])):
            yield Lines.of(batch.column(0))
