"""Multi-head attention as a processor trains it where rows are short: every head of every row stays in the cache.

torch's fused kernel is made for long rows, and has no dropout on a CPU; what stands in its place makes a product, a
softmax and a mask of each kind for all rows at once, with copies in between. `attention_kernel` takes a row and a head
at a time, and each thread some of the rows. Rows lie one behind the other and may be of any length, so that none is
padded.

Shape legend: B rows, h heads, T queries of a row, S its memory positions, N and M all of them, d width of a head.
"""

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from langladder.nn.falling import Falling
from langladder.nn.vectors import in_shares, trains_by_kernel

LONGEST, MOST_KEPT = 256, 1 << 24
"""Positions of a row, and weights of a layer that are kept for the way back (64 MiB), where no weight is dropped:
beyond them torch's fused kernel is faster, or takes less memory. What it does for dropout is slower at every length."""

WHOLE = 16
"""Numbers that a row of weights, and the width of a head, are multiples of."""

Lengths = Any
"""How many positions each row has: an array (B,) int64."""


def serves(query: Tensor, key: Tensor, value: Tensor, asked: Lengths, seen: Lengths, p: float) -> bool:
    """Whether it is to be done here: training on a CPU in float32, short rows or dropout; see `attend_rows`."""
    if not trains_by_kernel(query, key, value) or not len(asked):
        return False
    heads, d = query.shape[1:]
    short = max(asked.max(), seen.max()) <= LONGEST and heads * (asked * seen).sum() <= MOST_KEPT
    plain = d % WHOLE == 0 and all(x.dtype == torch.float32 and x.stride(2) == 1 for x in (query, key, value))
    return plain and bool(p > 0 or short)


def attend_rows(
    query: Tensor, key: Tensor, value: Tensor, asked: Lengths, seen: Lengths, p: float, *, causal: bool
) -> Tensor:
    """softmax(Q Kᵀ / √d + M) V within each row, each weight dropped with probability p.

    Args:
        query: (N, h, d), the queries of all rows, one row behind the other. key, value: (M, h, d), of their memories.
        asked: (B,) queries of each row, T, N together. seen: (B,) memory positions of each, S, M together.
        causal: query t of a row sees 0 … t only; then both lengths are the same.

    Returns:
        (N, h, d). What sees nothing is 0.
    """
    falling = Falling.drawn(p) if p else Falling.none()
    mixed: Tensor = _Attention.apply(query, key, value, asked, seen, falling, causal)  # type: ignore[no-untyped-call]
    return mixed


def spans(asked: Lengths, seen: Lengths, heads: int) -> tuple[Any, int]:
    """`attention_kernel.Span` of each row, (B, 6) int64, and the number of weights."""
    width = -(-seen // WHOLE) * WHOLE
    size = heads * asked * width
    first = [np.cumsum(numbers) - numbers for numbers in (asked, seen, size)]
    return np.stack([first[0], asked, first[1], seen, width, first[2]], axis=1), int(size.sum())


class _Attention(Function):
    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        asked: Lengths,
        seen: Lengths,
        falling: Falling,
        causal: bool,
    ) -> Tensor:
        from langladder.nn.attention_kernel import attend  # Numba takes time to load

        N, heads, d = query.shape
        rows, number = spans(asked, seen, heads)
        ctx.rows, ctx.falling, ctx.causal = rows, falling, causal
        weights, out = query.new_empty(number), query.new_empty(N, heads, d)
        read = [x.detach() for x in (query, key, value)]
        (q, k, v), steps, made = map(_flat, read), _steps(read), (weights.numpy(), _flat(out))
        in_shares(len(rows), partial(attend, q, k, v, steps, rows, causal, falling, *made, heads, d))
        ctx.save_for_backward(query, key, value, weights)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        from langladder.nn.attention_kernel import attend_backwards

        query, key, value, weights = ctx.saved_tensors
        back = gradients[0] if gradients[0].stride(2) == 1 else gradients[0].contiguous()
        read, (_, heads, d) = [query, key, value, back], query.shape
        found = [x.new_empty(x.shape) for x in read[:3]]
        (q, k, v, g), (dq, dk, dv) = map(_flat, read), map(_flat, found)
        given = q, k, v, g, _steps(read), ctx.rows, ctx.causal, ctx.falling, weights.numpy()
        in_shares(len(ctx.rows), partial(attend_backwards, *given, dq, dk, dv, heads, d))
        return (*found, None, None, None, None)


def _flat(x: Tensor) -> Any:
    """All from a tensor's first number to its last as an array, whatever its strides."""
    length = 1 + sum((size - 1) * stride for size, stride in zip(x.shape, x.stride(), strict=True)) if x.numel() else 0
    return x.detach().as_strided((length,), (1,)).numpy()


def _steps(tensors: list[Tensor]) -> Any:
    """Of positions and heads: (tensors, 2) int64."""
    return np.array([x.stride()[:2] for x in tensors])
