"""Read text files and files of sentence pairs into raw tables with one line of text, or one pair, per row.

    files → parts ─ read_part ─ files of lines ─ document numbers ─ write_tables → shards
                    of each                      of the corpus

A part is about PART_BYTES of text: several small files, or a piece of a large plain file; a line belongs to the part in
which it begins. Files that are gzipped, Parquet, UTF-16 or behind a URL are not cut. So a corpus may be larger than
memory. The raw folder is written as a whole: if any file is bad, nothing is written. Blank lines are dropped; white
space around lines is removed.

Where lines are paragraphs, sentences are found by their marks. Marks that some scripts have of their own (。 ؟ । ። །
and their like) end a sentence wherever they stand, together with the closing quotes and brackets behind them. The marks
. ! ? … and, behind a Greek letter, ; end one only before white space and a capital letter, or a letter of a script
without capitals. A full stop does not after a single capital (J. Smith), a number of one or two digits (German: am 3.
Oktober), an abbreviation with inner dots (e.g., U.S.) or one of ABBREVIATIONS. Text that has no such marks, as most of
Thai, stays whole. No model is trained (unlike Kiss & Strunk 2006), so a
sentence that ends with an abbreviation goes on.
"""

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import regex  # type: ignore[import-untyped]

from langladder.engine.base import current
from langladder.ground.artefacts import map_arrays, write_arrays
from langladder.ground.atomic import atomic_file, atomic_folder
from langladder.ground.errors import InputError
from langladder.ground.remote import File, located
from langladder.text.read.lines import (
    GZIP,
    WHOLE,
    WIDE,
    FileFacts,
    Span,
    json_row,
    number_at,
    parquet_rows,
    read_lines,
    text_field,
)
from langladder.text.read.sources import (
    Documents,
    FileSource,
    ParallelSource,
    TextSource,
    aligned_report,
    files_of,
    format_of,
    pair_files,
    skipped,
)
from langladder.text.storage.shards import SHARDED, TEXT, TextPart, numbers, texts, values, write_tables
from langladder.text.storage.tables import PAIRS, TABLES, pieces, write_batches

# ---- sentences


ABBREVIATIONS = (
    *("Mr", "Mrs", "Ms", "Messrs", "Dr", "Prof", "Rev", "Hon", "Gen", "Col", "Capt", "Lt", "Sgt", "Gov", "Sen", "Rep"),
    *("St", "Mt", "Mme", "Mlle", "Sr", "Sra", "Srta", "Dra", "Ud", "Uds", "Sig", "Dott", "Hr", "Fr", "Frl", "Dipl"),
    *("Ing", "Dhr", "Mevr", "vs", "cf", "ca", "approx", "bzw", "vgl", "sog"),
)
"""Those that names and other capitals follow; what is before numbers (No. 5) needs no entry."""
LONGEST = 30  # characters of an abbreviation
_OWN = "。｡！？؟۔।॥።፧፨။។៕།༎։"  # not ၊: a comma
_FIRST = r"[\p{Lu}\p{Lt}\p{Lo}\p{Georgian}]"  # of a sentence; Georgian writes no capitals there
_GREEK = r"(?<=\p{Greek}\p{M}*[»”]?)[;\u037E]"  # its question mark; its semicolon is ·
_MARKS = regex.compile(
    rf"""(?P<own>[{_OWN}](?:[{_OWN}.!?…]|\s+[།༎])*+[\p{{Pe}}\p{{Pf}}]*+)
    |(?:[.!?…]|{_GREEK})++["'\p{{Pe}}\p{{Pf}}\p{{Pi}}]*+(?:\s»(?=\s))?
     (?=\s+(?:["'\p{{Pi}}\p{{Pf}}\p{{Ps}}¿¡]\s?)*(?:[–—]\s*)?{_FIRST})""",
    regex.VERBOSE,
)
_LAST_WORD = regex.compile(r"(?:[\p{L}\p{M}\p{N}]+\.)*[\p{L}\p{M}\p{N}]+$")
_GOES_ON = regex.compile(r"\p{Lu}\p{M}*|\d{1,2}|(?:\p{L}{1,3}\.)+\p{L}{1,3}")
_QUOTED = regex.compile(r"""[」』”"]\p{Hiragana}""")  # 「行く。」と言った。 is one sentence


def split_sentences(line: str) -> list[str]:
    """The sentences of one line, without white space around them; none of a blank line.

    >>> split_sentences("Dr. Smith left at 5 p.m. today. 他走了。“你好！”")
    ['Dr. Smith left at 5 p.m. today.', '他走了。', '“你好！”']
    """
    found, start = list[str](), 0
    for marks in _MARKS.finditer(line):
        end = marks.end()
        if marks["own"]:
            if line[end : end + 1] == '"' and line.count('"', start, end) % 2:  # it closes what was opened before
                end += 1
            if _QUOTED.match(line, end - 1):
                continue
        elif marks[0] == "." and _is_abbreviation(line[max(start, marks.start() - LONGEST) : marks.start()]):
            continue
        if sentence := line[start:end].strip():
            found.append(sentence)
        start = end
    rest = line[start:].strip()
    return [*found, rest] if rest else found


def _is_abbreviation(before: str) -> bool:
    """Whether the full stop behind some text belongs to its last word."""
    word = _LAST_WORD.search(before)
    return word is not None and (word[0] in ABBREVIATIONS or _GOES_ON.fullmatch(word[0]) is not None)


# ---- corpora of text


PART_BYTES = 16 * 2**20  # of a part, about


class FileSpan(NamedTuple):
    """A file, or a part of one."""

    file: File
    span: Span = WHOLE


@dataclass(frozen=True)
class FilePart:
    """Pieces that are read in one call; `stem`: of the files that their lines are written to."""

    pieces: tuple[FileSpan, ...]
    source: TextSource
    stem: Path


class LineFile(NamedTuple):
    """Lines on disk: a file of rows whose documents are numbered from 0.

    Attributes:
        rows: the file. Beside it stands the size of each document (`_sizes_file`).
        documents, lines: how many; 0: there is no file.
        opens: whether the first line is the first of a document; else it continues the last document before.
        opens_next: whether the next line, whatever file it is in, is the first of a document.
    """

    rows: Path
    documents: int
    lines: int
    opens: bool
    opens_next: bool


def read_text(source: TextSource, out_folder: Path) -> dict[str, Any]:
    """Read a corpus into tables of `out_folder`: train, validation, test, or all.

    Returns:
        Numbers of lines and documents by split, the files that were read or skipped, and what was corrected in them.

    Raises:
        InputError: the path is missing, a glob matches nothing, or a file is bad.
    """
    facts = FileFacts()
    files = files_of(source, source.files)
    with atomic_folder(out_folder, SHARDED) as folder:
        splits = {split: _read_split(files[split], source, folder / "work" / split, facts) for split in files}
        report = {"splits": _write_text(splits, source.path, folder, facts), **facts.report()}
    return report | skipped(located(source.path), facts, source.endings)


def write_raw_text(
    splits: dict[str, Iterator[str]], rule: Documents, origin: str, out_folder: Path
) -> dict[str, dict[str, int]]:
    """Write the tables of splits that are given as texts; returns the numbers of their documents and lines."""
    with atomic_folder(out_folder, SHARDED) as folder:
        stems = {split: folder / "work" / split for split in splits}
        files = {split: write_lines(document_lines([splits[split]], rule), stems[split]) for split in splits}
        return _write_text(files, origin, folder, FileFacts())


def _write_text(
    splits: dict[str, Iterator[LineFile]], origin: str, folder: Path, facts: FileFacts
) -> dict[str, dict[str, int]]:
    """Write the tables of a corpus whose lines are written to files in `folder`/work, which is removed.

    Returns:
        Numbers of documents and lines by split.

    Raises:
        InputError: a split has no line.
    """
    counts, parts, documents = dict[str, dict[str, int]](), list[TextPart](), 0
    scratch = folder / "work"
    scratch.mkdir()
    for split, files in splits.items():
        before, lines, opens = documents, 0, True
        for file in files:
            if file.lines:
                first = documents if opens or file.opens else documents - 1
                parts.append(TextPart(file.rows, first, file.documents))
                documents, lines = first + file.documents, lines + file.lines
                opens = False
            opens |= file.opens_next
        if not lines:
            reason = f"only blank lines or empty files{facts.no_text()}"
            raise InputError(f"{origin}: split {split!r} holds {reason}; there is no text to learn from")
        counts[split] = {"documents": documents - before, "lines": lines}
    sizes = np.zeros(documents, dtype=np.int64)
    for part in parts:
        sizes[part.first : part.first + part.documents] += map_arrays(_sizes_file(part.rows))["sizes"]
    tables = np.arange(len(splits), dtype=np.int8)
    table_of = np.repeat(tables, [count["documents"] for count in counts.values()])
    write_tables(folder, list(splits), parts, table_of, sizes, scratch, current())
    shutil.rmtree(scratch)
    return counts


# ---- records


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


# ---- documents


def document_lines(files: Iterable[Iterable[str]], rule: Documents, opens: bool = True) -> Iterator[tuple[bool, str]]:
    """Whether each line that is not blank opens a document, and the line, or each of its sentences.

    Args:
        files: the texts of each file: lines, or rows with several lines.
        opens: whether the first file is read from its beginning.

    An empty line at the end means that the next line, whatever file it is in, opens a document.
    """
    heading = re.compile(rule.heading) if rule.heading is not None else None
    for number, file in enumerate(files):
        opens |= number > 0
        for text in file:
            opens |= rule.documents == "record"
            for line in map(str.strip, text.replace("\r\n", "\n").replace("\r", "\n").split("\n")):
                if not line:
                    opens |= rule.documents == "blank_line"
                    continue
                opens |= rule.documents == "line" or (heading is not None and bool(heading.fullmatch(line)))
                for part in split_sentences(line) if rule.sentences == "split" else [line]:
                    yield opens, part
                    opens = False
    if opens:
        yield True, ""


def write_lines(lines: Iterator[tuple[bool, str]], stem: Path) -> Iterator[LineFile]:
    """Write lines of `document_lines` to files of some megabytes of text each, named `stem`-000000.arrow and so on."""
    for number, piece in enumerate(pieces(lines, lambda line: len(line[1]))):
        rows = stem.with_name(f"{stem.name}-{number:06d}.arrow")
        opens_next = not piece[-1][1]
        if opens_next:
            piece.pop()
        if not piece:
            yield LineFile(rows, 0, 0, False, opens_next)
            continue
        opens = np.array([opens for opens, _ in piece])  # (L,) bool
        documents = np.cumsum(opens) - opens[0]  # (L,) int64, from 0
        text = texts([line for _, line in piece])
        with atomic_file(rows) as path, pa.ipc.new_stream(str(path), TEXT) as stream:
            columns = [numbers(documents), text, pa.nulls(len(piece), pa.float64())]
            stream.write_batch(pa.record_batch(columns, schema=TEXT))
        sizes = np.bincount(documents, weights=values(pc.binary_length(text))).astype(np.int64)  # (D,)
        write_arrays(_sizes_file(rows), {"sizes": sizes})
        yield LineFile(rows, len(sizes), len(piece), bool(opens[0]), opens_next)


def _sizes_file(rows: Path) -> Path:
    """The file of `sizes`, (D,) int64: the bytes of text of each document of a `LineFile`."""
    return rows.with_suffix(".safetensors")


# ---- parts


def parts_of(files: Sequence[File], source: TextSource, scratch: Path) -> list[FilePart]:
    """The files in parts, whose lines are written to the folder `scratch`."""
    groups: list[list[FileSpan]] = []
    room = -1  # bytes that the last group may still take; −1: none
    for file in files:
        size = file.stat().st_size if isinstance(file, Path) else PART_BYTES
        if isinstance(file, Path) and size > PART_BYTES and _is_plain(file, source):
            spans = [Span(start, min(start + PART_BYTES, size)) for start in range(0, size, PART_BYTES)]
            groups += [[FileSpan(file, span)] for span in spans]
            room = -1
            continue
        if size > room:
            groups.append([])
            room = PART_BYTES
        groups[-1].append(FileSpan(file))
        room -= min(size, room)
    return [FilePart(tuple(group), source, scratch / f"{number:06d}") for number, group in enumerate(groups)]


def _is_plain(file: Path, source: TextSource) -> bool:
    if format_of(file, source.format) == "parquet" or source.encoding in WIDE:
        return False
    try:
        with file.open("rb") as opened:
            return opened.read(len(GZIP)) != GZIP
    except OSError:  # the reader reports it
        return False


def read_part(part: FilePart) -> tuple[list[LineFile], FileFacts]:
    """Read the lines of a part into files.

    Raises:
        InputError: a file is bad; the message has the number of the line in the whole file.
    """
    facts, (file, span) = FileFacts(), part.pieces[0]

    def texts_of(piece: FileSpan) -> Iterator[str]:
        return (text for (text,) in values_of(piece.file, part.source, [part.source.field], facts, piece.span))

    try:
        lines = document_lines(map(texts_of, part.pieces), part.source, opens=span.start == 0)
        return list(write_lines(lines, part.stem)), facts
    except InputError:
        if span.start:  # read it again with the line numbers of the whole file
            for _ in texts_of(FileSpan(file, span._replace(number=number_at(file, span.start)))):
                pass
        raise


def _read_split(files: Sequence[File], source: TextSource, scratch: Path, facts: FileFacts) -> Iterator[LineFile]:
    """Read the files of a split into files of lines; facts are added."""
    scratch.mkdir()
    for line_files, found in current().map(read_part, parts_of(files, source, scratch), "reading files"):
        facts.add(found)
        yield from line_files


# ---- sentence pairs


def read_parallel(source: ParallelSource, out_folder: Path) -> dict[str, Any]:
    """Read a parallel corpus into `out_folder`; otherwise as `read_text`.

    Raises:
        InputError: as `read_text`; also a line with too few columns, or two files of different length.
    """
    facts = FileFacts()
    splits = {split: _pairs(files, split, source, facts) for split, files in files_of(source, source.files).items()}
    report = {"splits": write_raw_pairs(splits, source.swap, source.path, out_folder, facts), **facts.report()}
    return report | aligned_report(facts.read, source) | skipped(located(source.path), facts, source.endings)


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
    for number, found in enumerate(values_of(file, source, fields, facts), start=1):
        if layout == "fields":
            yield found[0], found[1]
        elif found[0].strip():
            yield _columns(file, number, found[0], source.columns)


def _columns(file: File, number: int, line: str, columns: list[int]) -> tuple[str, str]:
    cells = line.split("\t")
    if max(columns) >= len(cells):
        raise InputError(
            f"{file}:{number}: {len(cells)} tab-separated column(s), but columns: {columns} are wanted; a pair a line, "
            "source TAB target (conf/parallel)"
        )
    return cells[columns[0]], cells[columns[1]]


def _two_files(one: File, two: File, source: ParallelSource, facts: FileFacts) -> Iterator[tuple[str, str]]:
    sources = (text for (text,) in values_of(one, source, source.fields[:1], facts))
    targets = (text for (text,) in values_of(two, source, source.fields[1:], facts))
    lines = [0, 0]
    for left, right in zip_longest(sources, targets):
        lines[0] += left is not None
        lines[1] += right is not None
        if lines[0] == lines[1]:
            yield left, right
    if lines[0] != lines[1]:
        raise InputError(f"{one}: {lines[0]:,} lines, but {two}: {lines[1]:,}; line i must translate line i")
