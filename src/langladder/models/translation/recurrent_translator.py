"""The base of recurrent translators, with or without attention: embeddings, encoder, decoder, output layer, settings.

The parts must be built in this order, because it determines their initial random numbers.

Shape legend: B rows, S source positions, E embedding, H width, L layers, V vocabulary.
"""

from typing import Literal, Self, cast

import torch
from pydantic import Field, model_validator
from torch import nn

from langladder.ground import schema
from langladder.models.translation.translator import Translator
from langladder.nn.initialisation import begin_by_remembering, word_embedding
from langladder.nn.output import SoftmaxOutput
from langladder.nn.recurrent import RecurrentEncoder, RecurrentStack, RecurrentState


class RecurrentTranslatorConfig(schema.Config):
    """Settings of every `RecurrentTranslator`."""

    cell: Literal["lstm", "gru"] = "lstm"
    width: int = Field(default=256, ge=1, le=8192)
    """H, of each layer's state and of the annotations; two directions have half of it each."""
    embedding_dim: int = Field(default=256, ge=1, le=8192)
    """E, the width of the embeddings."""
    layers: int = Field(default=1, ge=1, le=4)
    """L, of encoder and decoder each."""
    bidirectional: bool = False
    dropout: float = Field(default=0.2, ge=0, lt=1)
    tied: bool = True
    """Whether the output matrix is the target embedding."""

    @model_validator(mode="after")
    def _halves_are_whole(self) -> Self:
        if self.bidirectional and self.width % 2:
            raise ValueError(f"width={self.width} is odd, and bidirectional=true gives each direction half of it")
        return self


class RecurrentTranslator(Translator):
    """Recurrent encoder and decoder. A subclass adds the modules between them and the output, and completes the
    construction.

    Args:
        fed: width of the additional input of each decoder step, besides the word.
    """

    config: RecurrentTranslatorConfig

    def __init__(
        self, config: RecurrentTranslatorConfig, source_vocab_size: int, target_vocab_size: int, *, fed: int
    ) -> None:
        super().__init__(config, source_vocab_size, target_vocab_size)
        E, H, L = config.embedding_dim, config.width, config.layers
        self.source_embedding = word_embedding(source_vocab_size, E)
        self.target_embedding = word_embedding(target_vocab_size, E)
        self.encoder = RecurrentEncoder(
            config.cell,
            input_width=E,
            width=H,
            layers=L,
            bidirectional=config.bidirectional,
            dropout=config.dropout,
        )
        self.decoder = RecurrentStack(config.cell, input_width=E + fed, width=H, layers=L, dropout=config.dropout)

    def build_head(self, width: int) -> None:
        """Create the output layer, for this input width, at the end of a subclass's `__init__`."""
        tied = cast(nn.Parameter, self.target_embedding.weight) if self.config.tied else None
        self.head = SoftmaxOutput(width=width, vocab_size=self.target_vocab_size, tied=tied)
        self.dropout = nn.Dropout(self.config.dropout)
        begin_by_remembering(self.encoder, self.decoder)


def rows_first(parts: RecurrentState) -> dict[str, torch.Tensor]:
    """A recurrent state of (L, B, H) tensors in the layout of decoding, with rows first: (B, L, H), float32."""
    return {name: part.transpose(0, 1).float() for name, part in zip(("h", "c"), parts, strict=False)}


def layers_first(state: dict[str, torch.Tensor]) -> RecurrentState:
    """The inverse of `rows_first`."""
    return tuple(state[name].transpose(0, 1).contiguous() for name in ("h", "c") if name in state)
