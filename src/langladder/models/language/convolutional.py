"""Gated convolutional language model (Dauphin et al. 2017): a stack of causal convolutions instead of a recurrence.

    h_l(X) = (X ∗ W + b) ⊗ σ(X ∗ V + c)                 the gate scales the output; the path X ∗ W is linear,
                                                        so that gradients do not shrink on it

A convolution of width k sees a position and the k − 1 previous ones, so L layers see L (k − 1) + 1 tokens. Each layer
is a residual block. The input before a text is zeros; with carried state, it is the previous text. So a text that is
read in pieces gets the same scores as the whole text.

Differences from the paper: all layers have the same width (no bottlenecks), and the loss includes positions at the
window's start, because the carried state has their past.

Shape legend: B rows, T tokens, D embedding, C channels, k width of the convolution, L layers.
"""

import math
from typing import ClassVar

import torch
from pydantic import Field
from torch import nn

from langladder.ground import schema
from langladder.models.language.neural import NeuralConfig, NeuralLanguageModel
from langladder.nn.output_choice import make_output
from langladder.nn.text_convolution import GatedConvolution


class ConvolutionalLMConfig(NeuralConfig):
    """Settings of `ConvolutionalLM`."""

    width: int = Field(default=256, ge=1, le=8192)  # C
    embedding_dim: int = Field(default=256, ge=1, le=8192)  # D
    layers: int = Field(default=4, ge=1, le=64)
    kernel: int = Field(default=4, ge=2, le=64)  # k
    dropout: float = Field(default=0.0, ge=0, lt=1)
    weight_norm: bool = False  # Salimans & Kingma 2016: separate direction and length of each filter
    tie_weights: bool = True


class GatedBlock(GatedConvolution):
    """One causal gated convolution with its residual connection."""

    def __init__(self, config: ConvolutionalLMConfig) -> None:
        k, C = config.kernel, config.width
        super().__init__(
            width=C, kernel=k, dropout=config.dropout, std=1 / math.sqrt(k * C), normalised=config.weight_norm
        )

    def read_on(self, x: torch.Tensor, past: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """x (B, C, T), the k − 1 inputs before it (B, C, k − 1) → (B, C, T), the last k − 1 inputs."""
        whole = torch.cat([past.to(x.dtype), x], dim=2)  # (B, C, k − 1 + T)
        return x + self(whole), whole[..., whole.shape[2] - past.shape[2] :]


class ConvolutionalLM(NeuralLanguageModel):
    """Embedding → gated convolutions → softmax, or another output layer."""

    approach = "convolutional"
    Config: ClassVar[type[schema.Config]] = ConvolutionalLMConfig
    config: ConvolutionalLMConfig

    def __init__(self, config: ConvolutionalLMConfig, vocab_size: int) -> None:
        super().__init__(config, vocab_size)
        self.embedding = nn.Embedding(vocab_size, config.embedding_dim)
        same = config.width == config.embedding_dim
        self.widen: nn.Module = nn.Identity() if same else nn.Linear(config.embedding_dim, config.width)
        self.blocks = nn.ModuleList(GatedBlock(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        self.dropout = nn.Dropout(config.dropout)
        self.bridge, self.head = make_output(config, width=config.width, embedding=self.embedding)
        nn.init.normal_(self.embedding.weight, std=config.embedding_dim**-0.5)

    @property
    def reach(self) -> int:
        """Number of tokens that a position sees, including itself: L (k − 1) + 1."""
        return self.config.layers * (self.config.kernel - 1) + 1

    def forward(
        self, tokens: torch.Tensor, state: tuple[torch.Tensor, ...] | None = None
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        """See `NeuralLanguageModel.forward`; the state is each layer's last inputs, L times (B, C, k − 1)."""
        x = self.widen(self.dropout(self.embedding(tokens))).transpose(1, 2)  # (B, C, T)
        if state is None:
            state = (x.new_zeros(len(x), self.config.width, self.config.kernel - 1),) * len(self.blocks)
        after = []
        for block, past in zip(self.blocks, state, strict=True):
            x, last = block.read_on(x, past)  # type: ignore[operator]
            after.append(last)
        hidden = self.norm(x.transpose(1, 2))  # (B, T, C)
        return self.dropout(self.bridge(hidden)), tuple(after)
