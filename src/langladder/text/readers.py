"""Readers: from text files in their many layouts to raw tables, one line of text a row.

`read_text` and `read_parallel` stream, so a corpus may be larger than memory, and write the raw folder as a whole:
when any file is bad, nothing is written. Blank lines are dropped; outer white space is taken off each line.
"""

import json
import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from langladder.atomic import atomic_folder
from langladder.errors import InputError
from langladder.remote import File, located
from langladder.text.chosen_files import skipped
from langladder.text.lines import FileFacts, read_lines, reading
from langladder.text.pair_files import aligned_report, laid_out
from langladder.text.shards import SHARDED
from langladder.text.sources import Documents, FileSource, ParallelSource, TextSource, files_of, format_of
from langladder.text.tables import PAIRS, ROWS_PER_GROUP, TABLES, TEXT, write_batches

ROWS_AT_ONCE = 4096  # of a Parquet file, whose rows may be far larger in memory than in the file


class Record(NamedTuple):
    """One line of a text file, or one jsonl or parquet row (whose text may have several lines)."""

    file: str
    text: str


def read_text(source: TextSource, out_folder: Path) -> dict[str, Any]:
    """Read a corpus into tables of `out_folder`: train, validation, test, or all.

    Returns:
        Counts of lines and documents by split, files read, and what was put right in reading them.

    Raises:
        InputError: missing path, empty glob, or any file that is not what it should be.
    """
    facts = FileFacts()

    def records(files: list[File]) -> Iterator[Record]:
        for file in files:
            for text in _values(file, source, [source.field], facts):
                yield Record(str(file), text[0])

    splits = {split: records(files) for split, files in files_of(source, source.files).items()}
    report = {"splits": write_raw_text(splits, source, source.path, out_folder), **facts.report()}
    return report | skipped(located(source.path), facts.read, source.endings)


def read_parallel(source: ParallelSource, out_folder: Path) -> dict[str, Any]:
    """Read a parallel corpus into `out_folder`; otherwise as `read_text`.

    Raises:
        InputError: as `read_text`; also a line with too few columns, or two files of different length.
    """
    facts = FileFacts()
    splits = {split: _pairs(files, split, source, facts) for split, files in files_of(source, source.files).items()}
    report = {"splits": write_raw_pairs(splits, source.swap, source.path, out_folder), **facts.report()}
    return report | aligned_report(facts.read, source) | skipped(located(source.path), facts.read, source.endings)


def write_raw_text(
    splits: dict[str, Iterator[Record]], rule: Documents, origin: str, out_folder: Path
) -> dict[str, dict[str, int]]:
    """Number the documents of each split's records and write its table, the folder as a whole or not at all."""
    counts: dict[str, dict[str, int]] = {}
    with atomic_folder(out_folder, SHARDED) as folder:
        for split, records in splits.items():
            counts[split] = {"documents": 0, "lines": 0}
            tables = _text_tables(number_documents(records, rule), counts[split])
            if write_batches(folder / split, TEXT, tables) == 0:
                raise InputError(f"{origin}: split {split!r} holds only blank lines; there is no text to learn from")
    return counts


def _text_tables(lines: Iterator[tuple[int, str]], counts: dict[str, int]) -> Iterator[pa.Table]:
    while rows := list(islice(lines, ROWS_PER_GROUP)):
        documents, texts = zip(*rows, strict=True)
        counts["documents"] = documents[-1] + 1
        counts["lines"] += len(rows)
        yield pa.table([documents, texts, pa.nulls(len(rows), pa.float64())], schema=TEXT)


def write_raw_pairs(
    splits: dict[str, Iterator[tuple[str, str]]], swap: bool, origin: str, out_folder: Path
) -> dict[str, dict[str, int]]:
    """Write each split's pairs, the folder as a whole or not at all; pairs with a blank side are left out."""
    counts: dict[str, dict[str, int]] = {}
    with atomic_folder(out_folder, TABLES) as folder:
        for split, pairs in splits.items():
            counts[split] = {"pairs": 0, "blank_pairs": 0}
            if write_batches(folder / f"{split}.parquet", PAIRS, _pair_tables(pairs, swap, counts[split])) == 0:
                raise InputError(f"{origin}: split {split!r} has no pair with text on both sides")
    return counts


def _pair_tables(pairs: Iterator[tuple[str, str]], swap: bool, counts: dict[str, int]) -> Iterator[pa.Table]:
    while rows := list(islice(pairs, ROWS_PER_GROUP)):
        sides = [(" ".join(one.splitlines()).strip(), " ".join(two.splitlines()).strip()) for one, two in rows]
        full = [pair[::-1] if swap else pair for pair in sides if all(pair)]
        counts["pairs"] += len(full)
        counts["blank_pairs"] += len(rows) - len(full)
        yield pa.table([[pair[0] for pair in full], [pair[1] for pair in full]], schema=PAIRS)


def number_documents(records: Iterable[Record], rule: Documents) -> Iterator[tuple[int, str]]:
    """(document number, line) for every line that is not blank."""
    heading = re.compile(rule.heading) if rule.heading is not None else None
    number, file, opens = -1, None, True
    for record in records:
        opens |= rule.documents == "record" or record.file != file
        file = record.file
        text = record.text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in record.text else record.text
        for line in map(str.strip, text.split("\n")):
            if not line:
                opens |= rule.documents == "blank_line"
                continue
            if opens or rule.documents == "line" or (heading is not None and heading.fullmatch(line)):
                number += 1
                opens = False
            yield number, line


def _values(file: File, source: FileSource, fields: list[str], facts: FileFacts) -> Iterator[list[str]]:
    """The wanted fields of every record of one file; of a text file, the line itself."""
    kind = format_of(file, source.format)
    if kind == "parquet":
        yield from _parquet_values(file, fields, facts)
        return
    lines = read_lines(file, facts, source.max_line_bytes)
    if kind == "txt":
        yield from ([line] for line in lines)
        return
    for number, line in enumerate(lines, start=1):
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
    for name in [field] if isinstance(row, dict) and field in row else field.split("."):
        if not isinstance(value, dict) or name not in value:
            have = ", ".join(sorted(row)) if isinstance(row, dict) else f"no fields: it is a {type(row).__name__}"
            raise InputError(f"{where}: has no field {field!r}; it has {have[:200]}")
        value = value[name]
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
    """The rows of a Parquet file with their numbers from 1, each with the columns of `fields` that there are.

    Raises:
        InputError: it is no Parquet file, or has no rows.
    """
    facts.begin(file)
    with reading(file) as handle:
        try:
            table = pq.ParquetFile(pa.PythonFile(handle, mode="r"))
            columns = list(dict.fromkeys(field.split(".")[0] for field in fields))
            row = 0
            known = [column for column in columns if column in table.schema_arrow.names]
            for batch in table.iter_batches(batch_size=ROWS_AT_ONCE, columns=known):
                for value in batch.to_pylist():
                    row += 1
                    yield row, value
        except (pa.ArrowException, EOFError, OSError, OverflowError, UnicodeDecodeError, zlib.error) as error:
            raise InputError(f"{file}: not a Parquet file ({str(error)[:200]})") from error
        if row == 0:
            raise InputError(f"{file}: the file is empty; give a file with text, or take it out of `files`")


def _pairs(files: list[File], split: str, source: ParallelSource, facts: FileFacts) -> Iterator[tuple[str, str]]:
    if source.target_files is not None:
        targets = files_of(source, source.target_files)[split]
        if len(files) != len(targets):
            raise InputError(f"split {split!r}: {len(files)} source files but {len(targets)} target files")
        for one, two in zip(files, targets, strict=True):
            yield from _two_files(one, two, source, facts)
        return
    if source.layout != "auto":
        yield from (pair for file in files for pair in _one_file(file, source.layout, source, facts))
        return
    for file, other in laid_out(files, source):
        if other is not None:
            yield from _two_files(file, other, source, facts)
        else:
            layout = "columns" if format_of(file, source.format) == "txt" else "fields"
            yield from _one_file(file, layout, source, facts)


def _one_file(file: File, layout: str, source: ParallelSource, facts: FileFacts) -> Iterator[tuple[str, str]]:
    fields = source.fields if layout == "fields" else []
    if layout == "fields" and format_of(file, source.format) == "txt":
        raise InputError(f"{file}: layout 'fields' reads jsonl or parquet, not text; set layout or format")
    for number, values in enumerate(_values(file, source, fields, facts), start=1):
        if layout == "fields":
            yield values[0], values[1]
        elif values[0].strip():
            yield _columns(file, number, values[0], source.columns)


def _columns(file: File, number: int, line: str, columns: list[int]) -> tuple[str, str]:
    cells = line.split("\t")
    if max(columns) >= len(cells):
        raise InputError(
            f"{file}:{number}: {len(cells)} tab-separated column(s), but columns: {columns} are wanted; a pair a line, "
            "source TAB target (conf/parallel)"
        )
    return cells[columns[0]], cells[columns[1]]


def _two_files(one: File, two: File, source: ParallelSource, facts: FileFacts) -> Iterator[tuple[str, str]]:
    sources = (values[0] for values in _values(one, source, source.fields[:1], facts))
    targets = (values[0] for values in _values(two, source, source.fields[1:], facts))
    lines = [0, 0]
    for left, right in zip_longest(sources, targets):
        lines[0] += left is not None
        lines[1] += right is not None
        if lines[0] == lines[1]:
            yield left, right
    if lines[0] != lines[1]:
        raise InputError(f"{one}: {lines[0]:,} lines, but {two}: {lines[1]:,}; line i must translate line i")
