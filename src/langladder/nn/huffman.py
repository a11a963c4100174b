"""Huffman tree over a vocabulary: frequent words are near the root, so that hierarchical softmax needs few decisions.

Huffman 1952, "A Method for the Construction of Minimum-Redundancy Codes"; as the output layer of a language model:
Morin and Bengio 2005, and Mikolov et al. 2013, "Distributed Representations …", section 2.1:

    P(w | h) = Π_{j=1..L(w)} σ(s_j · v'_{n(w, j)} · h),      s_j = +1 where bit j of w's code is 0, −1 where it is 1

with one vector v' for each of the V − 1 inner nodes and none for the words. As in word2vec's code, bit 0 means
σ(+score). Which child gets bit 0 is a convention; here it is the rarer one, which is taken first.

Shape legend: V words, N = V − 1 inner nodes, L longest path, P = Σ_w L(w) entries of all paths.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from langladder.ground.errors import InputError


@dataclass(frozen=True)
class HuffmanTree:
    """Each word's path from the root: the inner nodes, and the decisions at them.

    Word w has the entries `offsets[w] : offsets[w + 1]` of `nodes` and `bits`, root first.

    Attributes:
        offsets: (V + 1,) int64.
        nodes: (P,) int32, inner nodes 0 … V − 2; the root is V − 2, the last node created.
        bits: (P,) int8, 0 or 1.
    """

    offsets: np.ndarray
    nodes: np.ndarray
    bits: np.ndarray

    @classmethod
    def from_counts(cls, counts: np.ndarray) -> Self:
        """The tree with the smallest Σ_w count(w) · L(w).

        Ties are broken by position: of equal counts, words before inner nodes, and the last word of the vocabulary
        first. So the same counts give the same tree.

        Args:
            counts: (V,) occurrences, 0 or more, in any order.

        Raises:
            InputError: there are fewer than two words, or a negative count.
        """
        counts = np.asarray(counts, dtype=np.int64)
        if counts.ndim != 1 or len(counts) < 2:
            raise InputError(f"a Huffman tree needs at least 2 words; there are {counts.size}")
        if int(counts.min()) < 0:
            raise InputError(f"a Huffman tree needs counts of 0 or more; one is {counts.min()}")
        return cls(*_paths(*_join(counts)))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> np.ndarray:
        """(V,) int64: number of decisions of each word."""
        lengths: np.ndarray = np.diff(self.offsets)
        return lengths

    def path(self, word: int) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and bits of one word, (L(w),) each: views, not copies."""
        part = slice(self.offsets[word], self.offsets[word + 1])
        return self.nodes[part], self.bits[part]

    @cached_property
    def padded(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nodes (V, L) int32, bits (V, L) int8 and mask (V, L) bool: True where a path goes on; 0 beyond its end."""
        mask = np.arange(int(self.lengths.max())) < self.lengths[:, None]
        nodes, bits = (np.zeros(mask.shape, dtype=flat.dtype) for flat in (self.nodes, self.bits))
        nodes[mask], bits[mask] = self.nodes, self.bits
        return nodes, bits, mask


def _join(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Join the two rarest trees until one is left. Returns the parent and the bit of each of the V + N trees.

    If the words are sorted, two queues suffice: the remaining words, and the joined trees, which are created in
    increasing order. Trees 0 … V − 1 are words, V … V + N − 1 are inner nodes in the order of their creation.
    """
    words = len(counts)
    rarest_first = np.argsort(counts[::-1], kind="stable")
    order = (words - 1 - rarest_first).tolist()
    weights = counts.tolist() + [0] * (words - 1)
    parents, bits = np.zeros(2 * words - 1, dtype=np.int64), np.zeros(2 * words - 1, dtype=np.int8)
    word, joined = 0, words  # the heads of both queues

    for node in range(words, 2 * words - 1):
        for bit in (0, 1):
            if word < words and (joined == node or weights[order[word]] <= weights[joined]):
                child, word = order[word], word + 1
            else:
                child, joined = joined, joined + 1
            weights[node] += weights[child]
            parents[child], bits[child] = node, bit
    return parents, bits


def _paths(parents: np.ndarray, bits: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Offsets, nodes and bits of all paths. All words move up one step at a time, until the last one is at the root."""
    words = (len(parents) + 1) // 2
    root = 2 * words - 2
    depths = np.zeros(len(parents), dtype=np.int64)
    for tree in range(root - 1, -1, -1):  # parents have higher numbers than their inner children
        if tree >= words:
            depths[tree] = depths[parents[tree]] + 1
    depths[:words] = depths[parents[:words]] + 1
    offsets = np.concatenate([[0], np.cumsum(depths[:words])])

    nodes, path_bits = np.empty(offsets[-1], dtype=np.int32), np.empty(offsets[-1], dtype=np.int8)
    positions, trees = offsets[1:] - 1, np.arange(words)
    while len(trees):
        nodes[positions], path_bits[positions] = parents[trees] - words, bits[trees]
        trees = parents[trees]
        climbing = trees != root
        positions, trees = positions[climbing] - 1, trees[climbing]
    return offsets, nodes, path_bits
