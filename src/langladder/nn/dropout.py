"""Dropout (Srivastava et al. 2014), and dropout with one mask per sequence (Gal & Ghahramani 2016).

    y = x · m / (1 − p),   m_i = 0 with probability p, else 1

Ordinary dropout (`nn.Dropout`) draws a new mask at every time step. A locked mask drops the same features at all steps
of a row, so that a feature is absent instead of noisy. Word dropout drops all occurrences of a word.

On a CPU, `nn.Dropout` draws 64 random bits per entry, sequentially, which took a tenth of a Transformer's training
time. `Dropout`, for layers with many entries, draws 16 bits.

Shape legend: B rows, T steps, D features, V words.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional


class Dropout(nn.Dropout):
    """`nn.Dropout`, but faster on a CPU, where p is rounded to a multiple of 2⁻¹⁶."""

    def forward(self, x: Tensor) -> Tensor:
        """Any shape → the same shape."""
        if not self.training or x.device.type != "cpu" or not 0 < self.p < 1:
            return super().forward(x)
        bits = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None).view(torch.int16)
        kept = bits[: x.numel()].view(x.shape) >= min(round(self.p * 2**16) - 2**15, 2**15 - 1)
        return x * kept.to(x.dtype).mul_(1 / (1 - self.p))


class LockedDropout(nn.Dropout):
    """Drop features with probability p, the same ones at every step of a row; scale the others by 1 / (1 − p)."""

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) → (B, T, D)."""
        if not self.training or self.p == 0:
            return x
        mask = functional.dropout(torch.ones_like(x[:, :1]), self.p)  # (B, 1, D)
        return x * mask


def embed_with_word_dropout(embedding: nn.Embedding, tokens: Tensor, p: float) -> Tensor:
    """Embedded tokens (B, T) → (B, T, D); in training each word of the vocabulary is dropped with probability p."""
    x: Tensor = embedding(tokens)
    if not embedding.training or p == 0:
        return x
    mask = functional.dropout(x.new_ones(embedding.num_embeddings), p)  # (V,)
    return x * mask[tokens][..., None]
