"""Dropout (Srivastava et al. 2014), and dropout whose mask holds for a whole sequence (Gal & Ghahramani 2016).

    y = x · m / (1 − p),   m_i = 0 with probability p, else 1

Ordinary dropout draws a new mask at every time step. A locked mask drops the same features at all steps of a row, so
that what is dropped is missing, not noisy; word dropout drops the same words wherever they stand.

torch draws a random number of 64 bits for each entry of a mask on a CPU, which took a tenth of a Transformer's
training. Here a kernel hashes the entry's place (`dropout_kernel`), backwards again; torch draws the seed alone.

Shape legend: B rows, T steps, D features, V words.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from langladder.nn.falling import Falling
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
        if not self._by_kernel(x):
            return functional.dropout(x, self.p)
        dropped: Tensor = _Dropout.apply(x, Falling.drawn(self.p))  # type: ignore[no-untyped-call]
        return dropped

    def onto(self, base: Tensor, x: Tensor) -> Tensor:
        """base + what is left of x, in one pass: (…), (…) → (…)."""
        if not self._by_kernel(x) or base.dtype != x.dtype or base.shape != x.shape:
            return base + self.forward(x)
        total: Tensor = _Onto.apply(base, x, Falling.drawn(self.p))  # type: ignore[no-untyped-call]
        return total

    def rectified(self, x: Tensor) -> Tensor:
        """What is left of max(0, x), in one pass: (…) → (…)."""
        if not self._by_kernel(x):
            return self.forward(torch.relu(x))
        rectified: Tensor = _Rectified.apply(x, Falling.drawn(self.p))  # type: ignore[no-untyped-call]
        return rectified

    def _by_kernel(self, x: Tensor) -> bool:
        return self.training and 0 < self.p < 1 and trains_by_kernel(x)


class LockedDropout(Dropout):
    """Drop features, the same ones at every step of a row, with probability p; the rest is scaled by 1 / (1 − p)."""

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) → (B, T, D)."""
        if not self.training or self.p == 0:
            return x
        mask = functional.dropout(torch.ones_like(x[:, :1]), self.p)  # (B, 1, D)
        return x * mask

    def _by_kernel(self, x: Tensor) -> bool:  # noqa: ARG002 - see `Dropout`
        return False


def embed_with_word_dropout(embedding: nn.Embedding, tokens: Tensor, p: float) -> Tensor:
    """Embedded tokens (B, T) → (B, T, D); in training each word of the vocabulary is dropped with probability p."""
    x: Tensor = embedding(tokens)
    if not embedding.training or p == 0:
        return x
    mask = functional.dropout(x.new_ones(embedding.num_embeddings), p)  # (V,)
    return x * mask[tokens][..., None]


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, falling: Falling) -> Tensor:
        ctx.falling = falling
        return _left(x, falling)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return _left(gradients[0], ctx.falling), None


class _Onto(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, base: Tensor, x: Tensor, falling: Falling) -> Tensor:
        from langladder.nn.dropout_kernel import drop_onto

        ctx.falling, y = falling, torch.empty_like(x, memory_format=torch.contiguous_format)
        inputs = bits(x.contiguous()), bits(base.contiguous())
        drop_onto(*inputs, bits(y), falling)
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        return gradients[0], _left(gradients[0], ctx.falling), None


class _Rectified(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, falling: Falling) -> Tensor:
        from langladder.nn.dropout_kernel import rectify_and_drop

        ctx.scale, y = falling.scale, torch.empty_like(x, memory_format=torch.contiguous_format)
        rectify_and_drop(bits(x.contiguous()), bits(y), falling)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        from langladder.nn.dropout_kernel import where_positive

        (y,), found = ctx.saved_tensors, torch.empty_like(ctx.saved_tensors[0])
        where_positive(bits(gradients[0].contiguous()), bits(y), ctx.scale, bits(found))
        return found, None


def _left(x: Tensor, falling: Falling) -> Tensor:
    from langladder.nn.dropout_kernel import drop  # Numba takes time to load

    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    drop(bits(x.contiguous()), bits(y), falling)
    return y
