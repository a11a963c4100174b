"""The kernels of fastText's classifier: one update per text, in sequence.

    h = (1/n) Σ_p z_p                         the rows of a text's features p: its words and n-grams, `</s>`
    softmax        P(y | h) = exp(u_y · h) / Σ_c exp(u_c · h)
    hierarchical   P(y | h) = ∏_j σ(±u_{n(y, j)} · h),     + where bit j of y's code is 0 (`nn.huffman`)

An update adds −η ∂J/∂u to every u, then −η/n ∂J/∂h, computed with u before the update, to every z_p. This is the
gradient of J = −log P(y | h), like in the fastText tool for classifiers.

Shape legend: N texts, P features of all texts, F rows of features, C labels, R rows of output, D dimensions.
"""

import math
from typing import NamedTuple

import numpy as np

from langladder.kernels.compiled import Untyped, njit
from langladder.kernels.simd import add8, load8, multiply_add, splat8, store8, sum8, zeros8


class Texts(NamedTuple):
    """parts: (P,) int32 rows of features; text i has parts[bounds[i] : bounds[i + 1]]; labels: (N,) int64."""

    parts: np.ndarray
    bounds: np.ndarray
    labels: np.ndarray


class Paths(NamedTuple):
    """The labels' paths in a Huffman tree, see `HuffmanTree`. If `offsets` has length 1, there is no tree but a
    softmax."""

    offsets: np.ndarray
    nodes: np.ndarray
    bits: np.ndarray


@njit(nogil=True)
def mean_of_rows(table: np.ndarray, parts: np.ndarray, first: int, last: int, h: np.ndarray, i: int) -> None:
    """h[i] ← (1/n) Σ_p table[p]: strips of 32 columns are summed in registers."""
    D, d = table.shape[1], 0
    scale = splat8(np.float32(1.0 / max(1, last - first)))
    while d + 32 <= D:
        s0 = s1 = s2 = s3 = zeros8()
        for position in range(first, last):
            p = parts[position]
            s0, s1 = add8(load8(table, p, d), s0), add8(load8(table, p, d + 8), s1)
            s2, s3 = add8(load8(table, p, d + 16), s2), add8(load8(table, p, d + 24), s3)
        store8(h, i, d, multiply_add(s0, scale, zeros8()))
        store8(h, i, d + 8, multiply_add(s1, scale, zeros8()))
        store8(h, i, d + 16, multiply_add(s2, scale, zeros8()))
        store8(h, i, d + 24, multiply_add(s3, scale, zeros8()))
        d += 32
    while d < D:
        s0 = zeros8()
        for position in range(first, last):
            s0 = add8(load8(table, parts[position], d), s0)
        store8(h, i, d, multiply_add(s0, scale, zeros8()))
        d += 8


@njit(nogil=True)
def _score(output: np.ndarray, row: int, h: np.ndarray) -> Untyped:
    """u_row · h."""
    total = zeros8()
    for d in range(0, h.shape[1], 8):
        total = multiply_add(load8(output, row, d), load8(h, 0, d), total)
    return sum8(total)


@njit(nogil=True)
def _move(output: np.ndarray, row: int, step: np.float32, h: np.ndarray, change: np.ndarray) -> None:
    """change += step · u_row, then u_row += step · h."""
    x = splat8(step)
    for d in range(0, h.shape[1], 8):
        u = load8(output, row, d)
        store8(change, 0, d, multiply_add(x, u, load8(change, 0, d)))
        store8(output, row, d, multiply_add(x, load8(h, 0, d), u))


@njit(nogil=True)
def _softmax_step(
    output: np.ndarray, label: int, rate: float, h: np.ndarray, change: np.ndarray, z: np.ndarray
) -> float:
    """One update for a label; returns −log P(label | h) before it. z: (C,) float64, working memory for the scores."""
    C = len(output)
    for c in range(C):
        z[c] = _score(output, c, h)
    peak = z.max()
    total = 0.0
    for c in range(C):
        z[c] = math.exp(z[c] - peak)
        total += z[c]
    for c in range(C):
        # −∂J/∂z_c = [c = y] − P(c | h)
        _move(output, c, np.float32(rate * ((c == label) - z[c] / total)), h, change)
    return -math.log(max(z[label] / total, 1e-30))


@njit(nogil=True)
def _path_step(output: np.ndarray, label: int, rate: float, h: np.ndarray, change: np.ndarray, paths: Paths) -> float:
    """The same with hierarchical softmax: the label's decisions, root first."""
    loss = 0.0
    for position in range(paths.offsets[label], paths.offsets[label + 1]):
        row, wanted = paths.nodes[position], 1.0 - paths.bits[position]
        p = 1.0 / (1.0 + math.exp(-_score(output, row, h)))  # P(bit 0)
        loss -= math.log(max(p if wanted == 1.0 else 1.0 - p, 1e-30))
        _move(output, row, np.float32(rate * (wanted - p)), h, change)
    return loss


@njit(nogil=True)
def learn_texts(
    texts: Texts, order: np.ndarray, tables: tuple[np.ndarray, np.ndarray], paths: Paths, rates: tuple[float, float]
) -> float:
    """Train on texts in the given order; changes both tables in place.

    Args:
        order: (M,) int64, which texts. tables: features (F, D) and output (R, D), float32.
        rates: the learning rates at the first and after the last text; it falls linearly in between.

    Returns:
        Summed loss, each term computed before its update.
    """
    parts, bounds, labels = texts
    table, output = tables
    tree = len(paths.offsets) > 1
    D, loss = table.shape[1], 0.0
    h, change, z = np.zeros((1, D), np.float32), np.zeros((1, D), np.float32), np.zeros(len(output))
    for step in range(len(order)):
        text = order[step]
        first, last = bounds[text], bounds[text + 1]
        rate = rates[0] + (rates[1] - rates[0]) * step / len(order)
        mean_of_rows(table, parts, first, last, h, 0)
        for d in range(0, D, 8):
            store8(change, 0, d, zeros8())
        if tree:
            loss += _path_step(output, labels[text], rate, h, change, paths)
        else:
            loss += _softmax_step(output, labels[text], rate, h, change, z)
        share = splat8(np.float32(1.0 / (last - first)))
        for d in range(0, D, 8):
            store8(change, 0, d, multiply_add(load8(change, 0, d), share, zeros8()))
        for position in range(first, last):
            p = parts[position]
            for d in range(0, D, 8):
                store8(table, p, d, add8(load8(table, p, d), load8(change, 0, d)))
    return loss


@njit(nogil=True)
def means(table: np.ndarray, parts: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """h of every text: (N, D) float32."""
    sums = np.zeros((len(bounds) - 1, table.shape[1]), np.float32)
    for text in range(len(bounds) - 1):
        mean_of_rows(table, parts, bounds[text], bounds[text + 1], sums, text)
    return sums


def fnv1a(data: bytes) -> int:
    """FNV-1a, 32 bits (Fowler, Noll & Vo), in the fastText tool's variant, which maps n-grams to buckets.

    It equals the published function on ASCII.
    """
    h = 2166136261
    for byte in data:
        h ^= byte if byte < 128 else byte | 0xFFFFFF00  # a signed char, widened to 32 bits
        h = h * 16777619 % 2**32
    return h
