"""Attention over a source: score every position, softmax, weighted sum.

A decoder asks with a query (its state), each source position answers with a score, and the softmax of the scores says
how much of each position to read:

    e_j = score(q, h_j),   α_j = exp(e_j) / Σ_k exp(e_k),   c = Σ_j α_j h_j

`Attention` is the contract; a subclass is one score function. Bahdanau, Cho & Bengio 2015, section 3.1 and A.1.2.

Shapes: B rows, S source positions, Q query width, M memory width, A attention width.
"""

import math
from abc import ABC, abstractmethod

import torch
from torch import nn


def masked_softmax(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Softmax over the last axis among the positions where `mask` is true; the others get exactly 0.

    Args:
        scores: (..., S) real numbers.
        mask: (..., S) bool, broadcastable; at least one true position in each row (a source always has its EOS).
    """
    return scores.masked_fill(~mask, -math.inf).softmax(-1)


class Attention(nn.Module, ABC):
    """A score function: which source positions matter to this query.

    What does not depend on the query is computed once a sentence, by `keys`; each decoder step pays only for `scores`.
    """

    @abstractmethod
    def keys(self, memory: torch.Tensor) -> torch.Tensor:
        """The half of the score that depends on the source alone: memory (B, S, M) → keys (B, S, A)."""

    @abstractmethod
    def scores(self, query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """e_j = score(q, h_j): query (B, Q) and keys (B, S, A) → scores (B, S)."""

    def forward(self, query: torch.Tensor, keys: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Attention weights α (B, S): rows sum to 1, exactly 0 where `mask` (B, S) is false."""
        return masked_softmax(self.scores(query, keys), mask)


class AdditiveAttention(Attention):
    """e_j = v_aᵀ tanh(W_a q + U_a h_j), a one-hidden-layer network trained jointly (Bahdanau et al. 2015, A.1.2).

    Query and memory may have different widths. With [W_a | U_a] as one matrix it is Luong's "concat" score.
    """

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
        """v_aᵀ tanh(W_a q + U_a h_j): (B, Q), (B, S, A) → (B, S)."""
        return torch.tanh(self.query(query).unsqueeze(1) + keys) @ self.v
