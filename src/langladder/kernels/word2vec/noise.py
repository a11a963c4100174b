"""Negative sampling and NCE for word2vec: the parts that the kernels of skip-gram and CBOW share.

The text is cut into blocks of L consecutive words. All pairs of a block share S noise words, each with weight K/S. The
gradients of a block are computed from the vectors at its start, then added. So nearly all work is products of small
matrices, and only S randomly drawn rows per block are loaded from distant memory. A word that occurs in a block many
times would make as many steps at once and overshoot, so blocks are shorter in repetitive text (lists, tables).

    negative sampling (Mikolov et al. 2013, eq. 4):    score(h, w) = u_w · h
    NCE (Mnih and Kavukcuoglu 2013, eq. 2–8):          score(h, w) = u_w · h + b_w − log(K P_noise(w))

    J = −log σ(score(h, target)) − K/S Σ_s log σ(−score(h, n_s))

Shape legend: V words, at most L centres per block, M window, S noise words, D dimensions, C = L + 2M positions that a
block covers. L and S are multiples of 8. Working memory is allocated once per chunk, in tuples. Kernels unpack them
before their loops, because each access to a tuple's array costs two atomic operations. Functions that create the tuples
are inlined, so that LLVM sees that all arrays have rows of the same length (this saves 6 % of the time).
"""

import math
from typing import NamedTuple

import numpy as np

from langladder.kernels.compiled import njit
from langladder.kernels.simd import add8, load8, multiply8, splat8, store8
from langladder.kernels.small_products import combinations, fill_zero, products
from langladder.kernels.word2vec.drawing import AliasTable, Chunk, draw_noise
from langladder.kernels.word2vec.rows import gather, logistic

MEASURED = 16  # the loss is measured in every 16th block
REPEATS = 4  # maximum occurrences of a word in a block


class Tables(NamedTuple):
    """The learnt parameters.

    Attributes:
        input, output: (V, D) float32, v and u.
        shift: (V,) float32, b_w − log(K P_noise(w)) of NCE; 0 in negative sampling.
        learn_shift: whether b is learnt (NCE).
    """

    input: np.ndarray
    output: np.ndarray
    shift: np.ndarray
    learn_shift: bool


class Blocks(NamedTuple):
    """Block and noise settings: L, M, K, S, and the noise distribution."""

    length: int
    window: int
    negatives: int
    noise_words: int
    noise: AliasTable


class Block(NamedTuple):
    """Positions in a chunk: the centres `first` … `first + size − 1`, whose windows cover the words `low` … `high −
    1`."""

    first: int
    size: int
    low: int
    high: int


class NoiseScratch(NamedTuple):
    """The block's noise words and their gradients."""

    words: np.ndarray  # (S,)
    rows: np.ndarray  # (S, D) their u …
    steps: np.ndarray  # (S, D) … and −∂J/∂u
    shifts: np.ndarray  # (1, S)
    shift_steps: np.ndarray  # (1, S)
    G: np.ndarray  # (L, S) scores, then −∂J/∂score
    weights: np.ndarray  # (L,) weight of each of a centre's noise words


@njit(nogil=True, inline="always")
def noise_scratch(L: int, S: int, D: int) -> NoiseScratch:
    """All zeros."""
    f32 = np.float32
    words, rows, steps = np.zeros(S, np.int64), np.zeros((S, D), f32), np.zeros((S, D), f32)
    G, weights = np.zeros((L, S), f32), np.zeros(L, f32)
    return NoiseScratch(words, rows, steps, np.zeros((1, S), f32), np.zeros((1, S), f32), G, weights)


@njit(nogil=True)
def block_size(words: np.ndarray, first: int, count: int, L: int) -> int:
    """Size of the block that begins at `first`: at most L words, none of them more than REPEATS times."""
    size = min(L, count - first)
    for i in range(REPEATS, size):
        uses = 0
        for j in range(i):
            uses += words[first + j] == words[first + i]
        if uses >= REPEATS:
            return i
    return size


@njit(nogil=True, inline="always")
def next_block(chunk: Chunk, first: int, blocks: Blocks) -> Block:
    """The block that begins at position `first`."""
    size = block_size(chunk.words, first, chunk.size, blocks.length)
    return Block(first, size, max(0, first - blocks.window), min(chunk.size, first + size + blocks.window))


@njit(nogil=True, inline="always")
def draw_block_noise(blocks: Blocks, state: np.ndarray, tables: Tables, noise: NoiseScratch) -> None:
    """Draw the block's noise words, and load their vectors and shifts."""
    draw_noise(blocks.noise, state, noise.words)
    words, rows, _, shifts, _, _, _ = noise
    shift = tables.shift
    gather(tables.output, words, 0, len(words), rows)
    for s in range(len(words)):
        shifts[0, s] = shift[words[s]]


@njit(nogil=True, fastmath=True)
def learn_noise(H: np.ndarray, dH: np.ndarray, noise: NoiseScratch, measure: bool) -> float:
    """The noise part of a block: sets dH and `noise.steps` to negative gradients; returns the loss if measured.

    Args:
        H: (L, D) hidden vectors; dH: (L, D).
    """
    _, rows, steps, shifts, shift_steps, G, weights = noise
    L, S = G.shape
    products(H, L, rows, 0, S, G, 0)
    for i in range(L):
        for s in range(0, S, 8):
            store8(G, i, s, add8(load8(G, i, s), load8(shifts, 0, s)))
    logistic(G, L, S)
    loss = 0.0
    if measure:
        for i in range(L):
            for s in range(S):
                loss -= weights[i] * math.log(max(1e-7, 1.0 - G[i, s]))
    # ∂J/∂score = K/S σ(score)
    fill_zero(shift_steps, 1)
    for i in range(L):
        minus = splat8(-weights[i])
        for s in range(0, S, 8):
            step = multiply8(minus, load8(G, i, s))
            store8(G, i, s, step)
            store8(shift_steps, 0, s, add8(step, load8(shift_steps, 0, s)))
    combinations(G, L, 0, S, rows, dH)
    combinations(G.T, S, 0, L, H, steps)
    return loss
