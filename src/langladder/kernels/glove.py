"""Numba kernels of GloVe: the order of the pairs, one pass of AdaGrad over them, the cost.

Shape legend: V words, E pairs (non-zero counts), D dimensions, filled up with zeros to a multiple of eight.
"""

from typing import NamedTuple

import numpy as np

from langladder.kernels.compiled import njit
from langladder.kernels.simd import (
    LANES,
    load8,
    multiply8,
    multiply_add,
    prefetch_to_write,
    reciprocal_root8,
    splat8,
    store8,
    sum8,
    zeros8,
)

STRIP = 1024  # contexts; with 100 dimensions their parameters take 800 KB, which fits into a level-2 cache
AHEAD = 4  # pairs: how far ahead a pair's parameters are prefetched
CACHE_LINE = 16  # float32 values


class Parameters(NamedTuple):
    """Parameters of words and contexts, float32: `[i, 0]` is a vector or bias, `[i, 1]` its sums of squared
    gradients."""

    words: np.ndarray  # (V, 2, D)
    contexts: np.ndarray  # (V, 2, D)
    word_biases: np.ndarray  # (V, 2)
    context_biases: np.ndarray  # (V, 2)


class Pairs(NamedTuple):
    """The non-zero counts in training order: (E,) each."""

    rows: np.ndarray  # int32
    columns: np.ndarray  # int32
    logs: np.ndarray  # float32, log X_ij
    weights: np.ndarray  # float32, f(X_ij)


def filled(dim: int) -> int:
    """D: dimensions including the padding, which stays zero because its gradients are zero."""
    return -(-dim // LANES) * LANES


@njit(nogil=True)
def weight(x: float, x_max: float, alpha: float) -> float:
    """f(x) = (x / x_max)^α below x_max, 1 from there on; f(0) = 0 (Pennington et al. 2014, equation 9)."""
    return (x / x_max) ** alpha if x < x_max else 1.0


@njit(nogil=True)
def ordered_pairs(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, strips: np.ndarray, rounds: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The entries of a CSR matrix in an order that is random enough for SGD but keeps memory accesses close together.

    Each entry is drawn into one of `rounds` rounds. Within a round, entries are sorted by strip, within a strip by row.
    A strip has STRIP neighbouring columns; `strips` (S,) is a permutation of the strips' numbers.

    Returns:
        rows (E,) int32, columns (E,) int32, values (E,) float32.
    """
    entries = len(indices)
    round_of = np.empty(entries, dtype=np.uint8)
    slots = np.zeros(rounds * len(strips) + 1, dtype=np.int64)
    state = np.uint64(seed * 2 + 1)
    for entry in range(entries):
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)  # Knuth's generator
        round_of[entry] = (state >> np.uint64(40)) % np.uint64(rounds)
        slots[round_of[entry] * len(strips) + strips[indices[entry] // STRIP] + 1] += 1
    slots = np.cumsum(slots)
    rows, columns = np.empty(entries, dtype=np.int32), np.empty(entries, dtype=np.int32)
    values = np.empty(entries, dtype=np.float32)
    for row in range(len(indptr) - 1):
        for entry in range(indptr[row], indptr[row + 1]):
            key = round_of[entry] * len(strips) + strips[indices[entry] // STRIP]
            slot = slots[key]
            slots[key] = slot + 1
            rows[slot], columns[slot], values[slot] = row, indices[entry], data[entry]
    return rows, columns, values


@njit(nogil=True)
def targets(values: np.ndarray, x_max: float, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """log X_ij and f(X_ij) of each pair, (E,) float32 each."""
    logs, weights = np.empty_like(values), np.empty_like(values)
    for pair in range(len(values)):
        logs[pair] = np.log(values[pair])
        weights[pair] = weight(values[pair], x_max, alpha)
    return logs, weights


@njit(nogil=True, fastmath=True, error_model="numpy")
def train_pairs(
    parameters: Parameters, pairs: Pairs, learning_rate: np.float32, biases: bool, first: int, last: int
) -> float:
    """One AdaGrad step for each of the pairs `first` … `last − 1`, in order; changes the parameters in place.

    Returns:
        Σ f(X_ij) error² over these pairs, each computed before its step.
    """
    words, contexts, word_biases, context_biases = parameters
    rows, columns, logs, weights = pairs
    dim = words.shape[2]
    row_size = 2 * dim
    flat_words, flat_contexts = words.reshape(-1), contexts.reshape(-1)
    word_rows, context_rows = words.reshape(len(words), row_size), contexts.reshape(len(contexts), row_size)  # (V, 2 D)
    cost = 0.0
    for pair in range(first, last):
        coming = min(pair + AHEAD, last - 1)
        for k in range(0, row_size, CACHE_LINE):
            prefetch_to_write(flat_words, rows[coming] * row_size + k)
            prefetch_to_write(flat_contexts, columns[coming] * row_size + k)
        i, j = rows[pair], columns[pair]
        products = zeros8()
        for k in range(0, dim, LANES):
            products = multiply_add(load8(word_rows, i, k), load8(context_rows, j, k), products)
        # error = w_i · w̃_j + b_i + b̃_j − log X_ij
        error = sum8(products) + word_biases[i, 0] + context_biases[j, 0] - logs[pair]
        weighted = weights[pair] * error
        cost += weighted * error
        # η ∂(½ f error²)/∂w_i = η f error w̃_j; G starts at 1, sums (η ∂)², and divides before it grows
        step = learning_rate * weighted
        down = splat8(-step)
        for k in range(0, dim, LANES):
            w, w_squares = load8(word_rows, i, k), load8(word_rows, i, dim + k)
            c, c_squares = load8(context_rows, j, k), load8(context_rows, j, dim + k)
            w_step, c_step = multiply8(down, c), multiply8(down, w)
            store8(word_rows, i, k, multiply_add(w_step, reciprocal_root8(w_squares), w))
            store8(context_rows, j, k, multiply_add(c_step, reciprocal_root8(c_squares), c))
            store8(word_rows, i, dim + k, multiply_add(w_step, w_step, w_squares))
            store8(context_rows, j, dim + k, multiply_add(c_step, c_step, c_squares))
        if biases:
            word_biases[i, 0] -= step / np.sqrt(word_biases[i, 1])
            context_biases[j, 0] -= step / np.sqrt(context_biases[j, 1])
            word_biases[i, 1] += step * step
            context_biases[j, 1] += step * step
    return cost


@njit(nogil=True, fastmath=True, error_model="numpy")
def total_cost(parameters: Parameters, pairs: Pairs) -> float:
    """J = Σ f(X_ij) (w_i · w̃_j + b_i + b̃_j − log X_ij)² over all pairs, without training."""
    words, contexts, word_biases, context_biases = parameters
    rows, columns, logs, weights = pairs
    cost = 0.0
    for pair in range(len(rows)):
        w, c = words[rows[pair], 0], contexts[columns[pair], 0]  # (D,)
        dot = w[0] * c[0]
        for k in range(1, words.shape[2]):
            dot += w[k] * c[k]
        error = dot + word_biases[rows[pair], 0] + context_biases[columns[pair], 0] - logs[pair]
        cost += weights[pair] * error * error
    return cost
