"""The kernel of CBOW with negative sampling or NCE: see `noise` for losses, blocks and the shape legend."""

import math
from typing import NamedTuple

import numpy as np

from langladder.kernels.compiled import njit
from langladder.kernels.simd import load8, multiply_add, sum8, zeros8
from langladder.kernels.small_products import fill_zero
from langladder.kernels.word2vec.drawing import Chunk
from langladder.kernels.word2vec.noise import (
    MEASURED,
    Block,
    Blocks,
    Tables,
    draw_block_noise,
    learn_noise,
    next_block,
    noise_scratch,
)
from langladder.kernels.word2vec.rows import (
    add_scaled,
    add_window_gradient,
    logistic,
    running_sums,
    scatter_add,
    scatter_windows,
    window_sum,
)


class ContextScratch(NamedTuple):
    """CBOW: the running sums of the block's context words, its hidden vectors, and the scores of its targets."""

    sums: np.ndarray  # (C + 1, D) running sums of v
    edges: np.ndarray  # (C + 1, D) gradients at the positions where a centre's window begins and ends
    h: np.ndarray  # (L, D)
    dh: np.ndarray  # (L, D)
    P: np.ndarray  # (1, L) scores, then −∂J/∂score, of the targets
    scales: np.ndarray  # (L,) weight of each context word in h; 0 without context
    parts: np.ndarray  # (L,) … and its share of the step of h


@njit(nogil=True, inline="always")
def _context_scratch(L: int, window: int, D: int) -> ContextScratch:
    f32, room = np.float32, L + 2 * window + 1
    sums, edges = np.zeros((room + 1, D), f32), np.zeros((room + 1, D), f32)
    h, dh, P = np.zeros((L, D), f32), np.zeros((L, D), f32), np.zeros((1, L), f32)
    return ContextScratch(sums, edges, h, dh, P, np.zeros(L, f32), np.zeros(L, f32))


@njit(nogil=True, fastmath=True, inline="always")
def _hide(
    chunk: Chunk,
    block: Block,
    blocks: Blocks,
    V: np.ndarray,
    mean: bool,
    whole: bool,
    scratch: ContextScratch,
    weights: np.ndarray,
) -> None:
    """Fill CBOW's hidden vectors of a block, `parts`, and `weights` (L,), which are 0 for a word without context."""
    words, before, after, _ = chunk
    first, size, low, high = block
    L, _, negatives, S, _ = blocks
    sums, _, h, _, _, scales, parts = scratch
    f32 = np.float32
    # h_i = Σ_j v_j / (number of context words), over the existing context words
    running_sums(V, words, low, high - low, sums)
    for i in range(L):
        weights[i] = scales[i] = parts[i] = f32(0)
    for i in range(size):
        t, reach = first + i - low, before[first + i] + after[first + i]
        if reach > 0:
            scales[i] = f32(1) / f32(reach) if mean else f32(1)
            # ∂h_i/∂v_j = 1 / (number of context words)
            parts[i] = f32(1) if whole else scales[i]
            weights[i] = f32(negatives) / f32(S)
        window_sum(sums, t - before[first + i], t + after[first + i] + 1, V, words[first + i], scales[i], h, i)


@njit(nogil=True, fastmath=True)
def _learn_targets(
    chunk: Chunk, block: Block, scratch: ContextScratch, tables: Tables, rate: np.float32, measure: bool
) -> tuple[float, float]:
    """The positive targets of a block: add to dH, update U, and distribute dH over `edges`. Returns loss and words if
    measured."""
    words, before, after, _ = chunk
    first, size, low, high = block
    _, edges, H, dH, P, scales, parts = scratch
    U, shift, f32 = tables.output, tables.shift, np.float32
    loss, terms = 0.0, 0.0
    for i in range(size):
        score, word = zeros8(), words[first + i]
        for d in range(0, H.shape[1], 8):
            score = multiply_add(load8(H, i, d), load8(U, word, d), score)
        P[0, i] = sum8(score) + shift[word]
    logistic(P, 1, P.shape[1])
    fill_zero(edges, high - low + 1)
    for i in range(size):
        if scales[i] > 0:
            if measure:
                terms += 1
                loss -= math.log(max(f32(1e-7), P[0, i]))
            # ∂J/∂score = σ(score) − 1
            P[0, i] = f32(1) - P[0, i]
            add_scaled(P[0, i], U, words[first + i], dH, i)
            t = first + i - low
            add_window_gradient(parts[i], dH, i, edges, t - before[first + i], t + after[first + i] + 1)
        else:
            P[0, i] = f32(0)
    for i in range(size):  # only now, because all words of the block use the old U
        add_scaled(rate * P[0, i], H, i, U, words[first + i])
    return loss, terms


@njit(nogil=True, fastmath=True)
def cbow_negative(
    chunk: Chunk, tables: Tables, blocks: Blocks, state: np.ndarray, lr: float, mean: bool, whole: bool
) -> tuple[float, float]:
    """Train CBOW on one chunk of text: the mean (or sum) of a word's context learns to distinguish the word from noise.

    Sums over windows are differences of running sums, in both directions, so the cost does not grow with the window.

    For arguments and result see `skipgram_negative`; here a pair is a word with its whole context.
    """
    words, _, _, count = chunk
    V, U, shift, learn_shift = tables
    L, S, D, f32 = blocks.length, blocks.noise_words, V.shape[1], np.float32
    noise, scratch = noise_scratch(L, S, D), _context_scratch(L, blocks.window, D)
    _, edges, h, dh, P, _, parts = scratch
    drawn, _, steps, _, shift_steps, _, weights = noise
    rate, total, pairs = f32(lr), 0.0, 0.0
    first, number = 0, 0
    while first < count:
        block = next_block(chunk, first, blocks)
        size, low = block.size, block.low
        measure = number % MEASURED == 0
        draw_block_noise(blocks, state, tables, noise)
        _hide(chunk, block, blocks, V, mean, whole, scratch, weights)
        loss = learn_noise(h, dh, noise, measure)
        loss_of_targets, terms = _learn_targets(chunk, block, scratch, tables, rate, measure)
        total, pairs = total + (loss + loss_of_targets), pairs + terms
        if learn_shift:
            for s in range(S):
                shift[drawn[s]] += rate * shift_steps[0, s]
            for i in range(size):
                shift[words[first + i]] += rate * P[0, i]
        scatter_add(steps, S, rate, U, drawn, 0)
        scatter_windows(edges, block.high - low, dh, parts, first - low, size, rate, V, words, low)
        first, number = first + size, number + 1
    return total, pairs
