"""The recurrence of an attention decoder: a GRU that attends to the source before each step.

Bahdanau, Cho & Bengio 2015, A.2.2, with a gate z that selects the new state where it is 1 (Cho et al. 2014):

    α_t = softmax_j(v_aᵀ tanh(W_a s_{t−1} + U_a h_j)),   c_t = Σ_j α_tj h_j
    z_t = σ(W_z x_t + C_z c_t + U_z s_{t−1}),   r_t = σ(W_r x_t + C_r c_t + U_r s_{t−1})
    n_t = tanh(W_n x_t + C_n c_t + U_n (r_t ⊙ s_{t−1})),   s_t = (1 − z_t) ⊙ s_{t−1} + z_t ⊙ n_t

Products that do not depend on s_{t−1} are computed before the time loop: W x of all steps, U_a h, and C h, because C
c_t = Σ_j α_tj (C h_j). The loop only has three small products per step. The gradients of their matrices, and that of C
h, are computed once, after the last step (`nn.deferred`).

Shape legend: B rows, T target steps, S source positions, D input width, M memory width, H state width, A attention
width.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn

from langladder.nn.attention import Attention
from langladder.nn.deferred import Deferred

Product = Callable[[torch.Tensor], torch.Tensor]


class Products(NamedTuple):
    """The matrices that each step multiplies."""

    gates: Product  # s (B, H) → U_z s and U_r s (B, 2H)
    candidate: Product  # r ⊙ s (B, H) → U_n (r ⊙ s) (B, H)
    read: Product  # α (B, 1, S) → Σ_j α_j C h_j (B, 1, 3H)


class AttentiveGRU(nn.Module):
    """GRU with attention inside its recurrence.

    Args:
        input_width: D. memory_width: M. width: H.
        attention: the score function; its query is the previous state s_{t−1}.
    """

    def __init__(self, *, input_width: int, memory_width: int, width: int, attention: Attention) -> None:
        super().__init__()
        self.width = width
        self.attention = attention
        self.input = nn.Linear(input_width, 3 * width)  # W_z, W_r, W_n and the biases
        self.context = nn.Linear(memory_width, 3 * width, bias=False)  # C_z, C_r, C_n
        self.gates = nn.Linear(width, 2 * width, bias=False)  # U_z, U_r
        self.candidate = nn.Linear(width, width, bias=False)  # U_n
        for square in (*self.gates.weight.chunk(2), self.candidate.weight):
            nn.init.orthogonal_(square)  # keeps the norm of s over time (the paper's appendix B.1)

    def prepare(self, memory: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Once per sentence: memory (B, S, M) → keys U_a h (B, S, A) and values C h (B, S, 3H)."""
        return self.attention.keys(memory), self.context(memory)

    def step(
        self, x: torch.Tensor, s: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """One step: x_t (B, D), s_{t−1} (B, H), `prepare`'s keys and values, mask (B, S) → s_t (B, H), α_t (B, S)."""
        products = Products(self.gates, self.candidate, lambda alpha: torch.bmm(alpha, values))
        return self._advance(self.input(x), s, keys, mask, products)

    def forward(
        self, x: torch.Tensor, s: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """All steps of a known input: x (B, T, D), s_0 (B, H) → states s_1 … s_T (B, T, H), weights α (B, T, S)."""
        products = Products(Deferred(self.gates.weight), Deferred(self.candidate.weight), Deferred(values.mT))
        states, weights = [], []
        for driven in self.input(x).unbind(1):  # W x_t + b, one product for all steps
            s, alpha = self._advance(driven, s, keys, mask, products)
            states.append(s)
            weights.append(alpha)
        return torch.stack(states, dim=1), torch.stack(weights, dim=1)

    def _advance(
        self, driven: torch.Tensor, s: torch.Tensor, keys: torch.Tensor, mask: torch.Tensor, products: Products
    ) -> tuple[torch.Tensor, torch.Tensor]:
        alpha = self.attention(s.unsqueeze(1), keys, mask)  # (B, 1, S)
        driven = driven + products.read(alpha).squeeze(1)  # W x_t + b + C c_t (B, 3H)
        for_gates, for_candidate = torch.split(driven, [2 * self.width, self.width], dim=-1)
        z, r = torch.sigmoid(for_gates + products.gates(s)).chunk(2, dim=-1)  # (B, H) each
        n = torch.tanh(for_candidate + products.candidate(r * s))  # (B, H)
        return s + z * (n - s), alpha.squeeze(1)  # = (1 − z) s + z n
