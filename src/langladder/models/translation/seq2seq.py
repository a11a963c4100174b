"""Encoder–decoder with a fixed vector: the whole source in one state (Sutskever et al. 2014; Cho et al. 2014).

    encoder   (h_S, c_S) = LSTM(x_1 … x_S), every layer's
    decoder   s_t = LSTM(E y_{t−1}, s_{t−1}),   s_0 = the encoder's last state, h and c of every layer
    output    P(y_t | y_<t, x) = softmax(W s_t + b)                                        Sutskever et al.

    decoder   s_t = GRU([E y_{t−1} ; c], s_{t−1}),   c = h_S of the top layer
    output    P(y_t | y_<t, x) = softmax(W o_t + b),  o_t = maxout(W_o [s_t ; E y_{t−1} ; c])  Cho et al.

In the first form, the decoder gets the source once and must remember it; in the second (`context_each_step`), it gets
the same vector at every step. In both forms, a sentence of 5 words and one of 50 words have the same number of values.
`reverse_source` reads the source backwards, so that its first words are close to the target's first words.

Differences from the papers: Cho's c = tanh(V h_S) and s_0 = tanh(V' c) are h_S itself, because everything that reads
them has its own matrix. The encoder can be bidirectional, with a bridge. W can be the target embedding. There is
dropout on embeddings, between layers and before the output.

Shape legend: B rows, S source positions, T target positions, E embedding, H width, L layers, V vocabulary.
"""

from typing import ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator

from langladder.ground import schema
from langladder.models.translation.recurrent_translator import (
    RecurrentTranslator,
    RecurrentTranslatorConfig,
    layers_first,
    rows_first,
)
from langladder.models.translation.translator import State
from langladder.nn.readout import Readout
from langladder.nn.recurrent import reverse_source
from langladder.text.tokenize.specials import PAD


class Seq2SeqConfig(RecurrentTranslatorConfig):
    """Settings of `Seq2Seq`."""

    layers: int = Field(default=2, ge=1, le=4)
    """L, of encoder and decoder each."""
    reverse_source: bool = True
    context_each_step: bool = False
    """Cho's form: the source vector is an input of every step and of the readout."""
    readout: Literal["none", "tanh", "maxout"] = "none"
    """none: the softmax reads the state itself (Sutskever); maxout: Cho's readout."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.context_each_step and self.readout == "none":
            raise ValueError("context_each_step=true: the output reads the context too; set readout to tanh or maxout")
        if self.tied and self.readout == "none" and self.width != self.embedding_dim:
            raise ValueError(
                f"tied=true with readout=none: the state (width={self.width}) must be as wide as the target embedding "
                f"(embedding_dim={self.embedding_dim}); make them equal, or set readout to tanh, or tied to false"
            )
        return self


class Seq2Seq(RecurrentTranslator):
    """Recurrent encoder → one state → recurrent decoder."""

    approach = "recurrent"
    Config: ClassVar[type[schema.Config]] = Seq2SeqConfig
    config: Seq2SeqConfig

    def __init__(self, config: Seq2SeqConfig, source_vocab_size: int, target_vocab_size: int) -> None:
        E, H = config.embedding_dim, config.width
        super().__init__(config, source_vocab_size, target_vocab_size, fed=H if config.context_each_step else 0)
        self.readout: Readout | None = None
        if config.readout != "none":
            read = H + E + H if config.context_each_step else H
            self.readout = Readout(config.readout, input_width=read, width=E)
        self.build_head(H if self.readout is None else E)

    def encode(self, source: torch.Tensor, mask: torch.Tensor) -> State:
        """See `Translator.encode`."""
        if self.config.reverse_source:
            source = reverse_source(source, mask)
        _, final = self.encoder(self.dropout(self.source_embedding(source)), mask)  # (L, B, H) each
        context = {"context": final[0][-1]} if self.config.context_each_step else {}  # c: (B, H)
        return State(context, rows_first(final))

    def step(self, prefix: torch.Tensor, state: State) -> tuple[torch.Tensor, State, None]:
        """See `Translator.step`. Reads the last column of the prefix."""
        hidden, after = self._decode(prefix[:, -1:], state)  # (B, 1, D)
        logits = self.head(hidden[:, 0])  # (B, V)
        return torch.log_softmax(logits.float(), dim=-1), after, None

    def hidden(self, source: torch.Tensor, target_in: torch.Tensor) -> torch.Tensor:
        """See `Translator.hidden`. All steps run in one call of the fused layers."""
        return self._decode(target_in, self.encode(source, source != PAD))[0]

    def _decode(self, tokens: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        """Known tokens (B, T) from a state → hidden (B, T, E or H), the state after them."""
        x = self.dropout(self.target_embedding(tokens))  # (B, T, E)
        context = [part.unsqueeze(1).expand(-1, x.shape[1], -1) for part in state.source.values()]  # (B, T, H)
        s, last = self.decoder(torch.cat([x, *context], dim=-1), layers_first(state.decoder))  # (B, T, H)
        if self.readout is not None:
            s = self.readout(s, x, *context) if context else self.readout(s)
        return self.dropout(s), State(state.source, rows_first(last))
