"""A corpus' files in parts, which an engine reads side by side.

    files ─ parts ─┬─ records, lines, numbers of documents ─┬─ rows in order → shards
                   └─ of each part, on an engine            └─ numbered on

Large plain files are cut at so many bytes, and a line belongs to the part in which it begins; small files go together;
what is packed (gzip, Parquet), UTF-16 or behind a URL is read from its beginning. A document may go on from one part
into the next: a part's first lines then have the number −1, and whether they do belong to the document before is known
where the parts are put together, in order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from langladder.atomic import atomic_file
from langladder.engine.base import Engine
from langladder.errors import InputError
from langladder.remote import File
from langladder.text.read.encodings import WIDE
from langladder.text.read.lines import GZIP, WHOLE, FileFacts, Span, number_at
from langladder.text.read.records import Numbering, Record, values_of
from langladder.text.read.sources import TextSource, format_of
from langladder.text.storage.arrow_arrays import numbers, values
from langladder.text.storage.tables import CHARACTERS, ROWS_PER_GROUP, TEXT

PART_BYTES = 64 * 2**20  # of a part, about


class Piece(NamedTuple):
    """A file, or a part of one."""

    file: File
    span: Span = WHOLE


@dataclass(frozen=True)
class Part:
    """What is read together; `rows`: the file that its rows are written to."""

    pieces: tuple[Piece, ...]
    source: TextSource
    rows: Path


class Reading(NamedTuple):
    """What is said of a part that was read; `opens`: whether the line after it opens a document."""

    facts: FileFacts
    opens: bool


def parts_of(files: Sequence[File], source: TextSource, scratch: Path) -> list[Part]:
    """The files in parts, whose rows stand in `scratch`, a folder that is made, until they are put together."""
    scratch.mkdir()
    groups, room = list[list[Piece]](), -1  # bytes that the last group still takes; −1: nothing
    for file in files:
        size = file.stat().st_size if isinstance(file, Path) else PART_BYTES
        if isinstance(file, Path) and size > PART_BYTES and _is_plain(file, source):
            spans = [Span(start, min(start + PART_BYTES, size)) for start in range(0, size, PART_BYTES)]
            groups += [[Piece(file, span)] for span in spans]
            room = -1
            continue
        if size > room:
            groups.append([])
            room = PART_BYTES
        groups[-1].append(Piece(file))
        room -= min(size, room)
    return [Part(tuple(group), source, scratch / f"{number:06d}.arrow") for number, group in enumerate(groups)]


def _is_plain(file: Path, source: TextSource) -> bool:
    if format_of(file, source.format) == "parquet" or source.encoding in WIDE:
        return False
    try:
        with file.open("rb") as opened:
            return opened.read(len(GZIP)) != GZIP
    except OSError:  # which its reader tells
        return False


def read_part(part: Part) -> Reading:
    """Read it into its file.

    Raises:
        InputError: as the readers do, with the number of the line in the whole file.
    """
    facts, first = FileFacts(), part.pieces[0]
    numbering = Numbering(part.source, first.file if first.span.start else None)

    def records(piece: Piece) -> Iterator[Record]:
        for text in values_of(piece.file, part.source, [part.source.field], facts, piece.span):
            yield Record(str(piece.file), text[0])

    try:
        with atomic_file(part.rows) as rows, pa.ipc.new_stream(str(rows), TEXT) as stream:
            for table in row_tables(numbering.lines(record for piece in part.pieces for record in records(piece))):
                stream.write_table(table)
    except InputError:
        if not first.span.start:
            raise
        # once more, with the numbers that lines have in the file
        span = first.span._replace(number=number_at(first.file, first.span.start))
        for _ in records(Piece(first.file, span)):
            pass
        raise
    return Reading(facts, numbering.opens)


def row_tables(lines: Iterator[tuple[int, str]]) -> Iterator[pa.Table]:
    """Lines with the numbers of their documents as tables of `TEXT`, so many rows at a time."""
    documents, texts, held = list[int](), list[str](), 0
    for number, line in lines:
        documents.append(number)
        texts.append(line)
        held += len(line)
        if len(texts) == ROWS_PER_GROUP or held >= CHARACTERS:
            yield _table(documents, texts)
            documents, texts, held = [], [], 0
    if texts:
        yield _table(documents, texts)


def _table(documents: list[int], texts: list[str]) -> pa.Table:
    return pa.table([documents, texts, pa.nulls(len(texts), pa.float64())], schema=TEXT)


def rows_in_order(parts: Sequence[Part], engine: Engine, facts: FileFacts) -> Iterator[pa.Table]:
    """The rows of all parts, their documents numbered from 0; what was put right is added to `facts`."""
    last, opens = -1, False  # the number of the document before; whether the next line opens another
    for part, read in zip(parts, engine.map(read_part, parts, "reading files"), strict=True):
        facts.add(read.facts)
        shift = None
        with pa.OSFile(str(part.rows)) as file, pa.ipc.open_stream(file) as stream:
            for batch in stream:
                documents = values(batch.column("document"))
                if shift is None:  # −1: goes on with the document before, unless blank lines have closed it
                    shift = last + 1 + (opens and documents[0] < 0)
                last = int(documents[-1]) + shift
                yield pa.table([numbers(documents + np.int64(shift)), *batch.columns[1:]], schema=TEXT)
        opens = read.opens or (opens and shift is None)
        part.rows.unlink()
    parts[0].rows.parent.rmdir()
