"""Numba kernels of `langladder.counts.pair_counting`: pairs into buckets, buckets into rows, a triangle into a matrix.

Shape legend: V words, P pairs in a part of the text, E entries (different pairs), S shares (one a thread).
"""

import numpy as np

from langladder.compiled import njit


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
    room: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows `first` … `last − 1` of the lower triangle: their lengths, columns (unsorted) and values.

    Args:
        units: (m,) int64, what a pair counts at each distance.
        starts, ends: (V, S) where the shares of each bucket lie.
        room: no fewer than all entries of these rows.
    """
    row = np.zeros(last, dtype=np.int64)  # dense: the neighbours of the word in hand, which have numbers up to its own
    lengths = np.empty(last - first, dtype=np.int64)
    columns = np.empty(room + 1, dtype=np.int32)
    values = np.empty(room, dtype=np.int64)
    mask = (1 << bits) - 1
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
            values[entry] = row[columns[entry]]
            row[columns[entry]] = 0
        lengths[word - first] = end - begin
    return lengths, columns[:end].copy(), values[:end].copy()


@njit(nogil=True)
def transpose_rows(
    first: int,
    lengths: np.ndarray,
    columns: np.ndarray,
    values: np.ndarray,
    slots: np.ndarray,
    out_columns: np.ndarray,
    out_values: np.ndarray,
) -> None:
    """Put rows `first`, `first + 1`, … into the columns' own rows; `slots` (V,) says where, and is moved on."""
    entry = 0
    for row in range(first, first + len(lengths)):
        for _ in range(lengths[row - first]):
            slot = slots[columns[entry]]
            slots[columns[entry]] = slot + 1
            out_columns[slot] = row
            out_values[slot] = values[entry]
            entry += 1


@njit(nogil=True)
def mirror(
    bounds: np.ndarray,
    columns: np.ndarray,
    values: np.ndarray,
    lower_bounds: np.ndarray,
    lower_columns: np.ndarray,
    lower_values: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U + (strict part of L)ᵀ of two upper triangles U and L, each CSR with ascending columns; so is the result."""
    size = len(bounds) - 1
    slots = np.zeros(size + 1, dtype=np.int64)
    for row in range(size):
        for entry in range(lower_bounds[row], lower_bounds[row + 1]):
            slots[lower_columns[entry] + 1] += lower_columns[entry] != row
    for row in range(size):  # row i: first what stands left of the diagonal, then U's row
        slots[row + 1] += slots[row] + bounds[row + 1] - bounds[row]
    out_bounds = slots.copy()
    out_columns = np.empty(slots[size], dtype=np.int32)
    out_values = np.empty(slots[size], dtype=np.int64)
    for row in range(size):
        for entry in range(lower_bounds[row], lower_bounds[row + 1]):
            column = lower_columns[entry]
            if column != row:
                out_columns[slots[column]] = row
                out_values[slots[column]] = lower_values[entry]
                slots[column] += 1
    for row in range(size):
        place = out_bounds[row + 1] - (bounds[row + 1] - bounds[row])
        for entry in range(bounds[row], bounds[row + 1]):
            out_columns[place + entry - bounds[row]] = columns[entry]
            out_values[place + entry - bounds[row]] = values[entry]
    return out_bounds, out_columns, out_values


@njit(nogil=True)
def divide(values: np.ndarray, scale: int) -> np.ndarray:
    """values / scale, (E,) int64 → float64 in the same place."""
    quotients = values.view(np.float64)
    for entry in range(len(values)):
        quotients[entry] = values[entry] / scale
    return quotients
