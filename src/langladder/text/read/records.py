"""Records of one file: lines of text, rows of JSON lines, rows of Parquet.

JSON is parsed line by line with `json`, because errors of the readers of pyarrow and `datasets`, which parse blocks of
lines, do not name the line.
"""

import json
import zlib
from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from langladder.errors import InputError
from langladder.remote import File
from langladder.text.read.lines import WHOLE, FileFacts, Span, read_lines, reading
from langladder.text.read.sources import FileSource, format_of

PARQUET_ROWS = 4096  # read at a time; rows may be far larger in memory than in the file


def values_of(
    file: File, source: FileSource, fields: list[str], facts: FileFacts, span: Span = WHOLE
) -> Iterator[list[str]]:
    """The values of some fields of every record of a file, or of a part of a plain file.

    Args:
        fields: of a row; of a text file the only value is the line itself.
    """
    kind = format_of(file, source.format)
    if kind == "parquet":
        for number, row in parquet_rows(file, fields, facts):
            yield [text_field(row, field, f"{file}, row {number}") for field in fields]
        return
    for number, line in enumerate(read_lines(file, facts, source.max_line_bytes, source.encoding, span), span.number):
        if kind == "txt":
            yield [line]
        elif line.strip():
            row = json_row(file, number, line)
            yield [text_field(row, field, f"{file}:{number}") for field in fields]


def numbered_lines(file: File, source: FileSource, facts: FileFacts) -> Iterator[tuple[int, str]]:
    """The lines of a text file that are not blank, with their numbers from 1. Raises InputError as `read_lines`."""
    lines = read_lines(file, facts, source.max_line_bytes, source.encoding)
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def json_rows(file: File, source: FileSource, facts: FileFacts) -> Iterator[tuple[str, Any]]:
    """The rows of a file of JSON lines, each with its file and line. Raises InputError as `read_lines`, `json_row`."""
    return ((f"{file}:{number}", json_row(file, number, line)) for number, line in numbered_lines(file, source, facts))


def whole_json(file: File, source: FileSource, facts: FileFacts) -> Any:
    """The value of a file that is one JSON text; None where the file is empty, which is noted.

    Raises:
        InputError: as `read_lines`; the file is not JSON (names file and line).
    """
    advice = "; write it as .jsonl, a record a line, or raise max_line_bytes"
    text = "\n".join(read_lines(file, facts, source.max_line_bytes, source.encoding, advice=advice))
    if file in facts.empty:
        return None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where, reason = f"{file}:{error.lineno}", error.msg
    except (ValueError, RecursionError) as error:  # very long integers; deeply nested lists
        where, reason = f"{file}", str(error)[:100]
    raise InputError(f"{where}: not JSON ({reason}); of one record a line the ending is .jsonl")


def json_row(file: File, number: int, line: str) -> Any:
    """Parse a line of JSON. Raises InputError if it is not valid."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:  # deeply nested lists; very long integers
        raise InputError(f"{file}:{number}: not JSON ({error})") from error


def text_field(row: Any, field: str, where: str) -> str:
    """The value of a text field of a row; `translation.fr` is the field `fr` inside `translation`.

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


def parquet_rows(file: File, fields: list[str], facts: FileFacts) -> Iterator[tuple[int, Any]]:
    """Numbers, from 1, and rows of a Parquet file, with the columns of `fields`; an empty file is noted.

    Raises:
        InputError: it is not a Parquet file, or a column is missing.
    """
    row = 0
    with reading(file) as handle:
        try:
            if handle.peek(1):  # type: ignore[attr-defined]
                table = pq.ParquetFile(pa.PythonFile(handle, mode="r"))
                columns = _parquet_columns(file, table.schema_arrow.names, fields)
                for batch in table.iter_batches(batch_size=PARQUET_ROWS, columns=columns):
                    for value in batch.to_pylist():
                        row += 1
                        facts.read.add(file)
                        yield row, value
        except (pa.ArrowException, EOFError, OSError, OverflowError, UnicodeDecodeError, zlib.error) as error:
            raise InputError(f"{file}: not a Parquet file ({str(error)[:200]})") from error
    if row == 0:
        facts.nothing_in(file)


def _parquet_columns(file: File, names: list[str], fields: list[str]) -> list[str]:
    """The columns that contain some fields: of that name, or of the first part of a dotted name."""
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
    """The wanted name, or the only one that differs from it in case and outer white space alone, or None.

    >>> named(["Text", "id"], "text"), named(["Text", "TEXT"], "text")
    ('Text', None)
    """
    if wanted in names:
        return wanted
    alike = [name for name in names if name.strip().casefold() == wanted.strip().casefold()]
    return alike[0] if len(alike) == 1 else None
