"""Recurrent tagger: a state at every word, and a tag from each state (n–n, synchronous).

    one direction     h_t = f(x_t, h_{t−1})          Elman 1990, GRU, LSTM: a tag depends on the previous words
    two directions    h_t = [→h_t ; ←h_t]            Schuster & Paliwal 1997; BiLSTM: Graves & Schmidhuber 2005
    output: crf       BiLSTM-CRF                     Huang et al. 2015; with letters Lample et al. 2016, Ma & Hovy 2016

Layers are torch's fused ones, over rows of similar length; for their equations see `nn.cells`.

Shape legend: B sentences, T words, D input width, H width (both directions together).
"""

from typing import ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import nn

from langladder.models.tagging.neural_tagger import NeuralTagger, NeuralTaggerConfig
from langladder.nn.initialisation import begin_by_remembering
from langladder.nn.recurrent import read_padded

CELLS: dict[str, type[nn.RNN | nn.GRU | nn.LSTM]] = {"elman": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


class RecurrentTaggerConfig(NeuralTaggerConfig):
    """Settings of `RecurrentTagger`."""

    cell: Literal["elman", "gru", "lstm"] = "lstm"
    width: int = Field(default=200, ge=1, le=8192)
    """H, the width of the states."""
    layers: int = Field(default=1, ge=1, le=8)
    bidirectional: bool = True
    layer_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Dropout between the layers."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.bidirectional and self.width % 2:
            raise ValueError(
                f"width={self.width} is odd; it must be even, because each of two directions has half of it"
            )
        return self


class RecurrentTagger(NeuralTagger):
    """Elman, GRU or LSTM tagger, in one direction or two."""

    approach: ClassVar[str] = "recurrent"
    Config = RecurrentTaggerConfig
    config: RecurrentTaggerConfig

    def make_reader(self, width: int) -> int:
        """See `NeuralTagger.make_reader`."""
        config = self.config
        self.rnn = CELLS[config.cell](
            width,
            config.width // (2 if config.bidirectional else 1),
            config.layers,
            batch_first=True,
            bidirectional=config.bidirectional,
            dropout=config.layer_dropout if config.layers > 1 else 0.0,
        )
        begin_by_remembering(self.rnn)
        return config.width

    def read(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """See `NeuralTagger.read`."""
        h, _ = read_padded(self.rnn, x, lengths)  # (B, T, H)
        return h
