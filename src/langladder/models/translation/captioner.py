"""Captioner: a decoder conditioned on a feature vector, one-to-many (Vinyals et al. 2015, "Show and Tell").

    x ∈ {0, 1}^F          the facts of the scene
    v = tanh(W_v x + b_v)                                                    from a CNN in Vinyals et al.
    s_0 = (W_h v + b_h, W_c v + b_c)                                         `condition: initial` (their equation 10)
    s_t = LSTM([E y_{t−1} ; v], s_{t−1})                                     `condition: each_step` (Mao et al. 2015)
    P(y_t | y_<t, x) = softmax(W s_t + b)

`both` does both. Vinyals et al. give the vector to the LSTM once, like a word before the first, and found overfitting
with images as input at each step. A vector of clean facts has no noise to overfit, and a decoder does not have to
remember an input that it gets at each step.

A scene is given as the ids of its true facts, which are the ones of the vector. So a captioner has the interface of
translators, with their training, beam search, scoring and saving. The order of the facts is lost in the sum, as it
should be.

Shape legend: B rows, S facts of a row, F entries of the vector, T target positions, E embedding, H width, L layers, V
words.
"""

from typing import ClassVar, Literal, Self, cast

import torch
from pydantic import Field, model_validator
from torch import nn

from langladder.ground import schema
from langladder.models.translation.recurrent_translator import layers_first, rows_first
from langladder.models.translation.translator import State, Translator
from langladder.nn.initialisation import begin_by_remembering, word_embedding
from langladder.nn.output import SoftmaxOutput
from langladder.nn.recurrent import GATES, RecurrentStack
from langladder.text.tokenize.specials import NAMES, PAD

FIRST_FACT = len(NAMES)
"""The id of the vector's first entry; lower ids are special tokens, not facts."""


FACT_STD = 0.4
"""Initial deviation of W_v. With it, a few ones among hundreds of zeros give v of moderate size, unlike torch's
default."""


class CaptionerConfig(schema.Config):
    """Settings of `Captioner`."""

    cell: Literal["lstm", "gru"] = "lstm"
    width: int = Field(default=128, ge=1, le=8192)
    """H, the width of the states."""
    embedding_dim: int = Field(default=128, ge=1, le=8192)
    """E, the width of the embeddings."""
    layers: int = Field(default=1, ge=1, le=4)
    """L, the number of layers."""
    condition: Literal["initial", "each_step", "both"] = "both"
    """The use of the vector: in the first state, in every step's input, or both."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    tied: bool = True
    """Whether the output matrix is the word embedding."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.tied and self.width != self.embedding_dim:
            raise ValueError(
                f"tied=true: the state (width={self.width}) must be as wide as the word embedding "
                f"(embedding_dim={self.embedding_dim}); make them equal, or set tied to false"
            )
        return self


class Captioner(Translator):
    """Feature vector → recurrent decoder. Its "source vocabulary" is the vector's entries, from the id `FIRST_FACT`
    on."""

    approach = "recurrent"
    Config: ClassVar[type[schema.Config]] = CaptionerConfig
    config: CaptionerConfig

    def __init__(self, config: CaptionerConfig, source_vocab_size: int, target_vocab_size: int) -> None:
        super().__init__(config, source_vocab_size, target_vocab_size)
        E, H, L = config.embedding_dim, config.width, config.layers
        self.describe = nn.Linear(source_vocab_size - FIRST_FACT, H)
        nn.init.normal_(self.describe.weight, std=FACT_STD)
        self.embedding = word_embedding(target_vocab_size, E)
        self.begin = nn.ModuleList()
        if config.condition != "each_step":
            self.begin.extend(nn.Linear(H, L * H) for _ in range(GATES[config.cell] // 4 + 1))
        more = 0 if config.condition == "initial" else H
        self.decoder = RecurrentStack(config.cell, input_width=E + more, width=H, layers=L, dropout=config.dropout)
        tied = cast(nn.Parameter, self.embedding.weight) if config.tied else None
        self.head = SoftmaxOutput(width=H, vocab_size=target_vocab_size, tied=tied)
        self.dropout = nn.Dropout(config.dropout)
        begin_by_remembering(self.decoder)

    def vector(self, facts: torch.Tensor) -> torch.Tensor:
        """Ids of true facts (B, S) → x (B, F): 1 at the facts; special tokens are ignored."""
        x = torch.zeros(len(facts), self.source_vocab_size, device=facts.device)
        return x.scatter_(1, facts, 1.0)[:, FIRST_FACT:]

    def condition(self, x: torch.Tensor) -> State:
        """x (B, F), any numbers → the state before y_1."""
        H, L = self.config.width, self.config.layers
        # v = tanh(W_v x + b_v)
        v = self.dropout(torch.tanh(self.describe(x)))  # (B, H)
        # s_0 = (W_h v + b_h, W_c v + b_c)
        first = [begin(v).view(-1, L, H).transpose(0, 1).float() for begin in self.begin]  # (L, B, H) each
        if not first:
            first = [v.new_zeros(L, len(x), H) for _ in range(self.decoder.states)]
        source = {} if self.config.condition == "initial" else {"vector": v.float()}
        return State(source, rows_first(tuple(first)))

    def encode(self, source: torch.Tensor, mask: torch.Tensor) -> State:  # noqa: ARG002 - PAD is not a fact
        """See `Translator.encode`."""
        return self.condition(self.vector(source))

    def step(self, prefix: torch.Tensor, state: State) -> tuple[torch.Tensor, State, None]:
        """See `Translator.step`. Reads the last column of the prefix."""
        hidden, after = self._decode(prefix[:, -1:], state)  # (B, 1, H)
        return torch.log_softmax(self.head(hidden[:, 0]).float(), dim=-1), after, None

    def hidden(self, source: torch.Tensor, target_in: torch.Tensor) -> torch.Tensor:
        """See `Translator.hidden`. All steps run in one call of the fused layers."""
        return self._decode(target_in, self.encode(source, source != PAD))[0]

    def _decode(self, tokens: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        """Known tokens (B, T) from a state → hidden (B, T, H), the state after them."""
        y = self.dropout(self.embedding(tokens))  # (B, T, E)
        vectors = [part.unsqueeze(1).expand(-1, y.shape[1], -1) for part in state.source.values()]  # (B, T, H)
        # s_t = LSTM([E y_{t−1} ; v], s_{t−1})
        s, last = self.decoder(torch.cat([y, *vectors], dim=-1), layers_first(state.decoder))  # (B, T, H)
        return self.dropout(s), State(state.source, rows_first(last))
