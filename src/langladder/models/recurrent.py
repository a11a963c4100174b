"""Recurrent language models: Elman RNN, GRU and LSTM (Mikolov et al. 2010; Zaremba et al. 2014).

    h_t = cell(E w_t, h_{t−1}),   P(w_{t+1} | w_1 … w_t) = softmax(W h_t + b)

The state is carried through the whole text. Dropout is Zaremba's: on the embeddings, between the layers and before
the output, never on the recurrent connection. With tied weights (Press & Wolf 2017; Inan et al. 2017) the output
layer is the embedding table, and a projection bridges the widths where they differ. The fused torch layers train; the
equations they compute stand in `nn.cells` (the GRU is the `reset_after=True` form).

A bidirectional network cannot be a language model: its state at t has already read w_{t+1}, the word to predict.

Shape legend: B rows, T tokens, D embedding, H width, L layers.
"""

from typing import ClassVar, Literal

import torch
from pydantic import Field, model_validator
from torch import nn

from langladder import schema
from langladder.models.neural import NeuralLanguageModel
from langladder.nn.output import SoftmaxOutput

State = tuple[torch.Tensor, ...]  # (h,), or (h, c) for the LSTM, each (L, B, H)
CELLS: dict[str, type[nn.LSTM | nn.GRU | nn.RNN]] = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}


class RecurrentConfig(schema.Config):
    """Settings of `RecurrentLM`."""

    cell: Literal["lstm", "gru", "rnn"] = "lstm"
    width: int = Field(default=256, ge=1, le=8192)
    embedding_dim: int = Field(default=256, ge=1, le=8192)
    layers: int = Field(default=1, ge=1, le=4)
    dropout: float = Field(default=0.0, ge=0, lt=1)
    tie_weights: bool = True
    bidirectional: bool = False

    @model_validator(mode="after")
    def _refuse_bidirectional(self) -> "RecurrentConfig":
        if self.bidirectional:
            raise ValueError(
                "bidirectional=true: a language model predicts the next word, and a backward reading has already seen "
                "it; set bidirectional to false (encoders and classifiers may be bidirectional)"
            )
        return self


class RecurrentLM(NeuralLanguageModel):
    """Embedding → recurrent layers → softmax."""

    Config: ClassVar[type[schema.Config]] = RecurrentConfig

    def __init__(self, config: RecurrentConfig, vocab_size: int) -> None:
        super().__init__(config, vocab_size)
        self.embedding = nn.Embedding(vocab_size, config.embedding_dim)
        between = config.dropout if config.layers > 1 else 0.0
        self.cell = CELLS[config.cell](
            config.embedding_dim, config.width, num_layers=config.layers, dropout=between, batch_first=True
        )
        self.dropout = nn.Dropout(config.dropout)
        bridged = config.tie_weights and config.width != config.embedding_dim
        self.bridge = nn.Linear(config.width, config.embedding_dim) if bridged else nn.Identity()
        self.head = SoftmaxOutput(
            width=config.embedding_dim if config.tie_weights else config.width,
            vocab_size=vocab_size,
            tied=self.embedding.weight if config.tie_weights else None,
        )
        self._initialise(config)

    def forward(self, tokens: torch.Tensor, state: State | None = None) -> tuple[torch.Tensor, State]:
        """See `NeuralLanguageModel.forward`."""
        x = self.dropout(self.embedding(tokens))  # (B, T, D)
        given = state if state is None or len(state) > 1 else state[0]
        hidden, last = self.cell(x, given)  # (B, T, H)
        hidden = self.dropout(self.bridge(hidden))  # (B, T, D or H)
        return hidden, last if isinstance(last, tuple) else (last,)

    def _initialise(self, config: RecurrentConfig) -> None:
        """Small embeddings, Xavier input weights, orthogonal recurrent ones; an LSTM begins by remembering (f ≈ 1)."""
        nn.init.normal_(self.embedding.weight, std=config.embedding_dim**-0.5)
        for name, parameter in self.cell.named_parameters():
            if "weight_hh" in name:
                for gate in torch.split(parameter.data, config.width):
                    nn.init.orthogonal_(gate)
            elif "weight_ih" in name:
                for gate in torch.split(parameter.data, config.width):
                    nn.init.xavier_uniform_(gate)
            else:
                nn.init.zeros_(parameter)
                if config.cell == "lstm" and "bias_ih" in name:
                    parameter.data[config.width : 2 * config.width] = 1.0  # rows of the forget gate
