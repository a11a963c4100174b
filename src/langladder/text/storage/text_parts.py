"""Text in parts, joined into shards: workers write the parts and the shards, the driver decides where shards end.

    part: rows, documents numbered from 0 ─┬─ table and size of each document ─ write_tables → shards of each table
    part: rows, documents numbered from 0 ─┘

The readers and the cleaning both write their text this way. The driver holds a few bytes of each document, no text.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from langladder.engine.base import Engine
from langladder.ground.artefacts import map_arrays, write_arrays
from langladder.ground.atomic import atomic_file
from langladder.text.storage import shards
from langladder.text.storage.shards import (
    TEXT,
    ShardWriter,
    finish_table,
    numbers,
    read_shard,
    shard_ends,
    shard_files,
    texts,
    truths,
    values,
)

LINES = 4096  # that are in memory at a time
Row = tuple[int, str, float | None]
"""Document, text, log-probability: a row of `TEXT`."""


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a part or a shard."""
    for batch in read_shard(path, TEXT, LINES):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write the rows of a part, atomically."""
    iterator = iter(rows)
    with atomic_file(path) as temporary, pa.ipc.new_stream(str(temporary), TEXT) as stream:
        while some := list(islice(iterator, LINES)):
            documents, lines, log_probs = zip(*some, strict=True)
            known = np.array([log_prob is not None for log_prob in log_probs])
            found = np.array([0.0 if log_prob is None else log_prob for log_prob in log_probs])
            columns = [numbers(np.array(documents, dtype=np.int64)), texts(lines), numbers(found, known)]
            stream.write_batch(pa.record_batch(columns, schema=TEXT))


class TextPart(NamedTuple):
    """A part of a corpus: a file of rows whose documents are numbered from 0.

    Attributes:
        rows: the file.
        first: the number of its document 0 in the corpus. This may be the last document of the part before.
        documents: how many it has.
    """

    rows: Path
    first: int
    documents: int


class ShardPlan(NamedTuple):
    """A shard, to be written from parts.

    Attributes:
        folder: of a table with this shard alone.
        table: the number of the shard's table.
        documents: the first in the corpus, and the one after the last; those of this table are the shard's.
        number: of its first document in the table.
        parts: with these documents.
        limits: as in `ShardWriter`.
    """

    folder: Path
    table: int
    documents: tuple[int, int]
    number: int
    parts: Sequence[TextPart]
    limits: tuple[int, int]


def write_tables(
    folder: Path,
    names: Sequence[str],
    parts: Sequence[TextPart],
    table_of: np.ndarray,
    sizes: np.ndarray,
    scratch: Path,
    engine: Engine,
) -> None:
    """Write tables of a corpus of D documents into a folder.

    Args:
        folder: of the tables.
        names: of the tables, each with at least one document.
        parts: of the corpus, in its order.
        table_of: (D,) int8, for each document the position of its table in `names`; -1: the document is left out.
        sizes: (D,) int64, bytes of text of each document.
        scratch: a folder that all workers see.
    """
    plans = plan_shards(len(names), parts, table_of, sizes, scratch)
    write_arrays(scratch / "tables.safetensors", {"tables": table_of})
    digests = list(engine.map(partial(write_shard, tables=scratch / "tables.safetensors"), plans, "writing"))
    for table, name in enumerate(names):
        own = [number for number, plan in enumerate(plans) if plan.table == table]
        files = [shard_files(plans[number].folder)[0] for number in own]
        finish_table(folder / name, TEXT, name, files, [digests[number] for number in own])
    shards.write_dictionary(folder)


def plan_shards(
    tables: int, parts: Sequence[TextPart], table_of: np.ndarray, sizes: np.ndarray, scratch: Path
) -> list[ShardPlan]:
    """The shards of all tables; arguments as in `write_tables`, `tables`: how many there are."""
    firsts = np.array([part.first for part in parts])
    stops = firsts + [part.documents for part in parts]
    limits, plans = (shards.SHARD_BYTES, shards.ROWS), list[ShardPlan]()
    for table in range(tables):
        documents, begin = np.flatnonzero(table_of == table), 0
        for end in shard_ends(sizes[documents]):
            first, last = int(documents[begin]), int(documents[end - 1])
            low = int(np.searchsorted(stops, first, side="right"))  # the first part with document `first`
            high = int(np.searchsorted(firsts, last, side="right"))  # after the last part with document `last`
            shard = scratch / f"shard-{len(plans):06d}"
            plans.append(ShardPlan(shard, table, (first, last + 1), begin, parts[low:high], limits))
            begin = end
    return plans


def write_shard(plan: ShardPlan, tables: Path) -> bytes:
    """Write one shard.

    Args:
        tables: file of the table of each document of the corpus.

    Returns:
        The digest of the shard's file.
    """
    first, stop = plan.documents
    table_of = map_arrays(tables)["tables"]
    renumbered = plan.number - 1 + np.cumsum(table_of[first:stop] == plan.table)
    with ShardWriter(plan.folder, TEXT, plan.folder.name, plan.limits) as writer:
        for part in plan.parts:
            for batch in read_shard(part.rows, TEXT):
                documents = values(batch.column("document")) + part.first
                stay = (table_of[documents] == plan.table) & (documents >= first) & (documents < stop)
                kept = batch.filter(truths(stay))
                writer.add(kept.set_column(0, "document", numbers(renumbered[documents[stay] - first])))
    return writer.digests[0]
