"""Hashes of a whole corpus on disk, 16 bytes each, compared with as much memory as there is.

What has to be compared goes by parts of their range: in each round those of all files whose first bits are the round's.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from langladder.atomic import atomic_file

HASH = np.dtype("S16")
WORK = 6  # bytes that comparing takes for each byte that is compared


def save(path: Path, values: np.ndarray) -> None:
    """Write an array, whole or not at all."""
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        np.save(file, values, allow_pickle=False)


def mapped(path: Path) -> np.ndarray:
    """An array that `save` wrote, mapped."""
    values: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
    return values


def as_hashes(digests: list[bytes]) -> np.ndarray:
    """(N,) of HASH: digests of 16 bytes."""
    return np.frombuffer(b"".join(digests), HASH)


def ascending(values: np.ndarray) -> np.ndarray:
    """(U,) different values, sorted; by far quicker than `numpy.unique`, which builds a hash table."""
    ordered = np.sort(values)
    new = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    different: np.ndarray = ordered[new]
    return different


def repeats(files: Sequence[Path], room: int) -> np.ndarray:
    """(N,) bool: for each hash of all files in their order, whether it stood before.

    Args:
        room: bytes that may be held.
    """
    starts = np.cumsum([0, *(len(mapped(file)) for file in files)])
    found = np.zeros(int(starts[-1]), dtype=bool)
    for positions, hashes in _rounds(files, starts, room):
        order = np.argsort(hashes, kind="stable")
        ordered = hashes[order]
        found[positions[order[1:][ordered[1:] == ordered[:-1]]]] = True
    return found


def count_distinct(files: Sequence[Path], room: int) -> int:
    """How many different hashes the files have."""
    starts = np.cumsum([0, *(len(mapped(file)) for file in files)])
    return sum(len(ascending(hashes)) for _, hashes in _rounds(files, starts, room))


def distinct(files: Sequence[Path]) -> np.ndarray:
    """The different values of all files, ascending; one file after the other is added."""
    found: np.ndarray | None = None
    for file in files:
        values = ascending(mapped(file))
        found = values if found is None else ascending(np.concatenate([found, values]))
    assert found is not None
    return found


def _rounds(files: Sequence[Path], starts: np.ndarray, room: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Positions and hashes of each part of the range."""
    bits = 0
    while (int(starts[-1]) * (HASH.itemsize + 8) * WORK >> bits) > room and bits < 16:
        bits += 1
    for part in range(1 << bits):
        positions, hashes = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=HASH)]
        for file, start in zip(files, starts, strict=False):
            values = mapped(file)
            first = values.view(">u2")[:: HASH.itemsize // 2]
            mine = np.flatnonzero(first >> 16 - bits == part) if bits else np.arange(len(values))
            positions.append(mine + start)
            hashes.append(np.asarray(values[mine] if bits else values))
        yield np.concatenate(positions), np.concatenate(hashes)
