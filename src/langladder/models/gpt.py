"""GPT: a decoder-only Transformer with pre-norm (Radford et al. 2018, 2019; "GPT-2" in what follows).

    x⁰ = E w + P,   a = x + Attention(LN(x)),   x' = a + W₂ GELU(W₁ LN(a)),   P(next) = softmax(E LN(xᴺ))

As in GPT-2: layer norm before each sublayer and once at the end, GELU in its tanh form, the embedding table as output
layer, weights N(0, 0.02), and those that write to the residual path scaled by 1/√(2N), because 2N sublayers add up.
Positions are learned (GPT-2) or sinusoidal (Vaswani et al. 2017). Right-padding changes nothing: no real token sees it.

Shape legend: B rows, T tokens, D width, N layers.
"""

from typing import Any, ClassVar, Literal

import torch
from pydantic import Field, model_validator
from torch import nn

from langladder import schema
from langladder.models.neural import NeuralLanguageModel
from langladder.nn.output import SoftmaxOutput
from langladder.nn.positions import sinusoidal
from langladder.nn.self_attention import CausalSelfAttention

INITIAL_STD = 0.02


class GPTConfig(schema.Config):
    """Settings of `GPT`."""

    context: int = Field(default=128, ge=2, le=8192)
    width: int = Field(default=128, ge=2, le=16384)
    layers: int = Field(default=4, ge=1, le=128)
    heads: int = Field(default=4, ge=1, le=128)
    dropout: float = Field(default=0.0, ge=0, lt=1)
    positions: Literal["learned", "sinusoidal"] = "learned"
    tie_weights: bool = True

    @model_validator(mode="after")
    def _check(self) -> "GPTConfig":
        if self.width % self.heads:
            raise ValueError(
                f"width={self.width} is not divisible by heads={self.heads}: each head takes an equal part"
            )
        if self.positions == "sinusoidal" and self.width % 2:
            raise ValueError(f"width={self.width} is odd: sinusoidal positions come in pairs (sine, cosine)")
        return self


class Block(nn.Module):
    """One pre-norm layer: attention, then a feed-forward network of four times the width, each added to its input."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        D = config.width
        self.norm_attention, self.norm_feed = nn.LayerNorm(D), nn.LayerNorm(D)
        self.attention = CausalSelfAttention(width=D, heads=config.heads, dropout=config.dropout)
        self.expand, self.contract = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)
        self.activation = nn.GELU(approximate="tanh")
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, D) → (B, T, D)."""
        # a = x + Attention(LN(x))
        x = x + self.dropout(self.attention(self.norm_attention(x)))
        # x' = a + W₂ GELU(W₁ LN(a))
        inner = self.activation(self.expand(self.norm_feed(x)))  # (B, T, 4D)
        out: torch.Tensor = x + self.dropout(self.contract(inner))
        return out


class GPT(NeuralLanguageModel):
    """Token and position embeddings → N blocks → layer norm → softmax."""

    Config: ClassVar[type[schema.Config]] = GPTConfig
    position: torch.Tensor

    def __init__(self, config: GPTConfig, vocab_size: int) -> None:
        super().__init__(config, vocab_size)
        self.context = config.context
        self.embedding = nn.Embedding(vocab_size, config.width)
        if config.positions == "learned":
            self.position = nn.Parameter(torch.empty(config.context, config.width))
        else:
            self.register_buffer("position", sinusoidal(config.context, config.width), persistent=False)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        self.dropout = nn.Dropout(config.dropout)
        tied = self.embedding.weight if config.tie_weights else None
        self.head = SoftmaxOutput(width=config.width, vocab_size=vocab_size, tied=tied, bias=False)
        self._initialise(config)

    def forward(self, tokens: torch.Tensor, state: Any = None) -> tuple[torch.Tensor, None]:  # noqa: ARG002
        """See `NeuralLanguageModel.forward`; T must not exceed the context."""
        assert self.context is not None and tokens.shape[1] <= self.context, (tokens.shape, self.context)
        x = self.dropout(self.embedding(tokens) + self.position[: tokens.shape[1]])  # (B, T, D)
        for block in self.blocks:
            x = block(x)
        return self.norm(x), None

    def _initialise(self, config: GPTConfig) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=INITIAL_STD)
                nn.init.zeros_(module.bias)
        for module in self.modules():
            if isinstance(module, Block):
                for writer in (module.attention.output, module.contract):
                    nn.init.normal_(writer.weight, std=INITIAL_STD / (2 * config.layers) ** 0.5)
        nn.init.normal_(self.embedding.weight, std=INITIAL_STD)
        nn.init.normal_(self.head.weight, std=INITIAL_STD)
        if config.positions == "learned":
            # Half of GPT-2's token scale, as in its code: positions refine what the token says.
            nn.init.normal_(self.position, std=INITIAL_STD / 2)
