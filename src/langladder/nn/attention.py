"""Attention over a source: score every position, softmax, weighted sum.

A decoder's state is the query. Each source position gets a score, and the softmax of the scores gives the weight of
each position:

    e_tj = score(q_t, h_j),   α_tj = exp(e_tj) / Σ_k exp(e_tk),   c_t = Σ_j α_tj h_j

`Attention` is the contract; a subclass is one score function:

    additive     v_aᵀ tanh(W_a q + U_a h_j)     Bahdanau, Cho & Bengio 2015, A.1.2
    dot          qᵀ h_j                         Luong, Pham & Manning 2015, equation 8; equal widths
    general      qᵀ W_a h_j                     the same
    concat       v_aᵀ tanh(W_a [q ; h_j])       the same; with W_a = [W_a | U_a] it is additive
    scaled_dot   qᵀ h_j / √d                    Vaswani et al. 2017, equation 1; equal widths

`LocalAttention` restricts any of them to a window; `guided` is a term of the loss that draws weights to the diagonal.
Queries that are known in advance can be computed at once (T queries). If a decoder's next query depends on the result
of this one, T = 1.

Shape legend: B rows, T queries, S source positions, Q query width, M memory width, A attention width.
"""

import math
from abc import ABC, abstractmethod
from typing import Literal

import torch
from torch import nn

Score = Literal["additive", "dot", "general", "concat", "scaled_dot"]


def masked_softmax(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Softmax over the last axis, over the positions where `mask` is true; the others get exactly 0.

    Args:
        scores: (..., S) real numbers.
        mask: (..., S) bool, broadcastable; at least one true position in each row (a source always has its EOS).
    """
    return scores.masked_fill(~mask, -math.inf).softmax(-1)


class Attention(nn.Module, ABC):
    """A score function: the relevance of source positions for a query.

    `keys` computes the part that does not depend on the query, once per sentence. Each decoder step only computes
    `scores`.
    """

    @abstractmethod
    def keys(self, memory: torch.Tensor) -> torch.Tensor:
        """The part of the score that only depends on the source: memory (B, S, M) → keys (B, S, A)."""

    @abstractmethod
    def scores(self, query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """e_tj = score(q_t, h_j): query (B, T, Q) and keys (B, S, A) → scores (B, T, S)."""

    def forward(self, query: torch.Tensor, keys: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Attention weights α (B, T, S): rows sum to 1, exactly 0 where `mask` (B, S) is false."""
        return masked_softmax(self.scores(query, keys), mask.unsqueeze(1))


class AdditiveAttention(Attention):
    """e_j = v_aᵀ tanh(W_a q + U_a h_j), a one-hidden-layer network trained jointly. The widths may differ."""

    def __init__(self, *, query_width: int, memory_width: int, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, width, bias=False)  # W_a
        self.memory = nn.Linear(memory_width, width, bias=False)  # U_a
        self.v = nn.Parameter(torch.empty(width).uniform_(-(width**-0.5), width**-0.5))  # v_a

    def keys(self, memory: torch.Tensor) -> torch.Tensor:
        """U_a h_j: (B, S, M) → (B, S, A)."""
        keys: torch.Tensor = self.memory(memory)
        return keys

    def scores(self, query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """v_aᵀ tanh(W_a q + U_a h_j): (B, T, Q), (B, S, A) → (B, T, S)."""
        return torch.tanh(self.query(query).unsqueeze(2) + keys.unsqueeze(1)) @ self.v


class DotAttention(Attention):
    """e_j = qᵀ h_j: no parameters, one product."""

    def keys(self, memory: torch.Tensor) -> torch.Tensor:
        """h_j itself: (B, S, M)."""
        return memory

    def scores(self, query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """qᵀ h_j: (B, T, M), (B, S, M) → (B, T, S)."""
        return torch.bmm(query, keys.transpose(1, 2))


class ScaledDotAttention(DotAttention):
    """e_j = qᵀ h_j / √d: with entries of variance 1 the product's variance is d, and the scaled one's is 1."""

    def scores(self, query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """qᵀ h_j / √d: (B, T, d), (B, S, d) → (B, T, S)."""
        return super().scores(query, keys) / math.sqrt(query.shape[-1])


class GeneralAttention(DotAttention):
    """e_j = qᵀ W_a h_j. The widths may differ."""

    def __init__(self, *, query_width: int, memory_width: int) -> None:
        super().__init__()
        self.memory = nn.Linear(memory_width, query_width, bias=False)  # W_a

    def keys(self, memory: torch.Tensor) -> torch.Tensor:
        """W_a h_j: (B, S, M) → (B, S, Q)."""
        keys: torch.Tensor = self.memory(memory)
        return keys


class ConcatAttention(Attention):
    """e_j = v_aᵀ tanh(W_a [q ; h_j]), as in the paper; W_a's two halves are applied separately, with the same
    result."""

    def __init__(self, *, query_width: int, memory_width: int, width: int) -> None:
        super().__init__()
        self.join = nn.Linear(query_width + memory_width, width, bias=False)  # W_a
        self.query_width = query_width
        self.v = nn.Parameter(torch.empty(width).uniform_(-(width**-0.5), width**-0.5))  # v_a

    def keys(self, memory: torch.Tensor) -> torch.Tensor:
        """W_a's columns for h_j: (B, S, M) → (B, S, A)."""
        return nn.functional.linear(memory, self.join.weight[:, self.query_width :])

    def scores(self, query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """v_aᵀ tanh(W_a [q ; h_j]): (B, T, Q), (B, S, A) → (B, T, S)."""
        projected = nn.functional.linear(query, self.join.weight[:, : self.query_width])  # (B, T, A)
        return torch.tanh(projected.unsqueeze(2) + keys.unsqueeze(1)) @ self.v


class LocalAttention(Attention):
    """Luong et al. 2015, section 3.2, "local-p": predict a position, attend to a window of ±D around it.

        p_t = S · σ(v_pᵀ tanh(W_p q_t)),   α_tj = softmax_j∈[p−D, p+D](e_tj) · exp(−(j − p_t)² / 2σ²),   σ = D/2

    The Gaussian makes p_t learnable, because a hard window has no gradient. As in the paper, it makes the sum of a row
    less than 1. S is the row's own length, so that padding does not move the window.

    Args:
        inner: the score e.
        query_width: Q.
        window: D ≥ 1.
    """

    def __init__(self, inner: Attention, *, query_width: int, window: int) -> None:
        super().__init__()
        self.inner, self.window = inner, window
        self.place = nn.Linear(query_width, query_width, bias=False)  # W_p
        self.v = nn.Parameter(torch.empty(query_width).uniform_(-(query_width**-0.5), query_width**-0.5))  # v_p

    def keys(self, memory: torch.Tensor) -> torch.Tensor:
        return self.inner.keys(memory)

    def scores(self, query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        return self.inner.scores(query, keys)

    def forward(self, query: torch.Tensor, keys: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """α (B, T, S), exactly 0 outside the window and where `mask` (B, S) is false."""
        length = mask.sum(dim=1).view(-1, 1, 1)  # S of each row
        # p_t = S · σ(v_pᵀ tanh(W_p q_t))
        p = length * torch.sigmoid(torch.tanh(self.place(query)) @ self.v).float().unsqueeze(-1)  # (B, T, 1)
        distance = torch.arange(keys.shape[1], device=keys.device) - p  # j − p_t: (B, T, S)
        near = mask.unsqueeze(1) & (distance.abs() <= self.window)
        # exp(−(j − p_t)² / 2σ²) with σ = D/2
        bell = torch.exp(-2 * (distance / self.window) ** 2)
        return masked_softmax(self.scores(query, keys), near) * bell


def make_attention(score: Score, *, query_width: int, memory_width: int, width: int) -> Attention:
    """The score function of this name; `width` is A for those with a hidden layer."""
    if score == "additive":
        return AdditiveAttention(query_width=query_width, memory_width=memory_width, width=width)
    if score == "concat":
        return ConcatAttention(query_width=query_width, memory_width=memory_width, width=width)
    if score == "general":
        return GeneralAttention(query_width=query_width, memory_width=memory_width)
    assert query_width == memory_width, (score, query_width, memory_width)
    return DotAttention() if score == "dot" else ScaledDotAttention()


def guided(alpha: torch.Tensor, targets: torch.Tensor, sources: torch.Tensor, width: float) -> torch.Tensor:
    """How far weights are from the diagonal (Tachibana, Uenoyama & Aihara 2018, section 4), for a loss.

        W_tj = 1 − exp(−(j / S − t / T)² / 2g²),   the mean of α_tj W_tj over t = 0 … T − 1 and j = 0 … S − 1

    Args:
        alpha: (B, T, S). targets, sources: each row's own T and S, (B,); positions after them do not count.
        width: g; a weight at a distance of g from the diagonal has W = 0.39.

    Returns:
        The mean over the rows, a scalar.
    """
    T, S = alpha.shape[1:]
    t = torch.arange(T, device=alpha.device).view(1, T, 1) / targets.view(-1, 1, 1)  # t / T: (B, T, 1)
    j = torch.arange(S, device=alpha.device).view(1, 1, S) / sources.view(-1, 1, 1)  # j / S: (B, 1, S)
    # W = 1 − exp(−(j / S − t / T)² / 2g²)
    W = 1 - torch.exp(-((j - t) ** 2) / (2 * width**2))  # (B, T, S)
    counted = torch.where((t < 1) & (j < 1), alpha.float() * W, 0.0)
    return (counted.sum(dim=(1, 2)) / (targets * sources)).mean()
