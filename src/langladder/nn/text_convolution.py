"""Convolution over a text: filters over h consecutive words, for several h (Kim 2014, equation 2).

    c_i = W_h · [x_{i−l}; … ; x_{i−l+h−1}] + b          l = 0, or the number of zeros before the text

    padding   zeros before, after                 length of n words
    valid     0, 0 (up to h words if n < h)       max(n, h) − h + 1
    same      ⌊(h − 1)/2⌋, ⌊h/2⌋                  n
    wide      h − 1, h − 1                        n + h − 1

Filters of all widths read the same words, so one product computes each word's contribution at each position of each
filter,

    z_{k} = W_{h,k} x,   k = 0 … h − 1,      c_i = Σ_k z_{k, i−l+k} + b

and the rest is sums of shifted rows. No window is ever copied, and there is only one large product.

Gated convolution (Dauphin et al. 2017): one half of the channels gates the other half.

    h = A ⊗ σ(B),   [A ; B] = W ∗ x + b        ∗ over k positions

The path through A is linear, so gradients do not shrink on it. Filters can have weight normalisation, direction ×
length (Salimans & Kingma 2016).

Shape legend: B rows, T positions, D width of the input, F filters of a width h, L positions of a filter; gated
convolution: C channels, k width.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Literal, NamedTuple

import torch
from torch import nn
from torch.autograd.function import FunctionCtx
from torch.nn import functional
from torch.nn.utils.parametrizations import weight_norm

from langladder.nn.initialisation import initialise

Padding = Literal["valid", "same", "wide"]


def zeros_around(width: int, padding: Padding) -> tuple[int, int]:
    """Zeros before and after a text, for filters of `width` words."""
    if padding == "valid":
        return 0, 0
    return ((width - 1) // 2, width // 2) if padding == "same" else (width - 1, width - 1)


def positions(lengths: torch.Tensor, width: int, padding: Padding) -> torch.Tensor:
    """The number of positions of a filter on texts of these lengths: (B,) → (B,)."""
    before, behind = zeros_around(width, padding)
    return (lengths + before + behind).clamp(min=width) - width + 1


class TextConvolution(nn.Module):
    """Filters of several widths over (B, T, D).

    Args:
        widths: h of each group of filters. filters: F of each width. input_width: D.
    """

    def __init__(self, widths: Sequence[int], *, filters: int, input_width: int, padding: Padding) -> None:
        super().__init__()
        self.widths, self.filters, self.padding = tuple(widths), filters, padding
        self.weights = nn.ParameterList(torch.empty(filters, width, input_width) for width in widths)  # W_h
        self.biases = nn.ParameterList(torch.zeros(filters) for _ in widths)
        for weight in self.weights:
            initialise(weight.view(filters, -1), "he")

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """The values before the activation.

        Args:
            x: (B, T, D); mask: (B, T) bool, true at the words of the text, which come first in a row.

        Returns:
            For each width, c (B, L, F), and (B, L) bool, true at the positions inside the text.
        """
        x = x.masked_fill(~mask[..., None], 0.0)
        lengths, sums = mask.sum(dim=1), slide(self.shares(x), self._shape(x.shape[1]))
        return [
            (c + bias, torch.arange(c.shape[1], device=c.device) < positions(lengths, width, self.padding)[:, None])
            for width, bias, c in zip(self.widths, self.biases, sums, strict=True)
        ]

    def shares(self, x: torch.Tensor) -> torch.Tensor:
        """(…, D) → (…, Σ h F): each word's contribution at each position of each filter, ordered by width, then
        position."""
        rows = [weight.transpose(0, 1).flatten(0, 1) for weight in self.weights]  # (h F, D) each
        return functional.linear(x, torch.cat(rows))

    def _shape(self, T: int) -> "Shape":
        sizes = []
        for width in self.widths:
            before, behind = zeros_around(width, self.padding)
            behind = max(behind, width - T - before)  # a text shorter than a filter has one position
            sizes.append((width, before, T + before + behind - width + 1))
        return Shape(T, self.filters, tuple(sizes))


class Shape(NamedTuple):
    """The positions of filters on texts of T words: for each width h, l zeros before the text, and L positions."""

    T: int
    filters: int
    sizes: tuple[tuple[int, int, int], ...]  # h, l, L

    def steps(self, width: int, before: int, length: int, start: int) -> Iterator[tuple[slice, slice, slice]]:
        """For k = 0 … h − 1: positions i, the words i − l + k that they read, and the columns of z_k from `start`
        on."""
        for k in range(width):
            first, last = max(0, before - k), min(length, self.T + before - k)
            columns = slice(start + k * self.filters, start + (k + 1) * self.filters)
            if first < last:
                yield slice(first, last), slice(first - before + k, last - before + k), columns

    def starts(self) -> list[int]:
        """The first column of each width."""
        return [0, *accumulate(width * self.filters for width, _, _ in self.sizes)][:-1]


def slide(shares: torch.Tensor, shape: Shape) -> Sequence[torch.Tensor]:
    """Σ_k z_{k, i−l+k} of each width: (B, T, Σ h F) → (B, L, F) each."""
    traced = torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
    if shares.requires_grad and not torch.compiler.is_compiling() and not traced:
        maxima: tuple[torch.Tensor, ...] = _Slide.apply(shares, shape)  # type: ignore[no-untyped-call]
        return maxima
    return _slide(shares, shape)


def _slide(shares: torch.Tensor, shape: Shape) -> list[torch.Tensor]:
    gradients = []
    for start, (width, before, length) in zip(shape.starts(), shape.sizes, strict=True):
        total = shares.new_zeros(len(shares), length, shape.filters)
        for at, words, columns in shape.steps(width, before, length, start):
            total[:, at] += shares[:, words, columns]
        gradients.append(total)
    return gradients


class _Context(FunctionCtx):
    shape: Shape


class _Slide(torch.autograd.Function):
    """The same; the backward pass copies each gradient to its contributions, because slices would each add mostly
    zeros."""

    @staticmethod
    def forward(ctx: _Context, shares: torch.Tensor, shape: Shape) -> tuple[torch.Tensor, ...]:
        ctx.shape = shape
        return tuple(_slide(shares, shape))

    @staticmethod
    def backward(ctx: _Context, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        shape: Shape = ctx.shape
        rows, columns_of_all = len(gradients[0]), sum(width for width, _, _ in shape.sizes) * shape.filters
        result = gradients[0].new_zeros(rows, shape.T, columns_of_all)
        for start, size, gradient in zip(shape.starts(), shape.sizes, gradients, strict=True):
            for at, words, columns in shape.steps(*size, start):
                result[:, words, columns] = gradient[:, at]
        return result, None


class GatedConvolution(nn.Module):
    """Dropout, then h; adds no padding: (B, C, T + k − 1) → (B, C, T).

    Args:
        width: C. kernel: k. std: of the initial weights. normalised: whether filters are direction × length.
    """

    def __init__(self, *, width: int, kernel: int, dropout: float, std: float, normalised: bool) -> None:
        super().__init__()
        convolution = nn.Conv1d(width, 2 * width, kernel)  # A's and B's filters and biases
        nn.init.normal_(convolution.weight, std=std)
        assert convolution.bias is not None
        nn.init.zeros_(convolution.bias)
        self.convolution = weight_norm(convolution) if normalised else convolution
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.glu(self.convolution(self.dropout(x)), dim=1)
