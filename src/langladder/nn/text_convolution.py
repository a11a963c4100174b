"""Convolution over a text: filters of h words in a row, several h side by side (Kim 2014, equation 2).

    c_i = W_h · [x_{i−l}; … ; x_{i−l+h−1}] + b          l = 0, or as many zeros as stand before the text

    padding   zeros before, behind                length of n words
    valid     0, 0 (up to h words if n < h)       max(n, h) − h + 1
    same      ⌊(h − 1)/2⌋, ⌊h/2⌋                  n
    wide      h − 1, h − 1                        n + h − 1

Filters of all widths read the same words, so one product gives the share of every word in every place of every filter,

    z_{k} = W_{h,k} x,   k = 0 … h − 1,      c_i = Σ_k z_{k, i−l+k} + b

and what is left are sums of shifted rows: no window is ever copied, and the processor sees one large product.

Shape legend: B rows, T positions, D width of the input, F filters of a width h, L places of a filter.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import nn
from torch.nn import functional

from langladder.nn.initialisation import initialise

Padding = Literal["valid", "same", "wide"]


def zeros_around(width: int, padding: Padding) -> tuple[int, int]:
    """Zeros before a text and behind it, for filters of `width` words."""
    if padding == "valid":
        return 0, 0
    return ((width - 1) // 2, width // 2) if padding == "same" else (width - 1, width - 1)


def places(lengths: torch.Tensor, width: int, padding: Padding) -> torch.Tensor:
    """How many places a filter has on texts of these lengths: (B,) → (B,)."""
    before, behind = zeros_around(width, padding)
    return (lengths + before + behind).clamp(min=width) - width + 1


class TextConvolution(nn.Module):
    """Filters of several widths over (B, T, D).

    Args:
        widths: h of each sort of filters. filters: F of each width. input_width: D.
    """

    def __init__(self, widths: Sequence[int], *, filters: int, input_width: int, padding: Padding) -> None:
        super().__init__()
        self.widths, self.filters, self.padding = tuple(widths), filters, padding
        self.weights = nn.ParameterList(torch.empty(filters, width, input_width) for width in widths)  # W_h
        self.biases = nn.ParameterList(torch.zeros(filters) for _ in widths)
        for weight in self.weights:
            initialise(weight.view(filters, -1), "he")

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Before the activation.

        Args:
            x: (B, T, D); mask: (B, T) bool, true at the words of the text, which come first in a row.

        Returns:
            For each width c (B, L, F), and which of its places lie in the text, (B, L) bool.
        """
        x = x.masked_fill(~mask[..., None], 0.0)
        shares = self.shares(x)  # (B, T, Σ h F)
        lengths, found, start = mask.sum(dim=1), [], 0
        for width, bias in zip(self.widths, self.biases, strict=True):
            own = shares[..., start : start + width * self.filters]  # (B, T, h F)
            start += width * self.filters
            c = self._slide(own, width) + bias  # (B, L, F)
            there = torch.arange(c.shape[1], device=c.device) < places(lengths, width, self.padding)[:, None]
            found.append((c, there))
        return found

    def shares(self, x: torch.Tensor) -> torch.Tensor:
        """(…, D) → (…, Σ h F): what each word gives to each place of each filter, widths and then places in order."""
        rows = [weight.transpose(0, 1).flatten(0, 1) for weight in self.weights]  # (h F, D) each
        return functional.linear(x, torch.cat(rows))

    def _slide(self, shares: torch.Tensor, width: int) -> torch.Tensor:
        """Σ_k z_{k, i−l+k}: (B, T, h F) → (B, L, F)."""
        T, F = shares.shape[1], self.filters
        before, behind = zeros_around(width, self.padding)
        behind = max(behind, width - T - before)  # a text shorter than a filter has one place
        if before or behind:
            shares = functional.pad(shares, (0, 0, before, behind))
        L = T + before + behind - width + 1
        total = shares[:, :L, :F]
        for k in range(1, width):
            total = total + shares[:, k : k + L, k * F : (k + 1) * F]
        return total
