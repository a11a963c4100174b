"""Pairs of words in a range of a text, counted in memory: `langladder.counts.cooccurrence` says how.

Counts are whole numbers: of a pair at distance d, `units[d − 1]`. So the sum of several ranges is the count of them all
together, to the bit, wherever the text was cut.

Shape legend: T words of text, R lines, V words of the vocabulary, m the window, S shares (one a thread), E entries.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from langladder.counts.pair_kernels import (
    bucket_sizes,
    count_buckets,
    fill_buckets,
    mirror_rows,
    mirrored_lengths,
    place_rows,
)

Run = Callable[[Callable[..., Any], Iterable[tuple[Any, ...]]], list[Any]]  # calls a function with many arguments


class Block(NamedTuple):
    """Rows of the lower triangle, `first` and those behind it."""

    first: int
    lengths: np.ndarray  # of each row
    columns: np.ndarray  # (E,) int32, ascending in each row
    values: np.ndarray  # (E,) int64


class Rows(NamedTuple):
    """A matrix of whole numbers in the form of CSR, columns ascending in each row."""

    bounds: np.ndarray  # (V + 1,) int64
    columns: np.ndarray  # (E,) int32
    values: np.ndarray  # (E,) int64


def count_range(
    ids: np.ndarray,
    offsets: np.ndarray,
    vocab_size: int,
    units: np.ndarray,
    sides: str,
    first: int,
    last: int,
    threads: int,
) -> Rows:
    """The pairs whose rarer word stands at one of the positions `first` … `last − 1`.

    Args:
        ids: (T,) int32.
        offsets: (R + 1,) int64 bounds of the lines.
        units: (m,) int64, what a pair counts at each distance.
        sides: symmetric, left or right.
    """
    m = len(units)
    with _threads(threads) as run:

        def triangle(left: int, right: int) -> list[Block]:
            return _triangle(ids, offsets, vocab_size, units, left, right, first, last, threads, run)

        if sides == "symmetric":
            lower = upper = triangle(m, m)
        else:  # below the diagonal stand the neighbours before the rarer word; above it the rarer word is the neighbour
            lower, upper = triangle(m, 0), triangle(0, m)
            if sides == "right":
                lower, upper = upper, lower
        return _matrix(vocab_size, lower, upper, run)


@contextmanager
def _threads(number: int) -> Iterator[Run]:
    """A function that runs calls on so many threads and gives their results in order."""
    if number == 1:
        yield lambda function, calls: [function(*call) for call in calls]
        return
    with ThreadPoolExecutor(number) as pool:
        yield lambda function, calls: list(pool.map(lambda call: function(*call), calls))


def _triangle(
    ids: np.ndarray,
    offsets: np.ndarray,
    vocab_size: int,
    units: np.ndarray,
    left: int,
    right: int,
    first: int,
    last: int,
    shares: int,
    run: Run,
) -> list[Block]:
    """The pairs of the positions `first` … `last − 1`, each at its rarer word: the lower triangle."""
    bits = (len(units) - 1).bit_length()
    cuts = np.linspace(first, last, shares + 1).astype(np.int64)
    ranges = [(int(cuts[share]), int(cuts[share + 1])) for share in range(shares)]
    sizes = np.stack(run(bucket_sizes, ((ids, offsets, vocab_size, left, right, *part) for part in ranges)), axis=1)

    # Buckets stand in the order of their words, shares in the order of the text, each with a spare place behind.
    bounds = np.concatenate([[0], np.cumsum(sizes.ravel() + 1)])
    starts = bounds[:-1].reshape(sizes.shape)  # (V, S)
    buckets = np.empty(bounds[-1], dtype=np.int32 if vocab_size << bits < 1 << 31 else np.int64)
    slots = np.array(starts.T)  # (S, V)
    run(fill_buckets, ((ids, offsets, left, right, bits, *ranges[i], slots[i], buckets) for i in range(shares)))

    pairs = sizes.sum(axis=1)
    room = np.minimum(pairs, np.arange(1, vocab_size + 1))  # no row can have more entries than this
    ends = np.ascontiguousarray(slots.T)

    def count(first: int, last: int) -> Block:
        # The memory is NumPy's, which asks for large pages: with Numba's own this took half as long again.
        most = int(room[first:last].sum())
        lengths, values = np.empty(last - first, dtype=np.int64), np.empty(most, dtype=np.int64)
        columns = np.empty(most + 1, dtype=np.int32)
        end = count_buckets(buckets, starts, ends, units, bits, first, last, lengths, columns, values)
        columns.resize(end, refcheck=False)  # what was not needed goes back, what was stays where it is
        values.resize(end, refcheck=False)
        return Block(first, lengths, columns, values)

    return run(count, _blocks(pairs, shares))


def _blocks(pairs: np.ndarray, shares: int) -> list[tuple[int, int]]:
    """Ranges of words with about equally many pairs, several for each thread."""
    ends = np.cumsum(pairs)
    aims = ends[-1] * np.arange(1, 8 * shares) / (8 * shares) if len(ends) else []
    cuts = np.unique(np.concatenate([[0], np.searchsorted(ends, aims) + 1, [len(pairs)]]).clip(0, len(pairs)))
    return [(int(cuts[i]), int(cuts[i + 1])) for i in range(len(cuts) - 1)]


def _matrix(vocab_size: int, lower: list[Block], upper: list[Block], run: Run) -> Rows:
    """The matrix with one triangle below its diagonal and another, mirrored, above it."""
    below, above = np.zeros(vocab_size, dtype=np.int64), np.zeros(vocab_size, dtype=np.int64)
    for block in lower:
        below[block.first : block.first + len(block.lengths)] = block.lengths
    for block in upper:
        mirrored_lengths(block.first, block.lengths, block.columns, above)
    bounds = np.concatenate([[0], np.cumsum(below + above)])
    columns, values = np.empty(bounds[-1], dtype=np.int32), np.empty(bounds[-1], dtype=np.int64)
    run(place_rows, ((*block, bounds, columns, values) for block in lower))
    slots = bounds[:-1] + below
    for block in upper:  # in the order of their rows, which are columns now
        mirror_rows(*block, slots, columns, values)
    return Rows(bounds, columns, values)
