"""Kernels of word2vec that learn from noise words: negative sampling and noise-contrastive estimation.

The text is cut into blocks of L successive words. All pairs of a block share S noise words, each weighing K/S; what a
block learns is computed from the vectors as they were at its beginning, then added. So nearly all work is products of
small matrices, and of the words drawn at random only S rows a block come from afar. A word that stands in a block many
times would take as many steps at once and overshoot, so where the text repeats itself (lists, tables) blocks are short.

    negative sampling (Mikolov et al. 2013, eq. 4):    score(h, w) = u_w · h
    NCE (Mnih and Kavukcuoglu 2013, eq. 2–8):          score(h, w) = u_w · h + b_w − log(K P_noise(w))

    J = −log σ(score(h, target)) − K/S Σ_s log σ(−score(h, n_s))

`shift` (V,) holds b_w − log(K P_noise(w)): it is learnt for NCE and stays 0 for negative sampling.

Shape legend: L centres a block at most, M window, S noise words, D dimensions, C = L + 2M positions a block reaches.
"""

import math

import numpy as np

from langladder.compiled import njit
from langladder.embeddings.simd import load8, multiply_add, sum8, zeros8
from langladder.embeddings.word2vec_kernels import (
    add_combination,
    add_combinations,
    add_running_sums,
    draw_noise,
    fill_zero,
    gather,
    learn_pair,
    logistic,
    products,
    row_products,
    running_sums,
    scatter_add,
    spread,
    window_sum,
)

MEASURED = 16  # the loss is taken in every 16th block
REPEATS = 4  # how often a word may stand in a block


@njit(nogil=True)
def block_size(words: np.ndarray, block: int, count: int, L: int) -> int:
    """How many words from place `block` on are learnt at once: at most L, none of them more than REPEATS times."""
    size = min(L, count - block)
    for i in range(REPEATS, size):
        uses = 0
        for j in range(i):
            uses += words[block + j] == words[block + i]
        if uses >= REPEATS:
            return i
    return size


@njit(nogil=True, fastmath=True)
def _learn_noise(
    H: np.ndarray, dH: np.ndarray, L: int, weights: np.ndarray, N: np.ndarray, dN: np.ndarray, shifts: np.ndarray,
    G: np.ndarray, GT: np.ndarray, shift_gradient: np.ndarray, measure: bool,
) -> float:  # fmt: skip
    """Noise part of a block: dH (set) and dN (set), both times −1 for descent; the loss if measured.

    Args:
        H: (L, D) hidden vectors; weights: (L,) what each of a centre's noise words weighs.
        G: (L, S), GT: (S, L) scratch; shift_gradient: (S,) set.
    """
    S = len(shifts)
    products(H, L, N, 0, S, G, 0)
    for i in range(L):
        for s in range(S):
            G[i, s] += shifts[s]
    logistic(G, L, S)
    loss = 0.0
    if measure:
        for i in range(L):
            for s in range(S):
                loss -= weights[i] * math.log(max(1e-7, 1.0 - G[i, s]))
    # ∂J/∂score = K/S σ(score)
    for i in range(L):
        for s in range(S):
            G[i, s] *= -weights[i]
            GT[s, i] = G[i, s]
    fill_zero(dH, L)
    add_combinations(G, L, 0, S, N, dH)
    fill_zero(dN, S)
    add_combinations(GT, S, 0, L, H, dN)
    for s in range(S):
        total = np.float32(0)
        for i in range(L):
            total += GT[s, i]
        shift_gradient[s] = total
    return loss


@njit(nogil=True, fastmath=True)
def _learn_contexts(
    words: np.ndarray, before: np.ndarray, after: np.ndarray, block: int, size: int, low: int, high: int,
    v: np.ndarray, dv: np.ndarray, u: np.ndarray, du: np.ndarray,
    P: np.ndarray, places: np.ndarray, back: np.ndarray, centres: np.ndarray, uses: np.ndarray,
    shift: np.ndarray, measure: bool,
) -> tuple[float, float]:  # fmt: skip
    """Skip-gram's true neighbours of a block: added to dv, set in du, times −1 for descent; loss and pairs if measured.

    Args:
        P, places: (L, ≥ 2M + 1) scratch: gradients of each centre's contexts, and where those stand.
        back, centres, uses: (C, 2M + 1), (C, 2M + 1), (C,) scratch: the same, turned; `back` is of use to the caller.
    """
    f32 = np.float32
    loss, pairs = 0.0, 0.0
    for j in range(high - low):
        uses[j] = 0
    for i in range(size):
        t = block + i
        first, width = t - before[t] - low, before[t] + after[t] + 1
        row_products(v, i, u, first, width, P, i)
        for j in range(width):
            P[i, j] += shift[words[low + first + j]]
    logistic(P, size, P.shape[1])
    for i in range(size):
        t = block + i
        first, own, width = t - before[t] - low, before[t], before[t] + after[t] + 1
        if measure:
            pairs += width - 1
            for j in range(width):
                if j != own:
                    loss -= math.log(max(f32(1e-7), P[i, j]))
        # ∂J/∂score = σ(score) − 1
        for j in range(width):
            place = first + j
            P[i, j], places[i, j] = f32(1) - P[i, j], place
            if j != own:
                back[place, uses[place]], centres[place, uses[place]] = P[i, j], i
                uses[place] += 1
        P[i, own] = f32(0)
        add_combination(P, i, width, u, places, dv, i)
    fill_zero(du, high - low)
    for j in range(high - low):
        add_combination(back, j, uses[j], v, centres, du, j)
    return loss, pairs


@njit(nogil=True, fastmath=True)
def skipgram_negative(
    words: np.ndarray, before: np.ndarray, after: np.ndarray, count: int, V: np.ndarray, U: np.ndarray,
    shift: np.ndarray, learn_shift: bool, stay: np.ndarray, other: np.ndarray, state: np.ndarray,
    lr: float, negatives: int, S: int, L: int, window: int,
) -> tuple[float, float]:  # fmt: skip
    """One chunk of text for skip-gram: each word's v must tell the u of its neighbours from those of the noise.

    Args:
        words, before, after: see `thin_out`; the first `count` are the chunk.
        V, U: (vocabulary, D) input and output vectors, changed in place.
        L, S: multiples of 8.

    Returns:
        Summed loss of the measured blocks, and their number of pairs.
    """
    D, room = V.shape[1], L + 2 * window + 8
    f32 = np.float32
    v, dv = np.zeros((L, D), f32), np.zeros((L, D), f32)
    u, du = np.zeros((room, D), f32), np.zeros((room, D), f32)
    N, dN, noise = np.zeros((S, D), f32), np.zeros((S, D), f32), np.zeros(S, np.int64)
    G, GT, weights = np.zeros((L, S), f32), np.zeros((S, L), f32), np.zeros(L, f32)
    shifts, shift_gradient = np.zeros(S, f32), np.zeros(S, f32)
    span = 2 * window + 1
    span += -span % 8
    P = np.zeros((L, span), f32)  # scores, then gradients, of the centres' contexts …
    places = np.zeros((L, span), np.int64)  # … and where those stand
    back, centres = np.zeros((room, span), f32), np.zeros((room, span), np.int64)  # the same, turned
    uses = np.zeros(room, np.int64)
    rate, total, pairs = f32(lr), 0.0, 0.0
    block, size, blocks = 0, 0, 0
    while block + size < count:
        block += size
        size = block_size(words, block, count, L)
        low, high = max(0, block - window), min(count, block + size + window)
        measure = blocks % MEASURED == 0
        blocks += 1
        gather(V, words, block, size, v)
        gather(U, words, low, high - low, u)
        draw_noise(stay, other, state, noise)
        gather(U, noise, 0, S, N)
        for s in range(S):
            shifts[s] = shift[noise[s]]
        for i in range(L):
            reach = before[block + i] + after[block + i] if i < size else 0
            weights[i] = f32(reach * negatives) / f32(S)
        loss = _learn_noise(v, dv, L, weights, N, dN, shifts, G, GT, shift_gradient, measure)

        loss_of_contexts, terms = _learn_contexts(
            words, before, after, block, size, low, high, v, dv, u, du, P, places, back, centres, uses, shift, measure
        )
        loss, pairs = loss + loss_of_contexts, pairs + terms
        total += loss

        if learn_shift:
            for s in range(S):
                shift[noise[s]] += rate * shift_gradient[s]
            for j in range(high - low):
                for k in range(uses[j]):
                    shift[words[low + j]] += rate * back[j, k]
        scatter_add(dv, size, rate, V, words, block)
        scatter_add(du, high - low, rate, U, words, low)
        scatter_add(dN, S, rate, U, noise, 0)
    return total, pairs


@njit(nogil=True, fastmath=True)
def _learn_targets(
    words: np.ndarray, before: np.ndarray, after: np.ndarray, block: int, size: int, low: int, high: int,
    H: np.ndarray, dH: np.ndarray, u: np.ndarray, du: np.ndarray, dx: np.ndarray, edges: np.ndarray,
    weights: np.ndarray, scales: np.ndarray, P: np.ndarray, shift: np.ndarray, measure: bool,
) -> tuple[float, float]:  # fmt: skip
    """CBOW's true words of a block: added to dH, set in du, spread over dx and edges; loss and words if measured.

    Args:
        weights: (L,) 0 where a word has no context; scales: (L,) what each context word weighs in h.
        P: (1, L) set to −∂J/∂score.
    """
    f32 = np.float32
    loss, pairs = 0.0, 0.0
    for i in range(size):
        score = zeros8()
        for d in range(0, H.shape[1], 8):
            score = multiply_add(load8(H, i, d), load8(u, i, d), score)
        P[0, i] = sum8(score) + shift[words[block + i]]
    logistic(P, 1, P.shape[1])
    fill_zero(du, size)
    fill_zero(dx, high - low)
    fill_zero(edges, high - low + 1)
    for i in range(size):
        if weights[i] > 0:
            if measure:
                pairs += 1
                loss -= math.log(max(f32(1e-7), P[0, i]))
            # ∂J/∂score = σ(score) − 1
            P[0, i] = f32(1) - P[0, i]
            t = block + i - low
            learn_pair(P[0, i], H, u, dH, du, i)
            # ∂h_i/∂x_j = 1 / (number of context words)
            spread(scales[i], dH, i, edges, t - before[block + i], t + after[block + i] + 1, dx, t)
    return loss, pairs


@njit(nogil=True, fastmath=True)
def cbow_negative(
    words: np.ndarray, before: np.ndarray, after: np.ndarray, count: int, V: np.ndarray, U: np.ndarray,
    shift: np.ndarray, learn_shift: bool, stay: np.ndarray, other: np.ndarray, state: np.ndarray,
    lr: float, negatives: int, S: int, L: int, window: int, mean: bool,
) -> tuple[float, float]:  # fmt: skip
    """One chunk of text for CBOW: the mean (or sum) of a word's context must tell the word from the noise.

    The sums over windows are differences of running sums, forwards and backwards, so that a wide window costs no more.

    Args and returns: as `skipgram_negative`; a pair is a word with its whole context.
    """
    D, room = V.shape[1], L + 2 * window + 1
    f32 = np.float32
    x, dx, sums = np.zeros((room, D), f32), np.zeros((room, D), f32), np.zeros((room + 1, D), f32)
    edges = np.zeros((room + 1, D), f32)  # where a centre's gradient begins and ends to count
    H, dH = np.zeros((L, D), f32), np.zeros((L, D), f32)
    u, du = np.zeros((L, D), f32), np.zeros((L, D), f32)
    N, dN, noise = np.zeros((S, D), f32), np.zeros((S, D), f32), np.zeros(S, np.int64)
    G, GT, weights = np.zeros((L, S), f32), np.zeros((S, L), f32), np.zeros(L, f32)
    shifts, shift_gradient = np.zeros(S, f32), np.zeros(S, f32)
    P, scales = np.zeros((1, L), f32), np.zeros(L, f32)
    rate, total, pairs = f32(lr), 0.0, 0.0
    block, size, blocks = 0, 0, 0
    while block + size < count:
        block += size
        size = block_size(words, block, count, L)
        low, high = max(0, block - window), min(count, block + size + window)
        measure = blocks % MEASURED == 0
        blocks += 1
        gather(V, words, low, high - low, x)
        gather(U, words, block, size, u)
        draw_noise(stay, other, state, noise)
        gather(U, noise, 0, S, N)
        for s in range(S):
            shifts[s] = shift[noise[s]]
        # h_i = Σ_j x_j / (number of context words), over the words that are there
        running_sums(x, high - low, sums)
        fill_zero(H, L)
        for i in range(L):
            weights[i] = f32(0)
            if i < size and before[block + i] + after[block + i] > 0:
                t, reach = block + i - low, before[block + i] + after[block + i]
                scales[i] = f32(1) / f32(reach) if mean else f32(1)
                weights[i] = f32(negatives) / f32(S)
                window_sum(sums, t - before[block + i], t + after[block + i] + 1, x, t, scales[i], H, i)
        loss = _learn_noise(H, dH, L, weights, N, dN, shifts, G, GT, shift_gradient, measure)

        loss_of_targets, terms = _learn_targets(
            words, before, after, block, size, low, high, H, dH, u, du, dx, edges, weights, scales, P, shift, measure
        )
        loss, pairs = loss + loss_of_targets, pairs + terms
        total += loss
        if learn_shift:
            for s in range(S):
                shift[noise[s]] += rate * shift_gradient[s]
            for i in range(size):
                if weights[i] > 0:
                    shift[words[block + i]] += rate * P[0, i]
        add_running_sums(edges, high - low, dx)
        scatter_add(dx, high - low, rate, V, words, low)
        scatter_add(du, size, rate, U, words, block)
        scatter_add(dN, S, rate, U, noise, 0)
    return total, pairs
