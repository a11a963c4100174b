"""Gated convolution (Dauphin et al. 2017): one half of the channels decides what passes of the other.

    h = A ⊗ σ(B),   [A ; B] = W ∗ x + b        ∗ over k positions

The path through A is linear, so that gradients do not shrink on it. Filters may be normalised to direction × length
(Salimans & Kingma 2016).

Shape legend: B rows, T positions, C channels, k width of the convolution.
"""

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.parametrizations import weight_norm


class GatedConvolution(nn.Module):
    """Dropout, then h, without padding of its own: (B, C, T + k − 1) → (B, C, T).

    Args:
        width: C. kernel: k. std: of the first weights. normalised: whether filters are direction × length.
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
        """See the class."""
        return functional.glu(self.convolution(self.dropout(x)), dim=1)
