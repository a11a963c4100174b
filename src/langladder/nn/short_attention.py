"""Multi-head attention as a processor trains it where rows are short: every head of every row stays in the cache.

torch's fused kernel is made for long rows, and has no dropout on a CPU; what stands in its place makes a product, a
softmax and a mask of each kind for all rows at once, with copies in between. `attention_kernel` takes a row and a head
at a time, and each thread some of the rows. Rows lie one behind the other and may be of any length, so that none is
padded.

Shape legend: B rows, h heads, T queries of a row, S its memory positions, N and M all of them, d width of a head.
"""

from functools import lru_cache, partial
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from langladder.nn.falling import Falling
from langladder.nn.vectors import in_shares

LONGEST, MOST_KEPT = 256, 1 << 24
"""Positions of a row, and weights of a layer that are kept for the way back (64 MiB), where no weight is dropped:
beyond them torch's fused kernel is faster, or takes less memory. With dropout torch was slower up to 2,048."""

WHOLE = 16
"""Numbers that a row of weights, and the width of a head, are multiples of."""


class Rows(NamedTuple):
    """How many queries and memory positions each row has, and where they and its weights lie.

    Attributes:
        spans: (B, 6) int64, `attention_kernel.Span` of each row. heads: h. weights: of all rows and heads together.
        longest: the largest T or S.
    """

    spans: Any
    heads: int
    weights: int
    longest: int

    @classmethod
    def of(cls, asked: Any, seen: Any, heads: int) -> Self:
        """Rows of T queries and S memory positions each: arrays (B,) int64, B > 0."""
        width = -(-seen // WHOLE) * WHOLE
        size = heads * asked * width
        first = [np.cumsum(numbers) - numbers for numbers in (asked, seen, size)]
        spans = np.stack([first[0], asked, first[1], seen, width, first[2]], axis=1)
        return cls(spans, heads, int(size.sum()), int(max(asked.max(), seen.max())))


@lru_cache(maxsize=64)
def alike(rows: int, T: int, S: int, heads: int) -> Rows:
    """Rows of the same lengths."""
    return Rows.of(np.full(rows, T), np.full(rows, S), heads)


def serves(query: Tensor, key: Tensor, value: Tensor, rows: Rows, p: float) -> bool:
    """Whether what a CPU trains (`vectors.trains_by_kernel`) is for this kernel: short rows or dropout, in float32."""
    d = query.shape[-1] // (rows.heads if query.dim() == 2 else 1)
    wanted = p > 0 or (rows.longest <= LONGEST and rows.weights <= MOST_KEPT)
    plain = all(x.dtype == torch.float32 and x.stride(-1) == 1 for x in (query, key, value))
    return wanted and plain and d % WHOLE == 0


def attend_rows(query: Tensor, key: Tensor, value: Tensor, rows: Rows, p: float, *, causal: bool) -> Tensor:
    """softmax(Q Kᵀ / √d + M) V within each row, each weight dropped with probability p.

    Args:
        query: (N, h · d) of all rows, one behind the other, or (B, h, T, d) of rows alike. key, value: likewise, of
            their memories.
        causal: query t of a row sees 0 … t only; then T = S in every row.

    Returns:
        Of the queries' shape. What sees nothing is 0.
    """
    falling = Falling.drawn(p) if p else Falling.none()
    mixed: Tensor = _Attention.apply(query, key, value, rows, falling, causal)  # type: ignore[no-untyped-call]
    return mixed


class _Attention(Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, rows: Rows, falling: Falling, causal: bool
    ) -> Tensor:
        from langladder.nn.attention_kernel import attend  # Numba takes time to load

        ctx.rows, ctx.falling, ctx.causal = rows, falling, causal
        read = [_flattened(x, rows.heads) for x in (query, key, value)]
        weights, out = query.new_empty(rows.weights), query.new_empty(read[0].shape)
        (q, k, v), steps, made = map(_flat, read), _steps(read), (weights.numpy(), _flat(out))
        given = q, k, v, steps, rows.spans, causal, falling
        in_shares(len(rows.spans), partial(attend, *given, *made, *out.shape[1:]))
        ctx.save_for_backward(query, key, value, weights)
        return _shaped(out, query)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        from langladder.nn.attention_kernel import attend_backwards

        *inputs, weights = ctx.saved_tensors
        back = gradients[0] if gradients[0].stride(-1) == 1 else gradients[0].contiguous()
        read = [_flattened(x, ctx.rows.heads) for x in (*inputs, back)]
        found = [x.new_empty(x.shape) for x in read[:3]]
        (q, k, v, g), (dq, dk, dv) = map(_flat, read), map(_flat, found)
        given = q, k, v, g, _steps(read), ctx.rows.spans, ctx.causal, ctx.falling, weights.numpy()
        in_shares(len(ctx.rows.spans), partial(attend_backwards, *given, dq, dk, dv, *read[0].shape[1:]))
        return (*(_shaped(x, like) for x, like in zip(found, inputs, strict=True)), None, None, None)


def _flattened(x: Tensor, heads: int) -> Tensor:
    """(N, h · d), or (B, h, T, d), as (N, h, d)."""
    if x.dim() == 2:
        return x.detach().view(len(x), heads, x.shape[1] // heads)
    return x.detach().transpose(1, 2).flatten(0, 1)


def _shaped(x: Tensor, like: Tensor) -> Tensor:
    """(N, h, d) in the shape of what was flattened."""
    if like.dim() == 2:
        return x.view(like.shape)
    B, h, T, d = like.shape
    return x.view(B, T, h, d).transpose(1, 2)


def _flat(x: Tensor) -> Any:
    """All from a tensor's first number to its last as an array, whatever its strides."""
    length = 1 + sum((size - 1) * stride for size, stride in zip(x.shape, x.stride(), strict=True)) if x.numel() else 0
    return x.as_strided((length,), (1,)).numpy()


def _steps(tensors: list[Tensor]) -> Any:
    """Of positions and heads: (tensors, 2) int64."""
    return np.array([x.stride()[:2] for x in tensors])
