"""Batches of whole texts: a fixed number of texts each, of about the same length.

An epoch is shuffled, cut into windows of many batches, sorted by length inside each window, cut into batches, and the
batches are shuffled again; all of it drawn from (seed, epoch), so that which texts a step sees is a pure function of
(seed, step). Every text comes once an epoch.

Shape legend: B rows, T positions.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np

from langladder.data.batches import StepBatches, generator

WINDOW_BATCHES = 50
"""Batches sorted together: enough for little padding, few enough that an epoch's batches stay mixed."""
VALIDATION_CELLS = 16_384
"""The most cells (rows × longest) of a validation batch."""

Batch = TypeVar("Batch")


class ReadingBatches(StepBatches[Batch], Generic[Batch]):
    """Training and validation batches.

    Args:
        lengths: of the training texts, and of the validation texts.
        collate: (whether of training, rows) → batch.
        batch_size: texts of a training batch.
        seed: of the order.
        terms: see `StepBatches.terms`; None: as `size` has it.
    """

    def __init__(
        self,
        lengths: tuple[Sequence[int], Sequence[int]],
        collate: Callable[[bool, np.ndarray], Batch],
        *,
        batch_size: int,
        seed: int,
        terms: Callable[[Batch], tuple[int, ...]] | None = None,
    ) -> None:
        self._terms = terms
        self.lengths = np.array(lengths[0], dtype=np.int64)  # (N,)
        self.validation_lengths = np.array(lengths[1], dtype=np.int64)
        self.collate, self.batch_size, self.seed = collate, batch_size, seed
        self.per_epoch = -(-len(self.lengths) // batch_size)
        self._plan = lru_cache(maxsize=2)(self._plan_epoch)

    def texts(self, step: int) -> np.ndarray:
        """Which texts a step sees: at most `batch_size`."""
        epoch, position = divmod(step, self.per_epoch)
        return self._plan(epoch)[position]

    def train(self, step: int) -> Batch:
        """See `StepBatches.train`."""
        return self.collate(True, self.texts(step))

    def examples(self, step: int, batch: Batch) -> int:  # noqa: ARG002 - a batch may have several rows a text
        """Texts."""
        return len(self.texts(step))

    def take(self, step: int, batch: Batch, rows: np.ndarray) -> Batch:  # noqa: ARG002 - padded again
        """Some of the texts."""
        return self.collate(True, self.texts(step)[rows])

    def validation(self) -> Sequence[Batch]:
        """See `StepBatches.validation`."""
        order = np.argsort(self.validation_lengths, kind="stable")
        batches, start = [], 0
        for end in range(1, len(order) + 1):
            full = end < len(order) and (end + 1 - start) * int(self.validation_lengths[order[end]]) > VALIDATION_CELLS
            if end == len(order) or full:
                batches.append(self.collate(False, order[start:end]))
                start = end
        return batches

    def size(self, batch: Batch) -> int:
        """Number of texts of a batch: the unit of its speed, and its weight in an update."""
        labels: np.ndarray = batch[1]  # type: ignore[index]
        return len(labels)

    def terms(self, batch: Batch) -> tuple[int, ...]:
        """See `StepBatches.terms`."""
        return super().terms(batch) if self._terms is None else self._terms(batch)

    def _plan_epoch(self, epoch: int) -> list[np.ndarray]:
        random = generator(self.seed, epoch)
        shuffled = random.permutation(len(self.lengths))
        batches: list[np.ndarray] = []
        for start in range(0, len(shuffled), WINDOW_BATCHES * self.batch_size):
            part = shuffled[start : start + WINDOW_BATCHES * self.batch_size]
            part = part[np.argsort(self.lengths[part], kind="stable")]
            batches += [part[first : first + self.batch_size] for first in range(0, len(part), self.batch_size)]
        return [batches[position] for position in random.permutation(len(batches))]
