"""Numba kernels of `langladder.counts.pair_counting`: pairs into buckets, buckets into rows, triangles into a matrix.

Shape legend: V words, P pairs in a part of the text, E entries (different pairs), S shares (one a thread).
"""

from typing import Any

import numpy as np
from numba.cpython.unsafe import numbers

from langladder.compiled import njit

trailing_zeros: Any = numbers.trailing_zeros  # what is called in a kernel is not the Python function


@njit(nogil=True)
def bucket_sizes(
    ids: np.ndarray, offsets: np.ndarray, vocab_size: int, left: int, right: int, first: int, last: int
) -> np.ndarray:
    """How many pairs `fill_buckets` will put into each word's bucket, (V,) int64."""
    sizes = np.zeros(vocab_size, dtype=np.int64)
    line = np.searchsorted(offsets, first, side="right") - 1
    for t in range(first, last):
        while t >= offsets[line + 1]:
            line += 1
        word = ids[t]
        found = 0
        for s in range(max(offsets[line], t - left), min(offsets[line + 1], t + right + 1)):
            found += ids[s] <= word
        sizes[word] += found - 1  # the word itself is not its own neighbour
    return sizes


@njit(nogil=True)
def fill_buckets(
    ids: np.ndarray,
    offsets: np.ndarray,
    left: int,
    right: int,
    bits: int,
    first: int,
    last: int,
    slots: np.ndarray,
    buckets: np.ndarray,
) -> None:
    """For each position first ≤ t < last, put the neighbours of w_t with numbers up to w_t's own into w_t's bucket.

    An entry is `number << bits | distance − 1`. Every neighbour is written, but only what belongs moves the slot on: no
    branch to guess, at the price of one spare place behind each bucket.

    Args:
        slots: (V,) the next free place of each bucket; moved on.
        buckets: (P + spare,) filled.
    """
    line = np.searchsorted(offsets, first, side="right") - 1
    for t in range(first, last):
        while t >= offsets[line + 1]:
            line += 1
        word = ids[t]
        slot = slots[word]
        for s in range(max(offsets[line], t - left), t):
            other = ids[s]
            buckets[slot] = (other << bits) | (t - s - 1)
            slot += other <= word
        for s in range(t + 1, min(offsets[line + 1], t + right + 1)):
            other = ids[s]
            buckets[slot] = (other << bits) | (s - t - 1)
            slot += other <= word
        slots[word] = slot


@njit(nogil=True)
def count_buckets(
    buckets: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    units: np.ndarray,
    bits: int,
    first: int,
    last: int,
    lengths: np.ndarray,
    columns: np.ndarray,
    values: np.ndarray,
) -> int:
    """Count rows `first` … `last − 1` of the lower triangle; their number of entries.

    Nothing is compared to bring columns into order: each sets its bit in `marks`, and each sixty-four bits in which one
    is set a bit in `summary`; then the bits are read in turn.

    Args:
        units: (m,) int64, what a pair counts at each distance.
        starts, ends: (V, S) where the shares of each bucket lie.
        lengths: (last − first,) filled with the rows' lengths.
        columns, values: filled with their columns, ascending, and values; columns have one place to spare.
    """
    row = np.zeros(last, dtype=np.int64)  # dense: the neighbours of the word in hand, which have numbers up to its own
    marks, summary = np.zeros((last >> 6) + 1, dtype=np.uint64), np.zeros((last >> 12) + 1, dtype=np.uint64)
    mask, one = (1 << bits) - 1, np.uint64(1)
    end = 0
    for word in range(first, last):
        begin = end
        for share in range(starts.shape[1]):
            for slot in range(starts[word, share], ends[word, share]):
                other = buckets[slot] >> bits
                columns[end] = other
                end += row[other] == 0
                row[other] += units[buckets[slot] & mask]
        for entry in range(begin, end):
            other = columns[entry]
            marks[other >> 6] |= one << np.uint64(other & 63)
            summary[other >> 12] |= one << np.uint64((other >> 6) & 63)
        entry = begin
        for place in range((word >> 12) + 1):
            groups = summary[place]
            summary[place] = 0
            while groups:
                group = (place << 6) + np.int64(trailing_zeros(groups))
                groups &= groups - one
                marked = marks[group]
                marks[group] = 0
                while marked:
                    column = (group << 6) + np.int64(trailing_zeros(marked))
                    marked &= marked - one
                    columns[entry], values[entry] = column, row[column]
                    row[column] = 0
                    entry += 1
        lengths[word - first] = end - begin
    return end


@njit(nogil=True)
def place_rows(
    first: int,
    lengths: np.ndarray,
    columns: np.ndarray,
    values: np.ndarray,
    bounds: np.ndarray,
    out_columns: np.ndarray,
    out_values: np.ndarray,
) -> None:
    """Put rows `first`, `first + 1`, … of the lower triangle where those of the matrix begin."""
    entry = 0
    for row in range(first, first + len(lengths)):
        slot = bounds[row]
        for _ in range(lengths[row - first]):
            out_columns[slot] = columns[entry]
            out_values[slot] = values[entry]
            slot += 1
            entry += 1


@njit(nogil=True)
def mirrored_lengths(first: int, lengths: np.ndarray, columns: np.ndarray, found: np.ndarray) -> None:
    """Add to `found` (V,) how many entries `mirror_rows` will put into each row."""
    entry = 0
    for row in range(first, first + len(lengths)):
        for _ in range(lengths[row - first]):
            found[columns[entry]] += columns[entry] != row
            entry += 1


@njit(nogil=True)
def mirror_rows(
    first: int,
    lengths: np.ndarray,
    columns: np.ndarray,
    values: np.ndarray,
    slots: np.ndarray,
    out_columns: np.ndarray,
    out_values: np.ndarray,
) -> None:
    """Put what rows `first`, `first + 1`, … have below the diagonal above it; `slots` (V,) says where, and moves on."""
    entry = 0
    for row in range(first, first + len(lengths)):
        for _ in range(lengths[row - first]):
            column = columns[entry]
            if column != row:
                slot = slots[column]
                slots[column] = slot + 1
                out_columns[slot] = row
                out_values[slot] = values[entry]
            entry += 1


@njit(nogil=True)
def divide(values: np.ndarray, scale: int) -> np.ndarray:
    """values / scale, (E,) int64 → float64 in the same place."""
    quotients = values.view(np.float64)
    for entry in range(len(values)):
        quotients[entry] = values[entry] / scale
    return quotients
