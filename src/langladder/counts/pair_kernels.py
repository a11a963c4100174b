"""Numba kernels of `langladder.counts.pair_counting`: the places of each word, and from them its row of counts.

Shape legend: T words of text, R lines, V words of the vocabulary, m the window, E entries (different pairs).
"""

from typing import Any

import numpy as np
from numba.cpython.unsafe import numbers

from langladder.compiled import njit
from langladder.prefetch import prefetch_to_read

trailing_zeros: Any = numbers.trailing_zeros  # what is called in a kernel is not the Python function

REACH_BITS = 10  # a place is `position << 20 | words before it << 10 | words behind it`
REACH = (1 << REACH_BITS) - 1  # the widest window
AHEAD = 16  # places: how early the text around one is asked for


@njit(nogil=True)
def occurrences(ids: np.ndarray, vocab_size: int, first: int, last: int) -> np.ndarray:
    """How often each word stands at the positions `first` … `last − 1`, (V,) int64."""
    sizes = np.zeros(vocab_size, dtype=np.int64)
    for t in range(first, last):
        sizes[ids[t]] += 1
    return sizes


@njit(nogil=True)
def fill_places(
    ids: np.ndarray,
    offsets: np.ndarray,
    left: int,
    right: int,
    first: int,
    last: int,
    slots: np.ndarray,
    places: np.ndarray,
) -> None:
    """Put the positions `first` … `last − 1`, and how far their windows reach, where the places of their words stand.

    Args:
        offsets: (R + 1,) int64 bounds of the lines.
        left, right: how far a window reaches at most.
        slots: (V,) the next free slot of each word; moved on.
        places: (T,) int64, filled.
    """
    line = np.searchsorted(offsets, first, side="right") - 1
    for t in range(first, last):
        while t >= offsets[line + 1]:
            line += 1
        before, behind = min(left, t - offsets[line]), min(right, offsets[line + 1] - 1 - t)
        slot = slots[ids[t]]
        slots[ids[t]] = slot + 1
        places[slot] = (((t << REACH_BITS) | before) << REACH_BITS) | behind


@njit(nogil=True)
def count_rows(
    ids: np.ndarray,
    places: np.ndarray,
    starts: np.ndarray,
    units: np.ndarray,
    first: int,
    last: int,
    lengths: np.ndarray,
    columns: np.ndarray,
    values: np.ndarray,
) -> int:
    """Count the neighbours of the words `first` … `last − 1`; the number of entries.

    The text around a word's places is read in one go. Those lie far apart, but their addresses are known in advance.
    Nothing is compared to bring columns into order: each sets its bit in `marks`, and each sixty-four bits in which one
    is set a bit in `summary`; then the bits are read in turn.

    Args:
        starts: (V + 1,) where the places of each word begin.
        units: (m,) int64, what a pair counts at each distance.
        lengths: (last − first,) filled with the rows' lengths.
        columns, values: filled with their columns, ascending, and values; columns have one slot to spare.
    """
    width = len(starts) - 1
    row = np.zeros(width, dtype=np.int64)  # dense: the neighbours of the word in hand
    marks, summary = np.zeros((width >> 6) + 1, dtype=np.uint64), np.zeros((width >> 12) + 1, dtype=np.uint64)
    one = np.uint64(1)
    end = 0
    for word in range(first, last):
        begin = end
        for slot in range(starts[word], starts[word + 1]):
            coming = places[min(slot + AHEAD, len(places) - 1)] >> 2 * REACH_BITS
            prefetch_to_read(ids, coming - len(units))
            prefetch_to_read(ids, coming + len(units))
            t = places[slot] >> 2 * REACH_BITS
            for d in range((places[slot] >> REACH_BITS) & REACH):
                other = ids[t - 1 - d]
                columns[end] = other
                end += row[other] == 0
                row[other] += units[d]
            for d in range(places[slot] & REACH):
                other = ids[t + 1 + d]
                columns[end] = other
                end += row[other] == 0
                row[other] += units[d]
        for entry in range(begin, end):
            other = columns[entry]
            marks[other >> 6] |= one << np.uint64(other & 63)
            summary[other >> 12] |= one << np.uint64((other >> 6) & 63)
        entry = begin
        for place in range(len(summary)):
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
def divide(values: np.ndarray, scale: int) -> np.ndarray:
    """values / scale, (E,) int64 → float64 in the same place."""
    quotients = values.view(np.float64)
    for entry in range(len(values)):
        quotients[entry] = values[entry] / scale
    return quotients
