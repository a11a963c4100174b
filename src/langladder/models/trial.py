"""Artificial data for a network's own loss, for checks of gradients and counts of operations.

Every network has `trial_loss(rows, length)`, its training loss on such data. This module creates the data. The same
arguments give the same data, and the global random state does not change.

Shape legend: B rows, T positions.
"""

import torch

from langladder.text.tokenize.specials import BOS, EOS, NAMES


def generator() -> torch.Generator:
    """A separate source of random numbers."""
    return torch.Generator().manual_seed(0)


def words(rows: int, length: int, vocab_size: int) -> torch.Tensor:
    """(B, T) int64 of ordinary words."""
    return torch.randint(len(NAMES), vocab_size, (rows, length), generator=generator())


def sentences(rows: int, length: int, vocab_size: int) -> torch.Tensor:
    """(B, T + 2) int64: BOS, T ordinary words, EOS."""
    first, last = torch.full((rows, 1), BOS), torch.full((rows, 1), EOS)
    return torch.cat([first, words(rows, length, vocab_size), last], dim=1)
