"""Readers: from text files in their many layouts to raw tables, one line of text a row.

`read_text` and `read_parallel` stream, so a corpus may be larger than memory, and write the raw folder as a whole:
when any file is bad, nothing is written. Blank lines are dropped; outer white space is taken off each line.
"""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa

from langladder.atomic import atomic_folder
from langladder.engine.base import current
from langladder.errors import InputError
from langladder.remote import File, located
from langladder.text.read.chosen_files import skipped
from langladder.text.read.file_parts import parts_of, row_tables, rows_in_order
from langladder.text.read.lines import FileFacts
from langladder.text.read.pair_files import aligned_report, laid_out
from langladder.text.read.records import Numbering, Record, values_of
from langladder.text.read.sources import Documents, ParallelSource, TextSource, files_of, format_of
from langladder.text.storage.shards import SHARDED
from langladder.text.storage.tables import PAIRS, TABLES, TEXT, pieces, write_batches


def read_text(source: TextSource, out_folder: Path) -> dict[str, Any]:
    """Read a corpus into tables of `out_folder`: train, validation, test, or all; its parts on the current engine.

    Returns:
        Counts of lines and documents by split, files read, and what was put right in reading them.

    Raises:
        InputError: missing path, empty glob, or any file that is not what it should be.
    """
    facts = FileFacts()
    files = files_of(source, source.files)
    with atomic_folder(out_folder, SHARDED) as folder:
        (folder / "work").mkdir()
        parts = {split: parts_of(files[split], source, folder / "work" / split) for split in files}
        tables = {split: rows_in_order(parts[split], current(), facts) for split in files}
        report = {"splits": _write_splits(tables, source.path, folder, facts), **facts.report()}
        (folder / "work").rmdir()
    return report | skipped(located(source.path), facts, source.endings)


def read_parallel(source: ParallelSource, out_folder: Path) -> dict[str, Any]:
    """Read a parallel corpus into `out_folder`; otherwise as `read_text`.

    Raises:
        InputError: as `read_text`; also a line with too few columns, or two files of different length.
    """
    facts = FileFacts()
    splits = {split: _pairs(files, split, source, facts) for split, files in files_of(source, source.files).items()}
    report = {"splits": write_raw_pairs(splits, source.swap, source.path, out_folder, facts), **facts.report()}
    return report | aligned_report(facts.read, source) | skipped(located(source.path), facts, source.endings)


def write_raw_text(
    splits: dict[str, Iterator[Record]], rule: Documents, origin: str, out_folder: Path
) -> dict[str, dict[str, int]]:
    """Number the documents of each split's records and write its table, the folder as a whole or not at all."""
    with atomic_folder(out_folder, SHARDED) as folder:
        tables = {split: row_tables(Numbering(rule).lines(records)) for split, records in splits.items()}
        return _write_splits(tables, origin, folder, FileFacts())


def _write_splits(
    splits: dict[str, Iterator[pa.Table]], origin: str, folder: Path, facts: FileFacts
) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for split, tables in splits.items():
        counts[split] = {"documents": 0, "lines": 0}
        if write_batches(folder / split, TEXT, _counted(tables, counts[split])) == 0:
            held = f"only blank lines or empty files{facts.no_text()}"
            raise InputError(f"{origin}: split {split!r} holds {held}; there is no text to learn from")
    return counts


def _counted(tables: Iterator[pa.Table], counts: dict[str, int]) -> Iterator[pa.Table]:
    for table in tables:
        counts["documents"] = table.column("document")[-1].as_py() + 1
        counts["lines"] += table.num_rows
        yield table


def write_raw_pairs(
    splits: dict[str, Iterator[tuple[str, str]]], swap: bool, origin: str, out_folder: Path, facts: FileFacts
) -> dict[str, dict[str, int]]:
    """Write each split's pairs, the folder as a whole or not at all; pairs with a blank side are left out."""
    counts: dict[str, dict[str, int]] = {}
    with atomic_folder(out_folder, TABLES) as folder:
        for split, pairs in splits.items():
            counts[split] = {"pairs": 0, "blank_pairs": 0}
            if write_batches(folder / f"{split}.parquet", PAIRS, _pair_tables(pairs, swap, counts[split])) == 0:
                raise InputError(f"{origin}: split {split!r} has no pair with text on both sides{facts.no_text()}")
    return counts


def _pair_tables(pairs: Iterator[tuple[str, str]], swap: bool, counts: dict[str, int]) -> Iterator[pa.Table]:
    for rows in pieces(pairs, lambda pair: len(pair[0]) + len(pair[1])):
        sides = [(" ".join(one.splitlines()).strip(), " ".join(two.splitlines()).strip()) for one, two in rows]
        full = [pair[::-1] if swap else pair for pair in sides if all(pair)]
        counts["pairs"] += len(full)
        counts["blank_pairs"] += len(rows) - len(full)
        yield pa.table([[pair[0] for pair in full], [pair[1] for pair in full]], schema=PAIRS)


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
    fields, kind = source.fields if layout == "fields" else [], format_of(file, source.format)
    if (layout == "fields") == (kind == "txt"):
        reads, is_ = ("jsonl or parquet", "text") if layout == "fields" else ("tab-separated text", kind)
        raise InputError(
            f"{file}: layout {layout!r} reads {reads}, but this is {is_}; set layout (auto goes by the name) or format "
            "(conf/parallel)"
        )
    for number, values in enumerate(values_of(file, source, fields, facts), start=1):
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
    sources = (values[0] for values in values_of(one, source, source.fields[:1], facts))
    targets = (values[0] for values in values_of(two, source, source.fields[1:], facts))
    lines = [0, 0]
    for left, right in zip_longest(sources, targets):
        lines[0] += left is not None
        lines[1] += right is not None
        if lines[0] == lines[1]:
            yield left, right
    if lines[0] != lines[1]:
        raise InputError(f"{one}: {lines[0]:,} lines, but {two}: {lines[1]:,}; line i must translate line i")
