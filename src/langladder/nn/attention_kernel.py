"""Attention over short rows, row by row of the batch and head by head, all of it in the cache.

Forwards as `multi_head_attention` has it; backwards, with m the mask of dropout scaled by 1/(1 − p), or all ones:

    W = softmax(α Q Kᵀ),   O = (W ⊙ m) V,   α = 1/√d
    dV = (W ⊙ m)ᵀ dO,   dW = m ⊙ (dO Vᵀ),   dA = α W ⊙ (dW − (dW ⊙ W) 1),   dQ = dA K,   dK = dAᵀ Q

Batched products of some ten rows each cost more in calls and copies than in arithmetic, and so does a softmax over ten
numbers. Here the rows are read where they lie (`nn.matrix`), one behind the other without padding; only Kᵀ and Vᵀ
are written out. Where no position sees a later one, what is above the diagonal is not computed. What is dropped follows
from a seed and the place, as in `dropout_kernel`.

Shape legend: B rows, h heads, T queries of a row, S its memory positions, S' the same rounded up to whole sixteens,
N and M all queries and memory positions, d width of a head, a multiple of 16.
"""

from typing import NamedTuple

import numpy as np

from langladder.kernels.compiled import njit
from langladder.kernels.simd import (
    add8,
    larger8,
    largest8,
    load8,
    multiply8,
    multiply_add,
    splat8,
    store8,
    sum8,
    zeros8,
)
from langladder.nn.dropout_kernel import left
from langladder.nn.falling import Falling
from langladder.nn.matrix import Matrix, multiply, transposed, turn
from langladder.nn.vector_math import SUMS, exponential

ZERO, ONE, LOWEST, INFINITE = np.float32(0), np.float32(1), np.float32(-87), np.float32(np.inf)
LANES = 8


class Span(NamedTuple):
    """What is a row's own: its first query and their number, its first memory position and their number, S', and where
    its weights begin."""

    query: int
    T: int
    memory: int
    S: int
    width: int
    weight: int


@njit(nogil=True, inline="always")
def _span(spans: np.ndarray, b: int) -> Span:
    return Span(spans[b, 0], spans[b, 1], spans[b, 2], spans[b, 3], spans[b, 4], spans[b, 5])


@njit(nogil=True)
def _largest(spans: np.ndarray, first: int, last: int) -> tuple[int, int]:
    """Of these rows: the largest T · S' and S'."""
    area, width = 0, 0
    for b in range(first, last):
        area, width = max(area, spans[b, 1] * spans[b, 4]), max(width, spans[b, 4])
    return area, width


@njit(nogil=True, inline="always")
def _part(x: np.ndarray, steps: np.ndarray, position: int, head: int) -> Matrix:
    """One head of a tensor from a position on; steps: from one position to the next, and from head to head."""
    return Matrix(x, position * steps[0] + head * steps[1], steps[0], 1)


@njit(nogil=True)
def _hide(S: int, causal: bool, hidden: np.ndarray) -> None:
    """hidden ← −∞ where a query may not look, else 0: (T, S')."""
    for t in range(hidden.shape[0]):
        seen = min(S, t + 1) if causal else S
        for s in range(hidden.shape[1]):
            hidden[t, s] = ZERO if s < seen else -INFINITE


@njit(nogil=True)
def _clear(A: np.ndarray, T: int) -> None:
    """A[:T] ← 0 where `multiply` has left out what is to the right of the diagonal."""
    for t in range(T):
        for s in range((t + LANES) // LANES * LANES, A.shape[1], LANES):
            store8(A, t, s, zeros8())


@njit(nogil=True)
def _softmax(A: np.ndarray, hidden: np.ndarray, W: np.ndarray, first: int) -> None:
    """W from row `first` on ← softmax(A + hidden), exactly 0 where that is −∞; all 0 of a query that sees nothing."""
    T = len(A)
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
            store8(W, first + t, s, multiply8(factor, load8(A, t, s)))


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
def _through_softmax(W: np.ndarray, first: int, dW: np.ndarray, alpha: np.float32) -> None:
    """dW ← α W ⊙ (dW − (dW ⊙ W) 1), with the rows of W from `first` on."""
    times = splat8(alpha)
    for t in range(len(dW)):
        total = zeros8()
        for s in range(0, W.shape[1], LANES):
            total = multiply_add(load8(W, first + t, s), load8(dW, t, s), total)
        down = splat8(-sum8(total))
        for s in range(0, W.shape[1], LANES):
            store8(dW, t, s, multiply8(times, multiply8(load8(W, first + t, s), add8(load8(dW, t, s), down))))


@njit(nogil=True)
def attend(
    query: np.ndarray,  # all its storage, flat, as of key and value
    key: np.ndarray,
    value: np.ndarray,
    steps: np.ndarray,  # (3, 2): how far positions and heads are apart in each
    spans: np.ndarray,  # (B, 6): see `Span`
    causal: bool,  # T = S in every row
    falling: Falling,  # `least` 0: nothing does
    weights: np.ndarray,  # flat, filled with W: (h, T, S') of each row, 0 beyond S
    out: np.ndarray,  # (N, h, d), flat, filled with O
    heads: int,
    d: int,
    first: int,  # the rows that are this call's
    last: int,
) -> None:
    """O and W."""
    (area, widest), f32 = _largest(spans, first, last), np.float32
    scores, gone, turned = np.zeros(area, f32), np.zeros(area, f32), np.zeros(d * widest, f32)
    alpha = f32(1 / np.sqrt(d))
    for b in range(first, last):
        row = _span(spans, b)
        T, S, width, size = row.T, row.S, row.width, row.T * row.width
        A, hidden = scores[:size].reshape(T, width), gone[:size].reshape(T, width)
        W = weights[row.weight : row.weight + heads * size].reshape(heads * T, width)
        across = Matrix(turned, 0, width, 1)
        if b == first or spans[b - 1, 1] != T or spans[b - 1, 3] != S:  # else as the row before has left them
            A[:] = ZERO
            _hide(S, causal, hidden)
        for head in range(heads):
            at = row.weight + head * size
            Q, V = _part(query, steps[0], row.query, head), _part(value, steps[2], row.memory, head)
            turn(_part(key, steps[1], row.memory, head), S, d, alpha, across)
            multiply(Q, T, across, d, Matrix(scores, 0, width, 1), S, False, False, causal)
            if causal:
                _clear(A, T)
            _softmax(A, hidden, W, head * T)
            used = Matrix(weights, at, width, 1)
            if falling.least > 0:
                _drop(weights, at, size, falling, scores)
                used = Matrix(scores, 0, width, 1)
            multiply(used, T, V, S, Matrix(out, (row.query * heads + head) * d, heads * d, 1), d, causal, False, False)


@njit(nogil=True)
def attend_backwards(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    given: np.ndarray,  # dO
    steps: np.ndarray,  # (4, 2)
    spans: np.ndarray,
    causal: bool,
    falling: Falling,
    weights: np.ndarray,  # from `attend`
    dquery: np.ndarray,  # (N, h, d), flat, filled
    dkey: np.ndarray,  # (M, h, d), likewise
    dvalue: np.ndarray,  # likewise
    heads: int,
    d: int,
    first: int,  # the rows that are this call's
    last: int,
) -> None:
    """dQ, dK and dV."""
    (area, widest), f32, step = _largest(spans, first, last), np.float32, heads * d
    changes, thin, turned = np.zeros(area, f32), np.zeros(area, f32), np.zeros(d * widest, f32)
    alpha = f32(1 / np.sqrt(d))
    for b in range(first, last):
        row = _span(spans, b)
        T, S, width, size = row.T, row.S, row.width, row.T * row.width
        dA = changes[:size].reshape(T, width)
        W = weights[row.weight : row.weight + heads * size].reshape(heads * T, width)
        if b == first or spans[b - 1, 1] != T or spans[b - 1, 3] != S:  # else as the row before has left it
            dA[:] = ZERO
        across, change = Matrix(turned, 0, width, 1), Matrix(changes, 0, width, 1)
        for head in range(heads):
            at, there, memory = row.weight + head * size, row.query * step + head * d, row.memory * step + head * d
            Q, K = _part(query, steps[0], row.query, head), _part(key, steps[1], row.memory, head)
            G = _part(given, steps[3], row.query, head)
            turn(_part(value, steps[2], row.memory, head), S, d, ONE, across)
            multiply(G, T, across, d, change, S, False, False, causal)  # dO Vᵀ
            if causal:
                _clear(dA, T)
            dropped = Matrix(weights, at, width, 1)
            if falling.least > 0:
                _drop_both(weights, at, size, falling, thin, changes)
                dropped = Matrix(thin, 0, width, 1)
            _through_softmax(W, head * T, dA, alpha)
            multiply(change, T, K, S, Matrix(dquery, there, step, 1), d, causal, False, False)
            multiply(transposed(change), S, Q, T, Matrix(dkey, memory, step, 1), d, False, causal, False)
            multiply(transposed(dropped), S, G, T, Matrix(dvalue, memory, step, 1), d, False, causal, False)
