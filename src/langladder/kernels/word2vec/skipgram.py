"""The kernel of skip-gram with negative sampling or NCE: see `noise` for losses, blocks and the shape legend."""

import math
from typing import NamedTuple

import numpy as np

from langladder.kernels.compiled import njit
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
from langladder.kernels.word2vec.rows import add_combination, gather, logistic, row_products, scatter_add


class PairScratch(NamedTuple):
    """Skip-gram: the block's centres, its contexts, and their pairs."""

    v: np.ndarray  # (L, D)
    dv: np.ndarray  # (L, D)
    u: np.ndarray  # (C, D)
    du: np.ndarray  # (C, D)
    P: np.ndarray  # (L, ≥ 2M + 1) scores, then −∂J/∂score, of each centre's contexts …
    positions: np.ndarray  # (L, ≥ 2M + 1) … and the contexts' positions
    back: np.ndarray  # (C, ≥ 2M + 1) the same, transposed
    centres: np.ndarray  # (C, ≥ 2M + 1)
    uses: np.ndarray  # (C,) entries in use in each row of the last two


@njit(nogil=True, inline="always")
def _pair_scratch(L: int, window: int, D: int) -> PairScratch:
    f32, room, span = np.float32, L + 2 * window + 8, 2 * window + 1
    span += -span % 8
    v, dv = np.zeros((L, D), f32), np.zeros((L, D), f32)
    u, du = np.zeros((room, D), f32), np.zeros((room, D), f32)
    P, positions = np.zeros((L, span), f32), np.zeros((L, span), np.int64)
    back, centres = np.zeros((room, span), f32), np.zeros((room, span), np.int64)
    return PairScratch(v, dv, u, du, P, positions, back, centres, np.zeros(room, np.int64))


@njit(nogil=True, fastmath=True)
def _learn_contexts(
    chunk: Chunk, block: Block, pairs: PairScratch, shift: np.ndarray, measure: bool
) -> tuple[float, float]:
    """The positive pairs of a block: adds to dv and sets du, both negative gradients; returns loss and pairs if
    measured.

    The gradients of the pairs are in `pairs.back` afterwards.
    """
    words, before, after, _ = chunk
    first, size, low, high = block
    v, dv, u, du, P, positions, back, centres, uses = pairs
    f32 = np.float32
    loss, terms = 0.0, 0.0
    for j in range(high - low):
        uses[j] = 0
    for i in range(size):
        t = first + i
        begin, width = t - before[t] - low, before[t] + after[t] + 1
        row_products(v, i, u, begin, width, P, i)
        for j in range(width):
            P[i, j] += shift[words[low + begin + j]]
    logistic(P, size, P.shape[1])
    for i in range(size):
        t = first + i
        begin, own, width = t - before[t] - low, before[t], before[t] + after[t] + 1
        if measure:
            terms += width - 1
            for j in range(width):
                if j != own:
                    loss -= math.log(max(f32(1e-7), P[i, j]))
        # ∂J/∂score = σ(score) − 1
        for j in range(width):
            position = begin + j
            P[i, j], positions[i, j] = f32(1) - P[i, j], position
            if j != own:
                back[position, uses[position]], centres[position, uses[position]] = P[i, j], i
                uses[position] += 1
        P[i, own] = f32(0)
        add_combination(P, i, width, u, positions, dv, i)
    fill_zero(du, high - low)
    for j in range(high - low):
        add_combination(back, j, uses[j], v, centres, du, j)
    return loss, terms


@njit(nogil=True, fastmath=True)
def skipgram_negative(
    chunk: Chunk, tables: Tables, blocks: Blocks, state: np.ndarray, lr: float
) -> tuple[float, float]:
    """Train skip-gram on one chunk of text: each word's v learns to distinguish the u of its neighbours from noise
    words.

    Args:
        tables: changed in place; state: of the random numbers, advanced in place.

    Returns:
        Summed loss of the measured blocks, and their number of pairs.
    """
    words, before, after, count = chunk
    V, U, shift, learn_shift = tables
    L, _, negatives, S, _ = blocks
    D, f32 = V.shape[1], np.float32
    noise, scratch = noise_scratch(L, S, D), _pair_scratch(L, blocks.window, D)
    v, dv, u, du, _, _, back, _, uses = scratch
    drawn, _, steps, _, shift_steps, _, weights = noise
    rate, total, pairs = f32(lr), 0.0, 0.0
    first, number = 0, 0
    while first < count:
        block = next_block(chunk, first, blocks)
        size, low, width = block.size, block.low, block.high - block.low
        measure = number % MEASURED == 0
        gather(V, words, first, size, v)
        gather(U, words, low, width, u)
        draw_block_noise(blocks, state, tables, noise)
        for i in range(L):
            reach = before[first + i] + after[first + i] if i < size else 0
            weights[i] = f32(reach * negatives) / f32(S)
        loss = learn_noise(v, dv, noise, measure)
        loss_of_contexts, terms = _learn_contexts(chunk, block, scratch, shift, measure)
        total, pairs = total + (loss + loss_of_contexts), pairs + terms
        if learn_shift:
            for s in range(S):
                shift[drawn[s]] += rate * shift_steps[0, s]
            for j in range(width):
                for k in range(uses[j]):
                    shift[words[low + j]] += rate * back[j, k]
        scatter_add(dv, size, rate, V, words, first)
        scatter_add(du, width, rate, U, words, low)
        scatter_add(steps, S, rate, U, drawn, 0)
        first, number = first + size, number + 1
    return total, pairs
