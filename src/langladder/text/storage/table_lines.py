"""Columns of text as lines: one by one as strings, or many at once as Arrow holds them."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from langladder.text.storage.tables import read_column

ROWS = 8_192


class TableLines:
    """Text columns of tables as one iterable of lines that can be gone through again.

    Attributes:
        columns: tables, and the column of each.
    """

    def __init__(self, columns: list[tuple[Path, str]]) -> None:
        self.columns = columns

    def __iter__(self) -> Iterator[str]:
        for path, column in self.columns:
            for lines in read_column(path, column):
                yield from lines


def batches(lines: Iterable[str]) -> Iterator[list[str]]:
    """Lines, many at once."""
    rest = iter(lines)
    while chunk := list(islice(rest, ROWS)):
        yield chunk
