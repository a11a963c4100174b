"""Kernels of word2vec with hierarchical softmax: a word is reached by decisions along its path in a Huffman tree.

Mikolov et al. 2013, "Distributed Representations …", section 2.1, eq. 3, with one vector u_n for each inner node n:

    J(h, w) = −Σ_{j=1..L(w)} log σ(±u_{n(w, j)} · h),      + where bit j of w's code is 0

As in the original code, a skip-gram pair has the neighbour as input and the centre as the word to be reached: so all
inputs of a window meet the nodes of one path, and the scores are products of small matrices. What TOGETHER inputs teach
a path is computed from its vectors as they were before them, then added. All inputs of a window at once would be
faster, but would teach less: they all pull the same nodes, from where none of them has been yet.

Shape legend: C context words of a window, J nodes of a path, D dimensions, P entries of all paths.
"""

import math
from typing import NamedTuple

import numpy as np

from langladder.compiled import njit
from langladder.embeddings.word2vec.drawing import Chunk
from langladder.embeddings.word2vec.rows import add_scaled, gather, logistic, scatter_add
from langladder.small_products import combinations, fill_zero, products

TOGETHER = 2  # even, as `small_products` takes rows
MEASURED = 64  # the loss is taken of every 64th word


class Tree(NamedTuple):
    """The paths of all words, see `langladder.nn.huffman.HuffmanTree`: (V + 1,) int64, (P,) int32, (P,) int8."""

    offsets: np.ndarray
    nodes: np.ndarray
    bits: np.ndarray


class PathScratch(NamedTuple):
    """A window's path in the tree and its decisions; R hidden vectors, an even number."""

    y: np.ndarray  # (J, D) vectors of the path's nodes …
    dy: np.ndarray  # (J, D) … and −∂J/∂y
    G: np.ndarray  # (R, J) scores, then −∂J/∂score …
    GT: np.ndarray  # (J, R) … turned


@njit(nogil=True, inline="always")
def _path_scratch(tree: Tree, window: int, D: int) -> PathScratch:
    f32, longest, reach = np.float32, 0, 2 * window + 2
    for word in range(len(tree.offsets) - 1):
        longest = max(longest, tree.offsets[word + 1] - tree.offsets[word])
    width = longest + (-longest) % 8
    y, dy = np.zeros((width, D), f32), np.zeros((width, D), f32)
    return PathScratch(y, dy, np.zeros((reach, width), f32), np.zeros((width, reach), f32))


@njit(nogil=True, fastmath=True)
def _learn_decisions(
    tree: Tree, word: int, rows: int, H: np.ndarray, dH: np.ndarray, path: PathScratch, measure: bool
) -> float:
    """All decisions of a word's path for all its hidden vectors: dH and dy (set), −1 × for descent; loss if measured.

    Args:
        H: (rows, D) hidden vectors; dH: likewise.
    """
    y, dy, G, GT = path
    offsets, _, bits = tree
    begin, J = offsets[word], offsets[word + 1] - offsets[word]
    f32, loss = np.float32, 0.0
    products(H, rows, y, 0, J, G, 0)
    logistic(G, rows, J)
    for j in range(J):
        bit = bits[begin + j]
        for i in range(rows):
            p = G[i, j]
            if measure:
                loss -= math.log(max(f32(1e-7), f32(1) - p if bit else p))
            # ∂J/∂score = σ(score) − (1 − bit)
            G[i, j] = (f32(0) if bit else f32(1)) - p
            GT[j, i] = G[i, j]
    even = rows + rows % 2
    for j in range(J):
        G[rows:even, j] = f32(0)
    combinations(G, even, 0, J, y, dH)
    combinations(GT, J + J % 2, 0, rows, H, dy)
    return loss


@njit(nogil=True, fastmath=True)
def learn_tree(
    chunk: Chunk, V: np.ndarray, U: np.ndarray, tree: Tree, lr: float, window: int, cbow: bool, mean: bool, whole: bool
) -> tuple[float, float]:
    """One chunk of text, skip-gram or CBOW.

    Args:
        V: (vocabulary, D) input vectors; U: (inner nodes, D); both changed in place.
        mean: CBOW takes the mean of a context, not the sum; whole: each of its words gets the whole step of it.

    Returns:
        Summed loss of the measured words, and their number of pairs (CBOW: of words).
    """
    words, before, after, count = chunk
    offsets, nodes, _ = tree
    D, f32, reach = V.shape[1], np.float32, 2 * window + 2
    path = _path_scratch(tree, window, D)
    y, dy, _, _ = path
    x, dx, inputs = np.zeros((reach, D), f32), np.zeros((reach, D), f32), np.zeros(reach, np.int64)
    h, dh = np.zeros((2, D), f32), np.zeros((2, D), f32)
    rate, total, pairs = f32(lr), 0.0, 0.0
    for t in range(count):
        C = 0
        for place in range(t - before[t], t + after[t] + 1):
            if place != t:
                inputs[C] = words[place]
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
        for first in range(0, rows, TOGETHER):
            n = min(TOGETHER, rows - first)
            gather(U, nodes, begin, J, y)
            loss = _learn_decisions(tree, words[t], n, H[first:], dH[first:], path, measure)
            scatter_add(dy, J, rate, U, nodes, begin)
            if measure:
                total, pairs = total + loss, pairs + n
        if cbow:
            for i in range(C):
                add_scaled(rate if whole else rate * scale, dh, 0, V, inputs[i])
        else:
            scatter_add(dx, C, rate, V, inputs, 0)
    return total, pairs
