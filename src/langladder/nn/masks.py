"""Who may look at whom. In every mask True means "may be attended to".

Shape legend: B rows, T (or S) tokens.
"""

import torch


def causal(length: int, device: torch.device | None = None) -> torch.Tensor:
    """(T, T) bool: position t sees 0 … t, so the future cannot change the past."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def not_padding(tokens: torch.Tensor, pad: int = 0) -> torch.Tensor:
    """(B, S) bool: True at real tokens."""
    return tokens != pad
