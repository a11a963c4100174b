"""Batches of sentence pairs: about the same number of tokens each, and similar lengths if padding is computed.

For a network that computes padding, a batch costs as much as its longest pair, so pairs are grouped by length: an
epoch is shuffled, cut into windows of many batches, sorted by length inside each window, packed into batches, and the
batches are shuffled again. If an update takes several batches, they are distributed: one from each part of an
epoch's lengths, in random order, so that no update trains only on short sentences, and the next on long ones. A
network that does not compute padding takes pairs in random order, from which it learns faster. All of it is
drawn from (seed, epoch); the batch of a step is a pure function of (seed, step).

Shape legend: B rows, S and T the longest source and target of the batch.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from langladder.data.batches import Epochs, StepBatches, generator
from langladder.ground.errors import InputError
from langladder.text.storage.token_streams import PairStream, Rows
from langladder.text.tokenize.specials import PAD

WINDOW_BATCHES = 64
"""Batches sorted together: enough for little padding, few enough that an epoch's batches stay mixed."""


class PairBatch(NamedTuple):
    """source (B, S) ids … EOS and target (B, T) BOS ids … EOS, int64, right-padded with PAD."""

    source: torch.Tensor
    target: torch.Tensor


class TranslationBatches(StepBatches[PairBatch]):
    """Training and validation batches of sentence pairs.

    Args:
        train_pairs: the pairs to train on.
        validation_pairs: the pairs to validate on, or None.
        batch_tokens: the most cells (rows × longest side) of a batch; without padding the most tokens of its pairs,
            the longer side of each.
        max_length: pairs with a longer side (specials included) are left out of training; never of validation.
        seed: of the order.
        accumulate: how many batches an update takes.
        padded: whether the network computes padding.

    Raises:
        InputError: no training pair is left.
    """

    def __init__(
        self,
        train_pairs: PairStream,
        validation_pairs: PairStream | None,
        *,
        batch_tokens: int,
        max_length: int,
        seed: int,
        accumulate: int = 1,
        padded: bool = True,
    ) -> None:
        self.accumulate, self.padded = accumulate, padded
        self.train_pairs, self.validation_pairs = train_pairs, validation_pairs
        self.batch_tokens, self.seed = batch_tokens, seed
        self.lengths = _lengths(train_pairs)
        self.kept = np.flatnonzero(self.lengths[:, 0] <= max_length)
        if not len(self.kept):
            raise InputError(
                f"training.max_length={max_length}: none of the {len(train_pairs):,} training pairs is that short"
            )
        self._epochs = Epochs(self._plan_epoch)

    def train(self, step: int) -> PairBatch:
        """See `StepBatches.train`."""
        return collate(self.train_pairs, self._epochs.rows(step))

    def validation(self) -> Sequence[PairBatch]:
        """See `StepBatches.validation`."""
        if self.validation_pairs is None:
            return []
        lengths = _lengths(self.validation_pairs)
        order = np.lexsort((lengths[:, 1], lengths[:, 0]))
        return [collate(self.validation_pairs, rows) for rows in pack(order, lengths[:, 0], self.batch_tokens)]

    def size(self, batch: PairBatch) -> int:
        """Predicted target tokens."""
        return int((batch.target[:, 1:] != PAD).sum())

    def examples(self, step: int, batch: PairBatch) -> int:  # noqa: ARG002 - see `StepBatches`
        """Pairs."""
        return len(batch.source)

    def take(self, step: int, batch: PairBatch, rows: np.ndarray) -> PairBatch:  # noqa: ARG002 - see `StepBatches`
        """Some of the pairs, padded as all are."""
        return PairBatch(*(side[torch.from_numpy(rows)] for side in batch))

    def batches_per_epoch(self) -> int:
        """Number of batches in the first epoch (later ones can differ by a few)."""
        return len(self._epochs.plan(0))

    def _plan_epoch(self, epoch: int) -> list[np.ndarray]:
        """The rows of each batch of one epoch."""
        random = generator(self.seed, epoch)
        shuffled = random.permutation(self.kept)
        lengths = self.lengths
        if not self.padded:
            return fill(shuffled, lengths[:, 0], self.batch_tokens)
        window = max(1, WINDOW_BATCHES * self.batch_tokens // max(1, int(lengths[self.kept, 0].mean())))
        batches: list[np.ndarray] = []
        for start in range(0, len(shuffled), window):
            part = shuffled[start : start + window]
            part = part[np.lexsort((lengths[part, 1], lengths[part, 0]))]
            batches += pack(part, lengths[:, 0], self.batch_tokens)
        longest = np.array([lengths[rows[-1], 0] for rows in batches])
        return [batches[index] for index in dealt(longest, self.accumulate, random)]


def dealt(lengths: np.ndarray, accumulate: int, random: np.random.Generator) -> np.ndarray:
    """An order of batches, of each of which the length is known, in which every `accumulate` ones span all lengths.

    The batches by length are cut into `accumulate` parts, each is shuffled, and they give one batch each in turn,
    always in the same order, so that an update can begin anywhere. Left-over batches come last.
    With 1 it is a permutation.
    """
    if accumulate == 1:
        return random.permutation(len(lengths))
    rounds = len(lengths) // accumulate
    order = random.permutation(len(lengths))  # so that batches of one length are in random order
    left, order = order[rounds * accumulate :], order[: rounds * accumulate]
    order = order[np.argsort(lengths[order], kind="stable")]
    parts = random.permuted(order.reshape(accumulate, rounds), axis=1)  # (accumulate, rounds)
    return np.concatenate([parts[random.permutation(accumulate)].T.ravel(), left])


def _lengths(pairs: PairStream) -> np.ndarray:
    """(R, 2) int64: the longer side of each pair, then its source (ties are broken by it)."""
    sides = np.stack([pairs.source.lengths, pairs.target.lengths - 1])
    return np.stack([sides.max(axis=0), sides[0]], axis=1)


def pack(rows: np.ndarray, lengths: np.ndarray, batch_tokens: int) -> list[np.ndarray]:
    """Cut `rows`, sorted by length, into batches of at most `batch_tokens` cells (and at least one row).

    Args:
        rows: (R,) indices into `lengths`, shortest first.
    """
    batches, start = [], 0
    for end in range(1, len(rows) + 1):
        if end == len(rows) or (end + 1 - start) * int(lengths[rows[end]]) > batch_tokens:
            batches.append(rows[start:end])
            start = end
    return batches


def fill(rows: np.ndarray, lengths: np.ndarray, batch_tokens: int) -> list[np.ndarray]:
    """Cut `rows` as they come into batches of at most `batch_tokens` tokens together (and at least one row)."""
    ends = np.append(0, np.cumsum(lengths[rows]))  # (R + 1,)
    batches, start = [], 0
    while start < len(rows):
        end = max(start + 1, int(np.searchsorted(ends, ends[start] + batch_tokens, side="right")) - 1)
        batches.append(rows[start:end])
        start = end
    return batches


def collate(pairs: PairStream, rows: np.ndarray) -> PairBatch:
    """The pairs of `rows` as one padded batch."""
    return PairBatch(pad([_row(pairs.source, row) for row in rows]), pad([_row(pairs.target, row) for row in rows]))


def _row(column: Rows, row: int) -> np.ndarray:
    return column.row(int(row))


def pad(rows: Sequence[np.ndarray]) -> torch.Tensor:
    """Rows of ids → (B, longest) int64, right-padded with PAD."""
    padded = np.full((len(rows), max(len(row) for row in rows)), PAD, dtype=np.int64)
    for index, row in enumerate(rows):
        padded[index, : len(row)] = row
    return torch.from_numpy(padded)
