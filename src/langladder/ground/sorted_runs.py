"""Arrays that do not fit into memory, sorted on disk: sorted runs that are merged range by range (external merge sort).

1. The data comes in pieces that fit into memory. Each piece is sorted and saved as a *run*: an array whose keys ascend.
   The key is the field `key` of a structured array, or the value itself.
2. `key_ranges` cuts the keys into ranges with at most so many records of all runs together. Equal keys stay in one
   range. The cuts come from samples of the runs (samplesort, Frazer and McKellar 1970).
3. `read_range` reads one range of all runs into memory. There, `grouped` brings equal keys together; `add_up` makes one
   record of them.

The ranges ascend, so their results one after the other are the merged array. Runs and ranges can be parts of an
engine's work (`langladder.engine`): each writes a file of its own. All files are arrays in NumPy's .npy format.
"""

import errno
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import numpy as np

from langladder.ground.atomic import atomic_file, explain
from langladder.ground.errors import InputError

SAMPLES = 8  # of each run, for each range
HASH = np.dtype("S16")  # of a digest of 16 bytes
WORK = 6  # bytes of memory per compared byte


def save(path: Path, values: np.ndarray) -> None:
    """Write an array, whole or not at all.

    Raises:
        InputError: the disk is full, or the folder cannot be written.
    """
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        _write_header(file, values.dtype, values.shape)
        file.write(np.ascontiguousarray(values).data)  # `numpy.save` does not report why it fails


def mapped(path: Path) -> np.ndarray:
    """An array that `save` or `GrowingArray` wrote, mapped read-only."""
    values: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
    return values


class GrowingArray:
    """A one-dimensional array that grows at its end, in memory or in a file.

    Args:
        path: of the file; None: in memory.
    """

    def __init__(self, dtype: type[np.generic] | np.dtype, path: Path | None = None) -> None:
        self.dtype, self.path, self.length = np.dtype(dtype), path, 0
        self._pieces = [np.zeros(0, self.dtype)]  # in memory
        if path is not None:
            with path.open("wb") as file:
                _write_header(file, self.dtype, (0,))

    def add(self, piece: np.ndarray) -> None:
        """Append a piece.

        Raises:
            InputError: the disk is full.
        """
        piece = piece.astype(self.dtype, copy=False)
        self.length += len(piece)
        if self.path is None:
            self._pieces.append(piece)
            return
        try:
            with self.path.open("ab") as file:
                file.write(np.ascontiguousarray(piece).data)
        except OSError as error:
            raise InputError(explain(self.path, error.errno or errno.EIO)) from error

    def close(self) -> None:
        """Complete the file, so that `mapped` can read it. The header has room for any length."""
        if self.path is not None:
            with self.path.open("r+b") as file:
                _write_header(file, self.dtype, (self.length,))

    def array(self) -> np.ndarray:
        """The whole array, after the last piece. A file is unlinked and removed with the array."""
        if self.path is None:
            return self._pieces[-1] if len(self._pieces) <= 2 else np.concatenate(self._pieces)
        self.close()
        array = np.asarray(mapped(self.path))
        self.path.unlink()
        return array


def _write_header(file: BinaryIO, dtype: np.dtype, shape: tuple[int, ...]) -> None:
    head = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, head)


@contextmanager
def temporary_folder(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """A folder for runs that is removed at the end.

    Args:
        parent: the folder above; None: the system's folder for temporary files, which TMPDIR names.

    Raises:
        InputError: the disk is full; the message also names TMPDIR if `parent` is None.
    """
    with tempfile.TemporaryDirectory(dir=parent, prefix=prefix) as name:
        try:
            yield Path(name)
        except InputError as error:
            if parent is not None:
                raise
            raise InputError(f"{error}; TMPDIR names the folder for temporary files, which counting needs") from error


def sorted_run(keys: np.ndarray) -> np.ndarray:
    """Keys in ascending order with their positions: (N,) → (N,) records of `key` and `position`; equal keys in order.

    >>> sorted_run(np.array([7, 5, 7])).tolist()
    [(5, 1), (7, 0), (7, 2)]
    """
    order = np.argsort(keys, kind="stable")
    run = np.empty(len(keys), np.dtype([("key", keys.dtype), ("position", np.int64)]))
    run["key"], run["position"] = keys[order], order
    return run


def key_ranges(runs: Sequence[Path], most: int) -> np.ndarray:
    """Where ranges of the keys begin in each run.

    Args:
        runs: files of K runs, N records in all.
        most: records of all runs in one range. A key of more records is a range of its own.

    Returns:
        (R + 1, K) int64: range r has the records `bounds[r, k]` … `bounds[r + 1, k] − 1` of run k. No range is empty.
    """
    lengths = np.array([len(mapped(run)) for run in runs], dtype=np.int64)
    cuts = np.zeros((0, len(runs)), dtype=np.int64)
    if lengths.sum() > most:  # one run after the other: mapped pages count as memory of this process
        step = max(1, most // (SAMPLES * len(runs)))
        every = max(
            1, most // (2 * step)
        )  # between two cuts lie every · step records, and up to `step` more of each run
        sample = np.sort(np.concatenate([_keys(mapped(run))[::step].copy() for run in runs]))
        splitters = np.unique(sample[::every])
        cuts = np.stack([np.searchsorted(_keys(mapped(run)), splitters) for run in runs], axis=1)
    bounds = np.concatenate([0 * lengths[None], cuts, lengths[None]])
    totals = bounds.sum(axis=1)
    not_empty: np.ndarray = bounds[np.append(True, totals[1:] > totals[:-1])]
    return not_empty


def read_range(runs: Sequence[Path], first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The records `first[k]` … `last[k] − 1` of every run k, one run after the other, in memory."""
    records = np.empty(int((last - first).sum()), mapped(runs[0]).dtype)
    end = 0
    for run, begin, stop in zip(runs, first.tolist(), last.tolist(), strict=True):
        if begin < stop:
            records[end : end + stop - begin] = mapped(run)[begin:stop]  # unmapped again before the next run
            end += stop - begin
    return records


def grouped(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Group equal keys.

    Returns:
        (N,) int64, the order that sorts the keys, stably (fast for a few sorted runs one after the other); (N,) bool,
        where in that order another key begins.

    >>> [values.tolist() for values in grouped(np.array([5, 9, 5]))]
    [[0, 2, 1], [True, False, True]]
    """
    order = np.argsort(keys, kind="stable")
    return order, changes(keys[order])


def add_up(records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One record for each key, with the sum of the field `count` of all that have the key.

    Args:
        records: (N,) of `key`, `count`, and fields that are the same for equal keys.

    Returns:
        (G,) records, keys ascending; (N,) int64, the new record of each.
    """
    order, new = grouped(records["key"])
    starts = np.flatnonzero(new)
    totals = records[order[starts]]
    totals["count"] = np.add.reduceat(records["count"][order], starts)
    went_to = np.empty(len(records), dtype=np.int64)
    went_to[order] = np.cumsum(new) - 1
    return totals, went_to


def changes(ordered: np.ndarray) -> np.ndarray:
    """(N,) bool: where in sorted keys another key begins."""
    new = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return new


def _keys(run: np.ndarray) -> np.ndarray:
    keys: np.ndarray = run["key"] if run.dtype.names else run
    return keys


# ---- values that several parts of a corpus have in common


def as_hashes(digests: list[bytes]) -> np.ndarray:
    """(N,) of HASH: digests of 16 bytes."""
    return np.frombuffer(b"".join(digests), HASH)


def ascending(values: np.ndarray) -> np.ndarray:
    """(U,) different values, sorted; by far quicker than `numpy.unique`, which builds a hash table."""
    ordered = np.sort(values)
    different: np.ndarray = ordered[changes(ordered)]
    return different


def among(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """(N,) bool: which values are among the known ones, which are ascending."""
    if not len(known):
        return np.zeros(len(values), dtype=np.bool_)
    known_rows: np.ndarray = known[np.minimum(np.searchsorted(known, values), len(known) - 1)] == values
    return known_rows


def repeats(runs: Sequence[Path], memory: int) -> np.ndarray:
    """(N,) bool: for each hash of all parts in their order, whether it occurred before.

    Args:
        runs: a file for each part, `sorted_run` of its hashes.
        memory: bytes of memory that may be used.
    """
    starts = np.cumsum([0, *(len(mapped(run)) for run in runs)])
    known_rows = np.zeros(int(starts[-1]), dtype=bool)
    for first, last in _ranges(runs, memory):
        records = read_range(runs, first, last)
        positions = records["position"] + np.repeat(starts[:-1], last - first)
        order, new = grouped(records["key"])
        known_rows[positions[order[~new]]] = True
    return known_rows


def count_distinct(runs: Sequence[Path], memory: int) -> int:
    """How many different values the runs have; each is an ascending array."""
    return sum(len(ascending(read_range(runs, first, last))) for first, last in _ranges(runs, memory))


def distinct(runs: Sequence[Path], path: Path, memory: int) -> None:
    """Write the different values of all runs, ascending; each run is an ascending array."""
    merged = GrowingArray(mapped(runs[0]).dtype, path)
    for first, last in _ranges(runs, memory):
        merged.add(ascending(read_range(runs, first, last)))
    merged.close()


def _ranges(runs: Sequence[Path], memory: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    size = max((mapped(run).dtype.itemsize for run in runs), default=1)
    return pairwise(key_ranges(runs, max(1, memory // (size * WORK))))
