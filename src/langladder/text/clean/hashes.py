"""Hashes of a whole corpus on disk, compared with as much memory as there is.

Each part of the corpus saves its hashes as a sorted run (`langladder.sorted_runs`). The runs are compared range by
range: equal hashes of all parts are in one range.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from langladder.sorted_runs import GrowingArray, changes, grouped, key_ranges, mapped, read_range

HASH = np.dtype("S16")
WORK = 6  # bytes that comparing takes for each byte that is compared


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
    found: np.ndarray = known[np.minimum(np.searchsorted(known, values), len(known) - 1)] == values
    return found


def repeats(runs: Sequence[Path], memory: int) -> np.ndarray:
    """(N,) bool: for each hash of all parts in their order, whether it occurred before.

    Args:
        runs: a file for each part, `sorted_run` of its hashes.
        memory: bytes that may be held.
    """
    starts = np.cumsum([0, *(len(mapped(run)) for run in runs)])
    found = np.zeros(int(starts[-1]), dtype=bool)
    for first, last in _ranges(runs, memory):
        records = read_range(runs, first, last)
        positions = records["position"] + np.repeat(starts[:-1], last - first)
        order, new = grouped(records["key"])
        found[positions[order[~new]]] = True
    return found


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
