"""Products of small matrices where they lie, inside Numba kernels: `kernels.wide`, put together to whole matrices.

Arrays are flat float32, no bounds are checked, and results have room for columns rounded up to whole registers.
"""

from typing import NamedTuple

import numpy as np

from langladder.kernels import wide
from langladder.kernels.compiled import njit
from langladder.kernels.wide import TALL, WIDE


class Matrix(NamedTuple):
    """A matrix in a flat array: entry (i, k) is x[first + i · down + k · along]."""

    x: np.ndarray
    first: int
    down: int
    along: int


@njit(nogil=True, inline="always")
def transposed(a: Matrix) -> Matrix:
    """aᵀ, of the same numbers."""
    return Matrix(a.x, a.first, a.along, a.down)


@njit(nogil=True)
def multiply(
    a: Matrix, rows: int, b: Matrix, depth: int, c: Matrix, columns: int, lower: bool, upper: bool, narrow: bool
) -> None:
    """c ← a b, (rows, depth) · (depth, columns), columns rounded up to whole registers.

    Args:
        b, c: of which a row's numbers lie side by side.
        lower: entries of a to the right of the diagonal are 0; upper: those to its left.
        narrow: nothing to the right of c's diagonal is wanted; near to it something may be made all the same.
    """
    i = 0
    while i < rows:
        tall = TALL if rows - i >= TALL else 4 if rows - i >= 4 else 2 if rows - i >= 2 else 1
        first, last = i if upper else 0, min(depth, i + tall) if lower else depth
        wanted = min(columns, i + tall) if narrow else columns
        taken, deep = (a.first + i * a.down + first * a.along, a.down, a.along), last - first
        at, o = b.first + first * b.down, c.first + i * c.down
        for j in range(0, wanted, 2 * WIDE):
            registers = 2 if wanted - j > WIDE else 1
            wide.multiply(tall, registers, a.x, taken, b.x, (at + j, b.down, deep), c.x, (o + j, c.down))
        i += tall


@njit(nogil=True)
def turn(a: Matrix, rows: int, d: int, factor: np.float32, into: Matrix) -> None:
    """into (d, S') ← factor · aᵀ of (rows, d); columns beyond the rows are like some before them."""
    for s in range(0, rows, WIDE):
        first, there = a.first + s * a.down, min(WIDE, rows - s)
        for c in range(0, d, WIDE):
            wide.turn(a.x, first + c, a.down, there, factor, into.x, into.first + c * into.down + s, into.down)
