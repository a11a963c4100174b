"""Attention over short rows, row by row of the batch and head by head, all of it in the cache.

Forwards as `multi_head_attention` has it; backwards, with m the mask of dropout scaled by 1/(1 − p), or all ones:

    W = softmax(α Q Kᵀ),   O = (W ⊙ m) V,   α = 1/√d
    dV = (W ⊙ m)ᵀ dO,   dW = m ⊙ (dO Vᵀ),   dA = α W ⊙ (dW − (dW ⊙ W) 1),   dQ = dA K,   dK = dAᵀ Q

Batched products of some ten rows each cost more in calls and copies than in arithmetic, and so does a softmax over ten
numbers. Here the rows are read where they lie (`langladder.wide`); only Kᵀ and Vᵀ are written out. Where no position
sees a later one, what is above the diagonal is not computed. What is dropped follows from a seed and the place, as in
`dropout_kernel`.

Shape legend: B rows, h heads, T queries, S memory positions, S' the same rounded up to whole sixteens, d width of a
head, a multiple of 16.
"""

from typing import NamedTuple

import numpy as np

from langladder import wide
from langladder.compiled import njit
from langladder.nn.dropout_kernel import left
from langladder.nn.falling import Falling
from langladder.nn.vector_math import SUMS, exponential
from langladder.simd import add8, larger8, largest8, load8, multiply8, multiply_add, splat8, store8, sum8, zeros8
from langladder.wide import TALL, WIDE

ZERO, ONE, LOWEST, INFINITE = np.float32(0), np.float32(1), np.float32(-87), np.float32(np.inf)
LANES = 8


class Matrix(NamedTuple):
    """A matrix in a flat array: entry (i, k) is x[first + i · down + k · along]."""

    x: np.ndarray
    first: int
    down: int
    along: int


@njit(nogil=True, inline="always")
def _part(x: np.ndarray, strides: np.ndarray, b: int, head: int) -> Matrix:
    """One row and head of a tensor with these strides of B, h and T."""
    return Matrix(x, b * strides[0] + head * strides[1], strides[2], 1)


@njit(nogil=True, inline="always")
def _turned(a: Matrix) -> Matrix:
    return Matrix(a.x, a.first, a.along, a.down)


@njit(nogil=True)
def _multiply(
    a: Matrix, rows: int, b: Matrix, depth: int, c: Matrix, columns: int, lower: bool, upper: bool, narrow: bool
) -> None:
    """c ← a b, (rows, depth) · (depth, columns), columns rounded up to whole registers.

    Args:
        b, c: of which a row's numbers lie side by side.
        lower: entries of a to the right of the diagonal are 0; upper: those to its left.
        narrow: nothing to the right of c's diagonal is wanted; near to it something may be made all the same.
    """
    i = 0
    while i < rows:
        tall = TALL if rows - i >= TALL else 4 if rows - i >= 4 else 2 if rows - i >= 2 else 1
        first, last = i if upper else 0, min(depth, i + tall) if lower else depth
        wanted = min(columns, i + tall) if narrow else columns
        taken, deep = (a.first + i * a.down + first * a.along, a.down, a.along), last - first
        at, o = b.first + first * b.down, c.first + i * c.down
        for j in range(0, wanted, 2 * WIDE):
            registers = 2 if wanted - j > WIDE else 1
            wide.multiply(tall, registers, a.x, taken, b.x, (at + j, b.down, deep), c.x, (o + j, c.down))
        i += tall


@njit(nogil=True)
def _turn(a: Matrix, rows: int, d: int, factor: np.float32, into: Matrix) -> None:
    """into (d, S') ← factor · aᵀ of (rows, d); columns beyond the rows are like some before them."""
    for s in range(0, rows, WIDE):
        first, there = a.first + s * a.down, min(WIDE, rows - s)
        for c in range(0, d, WIDE):
            wide.turn(a.x, first + c, a.down, there, factor, into.x, into.first + c * into.down + s, into.down)


@njit(nogil=True)
def _hide(keep: np.ndarray, b: int, S: int, causal: bool, hidden: np.ndarray) -> None:
    """hidden ← −∞ where a query of row b may not look, else 0: (T, S')."""
    for t in range(hidden.shape[0]):
        for s in range(hidden.shape[1]):
            seen = s < S and (t >= s or not causal) and (len(keep) == 0 or keep[b, s])
            hidden[t, s] = ZERO if seen else -INFINITE


@njit(nogil=True)
def _clear(A: np.ndarray, T: int) -> None:
    """A[:T] ← 0 where `_multiply` has left out what is to the right of the diagonal."""
    for t in range(T):
        for s in range((t + LANES) // LANES * LANES, A.shape[1], LANES):
            store8(A, t, s, zeros8())


@njit(nogil=True)
def _softmax(A: np.ndarray, T: int, hidden: np.ndarray, W: np.ndarray, row: int) -> None:
    """W[row : row + T] ← softmax(A + hidden), exactly 0 where that is −∞. A row that sees nothing is 0."""
    for t in range(T):
        highest = splat8(-INFINITE)
        for s in range(0, A.shape[1], LANES):
            scores = add8(load8(A, t, s), load8(hidden, t, s))
            store8(A, t, s, scores)
            highest = larger8(scores, highest)
        peak = largest8(highest)
        down = splat8(-peak if peak > -INFINITE else ZERO)
        for s in range(0, A.shape[1], LANES):
            store8(A, t, s, add8(load8(A, t, s), down))
    _exponentials(A.ravel(), T * A.shape[1])
    for t in range(T):
        total = zeros8()
        for s in range(0, A.shape[1], LANES):
            total = add8(total, load8(A, t, s))
        added = sum8(total)
        factor = splat8(ONE / added if added > ZERO else ZERO)
        for s in range(0, A.shape[1], LANES):
            store8(W, row + t, s, multiply8(factor, load8(A, t, s)))


@njit(nogil=True, fastmath=SUMS, error_model="numpy")
def _exponentials(x: np.ndarray, n: int) -> None:
    """x[:n] ← e^x, exactly 0 where it is of no account; what is no number stays none."""
    for i in range(n):
        x[i] = ZERO if x[i] < LOWEST else exponential(x[i])


@njit(nogil=True, error_model="numpy")
def _drop(x: np.ndarray, first: int, n: int, falling: Falling, y: np.ndarray) -> None:
    """y[:n] ← x[first : first + n] ⊙ m, of the places from `first` on."""
    for i in range(n):
        y[i] = x[first + i] * left(first + i, falling)


@njit(nogil=True, error_model="numpy")
def _drop_both(x: np.ndarray, first: int, n: int, falling: Falling, y: np.ndarray, z: np.ndarray) -> None:
    """y[:n] ← x[first : first + n] ⊙ m and z[:n] ← z[:n] ⊙ m."""
    for i in range(n):
        m = left(first + i, falling)
        y[i] = x[first + i] * m
        z[i] *= m


@njit(nogil=True)
def _through_softmax(W: np.ndarray, row: int, T: int, dW: np.ndarray, alpha: np.float32) -> None:
    """dW ← α W ⊙ (dW − (dW ⊙ W) 1), the first T rows, of which those of W begin at `row`."""
    times = splat8(alpha)
    for t in range(T):
        total = zeros8()
        for s in range(0, W.shape[1], LANES):
            total = multiply_add(load8(W, row + t, s), load8(dW, t, s), total)
        down = splat8(-sum8(total))
        for s in range(0, W.shape[1], LANES):
            store8(dW, t, s, multiply8(times, multiply8(load8(W, row + t, s), add8(load8(dW, t, s), down))))


@njit(nogil=True)
def attend(
    query: np.ndarray,  # all its storage, flat, as of key and value
    key: np.ndarray,
    value: np.ndarray,
    strides: np.ndarray,  # (3, 3) of B, h, T in each
    shape: tuple[int, int, int, int],  # B, h, T, S
    keep: np.ndarray,  # (B, S) bool: which positions are seen; (0, 0): all
    causal: bool,
    falling: Falling,  # `least` 0: nothing does
    weights: np.ndarray,  # (B·h·T, S'), filled with W, 0 beyond S
    out: np.ndarray,  # (B, T, h, d), flat, filled with O
    d: int,
    first: int,  # the rows of the batch that are this call's
    last: int,
) -> None:
    """O and W."""
    (_, heads, T, S), width, f32 = shape, weights.shape[1], np.float32
    A, hidden = np.zeros((T, width), f32), np.zeros((T, width), f32)
    across, alpha, flat = Matrix(np.zeros(d * width, f32), 0, width, 1), f32(1 / np.sqrt(d)), weights.ravel()
    scores = Matrix(A.ravel(), 0, width, 1)
    for b in range(first, last):
        if b == first or len(keep):
            _hide(keep, b, S, causal, hidden)
        for head in range(heads):
            row = (b * heads + head) * T
            Q, V = _part(query, strides[0], b, head), _part(value, strides[2], b, head)
            _turn(_part(key, strides[1], b, head), S, d, alpha, across)
            _multiply(Q, T, across, d, scores, S, False, False, causal)
            if causal:
                _clear(A, T)
            _softmax(A, T, hidden, weights, row)
            used = Matrix(flat, row * width, width, 1)
            if falling.least > 0:
                _drop(flat, row * width, T * width, falling, scores.x)
                used = scores
            _multiply(used, T, V, S, Matrix(out, (b * T * heads + head) * d, heads * d, 1), d, causal, False, False)


@njit(nogil=True)
def attend_backwards(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    given: np.ndarray,  # dO
    strides: np.ndarray,  # (4, 3)
    shape: tuple[int, int, int, int],
    causal: bool,
    weights: np.ndarray,  # from `attend`
    falling: Falling,
    dquery: np.ndarray,  # (B, T, h, d), flat, filled
    dkey: np.ndarray,  # (B, S, h, d), likewise
    dvalue: np.ndarray,  # likewise
    d: int,
    first: int,  # the rows of the batch that are this call's
    last: int,
) -> None:
    """dQ, dK and dV."""
    (_, heads, T, S), width, f32 = shape, weights.shape[1], np.float32
    dA, thin = np.zeros((T, width), f32), np.zeros(T * width, f32)
    across, alpha, flat = Matrix(np.zeros(d * width, f32), 0, width, 1), f32(1 / np.sqrt(d)), weights.ravel()
    change, step = Matrix(dA.ravel(), 0, width, 1), heads * d
    for b in range(first, last):
        for head in range(heads):
            row, at, memory = (b * heads + head) * T, (b * T * heads + head) * d, (b * S * heads + head) * d
            Q, K = _part(query, strides[0], b, head), _part(key, strides[1], b, head)
            G = _part(given, strides[3], b, head)
            _turn(_part(value, strides[2], b, head), S, d, ONE, across)
            _multiply(G, T, across, d, change, S, False, False, causal)  # dO Vᵀ
            if causal:
                _clear(dA, T)
            dropped = Matrix(flat, row * width, width, 1)
            if falling.least > 0:
                _drop_both(flat, row * width, T * width, falling, thin, change.x)
                dropped = Matrix(thin, 0, width, 1)
            _through_softmax(weights, row, T, dA, alpha)
            _multiply(change, T, K, S, Matrix(dquery, at, step, 1), d, causal, False, False)
            _multiply(_turned(change), S, Q, T, Matrix(dkey, memory, step, 1), d, False, causal, False)
            _multiply(_turned(dropped), S, G, T, Matrix(dvalue, memory, step, 1), d, False, causal, False)
