"""Tree-LSTMs: a node's state from its word and its children's states (Tai et al. 2015).

Child-sum (section 3.1, equations 2 to 8), for any tree; ignores the order of the children k ∈ C(j):

    h̃_j = Σ_k h_k
    i_j = σ(W_i x_j + U_i h̃_j + b_i)        o_j, u_j likewise, u_j with tanh
    f_jk = σ(W_f x_j + U_f h_k + b_f)        one gate for each child
    c_j = i_j ⊙ u_j + Σ_k f_jk ⊙ c_k,        h_j = o_j ⊙ tanh(c_j)

N-ary (section 3.2, equations 9 to 14), for at most N children; each child position has its own matrices:

    i_j = σ(W_i x_j + Σ_ℓ U_iℓ h_jℓ + b_i)             o_j, u_j likewise
    f_jk = σ(W_f x_j + Σ_ℓ U_fkℓ h_jℓ + b_f)           the gate of position k reads all children ℓ

Lecture notes often have a simpler form (`notes`), in which only the forget gates depend on the positions: i, o, u read
h̃ = Σ_ℓ h_jℓ with one U, and f_jk = σ(W_fk x_j + U_fk h_jk + b_fk). Swapping two children then only changes the gates
f.

A node without a word has x = 0; a node without children only has i, o and u. The whole forest is computed height by
height: one product for W x of all words, one per height for U h, and one in total for ∂L/∂U (`nn.deferred`).

The trees of a batch form one table of nodes, sorted by height.

A node's state only needs the states of its children, so the nodes of one height can be computed at once, over all trees
of a batch. The number of steps is the height of the highest tree, not the number of nodes.

The nodes of a height are sorted by the height of their parents. A node has one parent, so the results of a height can
be split into pieces, one for each height that reads them, and no state is copied more than once.

A tree is compiled once (`compile_tree`); compiled trees are joined with array operations.

Shape legend: N nodes, n nodes of a height, E their children, W nodes with a word, D input, H width, K children at most.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from langladder.nn.deferred import Deferred
from langladder.nn.initialisation import initialise
from langladder.text.labelled.labelled import Tree


class CompiledTree(NamedTuple):
    """One tree, its nodes as in `Tree`: children first, the root last.

    Attributes:
        height, above: (n,) int64, heights of each node and of its parent (−1 for the root's).
        word: (n,) int64, position in the sentence or −1. label: (n,) int64, −1 if there is none.
        parent: (n,) int64, −1 for the root. order: (n,) int64, the node's index among its parent's children.
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
        words: the nodes here are words[0] to words[1] of the forest's W nodes with a word.
        worded: (words here,) int64, their indices among the nodes of this height.
        pieces: the heights that read these nodes, and the number of nodes for each: ((height, nodes), …) in order.
        parent: (E,) int64, the parent of each child, numbered from 0 at this height; children in the order of their
            rows.
        order: (E,) int64, each child's index among its parent's children.
        family: (E,) int64, the children grouped by parent, in order. each: children per parent; 0: not all equal.
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
    """The trees of a batch, with the lowest nodes first.

    Attributes:
        heights: from 0 up.
        word: (W, 2) int64, for each node with a word: its tree, and its position in the sentence; in node order.
        label: (N,) int64, −1 where there is none. roots: (B,) int64. tree, position: (N,) int64, a node's tree and its
            index there.
    """

    heights: tuple[Height, ...]
    word: torch.Tensor
    label: torch.Tensor
    roots: torch.Tensor
    tree: torch.Tensor
    position: torch.Tensor


def compile_tree(tree: Tree, labels: Mapping[str, int]) -> CompiledTree:
    """A tree as arrays; labels of nodes that are not in `labels` are ignored."""
    parent, order = np.full(len(tree), -1, dtype=np.int64), np.zeros(len(tree), dtype=np.int64)
    for node, below in enumerate(tree.children):
        for index, child in enumerate(below):
            parent[child], order[child] = node, index
    height = np.array(tree.heights, dtype=np.int64)
    above = np.where(parent >= 0, height[parent], -1)
    label = np.array([-1 if name is None else labels.get(name, -1) for name in tree.label], dtype=np.int64)
    return CompiledTree(height, above, np.array(tree.word, dtype=np.int64), label, parent, order)


def join(trees: Sequence[CompiledTree]) -> Forest:
    """Several trees as one forest."""
    sizes = np.array([len(tree.height) for tree in trees])
    starts = np.cumsum(sizes) - sizes  # (B,)
    height, above, word, label, parent, order = (np.concatenate(parts) for parts in zip(*trees, strict=True))
    first = np.repeat(starts, sizes)  # (N,) start of each node's tree
    old = np.lexsort((above, height))  # (N,) the node of each row
    row = np.empty_like(old)
    row[old] = np.arange(len(old))
    height, above, word, order = height[old], above[old], word[old], order[old]
    parents = np.where(parent[old] >= 0, row[(parent + first)[old]], -1)  # (N,) rows
    with_word = np.flatnonzero(word >= 0)
    tree = np.repeat(np.arange(len(trees)), sizes)[old]

    highest = int(height[-1])
    bounds = np.searchsorted(height, np.arange(highest + 2))
    words = np.searchsorted(with_word, bounds)
    by_parent = np.argsort(above, kind="stable")  # count rows by the height that reads them
    edges = np.searchsorted(above[by_parent], np.arange(highest + 2))
    counts = np.zeros((highest + 1, highest + 2), dtype=np.int64)
    np.add.at(counts, (height, above), 1)  # the roots, with −1 above, go to the last column
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


State = tuple[Tensor, Tensor]
"""h and c, (nodes, H) each."""
Matrices = tuple[Callable[[Tensor], Tensor], ...]
"""x → x Wᵀ for each W that multiplies the children's h."""
Variant = Literal["paper", "notes"]


class Children(NamedTuple):
    """h and c: (E, H). parent: (E,), each child's parent, from 0. order: (E,), its index among the parent's children.

    each: children per parent; the children are then grouped by parent, in order. 0: not all equal, in any order.
    """

    h: Tensor
    c: Tensor
    parent: Tensor
    order: Tensor
    each: int = 0


class TreeCell(nn.Module, ABC):
    """A node's state from its own word and its children.

    Args:
        input_width: D. width: H. gates: rows of W in H. children: columns of U in H. recurrent: rows of U in H.
    """

    def __init__(self, *, input_width: int, width: int, gates: int) -> None:
        super().__init__()
        self.width = width
        self.W = nn.Parameter(torch.empty(gates * width, input_width))
        self.b = nn.Parameter(torch.zeros(gates * width))
        initialise(self.W, "xavier", gates)

    def remember(self, first_forget: int) -> None:
        """Set the initial biases of the forget gates (the last rows) to 1."""
        nn.init.ones_(self.b.data[first_forget * self.width :])

    def drive(self, x: Tensor) -> Tensor:
        """W x + b: (…, D) → (…, G·H)."""
        return linear(x, self.W, self.b)

    def leaf(self, x: Tensor | None, nodes: int) -> State:
        """Nodes without children: their words x (n, D), or None → h and c, (n, H) each. There is no gate f."""
        rows = 3 * self.width
        driven = self.b[:rows].expand(nodes, -1) if x is None else linear(x, self.W[:rows], self.b[:rows])  # (n, 3H)
        i, o, u = driven.chunk(3, dim=1)
        # c = i ⊙ u
        return output(o, torch.sigmoid(i) * torch.tanh(u))

    @abstractmethod
    def matrices(self) -> Matrices:
        """The weights of the children's h, for one pass."""

    @abstractmethod
    def join(self, driven: Tensor, children: Children, matrices: Matrices) -> State:
        """Nodes with children: driven (n, G·H) → (n, H) each."""


def output(o: Tensor, c: Tensor) -> State:
    """h = σ(o) ⊙ tanh(c), and c."""
    return torch.sigmoid(o) * torch.tanh(c), c


class ChildSumCell(TreeCell):
    """Child-sum, equations 2 to 8; rows of W and b: i, o, u, f."""

    def __init__(self, *, input_width: int, width: int) -> None:
        super().__init__(input_width=input_width, width=width, gates=4)
        self.U = nn.Parameter(torch.empty(3 * width, width))  # of i, o, u
        self.U_f = nn.Parameter(torch.empty(width, width))
        initialise(self.U, "orthogonal", 3)
        initialise(self.U_f, "orthogonal")
        self.remember(3)

    def matrices(self) -> Matrices:
        """See `TreeCell.matrices`: U, U_f."""
        return Deferred(self.U), Deferred(self.U_f)

    def join(self, driven: Tensor, children: Children, matrices: Matrices) -> State:
        """See `TreeCell.join`; the order of the children is ignored."""
        (U, U_f), (h, c, parent, _, each), H = matrices, children, self.width
        driven_iou, driven_f = torch.split(driven, [3 * H, H], dim=1)

        def summed(x: Tensor) -> Tensor:  # over the children of each parent: (E, H) → (n, H)
            return x.view(-1, each, H).sum(dim=1) if each else x.new_zeros(len(driven), H).index_add(0, parent, x)

        # h̃_j = Σ_k h_k
        i, o, u = (driven_iou + U(summed(h))).chunk(3, dim=1)  # (n, H) each
        # f_jk = σ(W_f x_j + U_f h_k + b_f)
        f = torch.sigmoid(driven_f.index_select(0, parent) + U_f(h))  # (E, H)
        # c_j = i_j ⊙ u_j + Σ_k f_jk ⊙ c_k
        return output(o, torch.sigmoid(i) * torch.tanh(u) + summed(f * c))


class NaryCell(TreeCell):
    """N-ary, equations 9 to 14, or the notes' simpler form; rows of W and b: i, o, u, then f (one, or one per
    position)."""

    def __init__(self, *, input_width: int, width: int, max_children: int = 2, variant: Variant = "paper") -> None:
        super().__init__(input_width=input_width, width=width, gates=4 if variant == "paper" else 3 + max_children)
        self.max_children, self.variant = max_children, variant
        if variant == "paper":
            # i, o, u, f_1 … f_K × h_1 … h_K
            self.U = nn.Parameter(torch.empty((3 + max_children) * width, max_children * width))
            for block in self.U.data.chunk(3 + max_children):
                for square in block.chunk(max_children, dim=1):
                    nn.init.orthogonal_(square, gain=max_children**-0.5)
        else:
            self.U = nn.Parameter(torch.empty(3 * width, width))
            self.U_f = nn.Parameter(torch.empty(max_children, width, width))
            initialise(self.U, "orthogonal", 3)
            for square in self.U_f:
                initialise(square, "orthogonal")
        self.remember(3)

    def matrices(self) -> Matrices:
        """See `TreeCell.matrices`: U, and for the notes' form U_f of each position."""
        return (Deferred(self.U), *([] if self.variant == "paper" else map(Deferred, self.U_f)))

    def join(self, driven: Tensor, children: Children, matrices: Matrices) -> State:
        h, c, parent, order, each = children
        n, H, K = len(driven), self.width, self.max_children
        if each == K:
            hs, cs = h.view(n, K, H), c.view(n, K, H)
        else:
            row_of_child = torch.zeros(n * K, dtype=torch.long, device=h.device)  # row of the child there; 0: no child
            row_of_child[parent * K + order] = torch.arange(1, len(h) + 1, device=h.device)
            hs = torch.cat([h.new_zeros(1, H), h]).index_select(0, row_of_child).view(n, K, H)
            cs = torch.cat([c.new_zeros(1, H), c]).index_select(0, row_of_child).view(n, K, H)
        iou, f = self._gates(driven, hs, matrices)  # (n, 3H), (n, K, H)
        i, o, u = iou.chunk(3, dim=1)
        # c_j = i_j ⊙ u_j + Σ_ℓ f_jℓ ⊙ c_jℓ
        return output(o, torch.sigmoid(i) * torch.tanh(u) + (torch.sigmoid(f) * cs).sum(dim=1))

    def _gates(self, driven: Tensor, hs: Tensor, matrices: Matrices) -> tuple[Tensor, Tensor]:
        """Before the activations: driven (n, G·H), hs (n, K, H) → (n, 3H), (n, K, H)."""
        n, H, K = len(driven), self.width, self.max_children
        U, *U_f = matrices
        driven_iou, driven_f = torch.split(driven, [3 * H, driven.shape[1] - 3 * H], dim=1)
        if self.variant == "paper":
            iou, f = torch.split(U(hs.flatten(1)), [3 * H, K * H], dim=1)
            return driven_iou + iou, f.view(n, K, H) + driven_f[:, None]
        # f_jk = σ(W_fk x_j + U_fk h_jk + b_fk)
        f = driven_f.view(n, K, H) + torch.stack([U_k(hs[:, k]) for k, U_k in enumerate(U_f)], dim=1)
        return driven_iou + U(hs.sum(dim=1)), f


def read_forest(cell: TreeCell, x: Tensor, forest: Forest) -> State:
    """States of all nodes, height by height.

    x: (W, D), the words of the nodes that have one, in the order of `forest.word`. Returns (N, H) each.
    """
    matrices, leaves = cell.matrices(), forest.heights[0].words[1]
    driven = cell.drive(x[leaves:]) if leaves < len(x) else x.new_zeros(0)  # (W − leaves, G·H)
    waiting: list[list[State]] = [[] for _ in forest.heights]  # for each height, the states of its nodes' children
    states: list[State] = []
    for height in forest.heights:
        if states:
            children = _children(waiting[len(states)], height)
            state = cell.join(_driven(cell, driven, height, leaves), children, matrices)
        else:
            state = _leaves(cell, x[:leaves], height)
        states.append(state)
        sizes = [nodes for _, nodes in height.pieces]
        for (reader, _), *piece in zip(height.pieces, *(torch.split(part, sizes) for part in state), strict=True):
            if reader >= 0:
                waiting[reader].append((piece[0], piece[1]))
    h, c = (torch.cat(parts) for parts in zip(*states, strict=True))
    return h, c


def _leaves(cell: TreeCell, x: Tensor, height: Height) -> State:
    """The nodes of height 0; most or all of them have a word."""
    nodes = height.last
    if len(x) in (0, nodes):
        return cell.leaf(x if len(x) else None, nodes)
    return cell.leaf(x.new_zeros(nodes, x.shape[1]).index_copy(0, height.worded, x), nodes)


def _children(parts: list[State], height: Height) -> Children:
    """The children of a height's nodes."""
    h, c = (torch.cat(part) for part in zip(*parts, strict=True))  # (E, H) each
    if not height.each:
        return Children(h, c, height.parent, height.order)
    parent, order = (index.index_select(0, height.family) for index in (height.parent, height.order))
    h, c = h.index_select(0, height.family), c.index_select(0, height.family)
    return Children(h, c, parent, order, height.each)


def _driven(cell: TreeCell, driven: Tensor, height: Height, leaves: int) -> Tensor:
    """W x + b of a height's nodes, b for nodes without a word: (n, G·H). driven: W x + b of all words except the
    leaves'."""
    nodes, (first, last) = height.last - height.first, height.words
    if last - first == nodes:
        return driven[first - leaves : last - leaves]
    biases = cell.b.expand(nodes, -1)
    if first == last:
        return biases
    return biases.index_copy(0, height.worded, driven[first - leaves : last - leaves])
