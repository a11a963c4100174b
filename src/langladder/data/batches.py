"""Batches that are pure functions of (seed, step), so that training can resume from the step alone.

No sampler has a position and no generator a state: the order of an epoch is a permutation drawn from
(seed, epoch), and the position inside it follows from the step.

If several processes train one model, each draws the whole batch of a step and trains on every n-th row, so that
neighbours in length are spread evenly. With the weights of the rows, the gradients of all processes add up to that of
the whole batch.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np

from langladder.ground.errors import InputError

Batch = TypeVar("Batch")


class StepBatches(ABC, Generic[Batch]):
    """The interface of training data. A batch is a tensor, or a tuple or dict of tensors.

    Attributes:
        one_shape: whether all training batches are of one shape.
    """

    one_shape: ClassVar[bool] = False

    @abstractmethod
    def train(self, step: int) -> Batch:
        """The batch of training step `step` (0, 1, 2, …), always the same."""

    @abstractmethod
    def validation(self) -> Sequence[Any]:
        """The validation batches, always the same and in the same order; empty if there is no validation.

        They can be of another kind than training batches.
        """

    @abstractmethod
    def size(self, batch: Batch) -> int:
        """Number of predicted tokens in a training batch (the unit of tokens per second)."""

    def examples(self, step: int, batch: Batch) -> int:  # noqa: ARG002 - some need the step
        """Into how many parts a step's batch can be divided."""
        raise InputError("training.devices: these batches cannot be divided among processes; set it to 1")

    def take(self, step: int, batch: Batch, rows: np.ndarray) -> Batch:
        """Some of these parts as a batch: rows (n,) ascending, n ≥ 1."""
        raise NotImplementedError

    def terms(self, batch: Batch) -> tuple[int, ...]:
        """The number of terms of each mean in the loss (`Task.means`)."""
        return (self.size(batch),)

    def share(self, step: int, number: int, count: int) -> "Share[Batch]":
        """The part of process `number` of `count` at step `step`."""
        whole = self.train(step)
        size = self.size(whole)
        if count == 1:
            return Share(whole, size, ())
        own = np.arange(self.examples(step, whole))[number::count]
        all_terms = self.terms(whole)
        if not len(own):  # fewer rows than processes: this one computes a row with weight 0
            return Share(self.take(step, whole, np.arange(1)), size, (0.0,) * len(all_terms))
        batch = self.take(step, whole, own)
        weights = (n / max(1, total) for n, total in zip(self.terms(batch), all_terms, strict=True))
        return Share(batch, size, tuple(weights))


class Share(NamedTuple, Generic[Batch]):
    """A process's part of a batch, the predicted tokens of the whole, the weights of its means; (): the whole batch."""

    batch: Batch
    size: int
    weights: tuple[float, ...]


class Update(NamedTuple):
    """The batches of one update, the predicted tokens of each, and see `Share.weights`."""

    batches: list[Any]
    sizes: list[int]
    weights: list[tuple[float, ...]]

    @classmethod
    def of(
        cls, batches: StepBatches[Any], step: int, count: int, period: int = 0, part: tuple[int, int] = (0, 1)
    ) -> Self:
        """The `count` batches of step `step`; with a period, batches repeat after that many steps.

        Args:
            part: (i, n): the part of the i-th of n processes.
        """
        positions = range(step * count, (step + 1) * count)
        shares = [batches.share(position % period if period else position, *part) for position in positions]
        return cls(
            [share.batch for share in shares], [share.size for share in shares], [share.weights for share in shares]
        )

    @property
    def tokens(self) -> int:
        """Predicted tokens of all batches."""
        return sum(self.sizes)

    @property
    def shares(self) -> list[float]:
        """The weight of each batch in the update's mean loss: its share of the tokens."""
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
    """(batch_size,) int64: the examples, of `count`, in step `step`.

    The steps walk through one permutation after another (one an epoch, each drawn from `key` and the epoch), so every
    example comes once an epoch; a batch at an epoch's end goes on into the next one.
    """
    picks = np.arange(step * batch_size, (step + 1) * batch_size)
    return np.array(
        [permutation(count, *key, epoch)[position] for epoch, position in zip(*divmod(picks, count), strict=True)]
    )


class Epochs:
    """The batches of one epoch after another, where epochs can have different numbers of batches.

    Args:
        plan: an epoch → the rows of each of its batches, at least one; a pure function.
    """

    def __init__(self, plan: Callable[[int], Sequence[np.ndarray]]) -> None:
        self.plan = lru_cache(maxsize=2)(plan)
        self._starts = [0]  # first step of each epoch planned so far

    def rows(self, step: int) -> np.ndarray:
        """The rows of the batch of step `step`."""
        epoch = int(np.searchsorted(self._starts, step, side="right")) - 1
        while step >= self._starts[epoch] + len(self.plan(epoch)):
            if epoch + 1 == len(self._starts):
                self._starts.append(self._starts[epoch] + len(self.plan(epoch)))
            epoch += 1
        return self.plan(epoch)[step - self._starts[epoch]]
