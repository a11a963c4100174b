"""One pass over a block of logits instead of five: bias, largest logit, exponentials, their sum, the target's logit.

A row of a block stays in the first cache between the two loops over it. `output._exponentials` says what is computed.

Shape legend: n positions, v words of the block.
"""

import numpy as np

from langladder.kernels.compiled import njit
from langladder.nn.vector_math import SUMS, exponential, larger, read, written

NONE, LEAST = np.float32(0), np.float32(-np.inf)


@njit(fastmath=SUMS, error_model="numpy", nogil=True)
def exponentials(
    z: np.ndarray,  # (n, v) logits without bias, float32 or the bits of bfloat16; becomes exp(z + b − peak)
    b: np.ndarray,  # (v,) bias
    y: np.ndarray,  # (n,) targets
    low: int,  # the block's first word
    peak: np.ndarray,  # (n,): filled with the largest logits
    total: np.ndarray,  # (n,): filled with the sums of the exponentials
    target: np.ndarray,  # (n,): filled with the targets' logits where they are words of the block
    added: np.ndarray,  # (n,), or empty: the sums of the logits are added to it
) -> None:
    """All of a block of logits that the softmax asks for."""
    n, v = z.shape
    for i in range(n):
        high = LEAST
        for j in range(v):
            high = larger(high, read(z[i, j]) + b[j])
        if low <= y[i] < low + v:
            target[i] = read(z[i, y[i] - low]) + b[y[i] - low]
        if len(added):
            logits = NONE
            for j in range(v):
                logits += read(z[i, j]) + b[j]
            added[i] += logits
        exponents = NONE
        for j in range(v):
            e = exponential(read(z[i, j]) + b[j] - high)
            z[i, j] = written(z, e)
            exponents += e
        peak[i], total[i] = high, exponents
