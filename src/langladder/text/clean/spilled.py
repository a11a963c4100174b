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


def among(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """(N,) bool: which values are among the known ones, which are ascending."""
    if not len(known):
        return np.zeros(len(values), dtype=np.bool_)
    found: np.ndarray = known[np.minimum(np.searchsorted(known, values), len(known) - 1)] == values
    return found


def repeats(files: Sequence[Path], room: int, chosen: np.ndarray | None = None) -> np.ndarray:
    """(N,) bool: for each hash of all files in their order, whether it stood before.

    Args:
        room: bytes that may be held.
        chosen: (N,) bool, the hashes that are looked at; None: all.
    """
    starts = np.cumsum([0, *(len(mapped(file)) for file in files)])
    found = np.zeros(int(starts[-1]), dtype=bool)
    for positions, hashes in _rounds(files, starts, room):
        if chosen is not None:
            positions, hashes = positions[chosen[positions]], hashes[chosen[positions]]
        order = np.argsort(hashes, kind="stable")
        ordered = hashes[order]
        found[positions[order[1:][ordered[1:] == ordered[:-1]]]] = True
    return found


def count_distinct(files: Sequence[Path], room: int, chosen: np.ndarray | None = None) -> int:
    """How many different hashes the files have, or those of them that are chosen."""
    starts = np.cumsum([0, *(len(mapped(file)) for file in files)])
    rounds = _rounds(files, starts, room)
    return sum(len(ascending(hashes if chosen is None else hashes[chosen[at]])) for at, hashes in rounds)


def distinct(files: Sequence[Path], path: Path, room: int) -> None:
    """Write the different values of all files, ascending, as `save` does."""
    starts = np.cumsum([0, *(len(mapped(file)) for file in files)])
    kind, count = np.lib.format.dtype_to_descr(mapped(files[0]).dtype), 0
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        for final in (False, True):  # the head, which has room for any number, is written again when that is known
            file.seek(0)
            head = {"descr": kind, "fortran_order": False, "shape": (count,)}
            np.lib.format.write_array_header_1_0(file, head)
            for _, values in () if final else _rounds(files, starts, room):
                different = ascending(values)
                count += len(different)
                file.write(different.tobytes())


def _rounds(files: Sequence[Path], starts: np.ndarray, room: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Positions and hashes of each part of the range, from the lowest to the highest."""
    kind = mapped(files[0]).dtype if files else HASH
    bits = 0
    while (int(starts[-1]) * (kind.itemsize + 8) * WORK >> bits) > room and bits < 16:
        bits += 1
    for part in range(1 << bits):
        positions, hashes = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=kind)]
        for file, start in zip(files, starts, strict=False):
            values = mapped(file)
            mine = np.flatnonzero(_first(values) >> 16 - bits == part) if bits else np.arange(len(values))
            positions.append(mine + start)
            hashes.append(np.asarray(values[mine] if bits else values))
        yield np.concatenate(positions), np.concatenate(hashes)


def _first(values: np.ndarray) -> np.ndarray:
    """(N,) the first 16 bits of each value, in its order."""
    if values.dtype == HASH:
        return values.view(">u2")[:: HASH.itemsize // 2].astype(np.int64)
    return (values >> np.uint64(48)).astype(np.int64)
