"""The tanh form of GELU and its slope in one pass over the numbers; see `gelu` for the equations."""

import math

import numpy as np

from langladder.kernels.compiled import njit
from langladder.nn.vector_math import ONE, read, sigmoid, written

A = np.float32(math.sqrt(8 / math.pi))
B = np.float32(0.044715 * math.sqrt(8 / math.pi))
THREE = np.float32(3)


@njit(fastmath={"contract"}, error_model="numpy", nogil=True)
def product(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    """c = a b, entry by entry: (n,) each, float32 or the bits of bfloat16."""
    for i in range(len(a)):
        c[i] = written(c, read(a[i]) * read(b[i]))


@njit(fastmath={"contract"}, error_model="numpy", nogil=True)
def gelu_and_slope(
    x: np.ndarray,  # (n,) float32, or the bits of bfloat16
    y: np.ndarray,  # (n,) of the same kind: filled with x s
    slope: np.ndarray,  # (n,) likewise: filled with dy/dx
) -> None:
    """y = x s, dy/dx = s + x s (1 − s)(A + 3 B x²), with s = σ(x (A + B x²))."""
    for i in range(len(x)):
        a = read(x[i])
        square = a * a
        s = sigmoid(a * (A + B * square))
        y[i] = written(y, a * s)
        slope[i] = written(slope, s + a * s * (ONE - s) * (A + THREE * B * square))
