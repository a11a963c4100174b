"""From one vector per position to one vector per text: five kinds of pooling. All of them ignore padding.

    max        ĉ = max_t c_t                                   (Collobert et al. 2011; Kim 2014, section 2)
    mean       ĉ = (1/n) Σ_t c_t
    k_max      the k largest values of each feature, in the order of the text (Kalchbrenner et al. 2014)
    chunked    max of each of P parts of the text (dynamic multi-pooling, Chen et al. 2015, with parts of equal length)
    attentive  α = softmax_t(u · tanh(W c_t + b)),   ĉ = Σ_t α_t c_t        (Yang et al. 2016, equations 5 to 7)

If a text has fewer than k positions, or fewer than P, the missing values are 0.

Shape legend: B rows, T positions, F features, k positions kept, P parts.
"""

import math
from typing import Literal

import torch
from torch import nn

Pooling = Literal["max", "mean", "k_max", "chunked", "attentive"]


class Pool(nn.Module):
    """Pools (B, T, F) to (B, `width`).

    Args:
        kind: see the module docstring. features: F. k: of k_max. parts: P, of chunked.
    """

    def __init__(self, kind: Pooling, *, features: int, k: int = 2, parts: int = 2) -> None:
        super().__init__()
        self.kind, self.k, self.parts = kind, k, parts
        self.width = features * {"k_max": k, "chunked": parts}.get(kind, 1)
        if kind == "attentive":
            self.project = nn.Linear(features, features)  # W and b
            self.query = nn.Parameter(torch.empty(features).uniform_(-(features**-0.5), features**-0.5))  # u

    def forward(self, c: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """c (B, T, F), mask (B, T) bool with a true entry in each row → (B, `width`)."""
        if self.kind == "max":
            return max_pool(c, mask)
        if self.kind == "mean":
            return mean_pool(c, mask)
        if self.kind == "k_max":
            return k_max_pool(c, mask, self.k).flatten(1)
        if self.kind == "chunked":
            return chunked_pool(c, mask, self.parts).flatten(1)
        # ĉ = Σ_t α_t c_t
        return torch.einsum("bt,btf->bf", self.weights(c, mask), c)

    def weights(self, c: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """α (B, T) of attentive pooling, 0 at padding."""
        assert self.kind == "attentive", self.kind
        # α = softmax_t(u · tanh(W c_t + b))
        scores = torch.tanh(self.project(c)) @ self.query  # (B, T)
        return torch.softmax(scores.masked_fill(~mask, -math.inf), dim=1)


def max_pool(c: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """(B, T, F), (B, T) → (B, F)."""
    return c.masked_fill(~mask[..., None], -math.inf).amax(dim=1)


def mean_pool(c: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """(B, T, F), (B, T) → (B, F)."""
    return sum_pool(c, mask) / mask.sum(dim=1, keepdim=True)


def sum_pool(c: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """(B, T, F), (B, T) → (B, F)."""
    return c.masked_fill(~mask[..., None], 0.0).sum(dim=1)


def k_max_pool(c: torch.Tensor, mask: torch.Tensor, k: int) -> torch.Tensor:
    """(B, T, F), (B, T) → (B, k, F): the k largest values of each feature, in the order of the text."""
    short = max(0, k - c.shape[1])
    c = nn.functional.pad(c.masked_fill(~mask[..., None], -math.inf), (0, 0, 0, short), value=-math.inf)
    # a stable sort keeps the first of equal values, independent of the amount of padding
    positions = c.sort(dim=1, descending=True, stable=True).indices[:, :k].sort(dim=1).values  # (B, k, F)
    kept = c.gather(1, positions)
    return kept.masked_fill(kept == -math.inf, 0.0)


def chunked_pool(c: torch.Tensor, mask: torch.Tensor, parts: int) -> torch.Tensor:
    """(B, T, F), (B, T) → (B, P, F): position t of n belongs to part ⌊P t / n⌋."""
    position, length = mask.cumsum(dim=1) - 1, mask.sum(dim=1, keepdim=True)
    part = torch.where(mask, position * parts // length, -1)  # (B, T)
    pooled = torch.stack([max_pool(c, part == number) for number in range(parts)], dim=1)
    return pooled.masked_fill(pooled == -math.inf, 0.0)
