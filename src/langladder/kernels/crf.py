"""Kernels of linear-chain CRFs: sums and maxima over all paths of a lattice, each in one pass (float64).

    forward    α_1(j) = s_j E_1j,   α_t(j) = E_tj Σ_i α_{t−1}(i) A_ij,   Z = Σ_j α_T(j) e_j
    backward   β_T(i) = e_i,        β_t(i) = Σ_j A_ij E_{t+1,j} β_{t+1}(j)
    marginals  P(y_t = j | x) = α_t(j) β_t(j) / Z,   P(y_t = i, y_{t+1} = j | x) = α_t(i) A_ij E_{t+1,j} β_{t+1}(j) / Z

E, A, s and e are the exponentials of the scores, so there is only one logarithm per step (Rabiner 1989, section V.A:
α_t is divided by its sum c_t, and log Z is the sum of log c_t). If scores differ by more than `RANGE`, paths would be
lost to underflow. Then the `log_` kernels compute the same with log-sum-exp. A forbidden step has score −∞.

Each kernel without `log_` returns False if the range of the scores is too wide for it.

Shape legend: B rows, T steps, K tags.
"""

import math

import numpy as np

from langladder.kernels.compiled import njit

RANGE = 100.0
"""Maximum difference between the scores of one step: three such steps with their transitions fit into a float64."""


@njit(nogil=True)
def copy(x: np.ndarray, out: np.ndarray) -> None:
    """out ← x, flattened. Replaces `out[:] = x`, which takes Numba a second to compile because of an error message."""
    for i in range(len(x)):
        out[i] = x[i]


@njit(nogil=True, error_model="numpy")
def forward(
    emissions: np.ndarray,  # (B, T, K) scores
    lengths: np.ndarray,  # (B,)
    A: np.ndarray,  # (K, K) exp(transition scores)
    s: np.ndarray,  # (K,) exp(scores of a first tag)
    e: np.ndarray,  # (K,) exp(scores of a last tag)
    E: np.ndarray,  # (B, T, K): filled with exp(emissions − the step's largest)
    alpha: np.ndarray,  # (B, T, K): filled; each step sums to 1
    c: np.ndarray,  # (B, T + 1): filled with the divisor of each step, and of the end
    log_z: np.ndarray,  # (B,): filled
) -> bool:
    """The forward pass; see the module docstring."""
    B, _, K = emissions.shape
    row = np.empty(K)
    for b in range(B):
        total = 0.0
        for t in range(lengths[b]):
            scores = emissions[b, t]
            high = low = scores[0]
            for j in range(1, K):
                high, low = max(high, scores[j]), min(low, scores[j])
            if not high - low <= RANGE:  # too wide, infinite, or not a number
                return False
            for j in range(K):
                E[b, t, j] = math.exp(scores[j] - high)
            if t == 0:
                copy(s, row)
            else:
                row[:] = 0.0
                for i in range(K):
                    before = alpha[b, t - 1, i]
                    for j in range(K):
                        row[j] += before * A[i, j]
            scale = 0.0
            for j in range(K):
                row[j] *= E[b, t, j]
                scale += row[j]
            if scale == 0.0:
                return False
            for j in range(K):
                alpha[b, t, j] = row[j] / scale
            c[b, t] = scale
            total += math.log(scale) + high
        scale = 0.0
        for j in range(K):
            scale += alpha[b, lengths[b] - 1, j] * e[j]
        if scale == 0.0:
            return False
        c[b, lengths[b]] = scale
        log_z[b] = total + math.log(scale)
    return True


@njit(nogil=True, error_model="numpy")
def backward(
    lengths: np.ndarray,
    A: np.ndarray,
    e: np.ndarray,
    E: np.ndarray,
    alpha: np.ndarray,
    c: np.ndarray,
    weights: np.ndarray,  # (B,) weight of each row's marginals
    unary: np.ndarray,  # (B, T, K): filled with weighted marginals
    pairs: np.ndarray,  # (K, K): the weighted pair marginals of all rows are added
    first: np.ndarray,  # (K,): the marginals of first tags are added
    last: np.ndarray,  # (K,): the marginals of last tags are added
) -> None:
    """The backward pass and the marginals, from the results of `forward`."""
    K = len(e)
    beta, scaled = np.empty(K), np.empty(K)
    for b in range(len(lengths)):
        end, weight = lengths[b] - 1, weights[b]
        for j in range(K):
            beta[j] = e[j] / c[b, end + 1]
            unary[b, end, j] = weight * alpha[b, end, j] * beta[j]
            last[j] += unary[b, end, j]
        for t in range(end - 1, -1, -1):
            for j in range(K):
                scaled[j] = E[b, t + 1, j] * beta[j] / c[b, t + 1]
            for i in range(K):
                share = weight * alpha[b, t, i]
                total = 0.0
                for j in range(K):
                    through = A[i, j] * scaled[j]
                    total += through
                    pairs[i, j] += share * through
                beta[i] = total
                unary[b, t, i] = share * total
        for j in range(K):
            first[j] += unary[b, 0, j]


@njit(nogil=True, inline="always")
def _log_sum(values: np.ndarray) -> float:
    """log Σ exp(v); −∞ if all v are −∞."""
    high: float = values.max()
    if high == -np.inf:
        return high
    total = 0.0
    for value in values:
        total += math.exp(value - high)
    return high + math.log(total)


@njit(nogil=True)
def log_forward(
    emissions: np.ndarray,
    lengths: np.ndarray,
    transitions: np.ndarray,  # (K, K) scores, −∞ where forbidden
    start: np.ndarray,
    end: np.ndarray,
    alpha: np.ndarray,  # (B, T, K): filled with log α
    log_z: np.ndarray,  # (B,): filled with log Z; −∞ if no path is allowed
) -> None:
    """`forward` in logarithms."""
    B, _, K = emissions.shape
    for b in range(B):
        for j in range(K):
            alpha[b, 0, j] = start[j] + emissions[b, 0, j]
        for t in range(1, lengths[b]):
            for j in range(K):
                # log α_t(j) = E_tj + log Σ_i exp(log α_{t−1}(i) + A_ij)
                alpha[b, t, j] = emissions[b, t, j] + _log_sum(alpha[b, t - 1] + transitions[:, j])
        log_z[b] = _log_sum(alpha[b, lengths[b] - 1] + end)


@njit(nogil=True)
def log_backward(
    emissions: np.ndarray,
    lengths: np.ndarray,
    transitions: np.ndarray,
    end: np.ndarray,
    alpha: np.ndarray,
    log_z: np.ndarray,
    weights: np.ndarray,
    unary: np.ndarray,
    pairs: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
) -> None:
    """`backward` in logarithms. A row without an allowed path has no marginals: all 0."""
    K = len(end)
    beta, ahead = np.empty(K), np.empty(K)
    for b in range(len(lengths)):
        if log_z[b] == -np.inf:
            unary[b, : lengths[b]] = 0.0
            continue
        copy(end, beta)
        for t in range(lengths[b] - 1, -1, -1):
            if t < lengths[b] - 1:
                copy(emissions[b, t + 1] + beta, ahead)
                for i in range(K):
                    beta[i] = _log_sum(transitions[i] + ahead)
                for i in range(K):
                    for j in range(K):
                        log_p = alpha[b, t, i] + transitions[i, j] + ahead[j] - log_z[b]
                        pairs[i, j] += weights[b] * math.exp(log_p)
            for j in range(K):
                unary[b, t, j] = weights[b] * math.exp(alpha[b, t, j] + beta[j] - log_z[b])
        first += unary[b, 0]
        last += unary[b, lengths[b] - 1]


@njit(nogil=True)
def viterbi(
    emissions: np.ndarray,
    lengths: np.ndarray,
    transitions: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    paths: np.ndarray,  # (B, T) int64: filled up to each row's length
    scores: np.ndarray,  # (B,): filled with the best path's score; −∞ if no path is allowed
) -> None:
    """Viterbi: δ_t(j) = E_tj + max_i (δ_{t−1}(i) + A_ij), then backtracking. Ties go to the first tag."""
    B, T, K = emissions.shape
    best, chosen = np.empty(K), np.empty((T, K), dtype=np.int64)
    delta = np.empty(K)
    for b in range(B):
        copy(start + emissions[b, 0], delta)
        for t in range(1, lengths[b]):
            copy(delta[0] + transitions[0], best)
            chosen[t] = 0
            for i in range(1, K):
                for j in range(K):
                    score = delta[i] + transitions[i, j]
                    if score > best[j]:
                        best[j], chosen[t, j] = score, i
            copy(best + emissions[b, t], delta)
        delta += end
        tag = np.argmax(delta)
        scores[b] = delta[tag]
        for t in range(lengths[b] - 1, -1, -1):
            paths[b, t] = tag
            tag = chosen[t, tag]
