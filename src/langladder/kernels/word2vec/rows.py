"""Building blocks of the word2vec kernels: small products of rows that fit into the cache.

All matrices are float32 (rows, D), D a multiple of 8, so that every loop over d only uses full vector instructions.
Loops take matrices with row numbers, never views of rows, because a view costs two atomic operations. Rows are
processed in groups of 4 or 8, which share each load. Callers allocate room for an incomplete last group, with
coefficients of 0.

Shape legend: D dimensions.
"""

import numpy as np

from langladder.kernels.compiled import njit
from langladder.kernels.simd import add8, clip8, divide8, load8, multiply_add, splat8, store8, store_sums4, zeros8

HALF = np.float32(0.5)
LIMIT = np.float32(4.97)  # |x / 2| beyond which σ(x) is within 5e-5 of 0 or 1
P0, P1, P2 = np.float32(135135), np.float32(17325), np.float32(378)
Q1, Q2, Q3 = np.float32(62370), np.float32(3150), np.float32(28)


@njit(nogil=True)
def logistic(matrix: np.ndarray, rows: int, k: int) -> None:
    """x ← σ(x) = (1 + tanh(x/2)) / 2 in the first k columns (in groups of 8) of the first rows.

    tanh y ≈ y (135135 + 17325 y² + 378 y⁴ + y⁶) / (135135 + 62370 y² + 3150 y⁴ + 28 y⁶), Padé; σ's error is below 5e-5.
    """
    half, limit = splat8(HALF), splat8(LIMIT)
    for i in range(rows):
        for d in range(0, k, 8):
            y = clip8(multiply_add(load8(matrix, i, d), half, zeros8()), limit)
            q = multiply_add(y, y, zeros8())
            above = multiply_add(q, multiply_add(q, add8(q, splat8(P2)), splat8(P1)), splat8(P0))
            below = multiply_add(q, splat8(Q3), splat8(Q2))
            below = multiply_add(q, multiply_add(q, below, splat8(Q1)), splat8(P0))
            tanh = divide8(multiply_add(y, above, zeros8()), below)
            store8(matrix, i, d, multiply_add(half, tanh, half))


@njit(nogil=True)
def gather(table: np.ndarray, words: np.ndarray, first: int, count: int, rows: np.ndarray) -> None:
    """rows[i] ← table[words[first + i]]."""
    for i in range(count):
        word = words[first + i]
        for d in range(0, rows.shape[1], 8):
            store8(rows, i, d, load8(table, word, d))


@njit(nogil=True)
def scatter_add(
    rows: np.ndarray, count: int, rate: np.float32, table: np.ndarray, words: np.ndarray, first: int
) -> None:
    """table[words[first + i]] += rate · rows[i]."""
    factor = splat8(rate)
    for i in range(count):
        word = words[first + i]
        for d in range(0, rows.shape[1], 8):
            store8(table, word, d, multiply_add(factor, load8(rows, i, d), load8(table, word, d)))


@njit(nogil=True)
def row_products(A: np.ndarray, i: int, B: np.ndarray, first: int, k: int, out: np.ndarray, o: int) -> None:
    """out[o, j] ← A[i] · B[first + j] for j < k (in groups of 4)."""
    for j in range(0, k, 4):
        b = first + j
        s0 = s1 = s2 = s3 = zeros8()
        for d in range(0, A.shape[1], 8):
            x = load8(A, i, d)
            s0, s1 = multiply_add(x, load8(B, b, d), s0), multiply_add(x, load8(B, b + 1, d), s1)
            s2, s3 = multiply_add(x, load8(B, b + 2, d), s2), multiply_add(x, load8(B, b + 3, d), s3)
        store_sums4(out, o, j, s0, s1, s2, s3)


@njit(nogil=True)
def add_combination(g: np.ndarray, o: int, k: int, B: np.ndarray, which: np.ndarray, out: np.ndarray, i: int) -> None:
    """out[i] += Σ_j g[o, j] B[which[o, j]] for j < k.

    Strips of 32 columns are summed in registers over all j, then stored; the remaining columns, in strips of 8.
    """
    D, d = out.shape[1], 0
    while d + 32 <= D:
        s0, s1, s2, s3 = load8(out, i, d), load8(out, i, d + 8), load8(out, i, d + 16), load8(out, i, d + 24)
        for j in range(k):
            x, b = splat8(g[o, j]), which[o, j]
            s0, s1 = multiply_add(x, load8(B, b, d), s0), multiply_add(x, load8(B, b, d + 8), s1)
            s2, s3 = multiply_add(x, load8(B, b, d + 16), s2), multiply_add(x, load8(B, b, d + 24), s3)
        store8(out, i, d, s0)
        store8(out, i, d + 8, s1)
        store8(out, i, d + 16, s2)
        store8(out, i, d + 24, s3)
        d += 32
    while d < D:
        s0, s1 = load8(out, i, d), zeros8()
        for j in range(0, k - 1, 2):
            s0 = multiply_add(splat8(g[o, j]), load8(B, which[o, j], d), s0)
            s1 = multiply_add(splat8(g[o, j + 1]), load8(B, which[o, j + 1], d), s1)
        if k % 2 == 1:
            s0 = multiply_add(splat8(g[o, k - 1]), load8(B, which[o, k - 1], d), s0)
        store8(out, i, d, add8(s0, s1))
        d += 8


@njit(nogil=True)
def add_scaled(factor: np.float32, B: np.ndarray, j: int, out: np.ndarray, i: int) -> None:
    """out[i] += factor · B[j]."""
    x = splat8(factor)
    for d in range(0, out.shape[1], 8):
        store8(out, i, d, multiply_add(x, load8(B, j, d), load8(out, i, d)))


@njit(nogil=True)
def running_sums(table: np.ndarray, words: np.ndarray, first: int, count: int, sums: np.ndarray) -> None:
    """sums[j] ← Σ_{i < j} table[words[first + i]] for j ≤ count."""
    for d in range(0, sums.shape[1], 8):
        store8(sums, 0, d, zeros8())
    for j in range(count):
        word = words[first + j]
        for d in range(0, sums.shape[1], 8):
            store8(sums, j + 1, d, add8(load8(sums, j, d), load8(table, word, d)))


@njit(nogil=True)
def window_sum(
    sums: np.ndarray, first: int, end: int, table: np.ndarray, own: int, factor: np.float32, out: np.ndarray, i: int
) -> None:
    """out[i] ← factor · (sum of the window's rows, from their running sums, minus table[own])."""
    x = splat8(factor)
    minus = splat8(-factor)
    for d in range(0, out.shape[1], 8):
        less = multiply_add(minus, add8(load8(sums, first, d), load8(table, own, d)), zeros8())
        store8(out, i, d, multiply_add(x, load8(sums, end, d), less))


@njit(nogil=True)
def add_window_gradient(factor: np.float32, dH: np.ndarray, i: int, edges: np.ndarray, first: int, end: int) -> None:
    """The gradient of `window_sum` with respect to the rows of the window, as steps of a running sum."""
    x, minus = splat8(factor), splat8(-factor)
    for d in range(0, dH.shape[1], 8):
        h = load8(dH, i, d)
        store8(edges, first, d, multiply_add(x, h, load8(edges, first, d)))
        store8(edges, end, d, multiply_add(minus, h, load8(edges, end, d)))


@njit(nogil=True)
def scatter_windows(
    edges: np.ndarray,
    count: int,
    dH: np.ndarray,
    parts: np.ndarray,
    centres: int,
    size: int,
    rate: np.float32,
    table: np.ndarray,
    words: np.ndarray,
    first: int,
) -> None:
    """table[words[first + j]] += rate · (Σ_{i ≤ j} edges[i], minus the centre's own gradient) for j < count; changes
    `edges`.

    Args:
        dH, parts: of the centres, which are at positions `centres` … `centres + size − 1`.
    """
    factor = splat8(rate)
    for j in range(count):
        word, i = words[first + j], j - centres
        own = i if 0 <= i < size else 0
        minus = splat8(-rate * parts[own] if 0 <= i < size else np.float32(0))
        for d in range(0, dH.shape[1], 8):
            total = load8(edges, j, d)
            store8(edges, j + 1, d, add8(total, load8(edges, j + 1, d)))
            moved = multiply_add(factor, total, load8(table, word, d))
            store8(table, word, d, multiply_add(minus, load8(dH, own, d), moved))
