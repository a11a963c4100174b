"""Who may look at whom. In every mask True means "may be attended to".

Shape legend: B rows, T (or S) tokens.
"""

import torch


def causal(length: int, device: torch.device | None = None) -> torch.Tensor:
    """(T, T) bool: position t sees 0 … t, so the future cannot change the past."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def banded(queries: int, keys: int, window: int | None, device: torch.device | None = None) -> torch.Tensor:
    """(queries, keys) bool, for the last `queries` of `keys` positions: t sees t − window + 1 … t; None: 0 … t."""
    t = torch.arange(keys - queries, keys, device=device)[:, None]  # (T, 1)
    s = torch.arange(keys, device=device)  # (S,)
    return s <= t if window is None else (s <= t) & (s > t - window)


def not_padding(tokens: torch.Tensor, pad: int = 0) -> torch.Tensor:
    """(B, S) bool: True at real tokens."""
    return tokens != pad
