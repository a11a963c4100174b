"""Multi-head attention with dropout on its weights, as a processor trains it where rows are short.

torch's fused kernel has no dropout on a CPU; what stands in its place makes a product, a softmax and a mask of each
kind for all rows at once, with copies in between. `attention_kernel` takes a row and a head at a time.

Shape legend: B rows, h heads, T queries, S memory positions, d width of a head.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from langladder.nn.falling import Falling
from langladder.nn.vectors import trains_by_kernel

LONGEST = 64
"""Positions; of more, products of whole matrices are the faster way."""


def serves(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> bool:
    """Whether it can be done here: short rows, trained on a CPU in float32, a mask of memory positions or none."""
    short = max(query.shape[2], key.shape[2]) <= LONGEST and query.shape[3] % 8 == 0
    plain = all(x.dtype == torch.float32 and x.stride(3) == 1 for x in (query, key, value))
    rowwise = mask is None or mask.shape[1:3] == (1, 1)
    return short and plain and rowwise and trains_by_kernel(query, key, value)


def attend_dropped(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, p: float, *, causal: bool) -> Tensor:
    """softmax(Q Kᵀ / √d + M) V, each weight dropped with probability p.

    query (B, h, T, d), key and value (B, h, S, d) → (B, h, T, d); mask (B, 1, 1, S) bool, true where attention is
    allowed, or None. What sees nothing becomes 0.
    """
    mixed: Tensor = _Attention.apply(query, key, value, mask, Falling.drawn(p), causal)  # type: ignore[no-untyped-call]
    return mixed


class _Attention(Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, falling: Falling, causal: bool
    ) -> Tensor:
        from langladder.nn.attention_kernel import attend  # Numba takes time to load

        (B, heads, T, d), S = query.shape, key.shape[2]
        keep = np.zeros((0, 0), dtype=np.bool_) if mask is None else mask[:, 0, 0].expand(B, S).contiguous().numpy()
        ctx.falling = falling
        weights, out = query.new_empty(B * heads * T, -(-S // 8) * 8), query.new_empty(B, T, heads, d)
        read = [x.detach() for x in (query, key, value)]
        q, k, v = map(_row, read)
        attend(q, k, v, _strides(read), (B, heads, T, S), keep, causal, falling, weights.numpy(), _rows(out))
        ctx.save_for_backward(query, key, value, weights)
        return out.transpose(1, 2)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        from langladder.nn.attention_kernel import attend_backwards

        given = gradients[0] if gradients[0].stride(3) == 1 else gradients[0].contiguous()
        query, key, value, weights = ctx.saved_tensors
        read = [query, key, value, given]
        shape = (*query.shape[:3], key.shape[2])
        found = [x.new_empty(x.transpose(1, 2).shape) for x in read[:3]]  # (B, T, h, d)
        (q, k, v, g), (dq, dk, dv) = map(_row, read), map(_rows, found)
        attend_backwards(g, q, k, v, _strides(read), shape, weights.numpy(), ctx.falling, dq, dk, dv)
        return (*(x.transpose(1, 2) for x in found), None, None, None)


def _row(x: Tensor) -> Any:
    """All from a tensor's first number to its last as one row of an array, (1, …), whatever its strides."""
    length = 1 + sum((size - 1) * stride for size, stride in zip(x.shape, x.stride(), strict=True))
    return x.detach().as_strided((1, length), (length, 1)).numpy()


def _rows(x: Tensor) -> Any:
    """(…, d) → an array (n, d) of the same memory."""
    return x.view(-1, x.shape[-1]).numpy()


def _strides(tensors: list[Tensor]) -> Any:
    """Of B, h and T: (tensors, 3) int64."""
    return np.array([x.stride()[:3] for x in tensors])
