"""One time step of the recurrent cells, as equations: the readable form of what torch's fused layers compute.

Each function reads the previous state and one input and returns the next state. The gates are stacked along the rows
of W (from the input), U (from the hidden state) and b, in the order in which torch stores them. What trains is the
fused form (`nn.RNN`, `nn.GRU`, `nn.LSTM`); the tests hold the two equal.

Shape legend: B rows, I input, H hidden, G gates (1, 3 or 4).
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn.functional import linear


@dataclass(frozen=True)
class CellWeights:
    """Weights of one layer: W (G·H, I), U (G·H, H), biases b and c (G·H,), which torch keeps apart."""

    W: Tensor
    U: Tensor
    b: Tensor
    c: Tensor

    @classmethod
    def of(cls, layer: nn.RNNBase, index: int = 0) -> Self:
        """The weights of one layer of a fused torch module."""
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        return cls(*(getattr(layer, f"{name}_l{index}") for name in names))

    def from_input(self, x: Tensor, gates: int) -> tuple[Tensor, ...]:
        """W x + b, one part a gate: (B, I) → G times (B, H)."""
        return linear(x, self.W, self.b).chunk(gates, dim=-1)

    def from_hidden(self, h: Tensor, gates: int) -> tuple[Tensor, ...]:
        """U h + c, one part a gate: (B, H) → G times (B, H)."""
        return linear(h, self.U, self.c).chunk(gates, dim=-1)


def rnn_step(x: Tensor, h: Tensor, weights: CellWeights) -> Tensor:
    """Elman (1990): x (B, I), h (B, H) → h (B, H)."""
    # h_t = tanh(W x_t + U h_{t−1} + b)
    return torch.tanh(weights.from_input(x, 1)[0] + weights.from_hidden(h, 1)[0])


def gru_step(x: Tensor, h: Tensor, weights: CellWeights, *, reset_after: bool) -> Tensor:
    """Gated recurrent unit (Cho et al. 2014): x (B, I), h (B, H) → h (B, H).

    Two forms are in use, and weights do not carry over from one to the other:

    - `reset_after=True` (torch, cuDNN): the reset gate acts on U h + c, and z is the share of the *old* state.
    - `reset_after=False` (the paper's equations 5 to 8 as most lecture notes write them): the reset gate acts on h
      before the product, and z is the share of the *new* state.
    """
    x_r, x_z, x_n = weights.from_input(x, 3)  # (B, H) each
    h_r, h_z, h_n = weights.from_hidden(h, 3)
    # r = σ(W_r x + U_r h + b_r)
    r = torch.sigmoid(x_r + h_r)
    # z = σ(W_z x + U_z h + b_z)
    z = torch.sigmoid(x_z + h_z)
    if reset_after:
        # n = tanh(W_n x + b_n + r ⊙ (U_n h + c_n));   h_t = (1 − z) ⊙ n + z ⊙ h_{t−1}
        return gru_blend(torch.tanh(x_n + r * h_n), h, z)
    # n = tanh(W_n x + U_n (r ⊙ h) + b_n);   h_t = (1 − z) ⊙ h_{t−1} + z ⊙ n
    n = torch.tanh(x_n + weights.from_hidden(r * h, 3)[2])
    return gru_blend(h, n, z)


def gru_blend(first: Tensor, second: Tensor, z: Tensor) -> Tensor:
    """(1 − z) ⊙ first + z ⊙ second."""
    return (1 - z) * first + z * second


def lstm_step(x: Tensor, h: Tensor, c: Tensor, weights: CellWeights) -> tuple[Tensor, Tensor]:
    """Long short-term memory (Hochreiter & Schmidhuber 1997, with Gers et al.'s forget gate).

    x (B, I), h (B, H), c (B, H) → h (B, H), c (B, H).
    """
    gates = zip(weights.from_input(x, 4), weights.from_hidden(h, 4), strict=True)
    a_i, a_f, a_g, a_o = (from_x + from_h for from_x, from_h in gates)  # (B, H) each
    # i, f, o = σ(W x + U h + b);   g = tanh(W_g x + U_g h + b_g)
    i, f, o, g = torch.sigmoid(a_i), torch.sigmoid(a_f), torch.sigmoid(a_o), torch.tanh(a_g)
    # c_t = f ⊙ c_{t−1} + i ⊙ g: the path on which gradients flow unsquashed
    c = f * c + i * g
    # h_t = o ⊙ tanh(c_t)
    return o * torch.tanh(c), c
