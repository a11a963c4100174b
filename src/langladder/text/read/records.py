"""Records of text files in their layouts, lines and rows, and the documents that their lines belong to."""

import json
import re
import zlib
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from langladder.errors import InputError
from langladder.remote import File
from langladder.text.read.lines import WHOLE, FileFacts, Span, read_lines, reading
from langladder.text.read.sources import Documents, FileSource, format_of

ROWS_AT_ONCE = 4096  # of a Parquet file, whose rows may be far larger in memory than in the file


class Record(NamedTuple):
    """One line of a text file, or one jsonl or parquet row (whose text may have several lines)."""

    file: str
    text: str


class Numbering:
    """Gives lines the numbers of their documents, which count from 0.

    Args:
        rule: what opens a document.
        within: the file whose reading goes on, if it was begun elsewhere; lines before the first document that is
            opened have the number −1.

    Attributes:
        opens: whether the next line opens a document.
    """

    def __init__(self, rule: Documents, within: File | None = None) -> None:
        self.rule, self.opens, self._number = rule, within is None, -1
        self._file = None if within is None else str(within)
        self._heading = re.compile(rule.heading) if rule.heading is not None else None

    def lines(self, records: Iterable[Record]) -> Iterator[tuple[int, str]]:
        """(document number, line) for every line that is not blank."""
        rule = self.rule.documents
        for record in records:
            self.opens |= rule == "record" or record.file != self._file
            self._file = record.file
            text = record.text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in record.text else record.text
            for line in map(str.strip, text.split("\n")):
                if not line:
                    self.opens |= rule == "blank_line"
                    continue
                if self.opens or rule == "line" or (self._heading is not None and self._heading.fullmatch(line)):
                    self._number += 1
                    self.opens = False
                yield self._number, line


def values_of(
    file: File, source: FileSource, fields: list[str], facts: FileFacts, span: Span = WHOLE
) -> Iterator[list[str]]:
    """The wanted fields of every record of one file, or of a part of a plain one; of a text file, the line itself."""
    kind = format_of(file, source.format)
    if kind == "parquet":
        yield from _parquet_values(file, fields, facts)
        return
    lines = read_lines(file, facts, source.max_line_bytes, source.encoding, span)
    if kind == "txt":
        yield from ([line] for line in lines)
        return
    for number, line in enumerate(lines, start=span.number):
        if line.strip():
            yield _json_values(file, number, line, fields)


def _json_values(file: File, number: int, line: str, fields: list[str]) -> list[str]:
    row = json_row(file, number, line)
    return [text_field(row, field, f"{file}:{number}") for field in fields]


def json_row(file: File, number: int, line: str) -> Any:
    """A line of JSON. Raises InputError where it is none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:  # RecursionError: deep lists; ValueError: also endless integers
        raise InputError(f"{file}:{number}: not JSON ({error})") from error


def text_field(row: Any, field: str, where: str) -> str:
    """A text field of a row; `translation.fr` looks inside `translation`.

    Raises:
        InputError: the row has no such field, or it is not text.
    """
    value: Any = row
    for name in [field] if isinstance(row, dict) and named(row, field) is not None else field.split("."):
        found = named(value, name) if isinstance(value, dict) else None
        if found is None:
            have = ", ".join(sorted(row)) if isinstance(row, dict) else f"no fields: it is a {type(row).__name__}"
            raise InputError(f"{where}: has no field {field!r}; it has {have[:200]}")
        value = value[found]
    if not isinstance(value, str):
        raise InputError(f"{where}: field {field!r} is a {type(value).__name__}; text is wanted")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"{where}: field {field!r} is not valid Unicode ({error.reason})") from error
    return value


def _parquet_values(file: File, fields: list[str], facts: FileFacts) -> Iterator[list[str]]:
    for number, row in parquet_rows(file, fields, facts):
        yield [text_field(row, field, f"{file}, row {number}") for field in fields]


def parquet_rows(file: File, fields: list[str], facts: FileFacts) -> Iterator[tuple[int, Any]]:
    """The rows of a Parquet file with their numbers from 1, each with the columns of `fields`; an empty file is noted.

    Raises:
        InputError: it is no Parquet file, or lacks a column.
    """
    row = 0
    with reading(file) as handle:
        try:
            if handle.peek(1):  # type: ignore[attr-defined]
                table = pq.ParquetFile(pa.PythonFile(handle, mode="r"))
                columns = _parquet_columns(file, table.schema_arrow.names, fields)
                for batch in table.iter_batches(batch_size=ROWS_AT_ONCE, columns=columns):
                    for value in batch.to_pylist():
                        row += 1
                        if row == 1:
                            facts.begin(file)
                        yield row, value
        except (pa.ArrowException, EOFError, OSError, OverflowError, UnicodeDecodeError, zlib.error) as error:
            raise InputError(f"{file}: not a Parquet file ({str(error)[:200]})") from error
    if row == 0:
        facts.nothing_in(file)


def _parquet_columns(file: File, names: list[str], fields: list[str]) -> list[str]:
    """The columns in which some fields stand: that of its name, or the one that a dotted name begins with."""
    columns = []
    for field in fields:
        column = named(names, field) or named(names, field.partition(".")[0])
        if column is None:
            have = ", ".join(names)
            raise InputError(f"{file}: has no column {field!r}; its columns are {have[:200] or 'none'}")
        if names.count(column) > 1:
            raise InputError(f"{file}: column {column!r} stands there {names.count(column)} times; rename all but one")
        columns.append(column)
    return list(dict.fromkeys(columns))


def named(names: Collection[str], wanted: str) -> str | None:
    """The name that is wanted, or the only one that differs from it in case and outer space alone; None: there is none.

    >>> named(["Text", "id"], "text"), named(["Text", "TEXT"], "text")
    ('Text', None)
    """
    if wanted in names:
        return wanted
    alike = [name for name in names if name.strip().casefold() == wanted.strip().casefold()]
    return alike[0] if len(alike) == 1 else None
