"""Language models in linear time: minGRU (Feng et al. 2024) and Mamba (Gu & Dao 2023).

    x ← x + Mix(norm(x)),   x ← x + FFN(norm(x))          the second where `feed_forward` is not 0 (Mamba has none)

Training reads all steps at once, by a scan; writing reads one step after another, and what it remembers of the text has
the same size whatever was read (`nn.linear_time`). Norms are RMS norms (Zhang & Sennrich 2019).

Differences from the papers: Feng et al. scan in logarithms and therefore keep h̃ positive; here it has any sign. Mamba
is as in the paper, tested equal to `transformers`; its scan is made of plain operations, which keep all T states of
every layer for the backward pass.

Shape legend: B rows, T tokens, D width, H channels, L layers.
"""

from typing import ClassVar, Literal, cast

import torch
from pydantic import Field
from torch import nn

from langladder.ground import schema
from langladder.models.language.neural import NeuralConfig, NeuralLanguageModel
from langladder.nn.initialisation import word_embedding
from langladder.nn.linear_time import MinGRU, MixerState, SelectiveScan
from langladder.nn.output_choice import make_output
from langladder.nn.transformer_layers import FeedForward

NORM_EPS = 1e-5


class LinearTimeConfig(NeuralConfig):
    """Settings of `LinearTimeLM`."""

    mixer: Literal["min_gru", "mamba"] = "min_gru"
    width: int = Field(default=128, ge=2, le=8192)  # D, also of the embedding
    layers: int = Field(default=3, ge=1, le=64)
    expand: int = Field(default=2, ge=1, le=16)  # H = expand · D
    kernel: int = Field(default=4, ge=2, le=64)  # of the convolution before the recurrence
    feed_forward: int = Field(default=0, ge=0, le=16)  # inner width in multiples of D; 0: no such sublayer
    states: int = Field(default=16, ge=1, le=256)  # Mamba: N of each channel
    longest: int = Field(default=1, ge=1, le=65_536)  # minGRU: units begin by remembering for up to so many steps
    dropout: float = Field(default=0.0, ge=0, lt=1)
    tie_weights: bool = True


class Block(nn.Module):
    """One layer: the mixer, and a feed-forward network."""

    def __init__(self, config: LinearTimeConfig) -> None:
        super().__init__()
        D, H = config.width, config.expand * config.width
        self.norm = nn.RMSNorm(D, NORM_EPS)
        self.mixer: MinGRU | SelectiveScan
        if config.mixer == "min_gru":
            self.mixer = MinGRU(width=D, channels=H, kernel=config.kernel, longest=config.longest)
        else:
            self.mixer = SelectiveScan(width=D, channels=H, kernel=config.kernel, states=config.states)
        inner = config.feed_forward * D
        self.feed = nn.Sequential(nn.RMSNorm(D, NORM_EPS), FeedForward(D, inner, config.dropout)) if inner else None
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: torch.Tensor, state: MixerState) -> tuple[torch.Tensor, MixerState]:
        """x (B, T, D), state → (B, T, D), the state after it."""
        mixed, state = self.mixer(self.norm(x), state)
        x = x + self.dropout(mixed)
        return (x if self.feed is None else x + self.dropout(self.feed(x))), state


class LinearTimeLM(NeuralLanguageModel):
    """Embedding → blocks → norm → softmax, or another output layer."""

    approach = "recurrent"
    Config: ClassVar[type[schema.Config]] = LinearTimeConfig
    config: LinearTimeConfig

    def __init__(self, config: LinearTimeConfig, vocab_size: int) -> None:
        super().__init__(config, vocab_size)
        self.embedding = word_embedding(vocab_size, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.RMSNorm(config.width, NORM_EPS)
        self.dropout = nn.Dropout(config.dropout)
        _, self.head = make_output(config, width=config.width, embedding=self.embedding, bias=False)
        with torch.no_grad():  # as GPT-2 and Mamba: what is added to x begins smaller in deep stacks
            for block in self.blocks:
                cast("Block", block).mixer.output.weight.mul_(config.layers**-0.5)

    def forward(
        self, tokens: torch.Tensor, state: tuple[torch.Tensor, ...] | None = None
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        """See `NeuralLanguageModel.forward`; the state is two tensors of each layer, see `nn.linear_time`."""
        x = self.dropout(self.embedding(tokens))  # (B, T, D)
        after: list[torch.Tensor] = []
        for number, block in enumerate(self.blocks):
            if state is None:
                past, h = (x.new_zeros(len(x), *size) for size in cast("Block", block).mixer.sizes)
            else:
                past, h = state[2 * number : 2 * number + 2]
            x, kept = block(x, (past, h))
            after += kept
        return self.dropout(self.norm(x)), tuple(after)

    def products(self, length: int) -> float:
        """See `Network.products`: the matrices, and Mamba's h_t C_t."""
        read = self.config.layers * self.config.expand * self.config.width * self.config.states
        return super().products(length) + length * (read if self.config.mixer == "mamba" else 0)
