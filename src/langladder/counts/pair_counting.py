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

from langladder.counts.pair_kernels import count_rows, fill_places, occurrences

Run = Callable[[Callable[..., Any], Iterable[tuple[Any, ...]]], list[Any]]  # calls a function with many arguments


class Block(NamedTuple):
    """Some rows."""

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
    """The neighbours of what stands at the positions `first` … `last − 1`.

    Args:
        ids: (T,) int32.
        offsets: (R + 1,) int64 bounds of the lines.
        units: (m,) int64, what a pair counts at each distance; m ≤ 1,000.
        sides: symmetric, left or right.
    """
    m = len(units)
    reach = 0 if sides == "right" else m, 0 if sides == "left" else m
    cuts = np.linspace(first, last, threads + 1).astype(np.int64)
    ranges = [(int(cuts[share]), int(cuts[share + 1])) for share in range(threads)]
    with _threads(threads) as run:
        sizes = np.stack(run(occurrences, ((ids, vocab_size, *part) for part in ranges)), axis=1)  # (V, S)

        # Places stand in the order of their words, and those of a word in the order of the text.
        bounds = np.concatenate([[0], np.cumsum(sizes.ravel())])
        slots = np.array(bounds[:-1].reshape(sizes.shape).T)  # (S, V)
        places = np.empty(last - first, dtype=np.int64)
        run(fill_places, ((ids, offsets, *reach, *ranges[i], slots[i], places) for i in range(threads)))

        starts = np.ascontiguousarray(bounds[::threads])
        room = np.minimum(np.diff(starts) * sum(reach), vocab_size)  # no row can have more entries

        def count(left: int, right: int) -> Block:
            # The memory is NumPy's, which asks for large pages: with Numba's own this took half as long again.
            most = int(room[left:right].sum())
            lengths, values = np.empty(right - left, dtype=np.int64), np.empty(most, dtype=np.int64)
            columns = np.empty(most + 1, dtype=np.int32)
            end = count_rows(ids, places, starts, units, left, right, lengths, columns, values)
            columns.resize(end, refcheck=False)  # what was not needed goes back, what was stays where it is
            values.resize(end, refcheck=False)
            return Block(lengths, columns, values)

        blocks = run(count, _blocks(starts, threads))
    return _joined(blocks)


@contextmanager
def _threads(number: int) -> Iterator[Run]:
    """A function that runs calls on so many threads and gives their results in order."""
    if number == 1:
        yield lambda function, calls: [function(*call) for call in calls]
        return
    with ThreadPoolExecutor(number) as pool:
        yield lambda function, calls: list(pool.map(lambda call: function(*call), calls))


def _blocks(starts: np.ndarray, threads: int) -> list[tuple[int, int]]:
    """Ranges of words that stand at about equally many places, several for each thread; one for one thread."""
    number = 8 * threads if threads > 1 else 1
    aims = starts[-1] * np.arange(1, number) / number
    cuts = np.unique(np.concatenate([[0], np.searchsorted(starts, aims), [len(starts) - 1]]))
    return [(int(cuts[i]), int(cuts[i + 1])) for i in range(len(cuts) - 1)] or [(0, 0)]


def _joined(blocks: list[Block]) -> Rows:
    """The rows of all blocks, behind each other; takes the blocks, so that little is held twice."""
    if len(blocks) == 1:
        lengths, columns, values = blocks[0]
    else:
        lengths = np.concatenate([block.lengths for block in blocks])
        columns, values = np.empty(lengths.sum(), dtype=np.int32), np.empty(lengths.sum(), dtype=np.int64)
        end = 0
        while blocks:
            block = blocks.pop(0)
            begin, end = end, end + len(block.columns)
            columns[begin:end], values[begin:end] = block.columns, block.values
    return Rows(np.concatenate([[0], np.cumsum(lengths)]), columns, values)
