"""Causal multi-head self-attention (Vaswani et al. 2017, section 3.2), in two forms that agree.

    head_i = softmax(Q_i K_iᵀ / √d + M) V_i,   output = [head_1; …; head_h] W_O

with Q, K, V linear in the input, d = D/h, and M = 0 where attention is allowed, −∞ where it is not. `attend` is that
equation, line by line; torch's fused kernel, which never writes the T × T weights to memory, trains.

With a window it is locally banded (Child et al. 2019; Brown et al. 2020, section 2.1): each position sees the last w
ones. Long texts are then cut into blocks of w, each of which reads itself and the block before: O(T·w), not O(T²).

While generating, keys and values of the past are kept (the KV cache), so that a new token costs one row, not T.

Shape legend: B rows, T tokens, S tokens of the past, D width, h heads, d = D/h, w window, N blocks.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from langladder.nn.masks import banded

Past = tuple[Tensor, Tensor]
"""Keys and values of what was read before, (B, h, S, d) each."""


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
        window: w ≥ 2, how many positions each one sees, itself included; None: all.
        bias: whether the projections have one.
    """

    def __init__(self, *, width: int, heads: int, dropout: float, window: int | None = None, bias: bool = True) -> None:
        super().__init__()
        self.heads, self.dropout, self.window = heads, dropout, window
        self.project = nn.Linear(width, 3 * width, bias=bias)
        self.output = nn.Linear(width, width, bias=bias)

    def forward(self, x: Tensor, past: Past | None = None) -> tuple[Tensor, Past]:
        """(B, T, D), read on from `past`, → (B, T, D) and the past of the next call; through the fused kernel."""
        query, key, value = self._split(x)  # (B, h, T, d) each
        if past is not None:
            key, value = torch.cat([past[0], key], dim=2), torch.cat([past[1], value], dim=2)  # (B, h, S+T, d)
        T, seen = query.shape[2], key.shape[2]
        dropout = self.dropout if self.training else 0.0
        if past is not None:
            mask = banded(T, seen, self.window, x.device)  # (T, S+T)
            mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)
        elif self.window is None or self.window >= T:
            mixed = functional.scaled_dot_product_attention(query, key, value, dropout_p=dropout, is_causal=True)
        else:
            mixed = _in_blocks(query, key, value, self.window, dropout)
        oldest = 0 if self.window is None else max(0, seen - self.window + 1)  # no later token sees further back
        return self._join(mixed), (key[:, :, oldest:], value[:, :, oldest:])

    def forward_equation(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The same without past and dropout, by the equation: (B, T, D) → (B, T, D), and the weights (B, h, T, T)."""
        query, key, value = self._split(x)
        mixed, weights = attend(query, key, value, banded(x.shape[1], x.shape[1], self.window, x.device))
        return self._join(mixed), weights

    def _split(self, x: Tensor) -> tuple[Tensor, ...]:
        B, T, D = x.shape
        parts = self.project(x).view(B, T, 3, self.heads, D // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)  # (B, h, T, d) each
        return query, key, value

    def _join(self, mixed: Tensor) -> Tensor:
        output: Tensor = self.output(mixed.transpose(1, 2).flatten(2))  # (B, T, D)
        return output


def _in_blocks(query: Tensor, key: Tensor, value: Tensor, window: int, dropout: float) -> Tensor:
    """Banded attention, (B, h, T, d) each → (B, h, T, d): every block of w reads itself and the one before."""
    B, heads, T, d = query.shape
    parts = (functional.pad(part, (0, 0, 0, -T % window)) for part in (query, key, value))
    q, k, v = (part.reshape(B * heads, -1, window, d) for part in parts)  # (B·h, N, w, d) each
    before = [functional.pad(part, (0, 0, 0, 0, 1, 0))[:, :-1] for part in (k, v)]  # the first block has none: zeros
    k, v = torch.cat([before[0], k], dim=2), torch.cat([before[1], v], dim=2)  # (B·h, N, 2w, d)
    mask = banded(window, 2 * window, window, query.device).repeat(q.shape[1], 1, 1)  # (N, w, 2w)
    mask[0, :, :window] = False
    mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)
    return mixed.reshape(B, heads, -1, d)[:, :, :T]
