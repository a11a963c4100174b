"""Counts of a text that do not fit into memory: parts counted one by one, written sorted, merged from disk.

1. The text is cut into parts, each counted in memory (by a worker, where the text lies in a file) and written as rows
   with ascending columns: `part-00007.bounds`, `.columns`, `.values`.
2. Rows are cut into ranges that fit into memory. Of each range the parts' rows are read and added up:
   `rows-00002.lengths`, `.columns`, `.values`.
3. The ranges behind each other are the matrix; it is mapped, not read.

Counts are whole numbers, so neither the cuts nor the workers change a bit of the result.
"""

import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix

from langladder.atomic import atomic_file
from langladder.engine.base import Engine, Serial
from langladder.errors import InputError
from langladder.memory import forget
from langladder.text.storage.corpus_ids import TokenStream

BYTES_AN_ENTRY = 64  # of rows that are merged: read, added up, written
PIECE = 1 << 22  # ids that are looked at together


class Part(NamedTuple):
    """The positions `first` … `last − 1` of a text, or so many rows of a matrix."""

    number: int
    first: int
    last: int


class Text(NamedTuple):
    """Word ids and the bounds of their lines (or documents); the path of their file, where it holds just these."""

    ids: np.ndarray  # (T,) int32
    offsets: np.ndarray  # (R + 1,) int64
    path: Path | None = None

    @property
    def whole(self) -> Part:
        """All of its positions."""
        return Part(0, int(self.offsets[0]), int(self.offsets[-1]))


class Rows(NamedTuple):
    """A matrix of whole numbers in the form of CSR, columns ascending in each row."""

    bounds: np.ndarray  # (V + 1,) int64
    columns: np.ndarray  # (E,) int32
    values: np.ndarray  # (E,) int64


Count = Callable[[Text, Part], Rows]


def check_ids(ids: np.ndarray, vocab_size: int) -> None:
    """Raise InputError for a word id that is not below `vocab_size`."""
    for begin in range(0, len(ids), PIECE):
        piece = ids[begin : begin + PIECE]
        if not (int(piece.min()) >= 0 and int(piece.max()) < vocab_size):
            raise InputError(f"word ids {ids.min()} … {ids.max()}; the vocabulary has ids 0 … {vocab_size - 1}")
        forget(piece)


def as_matrix(rows: Rows, scale: int, shape: tuple[int, int]) -> csr_matrix:
    """The counts divided by `scale` as float64 CSR. The quotients take the place of the counts."""
    quotients = rows.values.view(np.float64)
    for begin in range(0, len(quotients), PIECE):
        quotients[begin : begin + PIECE] = rows.values[begin : begin + PIECE] / scale
    return _csr(rows.bounds, rows.columns, quotients, shape)


def _csr(bounds: np.ndarray, columns: np.ndarray, values: np.ndarray, shape: tuple[int, int]) -> csr_matrix:
    """CSR whose columns ascend in each row; the arrays are not looked through, nor copied."""
    matrix = csr_matrix((values, columns, bounds), shape=shape)
    matrix.has_canonical_format = True
    return matrix


def count_spilled(
    text: Text,
    count: Count,
    shape: tuple[int, int],
    at_once: int,
    scale: int,
    engine: Engine,
    scratch: Path | None = None,
) -> csr_matrix:
    """Counts of a text in parts of `at_once` positions.

    Args:
        count: a function of a module (or a partial of one): the counts of one part, all of the matrix's rows.
        shape: of the matrix.
        scale: counts are divided by it in the end.
        scratch: folder below which files stand while this runs; None: the system's.

    Returns:
        float64 CSR, mapped from files that have no name any more.
    """
    begin, end = int(text.offsets[0]), int(text.offsets[-1])
    cuts = [*range(begin, end, at_once), end]
    parts = [Part(number, *cuts[number : number + 2]) for number in range(len(cuts) - 1)]
    with tempfile.TemporaryDirectory(dir=scratch, prefix=".counting-") as name:
        folder = Path(name)
        here, source = (Serial(), text) if text.path is None else (engine, text.path)
        for _ in here.map(partial(_write_part, count, folder, source), parts, "counting"):
            pass
        ranges = _ranges(folder, len(parts), shape[0], max(1, engine.share // BYTES_AN_ENTRY))
        merge = partial(_merge, folder, len(parts), shape[1], scale)
        lengths = [np.zeros(1, dtype=np.int64)]
        with (folder / "columns").open("wb") as columns, (folder / "values").open("wb") as values:
            for number, _ in enumerate(engine.map(merge, ranges, "merging counts")):
                lengths.append(np.fromfile(_file(folder, "rows", number, "lengths"), dtype=np.int64))
                for sink, kind in ((columns, "columns"), (values, "values")):
                    source_file = _file(folder, "rows", number, kind)
                    with source_file.open("rb") as rows:
                        shutil.copyfileobj(rows, sink, PIECE)
                    source_file.unlink()
        bounds = np.cumsum(np.concatenate(lengths))
        return _csr(bounds, _mapped(folder / "columns", np.int32), _mapped(folder / "values", np.float64), shape)


def _write_part(count: Count, folder: Path, source: Text | Path, part: Part) -> None:
    """Count one part and write it."""
    if isinstance(source, Path):
        stream = TokenStream.open(source)
        source = Text(stream.ids, stream.offsets, source)
    for kind, array in count(source, part)._asdict().items():
        _write(_file(folder, "part", part.number, kind), array)
    forget(source.ids)


def _ranges(folder: Path, parts: int, rows: int, most: int) -> list[Part]:
    """Ranges of rows that have at most so many entries in all parts together, but at least one row each."""
    entries = np.zeros(rows + 1, dtype=np.int64)
    for number in range(parts):
        entries += np.fromfile(_file(folder, "part", number, "bounds"), dtype=np.int64)
    ranges: list[Part] = []
    first = 0
    while first < rows:
        last = max(first + 1, int(np.searchsorted(entries, entries[first] + most, side="right")) - 1)
        ranges.append(Part(len(ranges), first, last))
        first = last
    return ranges


def _merge(folder: Path, parts: int, columns: int, scale: int, rows: Part) -> None:
    """Add up a range of rows of all parts, and write it."""
    row_of, found, values = [], [], []
    for number in range(parts):
        bounds = _read(folder, number, "bounds", np.int64, rows.first, rows.last + 1)
        row_of.append(np.repeat(np.arange(rows.last - rows.first, dtype=np.int32), np.diff(bounds)))
        found.append(_read(folder, number, "columns", np.int32, int(bounds[0]), int(bounds[-1])))
        values.append(_read(folder, number, "values", np.int64, int(bounds[0]), int(bounds[-1])))
    entries = np.concatenate(values), (np.concatenate(row_of), np.concatenate(found))
    del row_of, found, values
    total = coo_matrix(entries, shape=(rows.last - rows.first, columns)).tocsr()  # adds entries of the same place
    arrays: dict[str, np.ndarray] = {
        "lengths": np.diff(total.indptr).astype(np.int64),
        "columns": total.indices.astype(np.int32, copy=False),
        "values": total.data / scale,
    }
    for kind, array in arrays.items():
        _write(_file(folder, "rows", rows.number, kind), array)


def _write(path: Path, array: np.ndarray) -> None:
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        file.write(np.ascontiguousarray(array).data)  # numpy's `tofile` does not tell why it fails


def _read(folder: Path, number: int, kind: str, dtype: type[np.generic], first: int, last: int) -> np.ndarray:
    size = np.dtype(dtype).itemsize
    return np.fromfile(_file(folder, "part", number, kind), dtype=dtype, offset=first * size, count=last - first)


def _mapped(path: Path, dtype: type[np.generic]) -> np.ndarray:
    return np.memmap(path, dtype=dtype, mode="r") if path.stat().st_size else np.zeros(0, dtype=dtype)


def _file(folder: Path, what: str, number: int, kind: str) -> Path:
    return folder / f"{what}-{number:05}.{kind}"
