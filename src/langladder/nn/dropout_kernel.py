"""Dropout in one pass over the numbers; what falls follows from a seed and the place, so that no mask is kept.

The bits of a place are a hash of 32 bits of its number and the seed: two rounds of "multiply, shift, xor" (Wellons,
"Prospecting for hash functions", 2018), each of which LLVM turns into vector instructions.
"""

import numpy as np

from langladder.compiled import njit
from langladder.nn.vector_math import read, written

GOLDEN, FIRST, SECOND = np.uint32(0x9E3779B9), np.uint32(0x21F0AAAD), np.uint32(0xD35A2D97)
ZERO = np.float32(0)


@njit(inline="always")
def passes(i: int, seed: np.ndarray, least: np.uint32) -> np.bool:
    """Whether the entry at a place is kept: the place's hash is no less than 2³² p. seed: (2,) uint32."""
    h = np.uint32(np.uint32(i) * GOLDEN + seed[0])
    h = np.uint32((h ^ (h >> np.uint32(16))) * FIRST) ^ seed[1]
    h = np.uint32((h ^ (h >> np.uint32(15))) * SECOND)
    return (h ^ (h >> np.uint32(15))) >= least


@njit(error_model="numpy", nogil=True)
def drop(
    x: np.ndarray,  # (n,) float32, or the bits of bfloat16
    y: np.ndarray,  # (n,) of the same kind: filled with x m s
    seed: np.ndarray,  # (2,) uint32
    least: np.uint32,  # bits below it drop their entry: 2³² p
    scale: np.float32,  # s
) -> None:
    """y = x m s, m_i = 0 where the hash of i is below `least`, else 1."""
    for i in range(len(x)):
        y[i] = written(y, read(x[i]) * (scale if passes(i, seed, least) else ZERO))
