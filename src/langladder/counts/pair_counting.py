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

from langladder.counts.pair_kernels import bucket_sizes, count_buckets, fill_buckets, mirror, transpose_rows

Run = Callable[[Callable[..., Any], Iterable[tuple[Any, ...]]], list[Any]]  # calls a function with many arguments


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

        def triangle(left: int, right: int) -> Rows:
            return _triangle(ids, offsets, vocab_size, units, left, right, first, last, threads, run)

        if sides == "symmetric":
            upper = lower = triangle(m, m)
        else:  # below the diagonal stand the neighbours before the rarer word; above it the rarer word is the neighbour
            lower, upper = triangle(m, 0), triangle(0, m)
            if sides == "right":
                lower, upper = upper, lower
    return Rows(*mirror(*upper, *lower))


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
) -> Rows:
    """The pairs of the positions `first` … `last − 1`, each at its rarer word, transposed: the upper triangle."""
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
    blocks = _blocks(pairs, shares)
    calls = ((buckets, starts, ends, units, bits, *block, int(room[slice(*block)].sum())) for block in blocks)
    rows = run(count_buckets, calls)
    return _transpose(vocab_size, blocks, rows)


def _blocks(pairs: np.ndarray, shares: int) -> list[tuple[int, int]]:
    """Ranges of words with about equally many pairs, several for each thread."""
    ends = np.cumsum(pairs)
    aims = ends[-1] * np.arange(1, 8 * shares) / (8 * shares) if len(ends) else []
    cuts = np.unique(np.concatenate([[0], np.searchsorted(ends, aims) + 1, [len(pairs)]]).clip(0, len(pairs)))
    return [(int(cuts[i]), int(cuts[i + 1])) for i in range(len(cuts) - 1)]


def _transpose(
    vocab_size: int, blocks: list[tuple[int, int]], rows: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
) -> Rows:
    """Rows with columns ascending, of the transposed rows that `count_buckets` found block by block."""
    lengths = np.zeros(vocab_size, dtype=np.int64)
    for _, columns, _ in rows:
        lengths += np.bincount(columns, minlength=vocab_size)
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    out_columns, out_values = np.empty(bounds[-1], dtype=np.int32), np.empty(bounds[-1], dtype=np.int64)
    slots = bounds[:-1].copy()
    for (first, _), row in zip(blocks, rows, strict=True):
        transpose_rows(first, *row, slots, out_columns, out_values)
    return Rows(bounds, out_columns, out_values)
