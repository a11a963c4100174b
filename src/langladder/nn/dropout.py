"""Dropout (Srivastava et al. 2014), and dropout whose mask holds for a whole sequence (Gal & Ghahramani 2016).

    y = x · m / (1 − p),   m_i = 0 with probability p, else 1

Ordinary dropout draws a new mask at every time step. A locked mask drops the same features at all steps of a row, so
that what is dropped is missing, not noisy; word dropout drops the same words wherever they stand.

torch draws a random number of 64 bits for each entry of a mask on a CPU, which took a tenth of a Transformer's
training. Here a kernel hashes the entry's place (`dropout_kernel`), backwards again; torch draws the seed alone.

Shape legend: B rows, T steps, D features, V words.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from langladder.nn.vectors import bits, trains_by_kernel


class Dropout(nn.Module):
    """Each entry is zero with probability p in training; the rest is scaled by 1 / (1 − p). Of any shape."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """(…) → (…)."""
        if not self.training or self.p == 0.0:
            return functional.dropout(x, self.p, training=False)  # x; stacked LSTMs fail in ONNX without this node
        return drop(x, self.p)


def drop(x: Tensor, p: float) -> Tensor:
    """Each entry with probability p becomes zero, the rest is scaled by 1 / (1 − p): (…) → (…)."""
    if p == 1.0 or not trains_by_kernel(x):
        return functional.dropout(x, p)
    seed = torch.randint(2**32, (2,)).to(torch.uint32)
    dropped: Tensor = _Dropout.apply(x, p, seed)  # type: ignore[no-untyped-call]
    return dropped


class LockedDropout(Dropout):
    """Drop features, the same ones at every step of a row, with probability p; the rest is scaled by 1 / (1 − p)."""

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) → (B, T, D)."""
        if not self.training or self.p == 0:
            return x
        mask = functional.dropout(torch.ones_like(x[:, :1]), self.p)  # (B, 1, D)
        return x * mask


def embed_with_word_dropout(embedding: nn.Embedding, tokens: Tensor, p: float) -> Tensor:
    """Embedded tokens (B, T) → (B, T, D); in training each word of the vocabulary is dropped with probability p."""
    x: Tensor = embedding(tokens)
    if not embedding.training or p == 0:
        return x
    mask = functional.dropout(x.new_ones(embedding.num_embeddings), p)  # (V,)
    return x * mask[tokens][..., None]


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float, seed: Tensor) -> Tensor:
        ctx.p, ctx.seed = p, seed
        return _dropped(x, p, seed)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return _dropped(gradients[0], ctx.p, ctx.seed), None, None


def _dropped(x: Tensor, p: float, seed: Tensor) -> Tensor:
    from langladder.nn import dropout_kernel  # Numba takes time to load

    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    dropout_kernel.drop(
        bits(x.contiguous()), bits(y), seed.numpy(), np.uint32(round(p * 2**32)), np.float32(1 / (1 - p))
    )
    return y
