"""A matrix that is used many times in one pass, with one computation of its gradient.

Some networks apply W to a few rows at a time, for example per level of a tree or per word of a translation. Their
gradient is

    ∂L/∂W = Σ_l G_lᵀ X_l          one product of thin matrices, and a sum over all of W, for each use l

Here each use only stores X_l and its gradient G_l. After the last use, one product computes the sum:

    ∂L/∂W = [G_1; G_2; …]ᵀ [X_1; X_2; …]

Each row of a batch can have its own matrix (B, O, I), for example the annotations of its source sentence in a decoder.

Shape legend: n rows of a use, I width of the input, O width of the output.
"""

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx


class Deferred:
    """W (O, I), or (B, O, I), for one forward and backward pass; create a new object for each pass."""

    def __init__(self, weight: Tensor) -> None:
        self.uses: list[tuple[Tensor, Tensor]] = []
        if torch.is_autocast_enabled(weight.device.type):  # it does not see products inside a custom Function
            weight = weight.to(torch.get_autocast_dtype(weight.device.type))
        self.weight: Tensor = _Collect.apply(weight, self.uses)  # type: ignore[no-untyped-call]

    def __call__(self, x: Tensor) -> Tensor:
        """x Wᵀ: (n, I) → (n, O), or (B, n, I) → (B, n, O)."""
        product: Tensor = _Product.apply(x.to(self.weight.dtype), self.weight, self.uses)  # type: ignore[no-untyped-call]
        return product


class _Context(FunctionCtx):
    """The results of the backward pass."""

    uses: list[tuple[Tensor, Tensor]]
    saved_tensors: tuple[Tensor, ...]


class _Collect(Function):
    """Forward: W; backward: the sum over all uses, computed after the last one."""

    @staticmethod
    def forward(ctx: _Context, weight: Tensor, uses: list[tuple[Tensor, Tensor]]) -> Tensor:
        ctx.uses = uses
        ctx.set_materialize_grads(False)  # the gradient is None, not zeros
        return weight.view_as(weight)

    @staticmethod
    def backward(ctx: _Context, *_: Tensor) -> tuple[Tensor, None]:
        inputs, gradients = (torch.cat(parts, dim=-2) for parts in zip(*ctx.uses, strict=True))
        ctx.uses.clear()
        # ∂L/∂W = [G_1; G_2; …]ᵀ [X_1; X_2; …]
        return gradients.mT @ inputs, None


class _Product(Function):
    """x Wᵀ; backward: ∂L/∂x = G W, and G is stored."""

    @staticmethod
    def forward(ctx: _Context, x: Tensor, weight: Tensor, uses: list[tuple[Tensor, Tensor]]) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.uses = uses
        return x @ weight.mT

    @staticmethod
    def backward(ctx: _Context, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (gradient,), (x, weight) = gradients, ctx.saved_tensors
        ctx.uses.append((x, gradient))
        return gradient @ weight, None, None
