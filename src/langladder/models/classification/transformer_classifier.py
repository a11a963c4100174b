"""A Transformer encoder as a classifier (Vaswani et al. 2017, section 3; `<cls>` as in Devlin et al. 2019).

    x_0 = a learned vector (`<cls>`),   x_t = √D e_t + P_t
    N layers of self-attention and feed-forward network (`nn.transformer_layers`) r = the final state at x_0, or the
    mean over the words

It is trained from scratch, typically on texts of twenty words and some thousand labels. No position attends to padding.

Shape legend: B rows, T positions, D width.
"""

from typing import ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import nn

from langladder.ground import schema
from langladder.models.classification.neural_classifier import Reading
from langladder.models.classification.reading_network import ReadingConfig, ReadingNetwork
from langladder.models.network import check_width
from langladder.nn.dropout import embed_with_word_dropout
from langladder.nn.packing import Layout
from langladder.nn.pooling import mean_pool
from langladder.nn.token_embedding import sinusoidal
from langladder.nn.transformer_layers import encoder_layers, last_norm


class TransformerClassifierConfig(ReadingConfig):
    """Settings of `TransformerClassifier`; `embedding_dim` is D everywhere."""

    embedding_dim: int = Field(default=128, ge=2, le=8192)
    layers: int = Field(default=2, ge=1, le=24)
    heads: int = Field(default=4, ge=1, le=128)
    expansion: int = Field(default=4, ge=1, le=16)  # width of the feed-forward networks
    layer_dropout: float = Field(default=0.1, ge=0, lt=1)  # dropout inside the layers
    norm: Literal["pre", "post"] = "pre"
    pooling: Literal["cls", "mean"] = "cls"
    scaled: bool = True  # words times √D; false for trained vectors, whose entries are not so small
    positions: Literal["sinusoidal", "none"] = "sinusoidal"

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_width(self.embedding_dim, self.heads, self.positions)
        return self


class TransformerClassifier(ReadingNetwork):
    """Embedding + positions → encoder layers → first position or mean → output."""

    approach = "Transformer"
    Config: ClassVar[type[schema.Config]] = TransformerClassifierConfig
    config: TransformerClassifierConfig

    def __init__(self, config: TransformerClassifierConfig, vocab_size: int, number_of_labels: int) -> None:
        super().__init__(config, vocab_size, number_of_labels)
        D = config.embedding_dim
        self.scale = D**0.5 if config.scaled else 1.0
        self.first = nn.Parameter(torch.empty(D).normal_()) if config.pooling == "cls" else None  # x_0
        inner, dropout = config.expansion * D, config.layer_dropout
        self.layers = encoder_layers(
            config.layers, width=D, heads=config.heads, inner=inner, dropout=dropout, norm=config.norm
        )
        self.norm = last_norm(D, config.norm)
        self.position_dropout = nn.Dropout(config.layer_dropout)
        self.finish(D)

    def embed(self, batch: Reading) -> torch.Tensor:
        """√D e_t + P_t, after the first vector if there is one: (B, T (+ 1), D)."""
        x = self.scale * embed_with_word_dropout(self.embedding, batch.tokens, self.config.word_dropout)
        x = self.input_dropout(x)
        if self.first is not None:
            x = torch.cat([self.first.expand(len(x), 1, -1), x], dim=1)
        if self.config.positions == "sinusoidal":
            x = x + sinusoidal(x.shape[1], x.shape[2]).to(x)
        embedded: torch.Tensor = self.position_dropout(x)
        return embedded

    def read(self, batch: Reading) -> torch.Tensor:
        """See `ReadingNetwork.read`."""
        x, mask = self.embed(batch), batch.mask
        if self.first is not None:
            mask = torch.cat([mask.new_ones(len(mask), 1), mask], dim=1)  # (B, T + 1)
        layout = Layout.of(mask)
        x = layout.pack(x)  # (N, D)
        for layer in self.layers:
            x = layer(x, layout)
        x = layout.spread(self.norm(x))
        return mean_pool(x, mask) if self.first is None else x[:, 0]
