"""The kernel of CBOW with negative sampling or NCE: see `noise` for losses, blocks and the shape legend."""

import math
from typing import NamedTuple

import numpy as np

from langladder.compiled import njit
from langladder.embeddings.word2vec.drawing import Chunk
from langladder.embeddings.word2vec.noise import (
    MEASURED,
    Block,
    Blocks,
    Tables,
    draw_block_noise,
    learn_noise,
    next_block,
    noise_scratch,
)
from langladder.embeddings.word2vec.rows import (
    add_running_sums,
    add_window_gradient,
    gather,
    learn_pair,
    logistic,
    running_sums,
    scatter_add,
    window_sum,
)
from langladder.simd import load8, multiply_add, sum8, zeros8
from langladder.small_products import fill_zero


class ContextScratch(NamedTuple):
    """CBOW: the block's context words, hidden vectors and targets."""

    x: np.ndarray  # (C, D)
    dx: np.ndarray  # (C, D)
    sums: np.ndarray  # (C + 1, D) running sums of x
    edges: np.ndarray  # (C + 1, D) where a centre's gradient begins and ends to count
    h: np.ndarray  # (L, D)
    dh: np.ndarray  # (L, D)
    u: np.ndarray  # (L, D)
    du: np.ndarray  # (L, D)
    P: np.ndarray  # (1, L) scores, then −∂J/∂score, of the targets
    scales: np.ndarray  # (L,) what each context word weighs in h


@njit(nogil=True, inline="always")
def _context_scratch(L: int, window: int, D: int) -> ContextScratch:
    f32, room = np.float32, L + 2 * window + 1
    x, dx = np.zeros((room, D), f32), np.zeros((room, D), f32)
    sums, edges = np.zeros((room + 1, D), f32), np.zeros((room + 1, D), f32)
    H, dH = np.zeros((L, D), f32), np.zeros((L, D), f32)
    u, du = np.zeros((L, D), f32), np.zeros((L, D), f32)
    return ContextScratch(x, dx, sums, edges, H, dH, u, du, np.zeros((1, L), f32), np.zeros(L, f32))


@njit(nogil=True, fastmath=True, inline="always")
def _hide(chunk: Chunk, block: Block, blocks: Blocks, mean: bool, scratch: ContextScratch, weights: np.ndarray) -> None:
    """CBOW's hidden vectors of a block, and `weights` (L,): 0 where a word has no context."""
    before, after = chunk.before, chunk.after
    first, size, low, high = block
    L, _, negatives, S, _ = blocks
    x, _, sums, _, h, _, _, _, _, scales = scratch
    f32 = np.float32
    # h_i = Σ_j x_j / (number of context words), over the words that are there
    running_sums(x, high - low, sums)
    fill_zero(h, L)
    for i in range(L):
        weights[i] = f32(0)
        if i < size and before[first + i] + after[first + i] > 0:
            t, reach = first + i - low, before[first + i] + after[first + i]
            scales[i] = f32(1) / f32(reach) if mean else f32(1)
            weights[i] = f32(negatives) / f32(S)
            begin, end = t - before[first + i], t + after[first + i] + 1
            window_sum(sums, begin, end, x, t, scales[i], h, i)


@njit(nogil=True, fastmath=True)
def _learn_targets(
    chunk: Chunk, block: Block, scratch: ContextScratch, weights: np.ndarray, shift: np.ndarray, measure: bool
) -> tuple[float, float]:
    """CBOW's true words of a block: added to dH, set in du, spread over dx and edges; loss and words if measured.

    Args:
        weights: (L,) 0 where a word has no context.
    """
    words, before, after, _ = chunk
    first, size, low, high = block
    _, dx, _, edges, H, dH, u, du, P, scales = scratch
    f32 = np.float32
    loss, terms = 0.0, 0.0
    for i in range(size):
        score = zeros8()
        for d in range(0, H.shape[1], 8):
            score = multiply_add(load8(H, i, d), load8(u, i, d), score)
        P[0, i] = sum8(score) + shift[words[first + i]]
    logistic(P, 1, P.shape[1])
    fill_zero(du, size)
    fill_zero(dx, high - low)
    fill_zero(edges, high - low + 1)
    for i in range(size):
        if weights[i] > 0:
            if measure:
                terms += 1
                loss -= math.log(max(f32(1e-7), P[0, i]))
            # ∂J/∂score = σ(score) − 1
            P[0, i] = f32(1) - P[0, i]
            t = first + i - low
            learn_pair(P[0, i], H, u, dH, du, i)
            # ∂h_i/∂x_j = 1 / (number of context words)
            add_window_gradient(scales[i], dH, i, edges, t - before[first + i], t + after[first + i] + 1, dx, t)
    return loss, terms


@njit(nogil=True, fastmath=True)
def cbow_negative(
    chunk: Chunk, tables: Tables, blocks: Blocks, state: np.ndarray, lr: float, mean: bool
) -> tuple[float, float]:
    """One chunk of text for CBOW: the mean (or sum) of a word's context must tell the word from the noise.

    The sums over windows are differences of running sums, forwards and backwards, so that a wide window costs no more.

    Args and returns: as `skipgram_negative`; a pair is a word with its whole context.
    """
    words, _, _, count = chunk
    V, U, shift, learn_shift = tables
    L, S, D, f32 = blocks.length, blocks.noise_words, V.shape[1], np.float32
    noise, scratch = noise_scratch(L, S, D), _context_scratch(L, blocks.window, D)
    x, dx, _, edges, h, dh, u, du, P, _ = scratch
    drawn, _, steps, _, shift_steps, _, _, weights = noise
    rate, total, pairs = f32(lr), 0.0, 0.0
    first, number = 0, 0
    while first < count:
        block = next_block(chunk, first, blocks)
        size, low, width = block.size, block.low, block.high - block.low
        measure = number % MEASURED == 0
        gather(V, words, low, width, x)
        gather(U, words, first, size, u)
        draw_block_noise(blocks, state, tables, noise)
        _hide(chunk, block, blocks, mean, scratch, weights)
        loss = learn_noise(h, dh, noise, measure)
        loss_of_targets, terms = _learn_targets(chunk, block, scratch, weights, shift, measure)
        total, pairs = total + (loss + loss_of_targets), pairs + terms
        if learn_shift:
            for s in range(S):
                shift[drawn[s]] += rate * shift_steps[s]
            for i in range(size):
                if weights[i] > 0:
                    shift[words[first + i]] += rate * P[0, i]
        add_running_sums(edges, width, dx)
        scatter_add(dx, width, rate, V, words, low)
        scatter_add(du, size, rate, U, words, first)
        scatter_add(steps, S, rate, U, drawn, 0)
        first, number = first + size, number + 1
    return total, pairs
