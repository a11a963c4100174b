"""The partition function of a linear chain as equations, step by step in logarithms; torch differentiates it.

The readable form of `crf_kernels.forward`, and what computes on accelerators. A score of −∞ becomes a large negative
number first: a logarithm of a sum of nothing has no gradient.

Shape legend: B rows, T steps, K tags.
"""

import torch
from torch import Tensor

FORBIDDEN = -1e6
"""Stands for −∞: its exponential is exactly 0 in any precision."""


def log_partition(emissions: Tensor, lengths: Tensor, transitions: Tensor, start: Tensor, end: Tensor) -> Tensor:
    """log Z: emissions (B, T, K), lengths (B,), transitions (K, K), start (K,), end (K,) → (B,)."""
    transitions, start, end = (part.clamp(min=FORBIDDEN) for part in (transitions, start, end))
    # log α_1(j) = s_j + E_1j
    alpha = start + emissions[:, 0]  # (B, K)
    for t in range(1, emissions.shape[1]):
        # log α_t(j) = E_tj + log Σ_i exp(log α_{t−1}(i) + A_ij)
        after = emissions[:, t] + torch.logsumexp(alpha[:, :, None] + transitions, dim=1)  # (B, K)
        alpha = torch.where((t < lengths)[:, None], after, alpha)
    # log Z = log Σ_j exp(log α_T(j) + e_j)
    return torch.logsumexp(alpha + end, dim=1)
