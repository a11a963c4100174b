"""Tree-LSTMs: a node's state from its word and its children's states (Tai et al. 2015).

Child-sum (section 3.1, equations 2 to 8), for any tree, blind to the order of the children k ∈ C(j):

    h̃_j = Σ_k h_k
    i_j = σ(W_i x_j + U_i h̃_j + b_i)        o_j, u_j alike, u_j by tanh
    f_jk = σ(W_f x_j + U_f h_k + b_f)        one gate for each child
    c_j = i_j ⊙ u_j + Σ_k f_jk ⊙ c_k,        h_j = o_j ⊙ tanh(c_j)

N-ary (section 3.2, equations 9 to 14), for at most N children, each place with matrices of its own:

    i_j = σ(W_i x_j + Σ_ℓ U_iℓ h_jℓ + b_i)             o_j, u_j alike
    f_jk = σ(W_f x_j + Σ_ℓ U_fkℓ h_jℓ + b_f)           the gate of place k reads the children of all places ℓ

Lecture notes often have a simpler one (`notes`), in which only the forget gates know the places: i, o, u read
h̃ = Σ_ℓ h_jℓ by one U, and f_jk = σ(W_fk x_j + U_fk h_jk + b_fk). Exchanging two children then
changes the gates f alone.

A node without a word has x = 0, one without children only i, o and u. The whole forest is computed height by height
(see `nn.forest`): W x of all words is one product, U h one a height.

Shape legend: N nodes, n nodes of a height, E their children, W nodes with a word, D input, H width, K places.
"""

from abc import ABC, abstractmethod
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from langladder.nn.forest import Forest, Height
from langladder.nn.initialisation import initialise

State = tuple[Tensor, Tensor]
"""h and c, (nodes, H) each."""
Variant = Literal["paper", "notes"]


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
        """Begin by remembering: the biases of the forget gates, the last rows, are 1."""
        nn.init.ones_(self.b.data[first_forget * self.width :])

    def drive(self, x: Tensor) -> Tensor:
        """W x + b: (…, D) → (…, G·H)."""
        return linear(x, self.W, self.b)

    def leaf(self, driven: Tensor) -> State:
        """Nodes without children: driven (n, G·H) → (n, H) each."""
        i, o, u = driven[:, : 3 * self.width].chunk(3, dim=1)
        # c = i ⊙ u
        return output(o, torch.sigmoid(i) * torch.tanh(u))

    @abstractmethod
    def join(self, driven: Tensor, h: Tensor, c: Tensor, parent: Tensor, order: Tensor) -> State:
        """Nodes with children.

        Args:
            driven: (n, G·H). h, c: (E, H) of all children. parent: (E,) whose child each is. order: (E,) which one.
        """


def output(o: Tensor, c: Tensor) -> State:
    """h = σ(o) ⊙ tanh(c), and c."""
    return torch.sigmoid(o) * torch.tanh(c), c


class ChildSumCell(TreeCell):
    """Equations 2 to 8; rows of W and b: i, o, u, f."""

    def __init__(self, *, input_width: int, width: int) -> None:
        super().__init__(input_width=input_width, width=width, gates=4)
        self.U = nn.Parameter(torch.empty(3 * width, width))  # of i, o, u
        self.U_f = nn.Parameter(torch.empty(width, width))
        initialise(self.U, "orthogonal", 3)
        initialise(self.U_f, "orthogonal")
        self.remember(3)

    def join(self, driven: Tensor, h: Tensor, c: Tensor, parent: Tensor, order: Tensor) -> State:  # noqa: ARG002
        """See `TreeCell.join`; `order` is not read."""
        H, nodes = self.width, (len(driven), self.width)
        # h̃_j = Σ_k h_k
        total = h.new_zeros(nodes).index_add(0, parent, h)  # (n, H)
        i, o, u = (driven[:, : 3 * H] + linear(total, self.U)).chunk(3, dim=1)  # (n, H) each
        # f_jk = σ(W_f x_j + U_f h_k + b_f)
        f = torch.sigmoid(driven[:, 3 * H :].index_select(0, parent) + linear(h, self.U_f))  # (E, H)
        # c_j = i_j ⊙ u_j + Σ_k f_jk ⊙ c_k
        return output(o, (torch.sigmoid(i) * torch.tanh(u)).index_add(0, parent, f * c))


class NaryCell(TreeCell):
    """Equations 9 to 14, or the notes' simpler ones; rows of W and b: i, o, u, then f (one, or one a place)."""

    def __init__(self, *, input_width: int, width: int, places: int = 2, variant: Variant = "paper") -> None:
        super().__init__(input_width=input_width, width=width, gates=4 if variant == "paper" else 3 + places)
        self.places, self.variant = places, variant
        if variant == "paper":
            self.U = nn.Parameter(torch.empty((3 + places) * width, places * width))  # i, o, u, f_1 … f_K × h_1 … h_K
            for block in self.U.data.chunk(3 + places):
                for square in block.chunk(places, dim=1):
                    nn.init.orthogonal_(square, gain=places**-0.5)
        else:
            self.U = nn.Parameter(torch.empty(3 * width, width))
            self.U_f = nn.Parameter(torch.empty(places, width, width))
            initialise(self.U, "orthogonal", 3)
            for square in self.U_f:
                initialise(square, "orthogonal")
        self.remember(3)

    def join(self, driven: Tensor, h: Tensor, c: Tensor, parent: Tensor, order: Tensor) -> State:
        """See `TreeCell.join`."""
        n, H, K = len(driven), self.width, self.places
        place = torch.zeros(n * K, dtype=torch.long, device=h.device)  # row of the child there; 0: no child
        place[parent * K + order] = torch.arange(1, len(h) + 1, device=h.device)
        hs = torch.cat([h.new_zeros(1, H), h]).index_select(0, place).view(n, K, H)
        cs = torch.cat([c.new_zeros(1, H), c]).index_select(0, place).view(n, K, H)
        iou, f = self._gates(driven, hs)  # (n, 3H), (n, K, H)
        i, o, u = iou.chunk(3, dim=1)
        # c_j = i_j ⊙ u_j + Σ_ℓ f_jℓ ⊙ c_jℓ
        return output(o, torch.sigmoid(i) * torch.tanh(u) + (torch.sigmoid(f) * cs).sum(dim=1))

    def _gates(self, driven: Tensor, hs: Tensor) -> tuple[Tensor, Tensor]:
        """Before the activations: driven (n, G·H), hs (n, K, H) → (n, 3H), (n, K, H)."""
        n, H, K = len(driven), self.width, self.places
        if self.variant == "paper":
            recurrent = linear(hs.flatten(1), self.U)  # (n, (3 + K) H)
            f = recurrent[:, 3 * H :].view(n, K, H) + driven[:, 3 * H :].view(n, 1, H)
            return driven[:, : 3 * H] + recurrent[:, : 3 * H], f
        # f_jk = σ(W_fk x_j + U_fk h_jk + b_fk)
        f = driven[:, 3 * H :].view(n, K, H) + torch.einsum("nkh,kgh->nkg", hs, self.U_f)
        return driven[:, : 3 * H] + linear(hs.sum(dim=1), self.U), f


def read_forest(cell: TreeCell, x: Tensor, forest: Forest) -> State:
    """States of all nodes, height by height.

    x: (W, D), the words of the nodes that have one, in the order of `forest.word`. Returns (N, H) each.
    """
    driven = cell.drive(x)  # (W, G·H)
    waiting: list[list[State]] = [[] for _ in forest.heights]  # for each height, the states of its nodes' children
    found: list[State] = []
    for height in forest.heights:
        own = _driven(cell, driven, height)
        if len(height.parent):
            h, c = (torch.cat(parts) for parts in zip(*waiting[len(found)], strict=True))  # (E, H) each
            state = cell.join(own, h, c, height.parent, height.order)
        else:
            state = cell.leaf(own)
        found.append(state)
        sizes = [nodes for _, nodes in height.pieces]
        for (reader, _), *piece in zip(height.pieces, *(torch.split(part, sizes) for part in state), strict=True):
            if reader >= 0:
                waiting[reader].append((piece[0], piece[1]))
    h, c = (torch.cat(parts) for parts in zip(*found, strict=True))
    return h, c


def _driven(cell: TreeCell, driven: Tensor, height: Height) -> Tensor:
    """W x + b of a height's nodes, b where there is no word: (n, G·H)."""
    nodes, (first, last) = height.last - height.first, height.words
    if last - first == nodes:
        return driven[first:last]
    biases = cell.b.expand(nodes, -1)
    return biases if first == last else biases.index_copy(0, height.worded, driven[first:last])
