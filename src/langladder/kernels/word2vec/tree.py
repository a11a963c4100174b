"""Kernels of word2vec with hierarchical softmax: a prediction is a sequence of decisions on a word's path in a Huffman
tree.

Mikolov et al. 2013, "Distributed Representations …", section 2.1, eq. 3, with one vector u_n for each inner node n:

    J(h, w) = −Σ_{j=1..L(w)} log σ(±u_{n(w, j)} · h),      + where bit j of w's code is 0

Like in the original code, the input of a skip-gram pair is the neighbour, and the predicted word is the centre. So all
inputs of a window use the nodes of one path, and the scores are products of small matrices. The gradients of AT_ONCE
inputs are computed from the same vectors, then added. Using all inputs of a window at once would be faster but would
learn less, because all of them would change the same nodes from the same starting point.

Shape legend: C context words of a window, J nodes of a path, D dimensions, P entries of all paths.
"""

import math
from typing import NamedTuple

import numpy as np

from langladder.kernels.compiled import njit
from langladder.kernels.simd import add8, load8, multiply_add, splat8, store8, store_sums4, zeros8
from langladder.kernels.small_products import fill_zero
from langladder.kernels.word2vec.drawing import Chunk
from langladder.kernels.word2vec.rows import add_scaled, gather, logistic, scatter_add

AT_ONCE = 2  # inputs of a path at a time; the kernels here are written for two
MEASURED = 64  # the loss is measured on every 64th word


class Tree(NamedTuple):
    """The paths of all words, see `langladder.nn.huffman.HuffmanTree`: (V + 1,) int64, (P,) int32, (P,) int8."""

    offsets: np.ndarray
    nodes: np.ndarray
    bits: np.ndarray


@njit(nogil=True)
def path_scores(H: np.ndarray, first: int, U: np.ndarray, nodes: np.ndarray, begin: int, J: int, G: np.ndarray) -> None:
    """G[i, j] ← H[first + i] · u_j for two inputs i and the nodes of a path (in groups of 4), u_j = U[nodes[begin +
    j]]."""
    last = begin + J - 1
    for j in range(0, J, 4):
        position = begin + j
        n0, n1 = nodes[position], nodes[min(position + 1, last)]
        n2, n3 = nodes[min(position + 2, last)], nodes[min(position + 3, last)]
        s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = zeros8()
        for d in range(0, U.shape[1], 8):
            x, y = load8(H, first, d), load8(H, first + 1, d)
            u0, u1, u2, u3 = load8(U, n0, d), load8(U, n1, d), load8(U, n2, d), load8(U, n3, d)
            s0, s1 = multiply_add(x, u0, s0), multiply_add(x, u1, s1)
            s2, s3 = multiply_add(x, u2, s2), multiply_add(x, u3, s3)
            t0, t1 = multiply_add(y, u0, t0), multiply_add(y, u1, t1)
            t2, t3 = multiply_add(y, u2, t2), multiply_add(y, u3, t3)
        store_sums4(G, 0, j, s0, s1, s2, s3)
        store_sums4(G, 1, j, t0, t1, t2, t3)


@njit(nogil=True)
def learn_path(
    H: np.ndarray, dH: np.ndarray, first: int, U: np.ndarray, nodes: np.ndarray, begin: int, J: int, G: np.ndarray,
    rate: np.float32,
) -> None:  # fmt: skip
    """dH[first + i] ← Σ_j G[i, j] u_j for two inputs i, then u_j += rate · Σ_i G[i, j] H[first + i].

    Each u_j is read once: strips of 16 columns stay in registers; the remaining columns, in strips of 8.
    """
    step, D, d = splat8(rate), U.shape[1], 0
    while d < D - D % 32:
        x0, x1, y0, y1 = load8(H, first, d), load8(H, first, d + 8), load8(H, first + 1, d), load8(H, first + 1, d + 8)
        s0 = s1 = t0 = t1 = zeros8()
        for j in range(J):
            node, g, h = nodes[begin + j], splat8(G[0, j]), splat8(G[1, j])
            u0, u1 = load8(U, node, d), load8(U, node, d + 8)
            s0, s1 = multiply_add(g, u0, s0), multiply_add(g, u1, s1)
            t0, t1 = multiply_add(h, u0, t0), multiply_add(h, u1, t1)
            move0 = multiply_add(h, y0, multiply_add(g, x0, zeros8()))
            move1 = multiply_add(h, y1, multiply_add(g, x1, zeros8()))
            store8(U, node, d, multiply_add(step, move0, u0))
            store8(U, node, d + 8, multiply_add(step, move1, u1))
        store8(dH, first, d, s0)
        store8(dH, first, d + 8, s1)
        store8(dH, first + 1, d, t0)
        store8(dH, first + 1, d + 8, t1)
        d += 16
    while d < D:
        x, y = load8(H, first, d), load8(H, first + 1, d)
        s0 = s1 = t0 = t1 = zeros8()
        for j in range(J):
            node, g, h = nodes[begin + j], splat8(G[0, j]), splat8(G[1, j])
            u = load8(U, node, d)
            if j % 2 == 0:
                s0, t0 = multiply_add(g, u, s0), multiply_add(h, u, t0)
            else:
                s1, t1 = multiply_add(g, u, s1), multiply_add(h, u, t1)
            move = add8(multiply_add(g, x, zeros8()), multiply_add(h, y, zeros8()))
            store8(U, node, d, multiply_add(step, move, u))
        store8(dH, first, d, add8(s0, s1))
        store8(dH, first + 1, d, add8(t0, t1))
        d += 8


@njit(nogil=True, fastmath=True)
def _decide(bits: np.ndarray, begin: int, J: int, rows: int, G: np.ndarray, measure: bool) -> float:
    """G ← −∂J/∂score of a path's decisions, from their scores; 0 for a missing input. Returns the loss if measured."""
    f32, loss = np.float32, 0.0
    logistic(G, rows, J)
    for j in range(J):
        bit = bits[begin + j]
        for i in range(rows):
            p = G[i, j]
            if measure:
                loss -= math.log(max(f32(1e-7), f32(1) - p if bit else p))
            # ∂J/∂score = σ(score) − (1 − bit)
            G[i, j] = (f32(0) if bit else f32(1)) - p
        for i in range(rows, AT_ONCE):
            G[i, j] = f32(0)
    return loss


@njit(nogil=True, fastmath=True)
def learn_tree(
    chunk: Chunk, V: np.ndarray, U: np.ndarray, tree: Tree, lr: float, window: int, cbow: bool, mean: bool, whole: bool
) -> tuple[float, float]:
    """Train on one chunk of text, skip-gram or CBOW.

    Args:
        V: (vocabulary, D) input vectors; U: (inner nodes, D); both changed in place.
        mean: CBOW uses the mean of a context, not the sum; whole: each context word gets the full step of h.

    Returns:
        Summed loss of the measured words, and their number of pairs (CBOW: of words).
    """
    words, before, after, count = chunk
    offsets, nodes, bits = tree
    D, f32, reach, longest = V.shape[1], np.float32, 2 * window + 2, 0
    for word in range(len(offsets) - 1):
        longest = max(longest, offsets[word + 1] - offsets[word])
    G = np.zeros((AT_ONCE, longest + (-longest) % 8), f32)
    x, dx, inputs = np.zeros((reach, D), f32), np.zeros((reach, D), f32), np.zeros(reach, np.int64)
    h, dh = np.zeros((2, D), f32), np.zeros((2, D), f32)
    rate, total, pairs = f32(lr), 0.0, 0.0
    for t in range(count):
        C = 0
        for position in range(t - before[t], t + after[t] + 1):
            if position != t:
                inputs[C] = words[position]
                C += 1
        if C == 0:
            continue
        begin, J = offsets[words[t]], offsets[words[t] + 1] - offsets[words[t]]
        gather(V, inputs, 0, C, x)
        rows, scale = C, f32(1)
        if cbow:
            rows, scale = 1, f32(1) / f32(C) if mean else f32(1)
            fill_zero(h, 1)
            for i in range(C):
                add_scaled(scale, x, i, h, 0)
        H, dH = (h, dh) if cbow else (x, dx)
        measure = t % MEASURED == 0
        for first in range(0, rows, AT_ONCE):
            n = min(AT_ONCE, rows - first)
            path_scores(H, first, U, nodes, begin, J, G)
            loss = _decide(bits, begin, J, n, G, measure)
            learn_path(H, dH, first, U, nodes, begin, J, G, rate)
            if measure:
                total, pairs = total + loss, pairs + n
        if cbow:
            for i in range(C):
                add_scaled(rate if whole else rate * scale, dh, 0, V, inputs[i])
        else:
            scatter_add(dx, C, rate, V, inputs, 0)
    return total, pairs
