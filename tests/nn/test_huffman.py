"""Huffman tree: the invariants of every tree, a worked example, ties."""

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langladder.ground.errors import InputError
from langladder.nn.huffman import HuffmanTree


def test_tree_of_seven_words_golden() -> None:
    """我3 爱3 吃3 苹果3 香蕉1 喜欢1 他1."""
    counts = np.array([3, 3, 3, 3, 1, 1, 1])
    tree = HuffmanTree.from_counts(counts)
    assert len(tree) - 1 == 6
    assert set(tree.nodes.tolist()) == set(range(6))
    assert int(counts @ tree.lengths) == 41
    assert (2.0**-tree.lengths).sum() == 1


def least_weighted_length(counts: list[int]) -> int:
    """Σ count · length of an optimal code: the sum of the weights of all joins (with a heap, as in the textbook)."""
    heap = list(counts)
    heapq.heapify(heap)
    total = 0
    while len(heap) > 1:
        joined = heapq.heappop(heap) + heapq.heappop(heap)
        total += joined
        heapq.heappush(heap, joined)
    return total


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 50), min_size=2, max_size=40))
def test_invariants_of_any_tree(counts: list[int]) -> None:
    tree = HuffmanTree.from_counts(np.array(counts))
    codes = ["".join(map(str, tree.path(word)[1])) for word in range(len(counts))]
    assert sum(2.0 ** -len(code) for code in codes) == pytest.approx(1)  # Kraft: the tree is full
    assert not any(a != b and codes[b].startswith(codes[a]) for a in range(len(codes)) for b in range(len(codes)))
    assert int(np.array(counts) @ tree.lengths) == least_weighted_length(counts)
    assert len(np.unique(tree.nodes)) == len(tree) - 1 == len(counts) - 1
    # A node is reached by one prefix only, and that prefix determines it.
    prefixes: dict[str, int] = {}
    for word, code in enumerate(codes):
        for step, node in enumerate(tree.path(word)[0].tolist()):
            assert prefixes.setdefault(code[:step], node) == node
    assert len(set(prefixes.values())) == len(prefixes)


def test_probabilities_sum_to_one() -> None:
    rng = np.random.default_rng(0)
    counts = rng.zipf(1.3, 300).clip(max=10_000)
    tree = HuffmanTree.from_counts(counts)
    scores = rng.normal(size=len(tree) - 1)
    nodes, bits, mask = tree.padded
    chances = 1 / (1 + np.exp(-np.where(bits == 0, 1, -1) * scores[nodes]))
    assert np.where(mask, chances, 1).prod(axis=1).sum() == pytest.approx(1, abs=1e-12)


def test_padded_equals_flat() -> None:
    tree = HuffmanTree.from_counts(np.array([9, 5, 4, 1, 1]))
    nodes, bits, mask = tree.padded
    assert mask.sum(axis=1).tolist() == tree.lengths.tolist()
    for word in range(5):
        length = tree.lengths[word]
        assert nodes[word, :length].tolist() == tree.path(word)[0].tolist()
        assert bits[word, :length].tolist() == tree.path(word)[1].tolist()
        assert not nodes[word, length:].any() and not bits[word, length:].any()
    assert tree.path(0)[0][0] == len(tree) - 2  # every path begins at the root
    assert tree.lengths[0] == 1 and tree.lengths.tolist() == sorted(tree.lengths.tolist())


def test_ties_are_settled_by_position() -> None:
    first, second = (HuffmanTree.from_counts(np.ones(1000, dtype=np.int64)) for _ in range(2))
    assert all(np.array_equal(getattr(first, name), getattr(second, name)) for name in ("offsets", "nodes", "bits"))
    assert HuffmanTree.from_counts(np.ones(8)).lengths.tolist() == [3] * 8


def test_bad_counts_are_refused() -> None:
    with pytest.raises(InputError, match="at least 2 words"):
        HuffmanTree.from_counts(np.array([3]))
    with pytest.raises(InputError, match="-1"):
        HuffmanTree.from_counts(np.array([3, -1]))
