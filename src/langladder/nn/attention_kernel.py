"""Attention with dropout over short rows, row by row of the batch and head by head, all of it in the cache.

Forwards as `multi_head_attention` has it; backwards, with m the mask of dropout scaled by 1/(1 − p):

    W = softmax(α Q Kᵀ),   O = (W ⊙ m) V,   α = 1/√d
    dV = (W ⊙ m)ᵀ dO,   dW = m ⊙ (dO Vᵀ),   dA = W ⊙ (dW − (dW ⊙ W) 1),   dQ = α dA K,   dK = α dAᵀ Q

Batched products of some ten rows each cost more in calls and copies than in arithmetic, and so does a softmax over ten
numbers. What is dropped follows from a seed and the place, as in `dropout_kernel`.

Shape legend: B rows, h heads, T queries, S memory positions, S' the same rounded up to whole eights, d width of a head,
a multiple of 8.
"""

import numpy as np

from langladder.compiled import njit
from langladder.nn.dropout_kernel import left
from langladder.nn.falling import Falling
from langladder.nn.vector_math import SUMS, exponential
from langladder.simd import add8, larger8, largest8, load8, multiply8, multiply_add, splat8, store8, sum8, zeros8
from langladder.small_products import combinations, products

ZERO, ONE, LOWEST, INFINITE = np.float32(0), np.float32(1), np.float32(-87), np.float32(np.inf)


@njit(nogil=True)
def _take(x: np.ndarray, strides: np.ndarray, b: int, head: int, factor: np.float32, rows: np.ndarray, n: int) -> None:
    """rows[:n] ← factor · x[b, :n, head], of an x in one row with these strides of B, h and T."""
    times = splat8(factor)
    for t in range(n):
        first = b * strides[0] + head * strides[1] + t * strides[2]
        for c in range(0, rows.shape[1], 8):
            store8(rows, t, c, multiply8(times, load8(x, 0, first + c)))


@njit(nogil=True)
def _give(rows: np.ndarray, n: int, factor: np.float32, x: np.ndarray, b: int, head: int, heads: int) -> None:
    """x[b, :n, head] ← factor · rows[:n]; x is (B · n · h, d)."""
    times = splat8(factor)
    for t in range(n):
        for c in range(0, rows.shape[1], 8):
            store8(x, (b * n + t) * heads + head, c, multiply8(times, load8(rows, t, c)))


@njit(nogil=True)
def _softmax(A: np.ndarray, T: int, hidden: np.ndarray) -> None:
    """The first T rows ← softmax(A + hidden), exactly 0 where that is −∞. A row that sees nothing is 0."""
    for t in range(T):
        highest = splat8(-INFINITE)
        for s in range(0, A.shape[1], 8):
            scores = add8(load8(A, t, s), load8(hidden, t, s))
            store8(A, t, s, scores)
            highest = larger8(scores, highest)
        peak = largest8(highest)
        down = splat8(-peak if peak > -INFINITE else ZERO)
        for s in range(0, A.shape[1], 8):
            store8(A, t, s, add8(load8(A, t, s), down))
    _exponentials(A.ravel(), T * A.shape[1])
    for t in range(T):
        total = zeros8()
        for s in range(0, A.shape[1], 8):
            total = add8(total, load8(A, t, s))
        added = sum8(total)
        factor = splat8(ONE / added if added > ZERO else ZERO)
        for s in range(0, A.shape[1], 8):
            store8(A, t, s, multiply8(factor, load8(A, t, s)))


@njit(nogil=True, fastmath=SUMS, error_model="numpy")
def _exponentials(x: np.ndarray, n: int) -> None:
    """x[:n] ← e^x, exactly 0 where it is of no account; what is no number stays none."""
    for i in range(n):
        x[i] = ZERO if x[i] < LOWEST else exponential(x[i])


@njit(nogil=True, error_model="numpy")
def _drop(x: np.ndarray, n: int, falling: Falling, first: int) -> None:
    """x[:n] ← x[:n] ⊙ m, of the places from `first` on."""
    for i in range(n):
        x[i] *= left(first + i, falling)


@njit(nogil=True)
def _copy(rows: np.ndarray, first: int, n: int, into: np.ndarray, at: int) -> None:
    """into[at : at + n] ← rows[first : first + n]."""
    for t in range(n):
        for s in range(0, rows.shape[1], 8):
            store8(into, at + t, s, load8(rows, first + t, s))


@njit(nogil=True)
def _hide(keep: np.ndarray, b: int, S: int, causal: bool, hidden: np.ndarray) -> None:
    """hidden ← −∞ where a query of row b may not look, else 0: (T, S')."""
    for t in range(hidden.shape[0]):
        for s in range(hidden.shape[1]):
            seen = s < S and (t >= s or not causal) and (len(keep) == 0 or keep[b, s])
            hidden[t, s] = ZERO if seen else -INFINITE


@njit(nogil=True)
def _through_softmax(W: np.ndarray, T: int, dW: np.ndarray) -> None:
    """dW ← W ⊙ (dW − (dW ⊙ W) 1), the first T rows."""
    for t in range(T):
        total = zeros8()
        for s in range(0, W.shape[1], 8):
            total = multiply_add(load8(W, t, s), load8(dW, t, s), total)
        down = splat8(-sum8(total))
        for s in range(0, W.shape[1], 8):
            store8(dW, t, s, multiply8(load8(W, t, s), add8(load8(dW, t, s), down)))


@njit(nogil=True)
def attend(
    query: np.ndarray,  # all its storage in one row (1, …), as of key and value
    key: np.ndarray,
    value: np.ndarray,
    strides: np.ndarray,  # (3, 3) of B, h, T in each
    shape: tuple[int, int, int, int],  # B, h, T, S
    keep: np.ndarray,  # (B, S) bool: which positions are seen; (0, 0): all
    causal: bool,
    falling: Falling,
    weights: np.ndarray,  # (B·h·T, S'), filled with W, 0 beyond S
    out: np.ndarray,  # (B·T·h, d), filled with O
) -> None:
    """O and W."""
    (B, heads, T, S), (width, d), f32 = shape, (weights.shape[1], out.shape[1]), np.float32
    Q, mixed, A = np.zeros((T + T % 2, d), f32), np.zeros((T + T % 2, d), f32), np.zeros((T + T % 2, width), f32)
    K, V, hidden = np.zeros((width, d), f32), np.zeros((width, d), f32), np.zeros((T, width), f32)
    alpha, flat = f32(1 / np.sqrt(d)), A.ravel()
    for b in range(B):
        if b == 0 or len(keep):
            _hide(keep, b, S, causal, hidden)
        for head in range(heads):
            row = (b * heads + head) * T
            _take(query, strides[0], b, head, alpha, Q, T)
            _take(key, strides[1], b, head, ONE, K, S)
            _take(value, strides[2], b, head, ONE, V, S)
            products(Q, T, K, 0, S, A, 0)
            _softmax(A, T, hidden)
            _copy(A, 0, T, weights, row)
            _drop(flat, T * width, falling, row * width)
            combinations(A, T, 0, S, V, mixed)
            _give(mixed, T, ONE, out, b, head, heads)


@njit(nogil=True)
def attend_backwards(
    given: np.ndarray,  # dO, as the others with the strides of strides[3]
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    strides: np.ndarray,  # (4, 3)
    shape: tuple[int, int, int, int],
    weights: np.ndarray,  # from `attend`
    falling: Falling,
    dquery: np.ndarray,  # (B·T·h, d), filled
    dkey: np.ndarray,  # (B·S·h, d), filled
    dvalue: np.ndarray,  # likewise
) -> None:
    """dQ, dK and dV."""
    (B, heads, T, S), (width, d), f32 = shape, (weights.shape[1], dquery.shape[1]), np.float32
    T2, alpha = T + T % 2, f32(1 / np.sqrt(d))
    Q, G, dQ = np.zeros((T2, d), f32), np.zeros((T2, d), f32), np.zeros((T2, d), f32)
    K, V = np.zeros((width, d), f32), np.zeros((width, d), f32)
    dK, dV = np.zeros((width, d), f32), np.zeros((width, d), f32)
    dA, W, thin = np.zeros((T2, width), f32), np.zeros((T2, width), f32), np.zeros((T2, width), f32)
    turned, thin_turned = np.zeros((width, T2), f32), np.zeros((width, T2), f32)
    for b in range(B):
        for head in range(heads):
            row = (b * heads + head) * T
            _take(query, strides[0], b, head, alpha, Q, T)
            _take(key, strides[1], b, head, ONE, K, S)
            _take(value, strides[2], b, head, ONE, V, S)
            _take(given, strides[3], b, head, ONE, G, T)
            products(G, T, V, 0, S, dA, 0)  # dO Vᵀ
            _copy(weights, row, T, W, 0)
            _copy(weights, row, T, thin, 0)
            _drop(dA.ravel(), T * width, falling, row * width)
            _drop(thin.ravel(), T * width, falling, row * width)
            _through_softmax(W, T, dA)
            for t in range(T):
                for s in range(S):
                    turned[s, t], thin_turned[s, t] = dA[t, s], thin[t, s]
            combinations(dA, T, 0, S, K, dQ)
            combinations(turned, S, 0, T, Q, dK)
            combinations(thin_turned, S, 0, T, G, dV)
            _give(dQ, T, alpha, dquery, b, head, heads)
            _give(dK, S, ONE, dkey, b, head, heads)
            _give(dV, S, ONE, dvalue, b, head, heads)
