"""The recurrence of an attention decoder with the additive score, a few rows of the batch at a time, all in the cache.

Forwards as `attentive_gru` has it, with q_t = W_a s_{t−1}, T_tj = tanh(q_t + k_j), e_tj = vᵀ T_tj, d_t what drives the
gates. Backwards, with ∂s what comes to s_t from above and from step t + 1:

    ∂n' = ∂s ⊙ z ⊙ (1 − n²),   ∂z' = ∂s ⊙ (n − s_{t−1}) ⊙ z ⊙ (1 − z),   ∂r' = U_nᵀ ∂n' ⊙ s_{t−1} ⊙ r ⊙ (1 − r)
    ∂d = [∂z'; ∂r'; ∂n'],   ∂α_j = given + ∂dᵀ C h_j,   ∂e_j = α_j (∂α_j − Σ_k α_k ∂α_k)
    ∂T'_j = ∂e_j v ⊙ (1 − T_j²),   ∂k_j += ∂T'_j,   ∂q = Σ_j ∂T'_j,   ∂v += ∂e_j T_j
    ∂s_{t−1} = ∂s ⊙ (1 − z) + U_nᵀ ∂n' ⊙ r + U_zrᵀ [∂z'; ∂r'] + W_aᵀ ∂q

T is computed again: it would be as large as all that is kept otherwise. Steps of some sixty rows cost torch more in
calls than in arithmetic. The gradients of W_a and U, products over all rows and steps, are the caller's.

Shape legend: B rows, T steps, S source positions, H width of the state, A of attention; H and A are multiples of 16.
"""

from typing import Any, NamedTuple

import numpy as np

from langladder.kernels.compiled import njit
from langladder.kernels.simd import add8, load8, multiply8, multiply_add, splat8, store8, sum8, zeros8
from langladder.kernels.wide import TALL
from langladder.nn.matrix import Matrix, multiply, transposed
from langladder.nn.vector_math import copy, exponential, sigmoid, tanh

ZERO, ONE, INFINITE = np.float32(0), np.float32(1), np.float32(np.inf)
LANES = 8


class Inputs(NamedTuple):
    """What both directions read.

    driven: (B, T, 3H) W x_t + b. start: (B, H) s_0. keys: (B, S, A) U_a h_j. values: (B, S, 3H) C h_j. seen: (B, S)
    bool. v: (1, A).
    """

    driven: np.ndarray
    start: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    seen: np.ndarray
    v: np.ndarray


class Kept(NamedTuple):
    """What the way forward fills, and the way back reads.

    states: (B, T, H). weights: (B, T, S) α. gates: (B, T, 3H) z, r and n. asked: (B, T, A) q_t.
    """

    states: np.ndarray
    weights: np.ndarray
    gates: np.ndarray
    asked: np.ndarray


@njit(nogil=True, inline="always")
def _times(a: np.ndarray, rows: int, b: np.ndarray, out: np.ndarray) -> None:
    """out[:rows] ← a[:rows] b."""
    left, right = Matrix(a.ravel(), 0, a.shape[1], 1), Matrix(b.ravel(), 0, b.shape[1], 1)
    multiply(left, rows, right, b.shape[0], Matrix(out.ravel(), 0, b.shape[1], 1), b.shape[1], False, False, False)


@njit(nogil=True, fastmath={"contract"}, error_model="numpy")
def _tanh(x: np.ndarray) -> None:
    """x ← tanh x, of a flat array."""
    for i in range(len(x)):
        x[i] = tanh(x[i])


@njit(nogil=True)
def _dot(x: np.ndarray, i: int, y: np.ndarray, j: int) -> Any:
    """x[i] · y[j], whole sixteens."""
    one = other = zeros8()
    for d in range(0, x.shape[1], 2 * LANES):
        one = multiply_add(load8(x, i, d), load8(y, j, d), one)
        other = multiply_add(load8(x, i, d + LANES), load8(y, j, d + LANES), other)
    return sum8(add8(one, other))


@njit(nogil=True)
def _compare(q: np.ndarray, i: int, keys: np.ndarray, T: np.ndarray) -> None:
    """T_j ← tanh(q[i] + k_j), of all j."""
    for j in range(T.shape[0]):
        for d in range(0, T.shape[1], LANES):
            store8(T, j, d, add8(load8(q, i, d), load8(keys, j, d)))
    _tanh(T.ravel())


@njit(nogil=True, error_model="numpy")
def _attend(T: np.ndarray, v: np.ndarray, seen: np.ndarray, alpha: np.ndarray) -> None:
    """α ← softmax_j(vᵀ T_j) over what is seen."""
    highest, total = -INFINITE, ZERO
    for j in range(len(alpha)):
        alpha[j] = _dot(T, j, v, 0) if seen[j] else -INFINITE
        highest = max(highest, alpha[j])
    for j in range(len(alpha)):
        alpha[j] = exponential(alpha[j] - highest) if seen[j] else ZERO
        total += alpha[j]
    for j in range(len(alpha)):
        alpha[j] /= total


@njit(nogil=True, fastmath={"contract"}, error_model="numpy")
def _gate(
    driven: np.ndarray, mixed: np.ndarray, u: np.ndarray, s: np.ndarray, kept: np.ndarray, reset: np.ndarray
) -> None:
    """kept[:2H] ← z and r of one row, reset ← r ⊙ s; u: U_z s and U_r s."""
    H = len(s)
    for h in range(2 * H):
        kept[h] = sigmoid(driven[h] + mixed[h] + u[h])
    for h in range(H):
        reset[h] = kept[H + h] * s[h]


@njit(nogil=True, fastmath={"contract"}, error_model="numpy")
def _advance(
    driven: np.ndarray, mixed: np.ndarray, u: np.ndarray, kept: np.ndarray, s: np.ndarray, state: np.ndarray
) -> None:
    """kept[2H:] ← n of one row, and s_t into s and state; u: U_n (r ⊙ s)."""
    H = len(s)
    for h in range(H):
        n = tanh(driven[2 * H + h] + mixed[2 * H + h] + u[h])
        kept[2 * H + h] = n
        s[h] += kept[h] * (n - s[h])
        state[h] = s[h]


@njit(nogil=True)
def forward(
    given: Inputs,
    W: np.ndarray,  # (H, A) W_aᵀ
    G: np.ndarray,  # (H, 2H) [U_z; U_r]ᵀ
    N: np.ndarray,  # (H, H) U_nᵀ
    kept: Kept,  # filled
    first: int,  # the rows that are this call's
    last: int,
) -> None:
    """All steps."""
    (_, steps, wide), f32 = given.driven.shape, np.float32
    (_, S, A), H = given.keys.shape, wide // 3
    T, q, u = np.empty((S, A), f32), np.empty((TALL, A), f32), np.empty((TALL, 2 * H), f32)
    s, reset, candidate = np.empty((TALL, H), f32), np.empty((TALL, H), f32), np.empty((TALL, H), f32)
    mixed = np.empty((TALL, wide), f32)
    for begin in range(first, last, TALL):
        rows = min(TALL, last - begin)
        for i in range(rows):
            copy(given.start[begin + i], s[i])
        for t in range(steps):
            _times(s, rows, W, q)
            _times(s, rows, G, u)
            for i in range(rows):
                b = begin + i
                copy(q[i], kept.asked[b, t])
                _compare(q, i, given.keys[b], T)
                _attend(T, given.v, given.seen[b], kept.weights[b, t])
                _times(kept.weights[b, t : t + 1], 1, given.values[b], mixed[i : i + 1])
                _gate(given.driven[b, t], mixed[i], u[i], s[i], kept.gates[b, t], reset[i])
            _times(reset, rows, N, candidate)
            for i in range(rows):
                b = begin + i
                _advance(given.driven[b, t], mixed[i], candidate[i], kept.gates[b, t], s[i], kept.states[b, t])


@njit(nogil=True, fastmath={"contract"}, error_model="numpy")
def _through_state(
    ds: np.ndarray,
    given: np.ndarray,
    gates: np.ndarray,
    before: np.ndarray,
    d: np.ndarray,
    zr: np.ndarray,
    n: np.ndarray,
) -> None:
    """∂z' and ∂n' of one row, into d and beside; ds ← (∂s + given) ⊙ (1 − z)."""
    H = len(ds)
    for h in range(H):
        z, new, change = gates[h], gates[2 * H + h], ds[h] + given[h]
        d[h] = zr[h] = change * (new - before[h]) * z * (ONE - z)
        d[2 * H + h] = n[h] = change * z * (ONE - new * new)
        ds[h] = change * (ONE - z)


@njit(nogil=True, fastmath={"contract"}, error_model="numpy")
def _through_reset(
    ds: np.ndarray, back: np.ndarray, gates: np.ndarray, before: np.ndarray, d: np.ndarray, zr: np.ndarray
) -> None:
    """∂r' of one row, into d and beside; ds gets U_nᵀ ∂n' ⊙ r; back: U_nᵀ ∂n'."""
    H = len(ds)
    for h in range(H):
        r = gates[H + h]
        d[H + h] = zr[H + h] = back[h] * before[h] * r * (ONE - r)
        ds[h] += back[h] * r


@njit(nogil=True)
def _through_weights(
    alpha: np.ndarray, given: np.ndarray, d: np.ndarray, values: np.ndarray, seen: np.ndarray, e: np.ndarray
) -> None:
    """e ← ∂e of one row; d: ∂d (1, 3H)."""
    mean = ZERO
    for j in range(len(e)):
        e[j] = given[j] + _dot(d, 0, values, j) if seen[j] else ZERO
        mean += alpha[j] * e[j]
    for j in range(len(e)):
        e[j] = alpha[j] * (e[j] - mean)


@njit(nogil=True)
def _through_scores(
    e: np.ndarray, T: np.ndarray, v: np.ndarray, dkeys: np.ndarray, dq: np.ndarray, i: int, dv: np.ndarray, b: int
) -> None:
    """∂k_j of one row get more, dq[i] ← ∂q, dv[b] gets more."""
    for c in range(0, T.shape[1], LANES):
        down, all_q, all_v = multiply8(splat8(-ONE), load8(v, 0, c)), zeros8(), load8(dv, b, c)
        for j in range(T.shape[0]):
            if e[j] != ZERO:
                x, by = load8(T, j, c), splat8(e[j])
                change = multiply8(by, multiply8(down, multiply_add(x, x, splat8(-ONE))))  # ∂e v (1 − T²)
                store8(dkeys, j, c, add8(load8(dkeys, j, c), change))
                all_q, all_v = add8(all_q, change), multiply_add(by, x, all_v)
        store8(dq, i, c, all_q)
        store8(dv, b, c, all_v)


@njit(nogil=True, fastmath={"contract"})
def _add(x: np.ndarray, y: np.ndarray) -> None:
    """x ← x + y, flat."""
    for i in range(len(x)):
        x[i] += y[i]


@njit(nogil=True)
def backward(
    given: Inputs,
    kept: Kept,
    W: np.ndarray,  # (A, H) W_a
    G: np.ndarray,  # (2H, H) [U_z; U_r]
    N: np.ndarray,  # (H, H) U_n
    dstates: np.ndarray,  # (B, T, H)
    dweights: np.ndarray,  # (B, T, S)
    ddriven: np.ndarray,  # (B, T, 3H), filled, as all below
    dstart: np.ndarray,  # (B, H)
    dkeys: np.ndarray,  # (B, S, A), zeros
    dvalues: np.ndarray,  # (B, S, 3H)
    dasked: np.ndarray,  # (B, T, A)
    dv: np.ndarray,  # (B, A), zeros: each row's share
    first: int,  # the rows that are this call's
    last: int,
) -> None:
    """All steps, from the last on."""
    (_, steps, wide), f32 = given.driven.shape, np.float32
    (_, S, A), H = given.keys.shape, wide // 3
    T, q, e, zr = np.empty((S, A), f32), np.empty((TALL, A), f32), np.empty(S, f32), np.empty((TALL, 2 * H), f32)
    n, back = np.empty((TALL, H), f32), np.empty((TALL, H), f32)
    for begin in range(first, last, TALL):
        rows = min(TALL, last - begin)
        ds = dstart[begin : begin + rows]
        ds[:] = ZERO
        for t in range(steps - 1, -1, -1):
            for i in range(rows):
                b = begin + i
                before = kept.states[b, t - 1] if t else given.start[b]
                _through_state(ds[i], dstates[b, t], kept.gates[b, t], before, ddriven[b, t], zr[i], n[i])
            _times(n, rows, N, back)
            for i in range(rows):
                b = begin + i
                before = kept.states[b, t - 1] if t else given.start[b]
                _through_reset(ds[i], back[i], kept.gates[b, t], before, ddriven[b, t], zr[i])
                alpha, d = kept.weights[b, t], ddriven[b, t : t + 1]
                _through_weights(alpha, dweights[b, t], d, given.values[b], given.seen[b], e)
                _compare(kept.asked[b], t, given.keys[b], T)
                _through_scores(e, T, given.v, dkeys[b], q, i, dv, b)
                copy(q[i], dasked[b, t])
            _times(zr, rows, G, back)
            _add(ds.ravel(), back.ravel()[: rows * H])
            _times(q, rows, W, back)
            _add(ds.ravel(), back.ravel()[: rows * H])
        for b in range(begin, begin + rows):  # ∂C h_j = Σ_t α_tj ∂d_t
            weights = transposed(Matrix(kept.weights.ravel(), b * steps * S, S, 1))
            changes = Matrix(ddriven.ravel(), b * steps * wide, wide, 1)
            into = Matrix(dvalues.ravel(), b * S * wide, wide, 1)
            multiply(weights, S, changes, steps, into, wide, False, False, False)
