"""Batches of sentence pairs: budget, completeness, order as a function of (seed, step)."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from langladder.data.translation import PairBatch, TranslationBatches, fill, pack, pad
from langladder.ground.errors import InputError
from langladder.text.storage.token_streams import PairStream
from langladder.text.tokenize.specials import BOS, EOS, PAD


def write_pairs(path: Path, count: int, seed: int = 0) -> PairStream:
    """Pairs of random length 1 … 20; the first id says which pair it is."""
    random = np.random.default_rng(seed)
    rows = []
    for index in range(count):
        source = np.append(np.full(random.integers(1, 21), index + 4), EOS)
        target = np.concatenate([[BOS], np.full(random.integers(1, 21), index + 4), [EOS]])
        rows.append((source, target))
    PairStream.write(path, rows)
    return PairStream.open(path)


@pytest.fixture
def batches(tmp_path: Path) -> TranslationBatches:
    train, validation = write_pairs(tmp_path / "t.arrow", 300), write_pairs(tmp_path / "v.arrow", 40, seed=1)
    return TranslationBatches(train, validation, batch_tokens=120, max_length=50, seed=5)


def test_every_pair_once_an_epoch_within_the_budget(batches: TranslationBatches) -> None:
    seen: Counter[int] = Counter()
    cells = tokens = 0
    for step in range(batches.batches_per_epoch()):
        source, target = batches.train(step)
        assert source.dtype == target.dtype == torch.int64
        assert len(source) * max(source.shape[1], target.shape[1] - 1) <= 120
        assert torch.equal(source[:, 0], target[:, 1])  # still pairs
        assert (target[:, 0] == BOS).all()
        assert ((source == EOS).sum(1) == 1).all()
        assert batches.size(PairBatch(source, target)) == int((target[:, 1:] != PAD).sum())
        seen.update(source[:, 0].tolist())
        cells += target[:, 1:].numel()
        tokens += batches.size(PairBatch(source, target))
    assert seen == Counter(range(4, 304))
    assert tokens / cells > 0.6


def test_a_batch_is_a_function_of_seed_and_step(batches: TranslationBatches, tmp_path: Path) -> None:
    again = TranslationBatches(PairStream.open(tmp_path / "t.arrow"), None, batch_tokens=120, max_length=50, seed=5)
    late = 3 * batches.batches_per_epoch() + 2
    for step in (late, 0, late + 40, 7):  # in any order
        for left, right in zip(batches.train(step), again.train(step), strict=True):
            assert torch.equal(left, right)
    for step in range(late):
        again.train(step)
    assert torch.equal(batches.train(late).source, again.train(late).source)
    other = TranslationBatches(PairStream.open(tmp_path / "t.arrow"), None, batch_tokens=120, max_length=50, seed=6)
    assert any(not torch.equal(batches.train(s).source, other.train(s).source) for s in range(3))
    assert again.validation() == []


@pytest.mark.parametrize("accumulate", [1, 2, 4])
def test_an_update_of_several_batches_spans_all_lengths(batches: TranslationBatches, accumulate: int) -> None:
    """One batch from each part of an epoch's lengths, wherever it begins; and every pair still once an epoch."""
    few = TranslationBatches(batches.train_pairs, None, batch_tokens=40, max_length=50, seed=5, accumulate=accumulate)
    count = few.batches_per_epoch()
    trained = [few.train(step) for step in range(count)]
    assert sorted(row for batch in trained for row in batch.source[:, 0].tolist()) == list(range(4, 304))
    lengths = np.array(
        [max(b.source.shape[1], b.target.shape[1] - 1) for b in trained[: count // accumulate * accumulate]]
    )
    edges = np.sort(lengths).reshape(accumulate, -1)
    for start in range(len(lengths) - accumulate):
        window = np.sort(lengths[start : start + accumulate])
        assert ((edges[:, 0] <= window) & (window <= edges[:, -1])).all()
    assert [few.train(step).source.shape for step in range(9)] != sorted(
        few.train(step).source.shape for step in range(9)
    )


def test_without_padding_pairs_come_in_random_order_within_the_budget(batches: TranslationBatches) -> None:
    free = TranslationBatches(batches.train_pairs, None, batch_tokens=120, max_length=50, seed=5, padded=False)
    trained = [free.train(step) for step in range(free.batches_per_epoch())]
    assert sorted(row for batch in trained for row in batch.source[:, 0].tolist()) == list(range(4, 304))
    sides = [torch.maximum((b.source != PAD).sum(1), (b.target[:, 1:] != PAD).sum(1)) for b in trained]
    assert all(99 < side.sum() <= 120 for side in sides[:-1])  # full: no pair is longer than 21
    assert np.mean([side.float().std() for side in sides]) > 4  # of lengths as they come; sorted ones below 1
    again = TranslationBatches(batches.train_pairs, None, batch_tokens=120, max_length=50, seed=5, padded=False)
    assert torch.equal(again.train(70).source, free.train(70).source)


def test_epochs_differ(batches: TranslationBatches) -> None:
    first = [batches.train(step).source[:, 0].tolist() for step in range(5)]
    count = batches.batches_per_epoch()
    assert first != [batches.train(count + step).source[:, 0].tolist() for step in range(5)]


def test_validation_holds_everything_in_one_order(batches: TranslationBatches) -> None:
    rows = [row for batch in batches.validation() for row in batch.source[:, 0].tolist()]
    assert sorted(rows) == list(range(4, 44))
    assert rows == [row for batch in batches.validation() for row in batch.source[:, 0].tolist()]


def test_long_pairs_are_left_out_of_training_only(tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "p.arrow", 100)
    batches = TranslationBatches(pairs, pairs, batch_tokens=64, max_length=10, seed=0)
    trained = [batches.train(step) for step in range(batches.batches_per_epoch())]
    assert max(max(b.source.shape[1], b.target.shape[1] - 1) for b in trained) <= 10
    assert sum(len(batch.source) for batch in batches.validation()) == 100
    with pytest.raises(InputError, match="max_length=1: none of the 100 training pairs"):
        TranslationBatches(pairs, None, batch_tokens=64, max_length=1, seed=0)


def test_golden_packing() -> None:
    lengths = np.array([2, 3, 3, 5, 9])
    assert [rows.tolist() for rows in pack(np.arange(5), lengths, 9)] == [[0, 1, 2], [3], [4]]
    assert [rows.tolist() for rows in pack(np.arange(5), lengths, 1)] == [[0], [1], [2], [3], [4]]
    assert pack(np.arange(0), lengths, 9) == []
    assert [rows.tolist() for rows in fill(np.array([3, 0, 1, 4, 2]), lengths, 9)] == [[3, 0], [1], [4], [2]]
    assert [rows.tolist() for rows in fill(np.arange(5), lengths, 1)] == [[0], [1], [2], [3], [4]]
    assert fill(np.arange(0), lengths, 9) == []


def test_golden_padding() -> None:
    assert pad([np.array([5, 3]), np.array([3])]).tolist() == [[5, 3], [3, PAD]]
