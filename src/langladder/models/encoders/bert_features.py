"""The input of a head on BERT: its last layer, a learned mix of all layers, or the last four concatenated.

    last           h_t = x_t^N                                          (Devlin et al. 2019, section 3.2)
    weighted_sum   h_t = γ Σ_j softmax(s)_j x_t^j,  j = 0 … N           (Peters et al. 2018, equation 1)
    concat         h_t = [x_t^{N−3}; x_t^{N−2}; x_t^{N−1}; x_t^N]       (Devlin et al. 2019, section 5.3)

`frozen` keeps the base's weights, without dropout; only the head is trained (feature-based use, section 5.3).

Shape legend: B rows, T positions, N layers, D width, R width of h.
"""

from collections.abc import Iterable
from typing import ClassVar, Literal, Self

import numpy as np
import torch
from torch import nn

from langladder.models.encoders.bert import BERT, BERTConfig
from langladder.models.fine_tuned import FineTuned, FineTunedConfig, body_of
from langladder.models.network import Network
from langladder.text.tokenize.specials import RESERVED

LAST = 4
"""Number of layers of `concat`."""
_OUTPUT = ("transform", "activation", "transform_norm", "head", "pooler", "next_head")


class BERTFeaturesConfig(FineTunedConfig):
    """Settings of all models that read BERT's states."""

    body: BERTConfig | None = None
    layers: Literal["last", "weighted_sum", "concat"] = "last"
    frozen: bool = False  # true: the body is not trained


class BERTFeatures(nn.Module):
    """Tokens → vectors of R. The body is BERT without its heads for masked words and next sentences."""

    def __init__(self, config: BERTFeaturesConfig, vocab_size: int, kind: type[FineTuned]) -> None:
        super().__init__()
        self.encoder = BERT(body_of(config.body, kind), vocab_size)
        for name in _OUTPUT:
            delattr(self.encoder, name)
        N, D = self.encoder.number_of_layers, self.encoder.width
        self.frozen, self.mix = config.frozen, None
        self.read = [N]
        if config.layers == "weighted_sum":
            self.read = list(range(N + 1))
            self.mix, self.scale = nn.Parameter(torch.zeros(N + 1)), nn.Parameter(torch.ones(1))  # s, γ
        elif config.layers == "concat":
            self.read = list(range(max(1, N + 1 - LAST), N + 1))
        self.width = D * len(self.read) if config.layers == "concat" else D  # R
        self.encoder.requires_grad_(not config.frozen)

    def train(self, mode: bool = True) -> Self:
        """Set the mode; a frozen body has no dropout."""
        super().train(mode)
        if self.frozen:
            self.encoder.eval()
        return self

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Rows `<cls> a <sep>` or `<cls> a <sep> b <sep>`, right-padded: (B, T) → (B, T, R), 0 at padding."""
        states = self.encoder.hidden(tokens, segments(tokens, self.encoder.separator), layers=self.read)
        if self.mix is None:
            return torch.cat(states, dim=-1)
        # h_t = γ Σ_j softmax(s)_j x_t^j
        shares = torch.softmax(self.mix, dim=0)  # (N + 1,)
        mixed: torch.Tensor = self.scale * torch.einsum("n,nbtd->btd", shares, torch.stack(states))
        return mixed

    def first(self, tokens: torch.Tensor) -> torch.Tensor:
        """The output of `forward` at `<cls>`: (B, T) → (B, R)."""
        if self.mix is None and self.read == [self.encoder.number_of_layers]:
            return self.encoder.first(tokens, segments(tokens, self.encoder.separator))
        states: torch.Tensor = self(tokens)
        return states[:, 0]


class FineTunedBERT(FineTuned):
    """Networks that start from BERT have the attribute `features`."""

    BODY: ClassVar[type[Network]] = BERT
    FAMILIES: ClassVar[str] = "a rung of the family encoder"
    LAYERS: ClassVar[str] = "layers"
    features: BERTFeatures

    def body(self) -> nn.Module:
        """See `FineTuned.body`."""
        return self.features.encoder


def segments(tokens: torch.Tensor, separator: int) -> torch.Tensor:
    """0 up to and including the first `<sep>`, 1 after it: (B, T) → (B, T) int64."""
    ends = (tokens == separator).long()
    return (ends.cumsum(dim=1) - ends).clamp(max=1)


def framed(ids: Iterable[int] | np.ndarray, vocab_size: int) -> list[int]:
    """`a` → `<cls> a <sep>`; `a <sep> b` → `<cls> a <sep> b <sep>`."""
    separator = vocab_size - len(RESERVED)
    return [separator + 1, *map(int, ids), separator]
