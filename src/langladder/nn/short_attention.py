"""Multi-head attention as a processor trains it where rows are short: every head of every row stays in the cache.

torch's fused kernel is made for long rows, and has no dropout on a CPU; what stands in its place makes a product, a
softmax and a mask of each kind for all rows at once, with copies in between. `attention_kernel` takes a row and a head
at a time, and each thread some of the rows.

Shape legend: B rows, h heads, T queries, S memory positions, d width of a head.
"""

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from langladder.nn.falling import Falling
from langladder.nn.vectors import in_shares, trains_by_kernel

LONGEST = 256
"""Positions."""

MOST_KEPT = 1 << 24
"""Weights of a layer (64 MiB), kept for the way back: of torch's fused kernel, which has no dropout, none are."""

WHOLE = 16
"""Numbers that a row of weights, and the width of a head, are multiples of."""


def serves(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, p: float) -> bool:
    """Whether it is to be done here: short rows, trained on a CPU in float32, a mask of memory positions or none."""
    (B, heads, T, d), S = query.shape, key.shape[2]
    short = max(T, S) <= LONGEST and d % WHOLE == 0 and (p > 0 or B * heads * T * S <= MOST_KEPT)
    plain = all(x.dtype == torch.float32 and x.stride(3) == 1 for x in (query, key, value))
    rowwise = mask is None or mask.shape[1:3] == (1, 1)
    return short and plain and rowwise and trains_by_kernel(query, key, value)


def attend_short(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, p: float, *, causal: bool) -> Tensor:
    """softmax(Q Kᵀ / √d + M) V, each weight dropped with probability p.

    query (B, h, T, d), key and value (B, h, S, d) → (B, h, T, d); mask (B, 1, 1, S) bool, true where attention is
    allowed, or None. What sees nothing becomes 0.
    """
    falling = Falling.drawn(p) if p else Falling.none()
    mixed: Tensor = _Attention.apply(query, key, value, mask, falling, causal)  # type: ignore[no-untyped-call]
    return mixed


class _Attention(Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, falling: Falling, causal: bool
    ) -> Tensor:
        from langladder.nn.attention_kernel import attend  # Numba takes time to load

        (B, heads, T, d), S = query.shape, key.shape[2]
        keep = np.zeros((0, 0), dtype=np.bool_) if mask is None else mask[:, 0, 0].expand(B, S).contiguous().numpy()
        ctx.falling, ctx.causal = falling, causal
        weights, out = query.new_empty(B * heads * T, -(-S // WHOLE) * WHOLE), query.new_empty(B, T, heads, d)
        read = [x.detach() for x in (query, key, value)]
        (q, k, v), shape = map(_flat, read), (B, heads, T, S)
        made = weights.numpy(), _flat(out), d
        in_shares(B, partial(attend, q, k, v, _strides(read), shape, keep, causal, falling, *made))
        ctx.save_for_backward(query, key, value, weights)
        return out.transpose(1, 2)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        from langladder.nn.attention_kernel import attend_backwards

        query, key, value, weights = ctx.saved_tensors
        back = gradients[0] if gradients[0].stride(3) == 1 else gradients[0].contiguous()
        read, shape = [query, key, value, back], (*query.shape[:3], key.shape[2])
        found = [x.new_empty(x.transpose(1, 2).shape) for x in read[:3]]  # (B, T, h, d)
        (q, k, v, g), (dq, dk, dv), d = map(_flat, read), map(_flat, found), query.shape[3]
        given = q, k, v, g, _strides(read), shape, ctx.causal, weights.numpy(), ctx.falling
        in_shares(shape[0], partial(attend_backwards, *given, dq, dk, dv, d))
        return (*(x.transpose(1, 2) for x in found), None, None, None)


def _flat(x: Tensor) -> Any:
    """All from a tensor's first number to its last as an array, whatever its strides."""
    length = 1 + sum((size - 1) * stride for size, stride in zip(x.shape, x.stride(), strict=True))
    return x.detach().as_strided((length,), (1,)).numpy()


def _strides(tensors: list[Tensor]) -> Any:
    """Of B, h and T: (tensors, 3) int64."""
    return np.array([x.stride()[:3] for x in tensors])
