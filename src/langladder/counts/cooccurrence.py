"""Which words co-occur: term–term counts in a window, as a sparse matrix.

    X_ij = Σ over lines, positions t and distances d = 1 … m of  weight(d) · [w_t = i and w_{t±d} = j]

with weight(d) = 1 (flat) or 1/d (Pennington et al. 2014, GloVe, section 4.2). A window never reaches beyond its line.

Words are numbered from the most frequent on, and a pair is counted once, at its rarer word: the text is read in order,
and each position puts its neighbours of lower numbers into the bucket of its word. A bucket is then counted in one
dense row, which is short and in the cache where buckets are long, and no pair is ever sorted. This gives the lower
triangle, and the other one is its mirror image. Sums run in the order of the text whatever the number of threads: same
text, same bytes. Beyond PAIRS_AT_ONCE pairs the text is counted part by part.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from pydantic import Field
from scipy.sparse import csr_matrix

from langladder.counts.pair_kernels import bucket_sizes, count_buckets, fill_buckets, mirror, transpose_rows
from langladder.counts.stored import Counting
from langladder.errors import InputError
from langladder.progress import tracked
from langladder.text.word_corpus import WordCorpus

PAIRS_AT_ONCE = 1 << 28  # entries of 4 bytes that the buckets hold
MOST_THREADS = 8

Run = Callable[[Callable[..., Any], Iterable[tuple[Any, ...]]], list[Any]]  # calls a function with many arguments


class CooccurrenceConfig(Counting):
    """What counts as co-occurring."""

    window: int = Field(default=5, ge=1, le=1000)  # m, words on each side: 1–3 shows syntax, 4–10 meaning
    sides: Literal["symmetric", "left", "right"] = "symmetric"  # left: X_ij counts j standing before i
    weighting: Literal["flat", "inverse_distance"] = "flat"

    @property
    def key(self) -> str:
        """E.g. `window5-flat-symmetric`."""
        return f"window{self.window}-{self.weighting}-{self.sides}"

    def count(self, corpus: WordCorpus) -> csr_matrix:
        """Term–term counts of a text, (V, V) float64 CSR."""
        return count_cooccurrence(corpus.stream.ids, corpus.stream.offsets, len(corpus.vocabulary), self)


def count_cooccurrence(
    ids: np.ndarray,
    offsets: np.ndarray,
    vocab_size: int,
    config: CooccurrenceConfig | None = None,
    *,
    threads: int | None = None,
) -> csr_matrix:
    """Term–term counts X.

    Args:
        ids: (T,) word ids below `vocab_size`; fastest where low ids are frequent words.
        offsets: (R + 1,) bounds of the lines: line r is `ids[offsets[r] : offsets[r + 1]]`.
        threads: changes the speed only; None: as many as there are processors, up to 8.

    Returns:
        (V, V) float64 CSR, column numbers ascending in each row, no stored zeros.

    Raises:
        InputError: an id is not below `vocab_size`.
    """
    config = config or CooccurrenceConfig()
    check_ids(ids, vocab_size)
    ids, offsets = np.asarray(ids, dtype=np.int32), np.asarray(offsets, dtype=np.int64)
    m = config.window
    weights = np.ones(m) if config.weighting == "flat" else 1 / np.arange(1, m + 1)
    with _threads(threads or min(os.cpu_count() or 1, MOST_THREADS)) as (run, shares):

        def triangle(left: int, right: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            parts = [
                _count_part(ids, offsets, vocab_size, weights, left, right, first, last, shares, run)
                for first, last in tracked(_parts(offsets, left + right), "counting word pairs", unit="parts")
            ]
            total = parts[0]
            for part in parts[1:]:
                total = total + part
            return total.indptr.astype(np.int64), total.indices, total.data

        if config.sides == "symmetric":
            upper = lower = triangle(m, m)
        else:  # below the diagonal stand the neighbours before the rarer word; above it the rarer word is the neighbour
            lower, upper = triangle(m, 0), triangle(0, m)
            if config.sides == "right":
                lower, upper = upper, lower
    bounds, columns, values = mirror(*upper, *lower)
    counts = csr_matrix((values, columns, bounds), shape=(vocab_size, vocab_size))
    counts.has_canonical_format = True
    return counts


def check_ids(ids: np.ndarray, vocab_size: int) -> None:
    """Raise InputError for a word id that is not below `vocab_size`."""
    if len(ids) and not (int(ids.min()) >= 0 and int(ids.max()) < vocab_size):
        raise InputError(f"word ids {ids.min()} … {ids.max()}; the vocabulary has ids 0 … {vocab_size - 1}")


@contextmanager
def _threads(number: int) -> Iterator[tuple[Run, int]]:
    """A function that runs calls on so many threads and gives their results in order; and the number."""
    if number == 1:
        yield lambda function, calls: [function(*call) for call in calls], 1
        return
    with ThreadPoolExecutor(number) as pool:
        yield lambda function, calls: list(pool.map(lambda call: function(*call), calls)), number


def _parts(offsets: np.ndarray, reach: int) -> list[tuple[int, int]]:
    """Ranges of positions that have at most PAIRS_AT_ONCE pairs each."""
    begin, end = int(offsets[0]), int(offsets[-1])
    step = max(1, PAIRS_AT_ONCE // reach)
    return [(first, min(end, first + step)) for first in range(begin, max(end, begin + 1), step)]


def _count_part(
    ids: np.ndarray,
    offsets: np.ndarray,
    vocab_size: int,
    weights: np.ndarray,
    left: int,
    right: int,
    first: int,
    last: int,
    shares: int,
    run: Run,
) -> csr_matrix:
    """The pairs of the positions `first` … `last − 1`, each at its rarer word: (V, V) CSR, the transposed triangle."""
    bits = (len(weights) - 1).bit_length()
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
    calls = ((buckets, starts, ends, weights, bits, *block, int(room[slice(*block)].sum())) for block in blocks)
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
) -> csr_matrix:
    """(V, V) CSR, columns ascending, of the transposed rows that `count_buckets` found block by block."""
    lengths = np.zeros(vocab_size, dtype=np.int64)
    for _, columns, _ in rows:
        lengths += np.bincount(columns, minlength=vocab_size)
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    out_columns, out_values = np.empty(bounds[-1], dtype=np.int32), np.empty(bounds[-1])
    slots = bounds[:-1].copy()
    for (first, _), row in zip(blocks, rows, strict=True):
        transpose_rows(first, *row, slots, out_columns, out_values)
    return csr_matrix((out_values, out_columns, bounds), shape=(vocab_size, vocab_size))
