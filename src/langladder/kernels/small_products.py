"""Products of small matrices that fit into the cache, for kernels that compute very many of them.

All matrices are float32 (rows, D), D a multiple of 8, so that every loop over d only uses full vector instructions.
Rows are processed in groups of 2 or 4, which share each load. Callers allocate room for an incomplete last group, with
coefficients of 0.

Shape legend: D dimensions.
"""

import numpy as np

from langladder.kernels.compiled import njit
from langladder.kernels.simd import add8, load8, multiply_add, splat8, store8, store_sums4, zeros8


@njit(nogil=True)
def fill_zero(rows: np.ndarray, count: int) -> None:
    """rows[:count] ← 0."""
    for i in range(count):
        for d in range(0, rows.shape[1], 8):
            store8(rows, i, d, zeros8())


@njit(nogil=True)
def products(A: np.ndarray, n: int, B: np.ndarray, first: int, k: int, out: np.ndarray, o: int) -> None:
    """out[o + i, j] ← A[i] · B[first + j] for i < n (in groups of 2), j < k (in groups of 4)."""
    for i in range(0, n, 2):
        for j in range(0, k, 4):
            b = first + j
            s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = zeros8()
            for d in range(0, A.shape[1], 8):
                x, y = load8(A, i, d), load8(A, i + 1, d)
                b0, b1, b2, b3 = load8(B, b, d), load8(B, b + 1, d), load8(B, b + 2, d), load8(B, b + 3, d)
                s0, s1 = multiply_add(x, b0, s0), multiply_add(x, b1, s1)
                s2, s3 = multiply_add(x, b2, s2), multiply_add(x, b3, s3)
                t0, t1 = multiply_add(y, b0, t0), multiply_add(y, b1, t1)
                t2, t3 = multiply_add(y, b2, t2), multiply_add(y, b3, t3)
            store_sums4(out, o + i, j, s0, s1, s2, s3)
            store_sums4(out, o + i + 1, j, t0, t1, t2, t3)


@njit(nogil=True)
def combinations(G: np.ndarray, n: int, first: int, k: int, B: np.ndarray, out: np.ndarray) -> None:
    """out[i] ← Σ_j G[i, j] B[first + j] for i < n (in groups of 2), j < k; strips of 32 columns stay in registers."""
    for i in range(0, n, 2):
        D, d = out.shape[1], 0
        while d + 32 <= D:
            s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = zeros8()
            for j in range(k):
                x, y, b = splat8(G[i, j]), splat8(G[i + 1, j]), first + j
                b0, b1, b2, b3 = load8(B, b, d), load8(B, b, d + 8), load8(B, b, d + 16), load8(B, b, d + 24)
                s0, s1 = multiply_add(x, b0, s0), multiply_add(x, b1, s1)
                s2, s3 = multiply_add(x, b2, s2), multiply_add(x, b3, s3)
                t0, t1 = multiply_add(y, b0, t0), multiply_add(y, b1, t1)
                t2, t3 = multiply_add(y, b2, t2), multiply_add(y, b3, t3)
            for r, (a0, a1, a2, a3) in enumerate(((s0, s1, s2, s3), (t0, t1, t2, t3))):
                store8(out, i + r, d, a0)
                store8(out, i + r, d + 8, a1)
                store8(out, i + r, d + 16, a2)
                store8(out, i + r, d + 24, a3)
            d += 32
        while d < D:
            s0 = s1 = t0 = t1 = zeros8()
            for j in range(0, k - 1, 2):
                b0, b1 = load8(B, first + j, d), load8(B, first + j + 1, d)
                s0, t0 = multiply_add(splat8(G[i, j]), b0, s0), multiply_add(splat8(G[i + 1, j]), b0, t0)
                s1, t1 = multiply_add(splat8(G[i, j + 1]), b1, s1), multiply_add(splat8(G[i + 1, j + 1]), b1, t1)
            if k % 2 == 1:
                b0 = load8(B, first + k - 1, d)
                s0, t0 = multiply_add(splat8(G[i, k - 1]), b0, s0), multiply_add(splat8(G[i + 1, k - 1]), b0, t0)
            store8(out, i, d, add8(s0, s1))
            store8(out, i + 1, d, add8(t0, t1))
            d += 8
