"""Recurrent language models: Elman RNN, GRU, LSTM, peephole LSTM (Mikolov et al. 2010; Zaremba et al. 2014).

    h_t = cell(E w_t, h_{t−1}),   P(w_{t+1} | w_1 … w_t) = softmax(W h_t + b)

An n-gram reads a fixed window; a state can hold anything that was read, and gates (GRU, LSTM) keep it over many words.
The state is carried through the whole text. Dropout is Zaremba's: on the embeddings, between the layers and before the
output, never on the recurrent connection. Optional regularisation of the recurrence (Gal & Ghahramani 2016, as in
Merity et al. 2018): one dropout mask for all steps (`locked`), dropout of whole words, and dropout of entries of the
recurrent matrix. With tied weights (Press & Wolf 2017; Inan et al. 2017), the output layer is the embedding table, and
a projection connects different widths. Fused layers are used if they exist, see `nn.recurrent`.

A bidirectional network cannot be a language model: its state at t has already read w_{t+1}, the word to predict.

Shape legend: B rows, T tokens, D embedding, H width, L layers.
"""

from typing import ClassVar, Self

import torch
from pydantic import Field, model_validator
from torch import nn

from langladder.ground import schema
from langladder.models.language.neural import NeuralConfig, NeuralLanguageModel
from langladder.nn.dropout import LockedDropout, embed_with_word_dropout
from langladder.nn.initialisation import Initialisation, initialise
from langladder.nn.output_choice import make_output
from langladder.nn.recurrent import Cell, RecurrentStack, RecurrentState, noisy


class RecurrentConfig(NeuralConfig):
    """Settings of `RecurrentLM`."""

    cell: Cell = "lstm"
    reset_after: bool = True  # GRU: true is torch's form (fused), false that of Cho et al.
    layer_norm: bool = False  # inside the cell (Ba et al. 2016); needs a loop, several times slower
    width: int = Field(default=256, ge=1, le=8192)
    embedding_dim: int = Field(default=256, ge=1, le=8192)
    layers: int = Field(default=1, ge=1, le=4)
    dropout: float = Field(default=0.0, ge=0, lt=1)  # on embeddings, between layers, before the output
    input_dropout: float | None = Field(default=None, ge=0, lt=1)  # on embeddings; null: same as dropout
    locked: bool = False  # one dropout mask for all steps of a batch
    word_dropout: float = Field(default=0.0, ge=0, lt=1)  # share of the vocabulary dropped from the input
    weight_drop: float = Field(default=0.0, ge=0, lt=1)  # share of the recurrent matrix's entries dropped
    weight_noise: float = Field(default=0.0, ge=0)  # standard deviation, added to W and U in training (Graves 2011)
    recurrent_dropout: float = Field(default=0.0, ge=0, lt=1)  # on h, one mask for all steps; trains in a loop
    input_noise: float = Field(default=0.0, ge=0)  # standard deviation, added to the embeddings in training
    learn_start: bool = False  # the state before the first word is trained; false: zeros
    input_init: Initialisation = "xavier"
    recurrent_init: Initialisation = "orthogonal"
    forget_bias: float = 1.0  # initial bias of an LSTM's forget gate is 1
    tie_weights: bool = True
    bidirectional: bool = False

    @model_validator(mode="after")
    def _refuse_bidirectional(self) -> Self:
        if self.bidirectional:
            raise ValueError(
                "bidirectional=true: a language model predicts the next word, and a backward reading has already seen "
                "it; set bidirectional to false (encoders and classifiers may be bidirectional)"
            )
        return self

    @model_validator(mode="after")
    def _reset_after_is_the_grus(self) -> Self:
        if not self.reset_after and self.cell != "gru":
            raise ValueError(f"reset_after=false with cell={self.cell}: only the GRU has a reset gate; leave it out")
        return self


class RecurrentLM(NeuralLanguageModel):
    """Embedding → recurrent layers → softmax, or another output layer."""

    approach = "recurrent"
    Config: ClassVar[type[schema.Config]] = RecurrentConfig
    state_rows = 1  # (L, B, H) each

    def __init__(self, config: RecurrentConfig, vocab_size: int) -> None:
        super().__init__(config, vocab_size)
        self.embedding = nn.Embedding(vocab_size, config.embedding_dim)
        self.cell = RecurrentStack(
            config.cell,
            input_width=config.embedding_dim,
            width=config.width,
            layers=config.layers,
            reset_after=config.reset_after,
            layer_norm=config.layer_norm,
            dropout=config.dropout,
            locked=config.locked,
            weight_drop=config.weight_drop,
            weight_noise=config.weight_noise,
            recurrent_dropout=config.recurrent_dropout,
            learn_start=config.learn_start,
        )
        drop = LockedDropout if config.locked else nn.Dropout
        self.input_dropout = drop(config.dropout if config.input_dropout is None else config.input_dropout)
        self.dropout, self.word_dropout = drop(config.dropout), config.word_dropout
        self.input_noise = config.input_noise
        self.bridge, self.head = make_output(config, width=config.width, embedding=self.embedding)
        self._initialise(config)

    def forward(self, tokens: torch.Tensor, state: RecurrentState | None = None) -> tuple[torch.Tensor, RecurrentState]:
        """See `NeuralLanguageModel.forward`."""
        x = embed_with_word_dropout(self.embedding, tokens, self.word_dropout)  # (B, T, D)
        x = self.input_dropout(noisy(x, self.input_noise if self.training else 0.0))
        hidden, last = self.cell(x, state)  # (B, T, H)
        return self.dropout(self.bridge(hidden)), last  # (B, T, D or H)

    def _initialise(self, config: RecurrentConfig) -> None:
        """Initialise: small embeddings, one matrix per gate, zero biases except the LSTM's forget gate's."""
        nn.init.normal_(self.embedding.weight, std=config.embedding_dim**-0.5)
        for layer in self.cell.layers:
            W, U, b = layer.matrices()  # type: ignore[operator]
            initialise(W, config.input_init, self.cell.gates)
            initialise(U, config.recurrent_init, self.cell.gates)
            for name, parameter in layer.named_parameters():
                if "bias" in name:  # both biases of a fused layer
                    nn.init.zeros_(parameter)
            if self.cell.gates == 4:
                b.data[config.width : 2 * config.width] = config.forget_bias  # rows of the forget gate
