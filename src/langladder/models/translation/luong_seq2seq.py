"""Attention after the recurrence (Luong, Pham & Manning 2015): global or local, with or without input feeding.

    encoder    h_j, and every layer's last state, of stacked LSTMs
    decoder    s_t = LSTM([E y_{t−1} ; h̃_{t−1}], s_{t−1}),   s_0 = the encoder's last state (h̃ only with input feeding)
    attention  α_t = softmax_j(score(s_t, h_j)),   c_t = Σ_j α_tj h_j                     (section 3.1)
    readout    h̃_t = tanh(W_c [c_t ; s_t])                                                (equation 5)
    output     P(y_t | y_<t, x) = softmax(W h̃_t + b)

The query is the *current* state s_t; Bahdanau's is s_{t−1}. So attention is not part of the recurrence, and without
input feeding, a known target needs one call of the fused layers and one attention product. Input feeding (section 3.3)
gives the decoder the previous attention result, but needs a loop over the target.

Differences from the paper: the encoder can be bidirectional, with a bridge. The source is not reversed. The readout can
be maxout. W can be the target embedding. There is dropout on embeddings, between layers, on the annotations and before
the output.

Shape legend: B rows, S source positions, T target positions, E embedding, H width, L layers, V vocabulary.
"""

from typing import ClassVar

import torch
from pydantic import Field

from langladder.ground import schema
from langladder.models.translation.recurrent_translator import (
    RecurrentTranslator,
    RecurrentTranslatorConfig,
    layers_first,
    rows_first,
)
from langladder.models.translation.translator import AttendingTranslator, State
from langladder.nn.attention import Attention, LocalAttention, Score, make_attention
from langladder.nn.readout import Readout, ReadoutKind


class LuongConfig(RecurrentTranslatorConfig):
    """Settings of `LuongSeq2Seq`."""

    bidirectional: bool = True
    score: Score = "general"
    attention_width: int = Field(default=128, ge=1, le=8192)
    """A, the hidden layer of the scores additive and concat."""
    window: int | None = Field(default=None, ge=1)
    """D, the window of local attention; null = global."""
    input_feeding: bool = True
    readout: ReadoutKind = "tanh"


class LuongSeq2Seq(RecurrentTranslator, AttendingTranslator):
    """Recurrent encoder, recurrent decoder, attention on top."""

    approach = "recurrent with attention"
    Config: ClassVar[type[schema.Config]] = LuongConfig
    config: LuongConfig

    def __init__(self, config: LuongConfig, source_vocab_size: int, target_vocab_size: int) -> None:
        E, H = config.embedding_dim, config.width
        super().__init__(config, source_vocab_size, target_vocab_size, fed=E if config.input_feeding else 0)
        attention: Attention = make_attention(config.score, query_width=H, memory_width=H, width=config.attention_width)
        if config.window is not None:
            attention = LocalAttention(attention, query_width=H, window=config.window)
        self.attention = attention
        self.readout = Readout(config.readout, input_width=2 * H, width=E)  # W_c
        self.build_head(E)

    def encode(self, source: torch.Tensor, mask: torch.Tensor) -> State:
        """See `Translator.encode`."""
        memory, final = self.encoder(self.dropout(self.source_embedding(source)), mask)  # (B, S, H), (L, B, H) each
        memory = self.dropout(memory)
        decoder = rows_first(final)
        if self.config.input_feeding:
            decoder["fed"] = memory.new_zeros(len(source), self.config.embedding_dim)  # h̃_0 = 0
        return State({"memory": memory, "keys": self.attention.keys(memory), "mask": mask}, decoder)

    def step(self, prefix: torch.Tensor, state: State) -> tuple[torch.Tensor, State, torch.Tensor]:
        """See `Translator.step`. Reads the last column of the prefix."""
        hidden, after, alpha = self._decode(self.target_embedding(prefix[:, -1:]), state)  # (B, 1, E)
        logits = self.head(hidden[:, 0])  # (B, V)
        return torch.log_softmax(logits.float(), dim=-1), after, alpha[:, 0]

    def attended(self, source: torch.Tensor, target_in: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """See `Translator.attended`. One call for all steps; with input feeding, one call per step."""
        state = self.encode(source, self.present(source))
        x = self.dropout(self.target_embedding(target_in))  # (B, T, E)
        if not self.config.input_feeding:
            h, _, alpha = self._decode(x, state)
            return h, alpha
        outputs, weights = [], []
        for x_t in x.split(1, dim=1):
            h, state, alpha = self._decode(x_t, state)
            outputs.append(h)
            weights.append(alpha)
        return torch.cat(outputs, dim=1), torch.cat(weights, dim=1)  # (B, T, E), (B, T, S)

    def _decode(self, x: torch.Tensor, state: State) -> tuple[torch.Tensor, State, torch.Tensor]:
        """Embedded tokens (B, T, E) from a state (T = 1 with input feeding) → h̃ (B, T, E), state, α (B, T, S)."""
        kept = state.source
        if self.config.input_feeding:
            x = torch.cat([x, state.decoder["fed"].unsqueeze(1)], dim=-1)  # [E y_{t−1} ; h̃_{t−1}]
        s, last = self.decoder(x, layers_first(state.decoder))  # (B, T, H)
        # α_t = softmax_j(score(s_t, h_j)),   c_t = Σ_j α_tj h_j
        alpha = self.attention(s, kept["keys"], kept["mask"])  # (B, T, S)
        context = torch.bmm(alpha, kept["memory"])  # (B, T, H)
        # h̃_t = tanh(W_c [c_t ; s_t])
        h = self.dropout(self.readout(context, s))  # (B, T, E)
        decoder = rows_first(last)
        if self.config.input_feeding:
            decoder["fed"] = h[:, -1]
        return h, State(kept, decoder), alpha
