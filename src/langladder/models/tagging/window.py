"""Window network: a word's tag from the words around it (Collobert et al. 2011, section 3.3.1).

    h_t = HardTanh(W [x_{t−m} ; … ; x_t ; … ; x_{t+m}] + b)        combine: concatenated, Collobert's
    h_t = HardTanh(W [x_t ; (1/2m) Σ_{0<|j|≤m} x_{t+j}] + b)       combine: averaged: m can be large, the order is lost

Positions outside the sentence have their own learned vector, as in the paper ("padding" words). `output: crf` is the
paper's sentence-level log-likelihood.

Shape legend: B sentences, T words, D input width, m words on each side, H width.
"""

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import nn
from torch.nn import functional as F

from langladder.models.tagging.neural_tagger import NeuralTagger, NeuralTaggerConfig


class WindowTaggerConfig(NeuralTaggerConfig):
    """Settings of `WindowTagger`."""

    window: int = Field(default=2, ge=0, le=20)
    """m, the words on each side."""
    width: int = Field(default=300, ge=1, le=8192)
    """H, the width of the hidden layer."""
    combine: Literal["concatenated", "averaged"] = "concatenated"


class WindowTagger(NeuralTagger):
    """Feed-forward network over a window of words."""

    approach: ClassVar[str] = "window"
    Config = WindowTaggerConfig
    config: WindowTaggerConfig

    def make_reader(self, width: int) -> int:
        """See `NeuralTagger.make_reader`."""
        parts = 2 * self.config.window + 1 if self.config.combine == "concatenated" else 1 + (self.config.window > 0)
        self.outside = nn.Parameter(torch.randn(width) * 0.1)  # (D,)
        self.hidden = nn.Linear(parts * width, self.config.width)
        return self.config.width

    def read(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """See `NeuralTagger.read`."""
        m, T = self.config.window, x.shape[1]
        inside = (torch.arange(T, device=x.device) < lengths[:, None])[..., None]  # (B, T, 1)
        x = torch.where(inside, x, self.outside)
        edge = self.outside.expand(len(x), m, -1)  # (B, m, D)
        x = torch.cat([edge, x, edge], dim=1)  # (B, T + 2m, D)
        parts = [x[:, offset : offset + T] for offset in range(2 * m + 1)]  # x_{t−m} … x_{t+m}
        if self.config.combine == "averaged" and m:
            own = parts.pop(m)
            parts = [own, torch.stack(parts).mean(dim=0)]
        return F.hardtanh(self.hidden(torch.cat(parts, dim=2)))  # (B, T, H)
