"""Self-attention tagger: a Transformer encoder, trained from scratch, and a tag from each of its states.

    x⁰_t = √D W x_t + P_t                  the word's input (`neural_tagger`) at D, and its position
    xⁿ = layer(xⁿ⁻¹), n = 1 … N            self-attention, feed-forward network (Vaswani et al. 2017, section 3)
    h_t = LN(xᴺ_t)                         post-norm: xᴺ_t

A recurrent tagger reaches a distant word through all states between; here any two words are one step apart, and only
the positions show their order. Tan et al. (2018) label semantic roles so. Their ten layers are post-norm, with the
nonlinear sublayer before the attention; the layers here are those of the translator (`nn.transformer_layers`). The
product of two sinusoidal positions depends on their distance and not on its direction, which costs F₁ on names (Yan et
al. 2019).

Shape legend: B sentences, T words, M real words of all sentences, I input width, D width.
"""

from typing import ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import nn

from langladder.models.network import check_width
from langladder.models.tagging.neural_tagger import NeuralTagger, NeuralTaggerConfig
from langladder.nn import packing
from langladder.nn.packing import Layout
from langladder.nn.token_embedding import sinusoidal
from langladder.nn.transformer_layers import encoder_layers, last_norm


class SelfAttentionTaggerConfig(NeuralTaggerConfig):
    """Settings of `SelfAttentionTagger`."""

    width: int = Field(default=128, ge=2, le=8192)
    """D, the width of the states."""
    layers: int = Field(default=2, ge=1, le=24)
    heads: int = Field(default=4, ge=1, le=128)
    expansion: int = Field(default=4, ge=1, le=16)
    """Width of the feed-forward networks, as a multiple of D."""
    layer_dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout inside the layers."""
    norm: Literal["pre", "post"] = "pre"
    positions: Literal["sinusoidal", "none"] = "sinusoidal"

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_width(self.width, self.heads, self.positions)
        return self


class SelfAttentionTagger(NeuralTagger):
    """Transformer encoder over the words of a sentence."""

    approach: ClassVar[str] = "Transformer"
    Config = SelfAttentionTaggerConfig
    config: SelfAttentionTaggerConfig

    def make_reader(self, width: int) -> int:
        """See `NeuralTagger.make_reader`."""
        config, D = self.config, self.config.width
        self.enter = nn.Linear(width, D)
        inner, dropout = config.expansion * D, config.layer_dropout
        self.layers = encoder_layers(
            config.layers, width=D, heads=config.heads, inner=inner, dropout=dropout, norm=config.norm
        )
        self.norm = last_norm(D, config.norm)
        return D

    def read(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """See `NeuralTagger.read`."""
        T, D = x.shape[1], self.config.width
        # x⁰_t = √D W x_t + P_t
        x = D**0.5 * self.enter(x)  # (B, T, D)
        if self.config.positions == "sinusoidal":
            x = x + sinusoidal(T, D).to(x)
        inside = torch.arange(T, device=x.device) < lengths.to(x.device)[:, None]  # (B, T)
        layout = Layout.of(inside, packed=not packing.fixed_shapes(x))
        x = layout.pack(x)  # (M, D)
        for layer in self.layers:
            x = layer(x, layout)
        return layout.spread(self.norm(x))  # (B, T, D)
