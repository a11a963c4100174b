"""Dropout in one pass over the numbers; what falls follows from a seed and the place, so that no mask is kept.

The bits of a place are a hash of 32 bits of its number and the seed: two rounds of "multiply, shift, xor" (Wellons,
"Prospecting for hash functions", 2018), each of which LLVM turns into vector instructions.

All arrays are (n,), float32 or the bits of bfloat16; s = 1 / (1 − p), m_i = 0 where an entry falls, else 1.
"""

import numpy as np

from langladder.kernels.compiled import njit
from langladder.nn.falling import Falling
from langladder.nn.vector_math import read, written

GOLDEN, FIRST, SECOND = np.uint32(0x9E3779B9), np.uint32(0x21F0AAAD), np.uint32(0xD35A2D97)
ZERO = np.float32(0)


@njit(inline="always")
def left(i: int, falling: Falling) -> np.float32:
    """What the entry at place i is multiplied by: s, or 0 where the place's hash is less than 2³² p."""
    h = np.uint32(np.uint32(i) * GOLDEN + falling.seed[0])
    h = np.uint32((h ^ (h >> np.uint32(16))) * FIRST) ^ falling.seed[1]
    h = np.uint32((h ^ (h >> np.uint32(15))) * SECOND)
    return falling.scale if (h ^ (h >> np.uint32(15))) >= falling.least else ZERO


@njit(error_model="numpy", nogil=True)
def drop(x: np.ndarray, y: np.ndarray, falling: Falling) -> None:
    """y = x m s."""
    for i in range(len(x)):
        y[i] = written(y, read(x[i]) * left(i, falling))


@njit(error_model="numpy", nogil=True)
def drop_onto(x: np.ndarray, base: np.ndarray, y: np.ndarray, falling: Falling) -> None:
    """y = base + x m s."""
    for i in range(len(x)):
        y[i] = written(y, read(base[i]) + read(x[i]) * left(i, falling))


@njit(error_model="numpy", nogil=True)
def rectify_and_drop(x: np.ndarray, y: np.ndarray, falling: Falling) -> None:
    """y = max(0, x) m s."""
    for i in range(len(x)):
        a = read(x[i])
        y[i] = written(y, (a if a > ZERO else ZERO) * left(i, falling))


@njit(error_model="numpy", nogil=True)
def where_positive(gradient: np.ndarray, y: np.ndarray, scale: np.float32, into: np.ndarray) -> None:
    """into = s · gradient where y > 0, else 0: the way back of `rectify_and_drop`."""
    for i in range(len(y)):
        into[i] = written(into, read(gradient[i]) * (scale if read(y[i]) > ZERO else ZERO))
