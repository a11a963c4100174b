"""Which words keep which company: term–term counts in a window, and term–document counts, as sparse matrices.

    X_ij = Σ over lines, positions t and distances d = 1 … m of  weight(d) · [w_t = i and w_{t±d} = j]

with weight(d) = 1 (flat) or 1/d (Pennington et al. 2014, GloVe, section 4.2). A window never reaches beyond its line.

Counting goes centre word by centre word: all positions of word i are visited together, so that its row of X fits into
one dense, cached array, and no pair is ever sorted. Sums run in the order of the text: same text, same bytes.
"""

from pathlib import Path
from typing import Literal

import numpy as np
from numba import njit
from pydantic import Field
from scipy.sparse import csc_matrix, csr_matrix

from langladder.artefacts import read_arrays, write_arrays
from langladder.errors import InputError
from langladder.schema import Config

BLOCK = 1 << 20  # the most entries that the kernel's scratch space holds, unless one word alone needs more


class CooccurrenceConfig(Config):
    """What counts as keeping company."""

    window: int = Field(default=5, ge=1, le=1000)  # m, words on each side: 1–3 shows syntax, 4–10 meaning
    sides: Literal["symmetric", "left", "right"] = "symmetric"  # left: X_ij counts j standing before i
    weighting: Literal["flat", "inverse_distance"] = "flat"


def count_cooccurrence(
    ids: np.ndarray, offsets: np.ndarray, vocab_size: int, config: CooccurrenceConfig | None = None
) -> csr_matrix:
    """Term–term counts X.

    Args:
        ids: (T,) word ids below `vocab_size`.
        offsets: (R + 1,) bounds of the lines: line r is `ids[offsets[r] : offsets[r + 1]]`.

    Returns:
        (V, V) float64 CSR, column numbers ascending in each row, no stored zeros.

    Raises:
        InputError: an id is not below `vocab_size`.
    """
    config = config or CooccurrenceConfig()
    _check(ids, vocab_size)
    left = config.window if config.sides != "right" else 0
    right = config.window if config.sides != "left" else 0
    distances = np.arange(1, config.window + 1)
    weights = np.ones(config.window) if config.weighting == "flat" else 1 / distances

    frequencies = np.bincount(ids, minlength=vocab_size)
    groups = np.concatenate([[0], np.cumsum(frequencies)])
    # Mirrored, left company is right company: count the transpose, and transposing it back sorts its entries for free.
    positions, before, after = _group(ids, offsets, groups, right, left)
    room = np.minimum(frequencies * (left + right), vocab_size)  # no row can have more entries than this
    pieces = [
        _count_rows(ids, groups, positions, before, after, weights, first, last, int(room[first:last].sum()))
        for first, last in _blocks(room)
    ]
    sizes, columns, values = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    return csr_matrix(csc_matrix((values, columns, bounds), shape=(vocab_size, vocab_size)))


def _check(ids: np.ndarray, vocab_size: int) -> None:
    if len(ids) and not (int(ids.min()) >= 0 and int(ids.max()) < vocab_size):
        raise InputError(f"word ids {ids.min()} … {ids.max()}; the vocabulary has ids 0 … {vocab_size - 1}")


def _blocks(room: np.ndarray) -> list[tuple[int, int]]:
    """Ranges of words whose rows together fit into BLOCK entries (one word alone may need more)."""
    ends = np.cumsum(room)
    blocks = []
    first = 0
    while first < len(room):
        before = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + BLOCK, side="right")))
        blocks.append((first, last))
        first = last
    return blocks


@njit(cache=True)
def _group(
    ids: np.ndarray, offsets: np.ndarray, groups: np.ndarray, left: int, right: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All positions, grouped by their word, and how far the window reaches before and after each within its line."""
    slots = groups.copy()
    positions = np.empty(len(ids), dtype=np.int64)
    before = np.empty(len(ids), dtype=np.int16)
    after = np.empty(len(ids), dtype=np.int16)
    for line in range(len(offsets) - 1):
        begin, end = offsets[line], offsets[line + 1]
        for t in range(begin, end):
            slot = slots[ids[t]]
            slots[ids[t]] += 1
            positions[slot] = t
            before[slot] = min(left, t - begin)
            after[slot] = min(right, end - 1 - t)
    return positions, before, after


@njit(cache=True)
def _count_rows(
    ids: np.ndarray,
    groups: np.ndarray,
    positions: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    weights: np.ndarray,
    first: int,
    last: int,
    room: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows `first` … `last − 1`: how many entries each has, their columns (unsorted), their values."""
    row = np.zeros(len(groups) - 1)  # dense: the company of the word in hand
    sizes = np.empty(last - first, dtype=np.int64)
    columns = np.empty(room, dtype=np.int32)
    values = np.empty(room)
    end = 0
    for word in range(first, last):
        begin = end
        for slot in range(groups[word], groups[word + 1]):
            t = positions[slot]
            for distance in range(-before[slot], after[slot] + 1):
                if distance != 0:
                    other = ids[t + distance]
                    if row[other] == 0:
                        columns[end] = other
                        end += 1
                    row[other] += weights[abs(distance) - 1]
        for entry in range(begin, end):
            values[entry] = row[columns[entry]]
            row[columns[entry]] = 0
        sizes[word - first] = end - begin
    return sizes, columns[:end].copy(), values[:end].copy()


def count_term_document(ids: np.ndarray, offsets: np.ndarray, vocab_size: int) -> csr_matrix:
    """Term–document counts: how often each word occurs in each document.

    Args:
        ids: (T,) word ids below `vocab_size`.
        offsets: (D + 1,) bounds of the documents.

    Returns:
        (V, D) float64 CSR: rows are words, columns documents.

    Raises:
        InputError: an id is not below `vocab_size`.
    """
    _check(ids, vocab_size)
    own = np.array(ids)  # SciPy sorts in place, and `ids` may be a read-only mapping of a file
    counts = csc_matrix((np.ones(len(own)), own, offsets), shape=(vocab_size, len(offsets) - 1))
    counts.sum_duplicates()
    return csr_matrix(counts)


def save_counts(path: Path, counts: csr_matrix) -> None:
    """Write a sparse matrix as safetensors: indptr, indices, data, shape."""
    indptr, indices = counts.indptr.astype(np.int64), counts.indices.astype(np.int32)
    shape = np.array(counts.shape, dtype=np.int64)
    write_arrays(path, {"indptr": indptr, "indices": indices, "data": counts.data, "shape": shape})


def load_counts(path: Path) -> csr_matrix:
    """Read what `save_counts` wrote.

    Raises:
        InputError: the file is missing or holds something else.
    """
    arrays = read_arrays(path)
    if set(arrays) != {"indptr", "indices", "data", "shape"}:
        raise InputError(f"{path}: not a sparse matrix (its arrays are {', '.join(sorted(arrays))})")
    shape = tuple(arrays["shape"].tolist())
    try:
        return csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
    except ValueError as error:
        raise InputError(f"{path}: not a sparse matrix ({error})") from error
