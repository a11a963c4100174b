"""One time step of each recurrent cell, as equations: the readable form of torch's fused layers.

Each step reads the previous state and `driven` = W x_t + b. The latter does not depend on the state, so one product
computes it for a whole sequence (`CellWeights.drive`). The gates are stacked along the rows of W (from the input), U
(from the hidden state) and b, in the order in which torch stores them. If torch has the cell (RNN, LSTM, GRU with
`reset_after`), training uses torch's fused form, and tests compare the two. The other cells train in a loop over these
steps (`nn.recurrent`).

Shape legend: B rows, I input, H hidden, G gates (1, 3 or 4).
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm, linear


@dataclass(frozen=True)
class LayerNorms:
    """Gains and biases of a cell's layer norms: input and hidden (G·H,), cell and cell_bias (H,)."""

    input: Tensor
    hidden: Tensor
    cell: Tensor
    cell_bias: Tensor


@dataclass(frozen=True)
class CellWeights:
    """Weights of one layer: W (G·H, I), U (G·H, H), bias b (G·H,), and c (G·H,), which torch stores separately from b.

    With `norms` (Ba et al. 2016, equations 20 to 22) W x, U h and the LSTM's cell are normalised before use; b includes
    the biases of the first two norms. With `mask` (Gal & Ghahramani 2016) the products see h_{t−1} ⊙ m, the same
    m (B, H) at all steps.
    """

    W: Tensor
    U: Tensor
    b: Tensor
    c: Tensor | None = None
    norms: LayerNorms | None = None
    mask: Tensor | None = None

    @classmethod
    def of(cls, layer: nn.RNNBase, index: int = 0) -> Self:
        """The weights of one layer of a fused torch module."""
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        return cls(*(getattr(layer, f"{name}_l{index}") for name in names))

    def drive(self, x: Tensor) -> Tensor:
        """W x + b, or LN(W x) + b: (…, I) → (…, G·H)."""
        if self.norms is None:
            return linear(x, self.W, self.b)
        a = linear(x, self.W)
        return layer_norm(a, a.shape[-1:], self.norms.input, self.b)

    def recur(self, h: Tensor, rows: slice = slice(None)) -> Tensor:
        """U h + c, or LN(U h): (B, H) → (B, G·H); with `rows`, only some of the gates."""
        h = h if self.mask is None else h * self.mask
        a = linear(h, self.U[rows], None if self.c is None else self.c[rows])
        return a if self.norms is None else layer_norm(a, a.shape[-1:], self.norms.hidden[rows])

    def squash(self, c: Tensor) -> Tensor:
        """tanh(c), or tanh(LN(c)): the cell as input of the output gate, (B, H) → (B, H)."""
        if self.norms is not None:
            c = layer_norm(c, c.shape[-1:], self.norms.cell, self.norms.cell_bias)
        return torch.tanh(c)


def rnn_step(driven: Tensor, h: Tensor, weights: CellWeights, *, relu: bool = False) -> Tensor:
    """Elman (1990); with ReLU, Le et al. (2015): driven (B, H), h (B, H) → h (B, H)."""
    # h_t = tanh(W x_t + U h_{t−1} + b), or max(0, …)
    a = driven + weights.recur(h)
    return torch.relu(a) if relu else torch.tanh(a)


def gru_step(driven: Tensor, h: Tensor, weights: CellWeights, *, reset_after: bool) -> Tensor:
    """Gated recurrent unit (Cho et al. 2014): driven (B, 3H), h (B, H) → h (B, H).

    There are two common forms, and the weights of one cannot be used in the other:

    - `reset_after=True` (torch, cuDNN): the reset gate acts on U h + c, and z is the share of the *old* state.
    - `reset_after=False` (the paper's equations 5 to 8, as in most lecture notes): the reset gate acts on h
      before the product, and z is the share of the *new* state.
    """
    _, z, n = gru_gates(driven, h, weights, reset_after=reset_after)
    # h_t = (1 − z) ⊙ n + z ⊙ h_{t−1}, or (1 − z) ⊙ h_{t−1} + z ⊙ n
    return gru_blend(n, h, z) if reset_after else gru_blend(h, n, z)


def gru_gates(driven: Tensor, h: Tensor, weights: CellWeights, *, reset_after: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The gates r and z of a GRU and its candidate n: driven (B, 3H), h (B, H) → (B, H) each."""
    H = h.shape[-1]
    x_r, x_z, x_n = driven.chunk(3, dim=-1)  # (B, H) each
    if reset_after:
        h_r, h_z, h_n = weights.recur(h).chunk(3, dim=-1)
    else:
        h_r, h_z = weights.recur(h, slice(2 * H)).chunk(2, dim=-1)
    # r = σ(W_r x + U_r h + b_r)
    r = torch.sigmoid(x_r + h_r)
    # z = σ(W_z x + U_z h + b_z)
    z = torch.sigmoid(x_z + h_z)
    if reset_after:
        # n = tanh(W_n x + b_n + r ⊙ (U_n h + c_n))
        return r, z, torch.tanh(x_n + r * h_n)
    # n = tanh(W_n x + U_n (r ⊙ h) + b_n)
    return r, z, torch.tanh(x_n + weights.recur(r * h, slice(2 * H, None)))


def gru_blend(first: Tensor, second: Tensor, z: Tensor) -> Tensor:
    """(1 − z) ⊙ first + z ⊙ second."""
    return (1 - z) * first + z * second


def lstm_gates(driven: Tensor, h: Tensor, weights: CellWeights) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gates i, f, o of an LSTM and its candidate g: driven (B, 4H), h (B, H) → (B, H) each."""
    a_i, a_f, a_g, a_o = (driven + weights.recur(h)).chunk(4, dim=-1)  # (B, H) each
    # i, f, o = σ(W x + U h + b);   g = tanh(W_g x + U_g h + b_g)
    return torch.sigmoid(a_i), torch.sigmoid(a_f), torch.sigmoid(a_o), torch.tanh(a_g)


def lstm_step(driven: Tensor, h: Tensor, c: Tensor, weights: CellWeights) -> tuple[Tensor, Tensor]:
    """Long short-term memory (Hochreiter & Schmidhuber 1997, with Gers et al.'s forget gate).

    driven (B, 4H), h (B, H), c (B, H) → h (B, H), c (B, H).
    """
    i, f, o, g = lstm_gates(driven, h, weights)
    # c_t = f ⊙ c_{t−1} + i ⊙ g: the path on which gradients flow unsquashed
    c = f * c + i * g
    # h_t = o ⊙ tanh(c_t)
    return o * weights.squash(c), c


def peephole_step(
    driven: Tensor, h: Tensor, c: Tensor, weights: CellWeights, peepholes: Tensor
) -> tuple[Tensor, Tensor]:
    """LSTM whose gates read the cell state (Gers & Schmidhuber 2000), each unit only its own.

    driven (B, 4H), h (B, H), c (B, H), peepholes p_i, p_f, p_o (3, H) → h (B, H), c (B, H).
    """
    a_i, a_f, a_g, a_o = (driven + weights.recur(h)).chunk(4, dim=-1)  # (B, H) each
    p_i, p_f, p_o = peepholes  # (H,) each
    # i = σ(W_i x + U_i h + p_i ⊙ c_{t−1} + b_i);   f likewise
    i, f = torch.sigmoid(a_i + p_i * c), torch.sigmoid(a_f + p_f * c)
    # c_t = f ⊙ c_{t−1} + i ⊙ tanh(W_g x + U_g h + b_g)
    c = f * c + i * torch.tanh(a_g)
    # o = σ(W_o x + U_o h + p_o ⊙ c_t + b_o): only this gate reads the new cell
    o = torch.sigmoid(a_o + p_o * c)
    # h_t = o ⊙ tanh(c_t)
    return o * weights.squash(c), c
