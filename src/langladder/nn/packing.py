"""Rows of different lengths without padding: positionwise operations are only computed for the N real positions.

A batch (B, T) has B·T positions, and some of them are padding. Linear layers, norms and activations read one position
at a time, so they can read the concatenated real positions, (N, …). Only attention needs the rows: it uses their
lengths, or restores the rows with `spread`.

Shape legend: B rows, T positions of the longest row, N real positions of all rows, D width.
"""

from typing import NamedTuple, Self

import torch
from torch import Tensor


def fixed_shapes(x: Tensor) -> bool:
    """Whether shapes must not depend on tensor values: true on a GPU, because the CPU would have to wait for the
    values."""
    return x.device.type != "cpu"


class Layout(NamedTuple):
    """The real positions of a batch.

    Attributes:
        rows, length: B, T.
        positions: (N,) indices of the real positions among the B·T; None: all are real.
        mask: (B, 1, 1, T) bool, true where attention may read; None: everywhere.
    """

    rows: int
    length: int
    positions: Tensor | None
    mask: Tensor | None

    @classmethod
    def of(cls, mask: Tensor, *, packed: bool = True) -> Self:
        """The layout of a batch: mask (B, T) bool, true where there is a token, in any pattern.

        Args:
            packed: if false, padding is also computed, so that no shape depends on the data (`fixed_shapes`): N = B·T.
        """
        rows, length = mask.shape
        if not packed or torch.compiler.is_exporting():  # one graph for all patterns of padding
            return cls(rows, length, None, mask[:, None, None])
        if bool(mask.all()):
            return cls(rows, length, None, None)
        return cls(rows, length, mask.flatten().nonzero()[:, 0], mask[:, None, None])

    def columns(self, device: torch.device) -> Tensor:
        """The index of each real position in its row: (N,) int64."""
        return self.pack(torch.arange(self.length, device=device).expand(self.rows, self.length))

    def pack(self, x: Tensor) -> Tensor:
        """(B, T, …) → (N, …)."""
        flat = x.flatten(0, 1)
        return flat if self.positions is None else flat.index_select(0, self.positions)

    def spread(self, x: Tensor) -> Tensor:
        """(N, D) → (B, T, D), 0 where there is no token."""
        if self.positions is not None:
            x = x.new_zeros(self.rows * self.length, x.shape[1]).index_copy(0, self.positions, x)
        return x.view(self.rows, self.length, -1)

    def part(self, x: Tensor, wanted: "Layout") -> Tensor:
        """The entries of (N, …) at the positions of another layout, all of which must be real here."""
        return x if wanted.positions is None else x.index_select(0, self.rank(wanted.positions))

    def rank(self, positions: Tensor) -> Tensor:
        """Indices among the B·T positions, all of them real → indices among the N."""
        return positions if self.positions is None else torch.searchsorted(self.positions, positions)
