"""Batches that are pure functions of (seed, step), so that training resumes knowing nothing but the step.

No sampler holds a position and no generator is carried along: the order of an epoch is a permutation drawn from
(seed, epoch), and the place inside it follows from the step.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np

Batch = TypeVar("Batch")


class StepBatches(ABC, Generic[Batch]):
    """What training asks of its data. A batch is a tensor, or a tuple or dict of tensors."""

    @abstractmethod
    def train(self, step: int) -> Batch:
        """The batch of training step `step` (0, 1, 2, …): the same one whenever it is asked for."""

    @abstractmethod
    def validation(self) -> Sequence[Batch]:
        """The validation batches, always the same and in the same order; empty if there is no validation."""

    @abstractmethod
    def size(self, batch: Batch) -> int:
        """Number of predicted tokens in a training batch (the unit of tokens per second)."""


class Update(NamedTuple):
    """What one update learns from: batches, and the predicted tokens of each."""

    batches: list[Any]
    sizes: list[int]

    @classmethod
    def of(cls, batches: StepBatches[Any], step: int, count: int, period: int = 0) -> Self:
        """The `count` batches of step `step`; with a period, the steps of batches repeat after so many."""
        places = range(step * count, (step + 1) * count)
        parts = [batches.train(place % period if period else place) for place in places]
        return cls(parts, [batches.size(part) for part in parts])

    @property
    def tokens(self) -> int:
        """Predicted tokens of all batches."""
        return sum(self.sizes)

    @property
    def shares(self) -> list[float]:
        """What each batch weighs in the update's mean loss: its share of the tokens."""
        return [size / max(1, self.tokens) for size in self.sizes]


def generator(*key: int) -> np.random.Generator:
    """A random generator that depends on nothing but `key`, e.g. (seed, epoch)."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(key)))


@lru_cache(maxsize=4)
def permutation(count: int, *key: int) -> np.ndarray:
    """(count,) int64: 0 … count−1 in the order drawn for `key`. Read-only."""
    order = generator(*key).permutation(count)
    order.setflags(write=False)
    return order


def shuffled(count: int, batch_size: int, step: int, *key: int) -> np.ndarray:
    """(batch_size,) int64: which of `count` examples step `step` sees.

    The steps walk through one permutation after another (one an epoch, each drawn from `key` and the epoch), so every
    example comes once an epoch; a batch at an epoch's end goes on into the next one.
    """
    picks = np.arange(step * batch_size, (step + 1) * batch_size)
    return np.array(
        [permutation(count, *key, epoch)[place] for epoch, place in zip(*divmod(picks, count), strict=True)]
    )
