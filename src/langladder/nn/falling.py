"""Which entries dropout takes away, as kernels are told: a seed and a bound, from which every place's fate follows."""

from typing import NamedTuple, Self

import numpy as np
import torch


class Falling(NamedTuple):
    """Which entries fall, for kernels: see `dropout_kernel`.

    Attributes:
        seed: (2,) uint32. least: bits of a place below it drop its entry, 2³² p. scale: of the others, 1 / (1 − p).
    """

    seed: np.ndarray
    least: np.uint32
    scale: np.float32

    @classmethod
    def drawn(cls, p: float) -> Self:
        """Each with probability p, 0 < p < 1; torch draws the seed."""
        seed = torch.randint(2**32, (2,)).to(torch.uint32).numpy()
        return cls(seed, np.uint32(round(p * 2**32)), np.float32(1 / (1 - p)))

    @classmethod
    def none(cls) -> Self:
        """Nothing does."""
        return cls(np.zeros(2, np.uint32), np.uint32(0), np.float32(1))
