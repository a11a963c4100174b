"""GELU in its tanh form (Hendrycks & Gimpel 2016, section 2), the one of GPT and GPT-2.

    GELU(x) = ½ x (1 + tanh u),   u = √(2/π) (x + 0.044715 x³)

With ½ (1 + tanh u) = σ(2u) it costs one sigmoid, and the gradient a product, as dy/dx comes from the same pass:

    y = x s,   dy/dx = s + x s (1 − s) · 2 du/dx,   s = σ(2u),   2 du/dx = √(8/π) (1 + 3 · 0.044715 x²)

torch's own kernel takes the tanh twice, entry by entry; on a CPU that makes a tenth of a small GPT's training step.
`gelu_equation` is the readable form; the kernel trains.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from langladder.nn.vectors import bits, trains_by_kernel


class TanhGELU(nn.Module):
    """GELU(x), of any shape."""

    def forward(self, x: Tensor) -> Tensor:
        """Elementwise."""
        if trains_by_kernel(x):
            result: Tensor = _TanhGELU.apply(x)  # type: ignore[no-untyped-call]
            return result
        return functional.gelu(x, approximate="tanh")


def gelu_equation(x: Tensor) -> Tensor:
    """The equation: elementwise."""
    u = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return x * torch.sigmoid(2 * u)


class _TanhGELU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        from langladder.nn.gelu_kernel import gelu_and_slope  # Numba takes time to load

        y, slope = (torch.empty_like(x, memory_format=torch.contiguous_format) for _ in range(2))
        gelu_and_slope(bits(x.contiguous()), bits(y), bits(slope))
        ctx.save_for_backward(slope)
        return y

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> Tensor:
        from langladder.nn.gelu_kernel import product

        slope, grad = ctx.saved_tensors[0], grad_outputs[0]
        if slope.dtype == torch.float32:
            result: Tensor = slope * grad
            return result
        changed = torch.empty_like(slope)  # torch takes four times as long for products of bfloat16
        product(bits(slope), bits(grad.contiguous()), bits(changed))
        return changed
