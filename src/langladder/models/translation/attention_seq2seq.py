"""Translation by jointly learning to align and translate (Bahdanau, Cho & Bengio 2015), "RNNsearch".

The encoder keeps one annotation per source word instead of one vector per sentence, and the decoder attends to the
annotations before every output word, so a long sentence need not fit into one vector.

    encoder    h_j = [→h_j ; ←h_j], a bidirectional GRU (section 3.2)
    bridge     s_0 = tanh(W_s [→h_S ; ←h_1] + b)
    decoder    α_t, s_t = AttentiveGRU(E y_{t−1}, s_{t−1}, h),  c_t = Σ_j α_tj h_j (section 3.1, A.2.2)
               α_t with the additive score, or with one of Luong's and the query s_{t−1} (`score`)
    readout    o_t = maxout or tanh of W_o [s_t ; E y_{t−1} ; c_t] (A.2.2; maxout takes the larger of each two units)
    output     P(y_t | y_<t, x) = softmax(W o_t + b)

Differences from the paper: the bridge reads both final encoder states (the paper: only ←h_1). The readout reads s_t
(the paper: s_{t−1}), so that y_{t−1} has an immediate effect. W can be the target embedding itself (Press & Wolf 2017).
There is dropout on embeddings, between encoder layers and on the readout. The encoder is `torch.nn.GRU`, whose gate z
is the paper's 1 − z and which applies the reset gate after the product.

Shape legend: B rows, S source positions, T target positions, E embedding, H width, V vocabulary.
"""

from typing import Literal, cast

import torch
from pydantic import Field
from torch import nn

from langladder.ground import schema
from langladder.models.translation.translator import AttendingTranslator, State
from langladder.nn.attention import make_attention
from langladder.nn.attentive_gru import AttentiveGRU
from langladder.nn.initialisation import word_embedding
from langladder.nn.output import SoftmaxOutput
from langladder.nn.readout import Readout, ReadoutKind
from langladder.nn.recurrent import read_padded


class AttentionSeq2Seq(AttendingTranslator):
    """Bidirectional GRU encoder, additive attention, GRU decoder."""

    approach = "recurrent with attention"

    class Config(schema.Config):
        """Sizes and regularisation."""

        width: int = Field(default=256, ge=1, le=8192)
        """H, of the decoder state, and of each direction of the encoder."""
        embedding_dim: int = Field(default=256, ge=1, le=8192)
        """E, of the word embeddings and of the readout."""
        score: Literal["additive", "general", "concat"] = "additive"
        """The attention score; scores that need equal widths are not available (the widths are H and 2H)."""
        attention_width: int = Field(default=128, ge=1, le=8192)
        """A, the hidden layer of the scores additive and concat."""
        layers: int = Field(default=1, ge=1, le=8)
        """Bidirectional layers of the encoder; the decoder has one, as in the paper."""
        dropout: float = Field(default=0.2, ge=0, lt=1)
        readout: ReadoutKind = "maxout"
        tied: bool = True
        """Whether the output matrix is the target embedding."""

    config: Config

    def __init__(self, config: Config, source_vocab_size: int, target_vocab_size: int) -> None:
        super().__init__(config, source_vocab_size, target_vocab_size)
        E, H = config.embedding_dim, config.width
        self.source_embedding = self.source_layer(source_vocab_size)
        self.target_embedding = word_embedding(target_vocab_size, E)
        between = config.dropout if config.layers > 1 else 0.0
        self.encoder = nn.GRU(E, H, config.layers, batch_first=True, bidirectional=True, dropout=between)
        self.bridge = nn.Linear(2 * H, H)
        attention = make_attention(config.score, query_width=H, memory_width=2 * H, width=config.attention_width)
        self.decoder = AttentiveGRU(input_width=E, memory_width=2 * H, width=H, attention=attention)
        self.readout = Readout(config.readout, input_width=H + E + 2 * H, width=E)
        tied = cast(nn.Parameter, self.target_embedding.weight) if config.tied else None
        self.head = SoftmaxOutput(width=E, vocab_size=target_vocab_size, tied=tied)
        self.dropout = nn.Dropout(config.dropout)

    def source_layer(self, size: int) -> nn.Module:
        """What turns a source into (B, S, E)."""
        return word_embedding(size, self.config.embedding_dim)

    def encode(self, source: torch.Tensor, mask: torch.Tensor) -> State:
        """See `Translator.encode`."""
        embedded = self.dropout(self.source_embedding(source))  # (B, S, E)
        memory, last = read_padded(self.encoder, embedded, mask.sum(dim=1))  # (B, S, 2H), (B, 2H)
        memory = self.dropout(memory)
        start = torch.tanh(self.bridge(last)).float()  # [→h_S ; ←h_1] → (B, H)
        keys, values = self.decoder.prepare(memory)
        return State({"memory": memory, "keys": keys, "values": values, "mask": mask}, {"s": start})

    def step(self, prefix: torch.Tensor, state: State) -> tuple[torch.Tensor, State, torch.Tensor]:
        """See `Translator.step`. Reads the last column of the prefix."""
        x, kept = self.target_embedding(prefix[:, -1]), state.source  # (B, E)
        s, alpha = self.decoder.step(x, state.decoder["s"], kept["keys"], kept["values"], kept["mask"])
        context = torch.bmm(alpha.unsqueeze(1), kept["memory"]).squeeze(1)  # c_t (B, 2H)
        logits = self.head(self.readout(s, x, context))  # (B, V)
        return torch.log_softmax(logits.float(), dim=-1), State(kept, {"s": s}), alpha

    def attended(self, source: torch.Tensor, target_in: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """See `Translator.attended`. Only the recurrence runs step by step; the readout processes all steps at once."""
        state = self.encode(source, self.present(source))
        kept = state.source
        x = self.dropout(self.target_embedding(target_in))  # (B, T, E)
        states, alphas = self.decoder(x, state.decoder["s"], kept["keys"], kept["values"], kept["mask"])
        contexts = torch.bmm(alphas, kept["memory"])  # (B, T, 2H)
        return self.dropout(self.readout(states, x, contexts)), alphas  # (B, T, E), (B, T, S)
