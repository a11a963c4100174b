"""All steps of `attentive_gru` as a processor trains them: by `attentive_gru_kernel`, some rows of the batch at a time.

Shape legend: B rows, T steps, S source positions, H width of the state, A of attention.
"""

from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from langladder.nn.vectors import in_shares, trains_by_kernel

WHOLE = 16
"""Widths are multiples of it."""


class Weights(NamedTuple):
    """W_a (A, H), v_a (A,), [U_z; U_r] (2H, H), U_n (H, H)."""

    query: Tensor
    v: Tensor
    gates: Tensor
    candidate: Tensor


def serves(weights: Weights, *tensors: Tensor) -> bool:
    """Whether the kernel is for this training: on a CPU, in float32, of widths that are whole sixteens."""
    numbers = (*weights, *tensors)
    whole = not any(size % WHOLE for size in weights.query.shape)
    return whole and trains_by_kernel(*numbers) and all(x.dtype == torch.float32 for x in numbers)


def all_steps(
    driven: Tensor, start: Tensor, keys: Tensor, values: Tensor, mask: Tensor, weights: Weights
) -> tuple[Tensor, Tensor]:
    """driven W x + b (B, T, 3H), s_0 (B, H), keys (B, S, A), values C h (B, S, 3H), mask (B, S) → states (B, T, H) and
    α (B, T, S)."""
    states, alpha = _Steps.apply(driven, start, keys, values, mask, *weights)  # type: ignore[no-untyped-call]
    return states, alpha


class _Steps(Function):
    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        from langladder.nn.attentive_gru_kernel import Kept, forward  # Numba takes time to load

        driven, start, keys, values, mask, query, v, gates, candidate = (x.detach().contiguous() for x in tensors)
        (B, T, wide), (_, S, A) = driven.shape, keys.shape
        kept = [driven.new_empty(B, T, width) for width in (wide // 3, S, wide, A)]
        W, G, N = (matrix.mT.contiguous().numpy() for matrix in (query, gates, candidate))
        given = _inputs(driven, start, keys, values, mask, v)
        in_shares(B, partial(forward, given, W, G, N, Kept(*(x.numpy() for x in kept))))
        ctx.save_for_backward(driven, start, keys, values, mask, query, v, gates, candidate, *kept)
        return kept[0], kept[1]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        from langladder.nn.attentive_gru_kernel import Kept, backward

        driven, start, keys, values, mask, query, v, gates, candidate, *kept = ctx.saved_tensors
        states, _, zrn, asked = kept
        B, H = start.shape
        found = [torch.empty_like(x) for x in (driven, start)] + [torch.zeros_like(keys), torch.empty_like(values)]
        dasked, dv = torch.empty_like(asked), keys.new_zeros(B, len(v))
        given = _inputs(driven, start, keys, values, mask, v)
        read = [x.clone().numpy() for x in (query, gates, candidate)] + [x.contiguous().numpy() for x in gradients]
        made = [x.numpy() for x in (*found, dasked, dv)]
        in_shares(B, partial(backward, given, Kept(*(x.numpy() for x in kept)), *read, *made))
        before = torch.cat([start.unsqueeze(1), states[:, :-1]], dim=1).flatten(0, 1)  # s_0 … s_{T−1} (B · T, H)
        changes = found[0].flatten(0, 1)  # (B · T, 3H)
        reset = zrn.flatten(0, 1)[:, H : 2 * H] * before
        dquery = dasked.flatten(0, 1).mT @ before
        dgates, dcandidate = changes[:, : 2 * H].mT @ before, changes[:, 2 * H :].mT @ reset
        return *found, None, dquery, dv.sum(dim=0), dgates, dcandidate


def _inputs(driven: Tensor, start: Tensor, keys: Tensor, values: Tensor, mask: Tensor, v: Tensor) -> Any:
    from langladder.nn.attentive_gru_kernel import Inputs

    # FSDP cannot let go of weights that NumPy reads
    return Inputs(*(x.numpy() for x in (driven, start, keys, values, mask, v.clone().unsqueeze(0))))
