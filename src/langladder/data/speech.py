"""Batches of utterances: rows of about the same length; frames and labels are padded separately (no alignment).

Which batch a step sees is a pure function of (seed, step). Shapes: B rows, T frames, D numbers a frame, U labels.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch

from langladder.corpora.speech import ALPHABET, Utterance
from langladder.data.batches import StepBatches, generator


class SpeechBatch(NamedTuple):
    """frames (B, T, D) float32, lengths (B,), labels (B, U) int64 from 1, label_lengths (B,); padded with 0."""

    frames: torch.Tensor
    lengths: torch.Tensor
    labels: torch.Tensor
    label_lengths: torch.Tensor


class SpeechBatches(StepBatches[SpeechBatch]):
    """Training and validation batches of `batch_size` utterances, neighbours in length."""

    def __init__(
        self, train: Sequence[Utterance], validation: Sequence[Utterance], *, batch_size: int, seed: int
    ) -> None:
        self.train_utterances, self.validation_utterances = train, validation
        self.batch_size, self.seed = batch_size, seed
        self._plan = lru_cache(maxsize=2)(self._plan_epoch)

    def train(self, step: int) -> SpeechBatch:
        """See `StepBatches.train`."""
        return collate([self.train_utterances[i] for i in self._chosen(step)])

    def validation(self) -> Sequence[SpeechBatch]:
        """See `StepBatches.validation`."""
        ordered = sorted(self.validation_utterances, key=lambda utterance: len(utterance.frames))
        starts = range(0, len(ordered), self.batch_size)
        return [collate(ordered[start : start + self.batch_size]) for start in starts]

    def size(self, batch: SpeechBatch) -> int:
        """Characters to recognise."""
        return int(batch.label_lengths.sum())

    def examples(self, step: int, batch: SpeechBatch) -> int:  # noqa: ARG002 - see `StepBatches`
        """Utterances."""
        return len(batch.lengths)

    def take(self, step: int, batch: SpeechBatch, rows: np.ndarray) -> SpeechBatch:  # noqa: ARG002 - padded again
        """Some of the utterances."""
        return collate([self.train_utterances[i] for i in self._chosen(step)[rows]])

    def _chosen(self, step: int) -> np.ndarray:
        epoch, position = divmod(step, -(-len(self.train_utterances) // self.batch_size))
        return self._plan(epoch)[position]

    def _plan_epoch(self, epoch: int) -> list[np.ndarray]:
        """The rows of each batch: drawn, then sorted by length (the draw breaks ties), cut, and drawn again."""
        random = generator(self.seed, epoch)
        order = random.permutation(len(self.train_utterances))
        lengths = np.array([len(self.train_utterances[i].frames) for i in order])
        order = order[np.argsort(lengths, kind="stable")]
        batches = [order[start : start + self.batch_size] for start in range(0, len(order), self.batch_size)]
        return [batches[i] for i in random.permutation(len(batches))]


def collate(utterances: Sequence[Utterance]) -> SpeechBatch:
    """Utterances as one padded batch."""
    frames = torch.nn.utils.rnn.pad_sequence(
        [torch.from_numpy(utterance.frames) for utterance in utterances], batch_first=True
    )
    labels = [torch.tensor(encode(utterance.text), dtype=torch.int64) for utterance in utterances]
    return SpeechBatch(
        frames,
        torch.tensor([len(utterance.frames) for utterance in utterances]),
        torch.nn.utils.rnn.pad_sequence(labels, batch_first=True),
        torch.tensor([len(label) for label in labels]),
    )


def encode(text: str) -> list[int]:
    """Characters → labels 1 … A; 0 is the blank."""
    return [ALPHABET.index(char) + 1 for char in text]


def decode(labels: Sequence[int]) -> str:
    """Labels 1 … A → text."""
    return "".join(ALPHABET[label - 1] for label in labels)
