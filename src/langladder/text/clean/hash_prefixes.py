"""Tables of the first bits of hashes, one bit for each prefix: most hashes that are not in a set are told by a look.

A table is an array like another: it can be saved once and mapped by every worker.
"""

import numpy as np

from langladder.compiled import njit


def prefixes_of(hashes: np.ndarray, most: int) -> np.ndarray:
    """The first bits of (N,) uint64 hashes, as a table of bits, (2ᵇ⁻³,) uint8: at most one in sixteen is set."""
    table = np.zeros(1 << min(most, 4 + len(hashes).bit_length()) - 3, dtype=np.uint8)
    _mark(hashes, table)
    return table


@njit()
def _mark(hashes: np.ndarray, table: np.ndarray) -> None:
    shift = _shift(table)
    for value in hashes:
        prefix = value >> shift
        table[prefix >> np.uint64(3)] |= np.uint8(1 << (prefix & np.uint64(7)))


@njit()
def with_prefix(hashes: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Which of (N,) hashes have their first bits in the table: their positions, ascending."""
    shift = _shift(table)
    found = np.empty(len(hashes), dtype=np.int64)
    count = 0
    for position in range(len(hashes)):
        prefix = hashes[position] >> shift
        found[count] = position
        count += (table[prefix >> np.uint64(3)] >> (prefix & np.uint64(7))) & 1
    return found[:count].copy()


@njit()
def _shift(table: np.ndarray) -> np.uint64:
    """How many bits of a hash the table does not look at."""
    shift, size = np.uint64(61), len(table)
    while size > 1:
        shift -= np.uint64(1)
        size //= 2
    return shift
