"""Sentence pairs: the files that hold them, and their raw tables with one pair per row.

columns     source TAB target                 two_files   line i of one file translates line i of the other
fields      {"source": …, "target": …}        auto        by the files' names (`pair_files`)
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import ClassVar, Literal, Self

import pyarrow as pa
from pydantic import Field, model_validator

from langladder.ground.atomic import atomic_folder
from langladder.ground.errors import InputError
from langladder.ground.remote import File, in_order, located
from langladder.text.read.files import (
    TEXT_ENDINGS,
    FileSource,
    check_splits,
    ending,
    files_of,
    format_of,
    language,
    skipped,
    values_of,
)
from langladder.text.read.lines import FileFacts, ReadReport
from langladder.text.storage.shards import pieces
from langladder.text.storage.tables import PAIRS, TABLES, write_batches

Layout = Literal["auto", "columns", "two_files", "fields"]
PAIR_ENDINGS = ("tsv", *TEXT_ENDINGS)


class ParallelSource(FileSource):
    """A parallel corpus in files, one pair a line."""

    endings: ClassVar[tuple[str, ...]] = PAIR_ENDINGS

    # columns: tab-separated columns of one file; two_files: line i of one file translates line i of another;
    # fields: two fields of a jsonl row or two columns of a parquet file; auto: by the file names, see `pair_files`.
    layout: Layout = "columns"
    # for auto: endings of the aligned files, source and target; null: the only two that exist, in alphabetical order
    languages: list[str] | None = Field(default=None, min_length=2, max_length=2)
    columns: list[int] = Field(default=[0, 1], min_length=2, max_length=2)
    fields: list[str] = Field(default=["source", "target"], min_length=2, max_length=2)
    target_files: str | dict[str, str] | None = None  # for two_files: globs of the target side, keys as in `files`
    swap: bool = False  # translate in the other direction

    @model_validator(mode="after")
    def _layout_is_complete(self) -> Self:
        if min(self.columns) < 0 or self.columns[0] == self.columns[1]:
            raise ValueError(f"columns: {self.columns}; two different column numbers from 0 are needed")
        if self.fields[0] == self.fields[1]:
            raise ValueError(f"fields: {self.fields}; two different fields are needed")
        if (self.layout == "two_files") != (self.target_files is not None):
            raise ValueError(
                f"layout: {self.layout!r} with target_files: {self.target_files!r}; give target_files exactly when "
                "layout is 'two_files'"
            )
        if self.languages is not None and (self.layout != "auto" or self.languages[0] == self.languages[1]):
            raise ValueError(
                f"languages: {self.languages} with layout: {self.layout!r}; give two endings, and layout: auto"
            )
        if self.target_files is not None:
            check_splits("target_files", self.target_files)
            if _keys(self.files) != _keys(self.target_files):
                raise ValueError(f"target_files: splits {_keys(self.target_files)}, but files: {_keys(self.files)}")
        return self


def _keys(files: str | dict[str, str]) -> list[str]:
    return sorted(files) if isinstance(files, dict) else ["all"]


# ---- which files hold pairs


def pair_files(files: list[File], source: ParallelSource) -> list[tuple[File, File | None]]:
    """Files that hold sentence pairs (layout: auto), in order: (file, None), or the two aligned files.

    x.tsv, x.txt         columns: source TAB target
    x.jsonl, x.parquet   fields of a row
    x.en and x.fr        line i of one translates line i of the other; also x.en.txt and x.fr.txt

    A file in one language without its counterpart is left out.

    Raises:
        InputError: there are none, or files of one name in more than two languages without `languages`.
    """
    if located(source.path).is_file():
        return [(file, None) for file in files]
    by_name: dict[str, dict[str, File]] = defaultdict(dict)
    for file in files:
        if code := language(file):
            name = file.name.removesuffix(".gz").removesuffix(".txt")
            by_name[f"{file.parent}/{name.rpartition('.')[0]}"][code] = file
    aligned = [two for them in by_name.values() if (two := _aligned(them, source.languages))]
    used = {file for two in aligned for file in two}
    single = [file for file in files if ending(file) in PAIR_ENDINGS and file not in used]
    results = [*aligned, *((file, None) for file in single)]
    if not results:
        names = ", ".join(file.name for file in files[:5])
        raise InputError(
            f"layout: auto finds no sentence pairs in {names}; two aligned files have one name and their languages as "
            "endings (x.en, x.fr), or set layout (conf/parallel)"
        )
    return sorted(results, key=lambda pair: pair[0].parts)


def _aligned(files: dict[str, File], languages: list[str] | None) -> tuple[File, File] | None:
    """The files of source and target, None if one is missing."""
    if languages is None and len(files) > 2:
        raise InputError(
            f"{next(iter(files.values())).parent}: files of one name in {len(files)} languages ({', '.join(files)}); "
            "say which two: languages: [source, target] (conf/parallel)"
        )
    first, two = languages or (sorted(files) if len(files) == 2 else ("", ""))
    return (files[first], files[two]) if first in files and two in files else None


def aligned_report(read: set[File], source: ParallelSource) -> ReadReport:
    """The files that were read as source and target, for the data report; {} if none are aligned."""
    if source.layout != "auto" or located(source.path).is_file() or not read:
        return {}
    pairs = [(file.name, two.name) for file, two in pair_files(in_order(read), source) if two is not None]
    pairs = [pair[::-1] if source.swap else pair for pair in pairs]
    return {"aligned": [f"{first} → {two}" for first, two in pairs[:20]]} if pairs else {}


# ---- reading


def read_parallel(source: ParallelSource, out_folder: Path) -> ReadReport:
    """Read a parallel corpus into `out_folder`; otherwise as `read_text`.

    Raises:
        InputError: as `read_text`; also a line with too few columns, or two files of different length.
    """
    facts = FileFacts()
    splits = {split: _pairs(files, split, source, facts) for split, files in files_of(source, source.files).items()}
    counts = write_raw_pairs(splits, source.swap, source.path, out_folder, facts)
    return {
        "splits": counts,
        **facts.report(),
        **aligned_report(facts.read, source),
        **skipped(located(source.path), facts, source.endings),
    }


def write_raw_pairs(
    splits: dict[str, Iterator[tuple[str, str]]], swap: bool, origin: str, out_folder: Path, facts: FileFacts
) -> dict[str, dict[str, int]]:
    """Write the tables of splits that are given as pairs; pairs with a blank side are dropped and counted."""
    counts: dict[str, dict[str, int]] = {}
    with atomic_folder(out_folder, TABLES) as folder:
        for split, pairs in splits.items():
            counts[split] = {"pairs": 0, "blank_pairs": 0}
            if write_batches(folder / f"{split}.parquet", PAIRS, _pair_tables(pairs, swap, counts[split])) == 0:
                raise InputError(f"{origin}: split {split!r} has no pair with text on both sides{facts.no_text()}")
    return counts


def _pair_tables(pairs: Iterator[tuple[str, str]], swap: bool, counts: dict[str, int]) -> Iterator[pa.Table]:
    for rows in pieces(pairs, lambda pair: len(pair[0]) + len(pair[1])):
        sides = [(" ".join(first.splitlines()).strip(), " ".join(two.splitlines()).strip()) for first, two in rows]
        full = [pair[::-1] if swap else pair for pair in sides if all(pair)]
        counts["pairs"] += len(full)
        counts["blank_pairs"] += len(rows) - len(full)
        yield pa.table([[pair[0] for pair in full], [pair[1] for pair in full]], schema=PAIRS)


def _pairs(files: list[File], split: str, source: ParallelSource, facts: FileFacts) -> Iterator[tuple[str, str]]:
    if source.target_files is not None:
        targets = files_of(source, source.target_files)[split]
        if len(files) != len(targets):
            raise InputError(f"split {split!r}: {len(files)} source files but {len(targets)} target files")
        for entry, two in zip(files, targets, strict=True):
            yield from _two_files(entry, two, source, facts)
        return
    if source.layout != "auto":
        yield from (pair for file in files for pair in _one_file(file, source.layout, source, facts))
        return
    for file, other in pair_files(files, source):
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
    for number, row in enumerate(values_of(file, source, fields, facts), start=1):
        if layout == "fields":
            yield row[0], row[1]
        elif row[0].strip():
            yield _columns(file, number, row[0], source.columns)


def _columns(file: File, number: int, line: str, columns: list[int]) -> tuple[str, str]:
    cells = line.split("\t")
    if max(columns) >= len(cells):
        raise InputError(
            f"{file}:{number}: {len(cells)} tab-separated column(s), but columns {columns} are needed; one pair per "
            "line, source TAB target (conf/parallel)"
        )
    return cells[columns[0]], cells[columns[1]]


def _two_files(file: File, two: File, source: ParallelSource, facts: FileFacts) -> Iterator[tuple[str, str]]:
    sources = (text for (text,) in values_of(file, source, source.fields[:1], facts))
    targets = (text for (text,) in values_of(two, source, source.fields[1:], facts))
    lines = [0, 0]
    for left, right in zip_longest(sources, targets):
        lines[0] += left is not None
        lines[1] += right is not None
        if lines[0] == lines[1]:
            yield left, right
    if lines[0] != lines[1]:
        raise InputError(
            f"{file} has {lines[0]:,} lines, but {two} has {lines[1]:,}; each line of one must translate the "
            "same line of the other"
        )
