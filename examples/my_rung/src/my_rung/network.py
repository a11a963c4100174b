"""A language model that remembers a mean of all words so far, in which older words fade.

    h_t = a ⊙ h_{t−1} + (1 − a) ⊙ E w_t,   a = σ(α),   P(w_{t+1} | w_1 … w_t) = softmax(E (h_t + f(h_t)) + b)

Each dimension has a rate α of its own, which is learnt: some remember a sentence, others a document. f is a layer with
ReLU. The output layer is the embedding table.

Shape legend: B rows, T tokens, D width.
"""

from typing import ClassVar

import torch
from pydantic import Field
from torch import nn

from langladder.ground import schema
from langladder.models.language.neural import NeuralLanguageModel
from langladder.nn.output import SoftmaxOutput


class DecayingMeanConfig(schema.Config):
    """Settings of `DecayingMean`: `model` of its file."""

    width: int = Field(default=128, ge=1, le=8192)
    dropout: float = Field(default=0.1, ge=0, lt=1)
    penalty: float = Field(default=0.0, ge=0, le=100)
    """Of the hidden states' squares, see `my_rung.task`."""


class DecayingMean(NeuralLanguageModel):
    """Embedding → decaying mean → a layer → softmax."""

    approach = "decaying mean"
    maker = "my_rung.task.make"  # the function that trains it; leave it out and langladder's own does
    Config: ClassVar[type[schema.Config]] = DecayingMeanConfig
    config: DecayingMeanConfig

    def __init__(self, config: DecayingMeanConfig, vocab_size: int) -> None:
        super().__init__(config, vocab_size)
        D = config.width
        self.embedding = nn.Embedding(vocab_size, D)
        self.rate = nn.Parameter(torch.linspace(-2.0, 4.0, D))  # α: memories of about 1 to 55 words
        self.layer = nn.Sequential(nn.Linear(D, D), nn.ReLU(), nn.Linear(D, D))
        self.dropout = nn.Dropout(config.dropout)
        self.head = SoftmaxOutput(width=D, vocab_size=vocab_size, tied=self.embedding.weight, bias=True)
        nn.init.normal_(self.embedding.weight, std=D**-0.5)

    def forward(
        self, tokens: torch.Tensor, state: tuple[torch.Tensor, ...] | None = None
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        """See `NeuralLanguageModel.forward`; the state is the last mean, (B, D)."""
        x = self.dropout(self.embedding(tokens))  # (B, T, D)
        a = torch.sigmoid(self.rate)  # (D,)
        mean = torch.zeros_like(x[:, 0]) if state is None else state[0]  # (B, D)
        means = []
        for word in x.unbind(dim=1):
            mean = a * mean + (1 - a) * word
            means.append(mean)
        hidden = torch.stack(means, dim=1)  # (B, T, D)
        return self.dropout(hidden + self.layer(hidden)), (mean,)
