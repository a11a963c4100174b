"""Causal multi-head self-attention (Vaswani et al. 2017, section 3.2), in two forms that agree.

    head_i = softmax(Q_i K_iᵀ / √d + M) V_i,   output = [head_1; …; head_h] W_O

with Q, K, V linear in the input, d = D/h, and M = 0 where attention is allowed, −∞ where it is not. `attend` is that
equation, line by line; torch's fused kernel, which never writes the T × T weights to memory, trains.

Shape legend: B rows, T tokens, D width, h heads, d = D/h.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from langladder.nn.masks import causal


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """The equation: (…, T, d), (…, S, d), (…, S, d), mask (…, T, S) → output (…, T, d), weights (…, T, S)."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (…, T, S)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


class CausalSelfAttention(nn.Module):
    """Each position attends to itself and to the ones before it.

    Args:
        width: D; heads: h, a divisor of D; dropout: on the attention weights.
    """

    def __init__(self, *, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.project = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) → (B, T, D), through the fused kernel."""
        query, key, value = self._split(x)  # (B, h, T, d) each
        dropout = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(query, key, value, dropout_p=dropout, is_causal=True)
        return self._join(mixed)

    def forward_equation(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The same without dropout, by the equation: (B, T, D) → (B, T, D), and the weights (B, h, T, T)."""
        query, key, value = self._split(x)
        mixed, weights = attend(query, key, value, causal(x.shape[1], x.device))
        return self._join(mixed), weights

    def _split(self, x: Tensor) -> tuple[Tensor, ...]:
        B, T, D = x.shape
        parts = self.project(x).view(B, T, 3, self.heads, D // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)  # (B, h, T, d) each
        return query, key, value

    def _join(self, mixed: Tensor) -> Tensor:
        output: Tensor = self.output(mixed.transpose(1, 2).flatten(2))  # (B, T, D)
        return output
