"""Convolutional sequence to sequence (Gehring et al. 2017): neither recurrence nor self-attention.

    block      v = [A ; B] = W * x + b,   h = A ⊗ σ(B)      * over k positions: around each one in the encoder, up to
                                                            each one in the decoder; B gates A
    encoder    x ← (h + x) √½,   z = output of the last block, e = input of the first
    attention  d_i = W_d h_i + b_d + g_i,   α_ij = softmax_j(d_i · z_j),   c_i = √m Σ_j α_ij (z_j + e_j) √½
    decoder    x ← ((h + W_c c) √½ + x) √½                  attention in every block ("multi-step")
    output     P(y_t | y_<t, x) = softmax(W (W_o x_t + b_o) + b)

g_i is the decoder's own embedding of y_{i−1} and its position. m is the row's number of source words; √m compensates
for the mean of m values, which has 1/m of their variance. √½ keeps the variance of a sum of two terms. The width is E
outside the blocks, C inside. Filters have weight normalisation, direction × length (Salimans & Kingma 2016). Padding is
set to 0 before every convolution, like positions outside a sentence. The state of decoding is the last k − 1 inputs of
each block.

Differences from the paper: the encoder's gradient is not divided by the number of attentions. W can be the target
embedding. There is dropout on embeddings, before each convolution and before the output.

Shape legend: B rows, S source positions, T target positions, E embedding, C channels, k filter width, V vocabulary.
"""

import math
from typing import ClassVar, Self, cast

import torch
from pydantic import Field, model_validator
from torch import nn
from torch.nn import functional

from langladder.ground import schema
from langladder.models.translation.translator import State, Translator
from langladder.nn.attention import masked_softmax
from langladder.nn.output import SoftmaxOutput
from langladder.nn.text_convolution import GatedConvolution
from langladder.nn.token_embedding import Positions, TokenEmbedding
from langladder.text.tokenize.specials import PAD

HALF = math.sqrt(0.5)


class ConvolutionalSeq2SeqConfig(schema.Config):
    """Settings of `ConvolutionalSeq2Seq`."""

    width: int = Field(default=256, ge=1, le=8192)
    """C: channels inside the blocks."""
    embedding_dim: int = Field(default=256, ge=1, le=8192)
    """E, the width of the embeddings."""
    layers: int = Field(default=4, ge=1, le=64)
    """Number of blocks of encoder and decoder each."""
    kernel: int = Field(default=3, ge=1, le=63)
    """k, odd: in each block, an encoder position sees (k − 1)/2 neighbours on each side."""
    positions: Positions = "learned"
    max_length: int = Field(default=512, ge=2, le=65_536)
    """Rows of a learned table of positions."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    tied: bool = True
    """Whether the output matrix is the target embedding."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.kernel % 2 == 0:
            raise ValueError(
                f"kernel={self.kernel} is even: it must be odd, so that a position sees equally far left and right"
            )
        if self.positions == "sinusoidal" and self.embedding_dim % 2:
            raise ValueError(f"embedding_dim={self.embedding_dim} is odd: sinusoidal positions come in pairs")
        return self


def _gated(config: ConvolutionalSeq2SeqConfig) -> GatedConvolution:
    C, k = config.width, config.kernel
    std = math.sqrt(4 * (1 - config.dropout) / (k * C))  # section 3.5
    return GatedConvolution(width=C, kernel=k, dropout=config.dropout, std=std, normalised=True)


class DecoderBlock(nn.Module):
    """A causal gated convolution with attention to the source."""

    def __init__(self, config: ConvolutionalSeq2SeqConfig) -> None:
        super().__init__()
        C, E = config.width, config.embedding_dim
        self.gated = _gated(config)
        self.ask, self.answer = _linear(C, E), _linear(E, C)  # W_d, W_c

    def forward(
        self, x: torch.Tensor, past: torch.Tensor, g: torch.Tensor, source: dict[str, torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """x (B, T, C), the k − 1 inputs before it (B, k − 1, C), g (B, T, E) → (B, T, C), new past, α (B, T, S)."""
        whole = torch.cat([past.to(x.dtype), x], dim=1)  # (B, k − 1 + T, C)
        h = self.gated(whole.transpose(1, 2)).transpose(1, 2)  # (B, T, C)
        # d_i = W_d h_i + b_d + g_i,   α_ij = softmax_j(d_i · z_j)
        d = (self.ask(h) + g) * HALF  # (B, T, E)
        alpha = masked_softmax(torch.bmm(d, source["z"].transpose(1, 2)), source["mask"].unsqueeze(1))  # (B, T, S)
        # c_i = √m Σ_j α_ij (z_j + e_j) √½
        m = source["mask"].sum(dim=1).view(-1, 1, 1)
        c = torch.bmm(alpha, source["values"]) * m.sqrt()  # (B, T, E)
        # x ← ((h + W_c c) √½ + x) √½
        x = ((h + self.answer(c)) * HALF + x) * HALF
        return x, whole[:, whole.shape[1] - past.shape[1] :], alpha


class ConvolutionalSeq2Seq(Translator):
    """Gated convolutions on both sides, attention in every decoder block."""

    approach = "convolutional"
    Config: ClassVar[type[schema.Config]] = ConvolutionalSeq2SeqConfig
    config: ConvolutionalSeq2SeqConfig

    def __init__(self, config: ConvolutionalSeq2SeqConfig, source_vocab_size: int, target_vocab_size: int) -> None:
        super().__init__(config, source_vocab_size, target_vocab_size)
        C, E = config.width, config.embedding_dim
        self.source_embedding, self.target_embedding = (
            TokenEmbedding(
                size, E, positions=config.positions, max_length=config.max_length, dropout=config.dropout, scaled=False
            )
            for size in (source_vocab_size, target_vocab_size)
        )
        self.source_in, self.source_out = _linear(E, C), _linear(C, E)
        self.target_in, self.target_out = _linear(E, C), _linear(C, E)
        self.encoder = nn.ModuleList(_gated(config) for _ in range(config.layers))
        self.decoder = nn.ModuleList(DecoderBlock(config) for _ in range(config.layers))
        tied = cast(nn.Parameter, self.target_embedding.word.weight) if config.tied else None
        self.head = SoftmaxOutput(width=E, vocab_size=target_vocab_size, tied=tied)
        self.dropout = nn.Dropout(config.dropout)

    def encode(self, source: torch.Tensor, mask: torch.Tensor) -> State:
        """See `Translator.encode`."""
        e, real = self.source_embedding(source), mask.unsqueeze(-1)  # (B, S, E), (B, S, 1)
        x = self.source_in(e)  # (B, S, C)
        side = self.config.kernel // 2
        for block in self.encoder:
            # x ← (h + x) √½
            alone = functional.pad((x * real).transpose(1, 2), (side, side))  # (B, C, S + k − 1)
            x = (block(alone).transpose(1, 2) + x) * HALF
        z = self.source_out(x)  # (B, S, E)
        nothing = x.new_zeros(len(source), self.config.kernel - 1, self.config.width)
        past = {f"past{number}": nothing for number in range(len(self.decoder))}
        return State({"z": z, "values": (z + e) * HALF, "mask": mask}, past)

    def step(self, prefix: torch.Tensor, state: State) -> tuple[torch.Tensor, State, torch.Tensor]:
        """See `Translator.step`. Reads the last column of the prefix; α is the mean over the blocks."""
        hidden, after, alpha = self._decode(prefix[:, -1:], state, first=prefix.shape[1] - 1)  # (B, 1, E)
        logits = self.head(hidden[:, 0])  # (B, V)
        return torch.log_softmax(logits.float(), dim=-1), after, alpha[:, 0]

    def hidden(self, source: torch.Tensor, target_in: torch.Tensor) -> torch.Tensor:
        """See `Translator.hidden`. All positions at once."""
        return self._decode(target_in, self.encode(source, source != PAD), first=0)[0]

    def _decode(self, tokens: torch.Tensor, state: State, first: int) -> tuple[torch.Tensor, State, torch.Tensor]:
        """Known tokens (B, T) at positions first … → hidden (B, T, E), state, α (B, T, S)."""
        g = self.target_embedding(tokens, first)  # (B, T, E)
        x, after, alphas = self.target_in(g), {}, []
        for number, block in enumerate(self.decoder):
            name = f"past{number}"
            x, after[name], alpha = block(x, state.decoder[name], g, state.source)
            alphas.append(alpha)
        hidden = self.dropout(self.target_out(x))  # (B, T, E)
        return hidden, State(state.source, after), torch.stack(alphas).mean(dim=0)


def _linear(inputs: int, outputs: int) -> nn.Linear:
    """Weights that keep the variance: N(0, 1/n)."""
    layer = nn.Linear(inputs, outputs)
    nn.init.normal_(layer.weight, std=inputs**-0.5)
    nn.init.zeros_(layer.bias)
    return layer
