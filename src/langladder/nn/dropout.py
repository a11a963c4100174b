"""Dropout (Srivastava et al. 2014), and dropout whose mask holds for a whole sequence (Gal & Ghahramani 2016).

    y = x · m / (1 − p),   m_i = 0 with probability p, else 1

Ordinary dropout draws a new mask at every time step. A locked mask drops the same features at all steps of a row, so
that what is dropped is missing, not noisy; word dropout drops the same words wherever they stand.

torch draws a random number of 64 bits for each entry of a mask on a CPU, which took a tenth of a Transformer's
training. Here one serves four entries: 16 bits are compared with p, so that p is exact to 1/65536.

Shape legend: B rows, T steps, D features, V words.
"""

import torch
from torch import nn
from torch.nn import functional


class Dropout(nn.Module):
    """Each entry is zero with probability p in training; the rest is scaled by 1 / (1 − p). Of any shape."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(…) → (…)."""
        if not self.training or self.p == 0.0:
            return functional.dropout(x, self.p, training=False)  # x; stacked LSTMs fail in ONNX without this node
        if x.device.type != "cpu":
            return functional.dropout(x, self.p)
        dropped = round(self.p * 65536)  # of the values of 16 bits
        if dropped == 65536:
            return torch.zeros_like(x)
        bits = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
        kept = bits.view(torch.int16)[: x.numel()] >= dropped - 32768
        return x * kept.view(x.shape).to(x.dtype).mul_(65536 / (65536 - dropped))


class LockedDropout(Dropout):
    """Drop features, the same ones at every step of a row, with probability p; the rest is scaled by 1 / (1 − p)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, D) → (B, T, D)."""
        if not self.training or self.p == 0:
            return x
        mask = functional.dropout(torch.ones_like(x[:, :1]), self.p)  # (B, 1, D)
        return x * mask


def embed_with_word_dropout(embedding: nn.Embedding, tokens: torch.Tensor, p: float) -> torch.Tensor:
    """Embedded tokens (B, T) → (B, T, D); in training each word of the vocabulary is dropped with probability p."""
    x: torch.Tensor = embedding(tokens)
    if not embedding.training or p == 0:
        return x
    mask = functional.dropout(x.new_ones(embedding.num_embeddings), p)  # (V,)
    return x * mask[tokens][..., None]
