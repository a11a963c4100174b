"""The input of a network without recurrence: the word and its position.

    x_p = scale · E w_p + P_p,   scale = √D (Vaswani et al. 2017, section 3.4)

Rows of E have about unit length, so √D scales their entries to the size of sines and cosines. P is sinusoidal (section
3.5), learned (Gehring et al. 2017, section 3.1; positions after the table's end use its last row), or omitted, to
measure the value of word order.

Positional encodings: attention sees a set of words; the encodings add their order.

Sinusoidal (Vaswani et al. 2017, section 3.5), with position p from 0 and pair index i from 0 to D/2 − 1:

    PE(p, 2i) = sin(p / 10000^(2i/D)),   PE(p, 2i+1) = cos(p / 10000^(2i/D))

The first pair rotates fastest (wavelength 2π), the last one slowest (close to 2π · 10000). Shifting p rotates each
pair, so PE(p+k) is a linear function of PE(p).

Shape legend: B rows, T positions, N positions without padding, D width, P positions of the table.
"""

import math
from typing import Literal

import torch
from torch import nn
from torch.nn import functional

from langladder.nn.dropout import Dropout
from langladder.nn.packing import Layout


def sinusoidal(length: int, width: int, base: float = 10000) -> torch.Tensor:
    """(length, width) float32 table; width must be even."""
    assert width % 2 == 0, width
    if torch.get_default_device().type == "meta":  # no values, and torch would load its compiler
        return torch.empty(length, width)
    position = torch.arange(length, dtype=torch.float64)[:, None]  # (T, 1)
    frequency = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)  # (D/2,)
    angle = position * frequency  # (T, D/2)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()  # (T, D): sin, cos, sin, cos, …


Positions = Literal["sinusoidal", "learned", "none"]


class TokenEmbedding(nn.Module):
    """Words and positions, then dropout.

    Args:
        vocab_size: V. width: D. max_length: P, of a learned table; a sinusoidal one grows as needed.
        weight: an embedding's matrix (V, D) to share; None: the module has its own.
    """

    table: torch.Tensor

    def __init__(
        self,
        vocab_size: int,
        width: int,
        *,
        positions: Positions,
        max_length: int,
        dropout: float,
        scaled: bool = True,
        weight: torch.Tensor | None = None,
    ) -> None:
        super().__init__()
        self.positions, self.scale = positions, math.sqrt(width) if scaled else 1.0
        self.word = nn.Embedding(vocab_size, width)
        if weight is None:
            nn.init.normal_(self.word.weight, std=width**-0.5)
        else:
            assert isinstance(weight, nn.Parameter)
            self.word.weight = weight
        if positions == "learned":
            std = self.scale * width**-0.5  # the same scale as the words
            self.table = nn.Parameter(torch.empty(max_length, width).normal_(std=std))
        elif positions == "sinusoidal":
            self.register_buffer("table", sinusoidal(max_length, width), persistent=False)
        self.dropout = Dropout(dropout)

    def forward(self, tokens: torch.Tensor, first: int = 0) -> torch.Tensor:
        """tokens (B, T) at positions first, first + 1, … → (B, T, D)."""
        x = self.scale * self.word(tokens)  # (B, T, D)
        if self.positions != "none":
            x = x + self._rows(first, first + tokens.shape[1])
        embedded: torch.Tensor = self.dropout(x)
        return embedded

    def forward_packed(self, tokens: torch.Tensor, layout: Layout) -> torch.Tensor:
        """The same for rows (B, T) that start at the first position, packed without padding: (N, D)."""
        x = self.scale * self.word(layout.pack(tokens))  # (N, D)
        if self.positions != "none":
            x = x + functional.embedding(layout.columns(tokens.device), self._rows(0, tokens.shape[1]))
        embedded: torch.Tensor = self.dropout(x)
        return embedded

    def _rows(self, first: int, last: int) -> torch.Tensor:
        """P_first … P_last−1: (T, D)."""
        if last <= len(self.table):
            return self.table[first:last]
        if self.positions == "sinusoidal":
            self.table = sinusoidal(2 * last, self.table.shape[1]).to(self.table)
            return self.table[first:last]
        rows = torch.arange(first, last, device=self.table.device).clamp(max=len(self.table) - 1)
        return self.table[rows]
