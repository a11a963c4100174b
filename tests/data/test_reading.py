"""Batches of texts: every text once an epoch, of like length, a function of (seed, step) alone."""

import numpy as np
import torch

from langladder.data.reading import VALIDATION_CELLS, ReadingBatches


def batches(count: int = 230, seed: int = 3) -> ReadingBatches[tuple[np.ndarray, torch.Tensor]]:
    lengths = np.random.default_rng(0).integers(1, 40, count)

    def collate(_training: bool, rows: np.ndarray) -> tuple[np.ndarray, torch.Tensor]:
        return rows, torch.zeros(len(rows))

    return ReadingBatches((lengths.tolist(), [3000] * 20), collate, batch_size=16, seed=seed)


def test_every_text_comes_once_an_epoch() -> None:
    epochs = batches()
    for epoch in range(3):
        seen = np.concatenate([epochs.train(epoch * epochs.per_epoch + step)[0] for step in range(epochs.per_epoch)])
        assert sorted(seen.tolist()) == list(range(230))


def test_batches_are_a_function_of_seed_and_step() -> None:
    first, second, other = batches(), batches(), batches(seed=4)
    for step in (40, 0, 17):  # in any order
        np.testing.assert_array_equal(first.train(step)[0], second.train(step)[0])
    assert any(first.train(step)[0].tolist() != other.train(step)[0].tolist() for step in range(5))


def test_texts_of_a_batch_are_of_like_length() -> None:
    epochs = batches()
    spread = [np.ptp(epochs.lengths[epochs.train(step)[0]]) for step in range(epochs.per_epoch)]
    assert np.mean(spread) < 5  # of lengths from 1 to 39


def test_validation_batches_hold_every_text_within_the_limit() -> None:
    parts = [rows for rows, _ in batches().validation()]
    assert sorted(np.concatenate(parts).tolist()) == list(range(20))
    assert max(len(rows) for rows in parts) * 3000 <= VALIDATION_CELLS
    assert batches().size(batches().train(0)) == 16
