"""The trees of a batch as one table of nodes in which nodes of equal height stand together.

A node's state needs those of its children and nothing else, so the nodes of one height can be computed at once, over
all trees of a batch: as many steps as the highest tree is high, instead of one a node.

Nodes of a height are sorted by the height of their parents. A node has one parent, so what a height computes can be
cut into pieces, one for each height that will read it, and no state is copied more than once.

A tree is compiled once (`compile_tree`); joining compiled trees is arithmetic on whole arrays.

Shape legend: n nodes of a tree, N of the forest, E children of a height, W nodes with a word, B trees.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch

from langladder.text.labelled.trees import Tree


class CompiledTree(NamedTuple):
    """One tree, its nodes as in `Tree`: children first, the root last.

    Attributes:
        height, above: (n,) int64, of each node and of its parent (−1 of the root's).
        word: (n,) int64, place in the sentence or −1. label: (n,) int64, −1 where there is none.
        parent: (n,) int64, −1 of the root. order: (n,) int64, which child of its parent a node is.
    """

    height: np.ndarray
    above: np.ndarray
    word: np.ndarray
    label: np.ndarray
    parent: np.ndarray
    order: np.ndarray


class Height(NamedTuple):
    """The nodes of one height: rows first … last − 1 of the forest.

    Attributes:
        words: of the forest's W nodes with a word, those from words[0] to words[1] stand here.
        worded: (words here,) int64, which nodes of this height they are.
        pieces: how many of these nodes go to which height: ((height, nodes), …) in their order.
        parent: (E,) int64, of each child its parent, from 0 at this height; children in the order of their rows.
        order: (E,) int64, which child of its parent each is.
        family: (E,) int64, the children parent by parent, in their order; each: how many each parent has, 0: not alike.
    """

    first: int
    last: int
    words: tuple[int, int]
    worded: torch.Tensor
    pieces: tuple[tuple[int, int], ...]
    parent: torch.Tensor
    order: torch.Tensor
    family: torch.Tensor
    each: int


class Forest(NamedTuple):
    """The trees of a batch, lowest nodes first.

    Attributes:
        heights: from 0 up.
        word: (W, 2) int64, tree and place in its sentence of each node with a word, in the order of the nodes.
        label: (N,) int64, −1 where there is none. roots: (B,) int64. tree, place: (N,) int64, where a node comes from.
    """

    heights: tuple[Height, ...]
    word: torch.Tensor
    label: torch.Tensor
    roots: torch.Tensor
    tree: torch.Tensor
    place: torch.Tensor


def compile_tree(tree: Tree, labels: Mapping[str, int]) -> CompiledTree:
    """A tree as arrays; a node's label that `labels` lacks is none."""
    parent, order = np.full(len(tree), -1, dtype=np.int64), np.zeros(len(tree), dtype=np.int64)
    for node, below in enumerate(tree.children):
        for place, child in enumerate(below):
            parent[child], order[child] = node, place
    height = np.array(tree.heights, dtype=np.int64)
    above = np.where(parent >= 0, height[parent], -1)
    label = np.array([-1 if name is None else labels.get(name, -1) for name in tree.label], dtype=np.int64)
    return CompiledTree(height, above, np.array(tree.word, dtype=np.int64), label, parent, order)


def join(trees: Sequence[CompiledTree]) -> Forest:
    """Several trees as one forest."""
    sizes = np.array([len(tree.height) for tree in trees])
    starts = np.cumsum(sizes) - sizes  # (B,)
    height, above, word, label, parent, order = (np.concatenate(parts) for parts in zip(*trees, strict=True))
    first = np.repeat(starts, sizes)  # (N,) of each node, where its tree begins
    old = np.lexsort((above, height))  # (N,) the node that each row holds
    row = np.empty_like(old)
    row[old] = np.arange(len(old))
    height, above, word, order = height[old], above[old], word[old], order[old]
    parents = np.where(parent[old] >= 0, row[(parent + first)[old]], -1)  # (N,) rows
    with_word = np.flatnonzero(word >= 0)
    tree = np.repeat(np.arange(len(trees)), sizes)[old]

    highest = int(height[-1])
    bounds = np.searchsorted(height, np.arange(highest + 2))
    words = np.searchsorted(with_word, bounds)
    by_parent = np.argsort(above, kind="stable")  # rows by the height that reads them
    edges = np.searchsorted(above[by_parent], np.arange(highest + 2))
    counts = np.zeros((highest + 1, highest + 2), dtype=np.int64)
    np.add.at(counts, (height, above), 1)  # the roots, of height −1 above, fall into the last column
    heights = []
    for h in range(highest + 1):
        children = by_parent[edges[h] : edges[h + 1]]  # (E,)
        nodes, of = int(bounds[h + 1] - bounds[h]), parents[children] - bounds[h]
        each = len(children) // nodes
        heights.append(
            Height(
                first=int(bounds[h]),
                last=int(bounds[h + 1]),
                words=(int(words[h]), int(words[h + 1])),
                worded=torch.from_numpy(with_word[words[h] : words[h + 1]] - bounds[h]),
                pieces=tuple((int(to), int(counts[h, to])) for to in (-1, *np.flatnonzero(counts[h, :-1]))),
                parent=torch.from_numpy(of),
                order=torch.from_numpy(order[children]),
                family=torch.from_numpy(np.lexsort((order[children], of))),
                each=each if (np.bincount(of, minlength=nodes) == each).all() else 0,
            )
        )
    tensors = (label[old], row[starts + sizes - 1], tree, old - first[old])
    pairs = np.stack([tree[with_word], word[with_word]], axis=1)
    return Forest(tuple(heights), *map(torch.from_numpy, (pairs, *tensors)))
