"""Neural probabilistic language model: the next word from the n − 1 previous words (Bengio et al. 2003).

    x = [C(w_{t−n+2}); … ; C(w_t)]                          the window's embeddings, concatenated
    P(w_{t+1} | w_{t−n+2} … w_t) = softmax(b + W x + U tanh(d + H x))

Words that are used alike get similar embeddings, so the network can predict after word sequences that it has never
seen. The direct connections W are optional. Since b + W x + U a = b + [U W] · [a; x], they correspond to an output
layer with input [a; x], so they work with every output layer (hierarchical softmax, sampling, …).

There are two simpler windows: the mean or the sum of the embeddings instead of their concatenation, which lose the
order. The window ends at the line's BOS: positions before it are zero vectors, and are not part of a mean.

The state is the last n − 2 tokens, so a text that is read in pieces gets the same scores as the whole text.

Shape legend: B rows, T tokens, n − 1 words of window, D embedding, H hidden.
"""

from typing import ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import nn

from langladder.ground import schema
from langladder.models.language.neural import NeuralConfig, NeuralLanguageModel
from langladder.nn.initialisation import Initialisation, initialise
from langladder.nn.output_choice import make_output
from langladder.text.tokenize.specials import BOS, PAD


class NNLMConfig(NeuralConfig):
    """Settings of `NNLM`."""

    window: int = Field(default=4, ge=1, le=1024)  # n − 1: previous words
    combine: Literal["concat", "mean", "sum"] = "concat"
    embedding_dim: int = Field(default=100, ge=1, le=8192)  # D
    width: int = Field(default=200, ge=1, le=8192)  # H
    direct: bool = False  # connections W from the embeddings to the output
    dropout: float = Field(default=0.0, ge=0, lt=1)  # on the window's embeddings and on the input of the output layer
    init: Initialisation = "xavier"

    @model_validator(mode="after")
    def _tied_reads_only_hidden(self) -> Self:
        if self.tie_weights and self.direct:
            raise ValueError(
                "tie_weights=true with direct=true: direct connections widen what the output reads beyond a word "
                "vector; set one of them to false"
            )
        return self


class NNLM(NeuralLanguageModel):
    """Window of embeddings → tanh → output layer."""

    approach = "feed-forward"
    Config: ClassVar[type[schema.Config]] = NNLMConfig
    config: NNLMConfig

    def __init__(self, config: NNLMConfig, vocab_size: int) -> None:
        super().__init__(config, vocab_size)
        self.embedding = nn.Embedding(vocab_size, config.embedding_dim)  # C
        read = config.embedding_dim * (config.window if config.combine == "concat" else 1)
        self.hidden = nn.Linear(read, config.width)  # H and d
        self.dropout = nn.Dropout(config.dropout)
        out = config.width + read if config.direct else config.width
        self.bridge, self.head = make_output(config, width=out, embedding=self.embedding)
        nn.init.normal_(self.embedding.weight, std=config.embedding_dim**-0.5)
        initialise(self.hidden.weight, config.init)
        nn.init.zeros_(self.hidden.bias)

    def forward(
        self, tokens: torch.Tensor, state: tuple[torch.Tensor, ...] | None = None
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        """See `NeuralLanguageModel.forward`; the state is (last tokens (B, n − 2),)."""
        before = self.config.window - 1
        past = tokens.new_full((len(tokens), before), PAD) if state is None else state[0]
        text = torch.cat([past, tokens], dim=1)  # (B, n − 2 + T)
        x = self.dropout(self._combine(text))  # (B, T, (n − 1) D), or (B, T, D)
        # a = tanh(d + H x)
        hidden = torch.tanh(self.hidden(x))  # (B, T, H)
        if self.config.direct:
            hidden = torch.cat([hidden, x], dim=-1)  # [a; x]
        return self.dropout(self.bridge(hidden)), (text[:, text.shape[1] - before :],)

    def _combine(self, text: torch.Tensor) -> torch.Tensor:
        """The window of every token except the first n − 2: (B, n − 2 + T) → (B, T, read)."""
        n = self.config.window
        line = (text == BOS).cumsum(dim=1)
        seen = (line.unfold(1, n, 1) == line[:, n - 1 :, None]) & (text != PAD).unfold(1, n, 1)  # (B, T, n − 1)
        # one look-up per token; the k-th word of all windows is the text shifted by k
        x = self.embedding(text)  # (B, n − 2 + T, D)
        T = text.shape[1] - n + 1
        words = [x[:, k : k + T] * seen[..., k, None] for k in range(n)]  # n − 1 times (B, T, D)
        if self.config.combine == "concat":
            return torch.cat(words, dim=-1)
        total = torch.stack(words).sum(dim=0)
        # v = (1 / m) Σ C(w), over the m existing words
        return total / seen.sum(dim=-1, keepdim=True).clamp(min=1) if self.config.combine == "mean" else total
