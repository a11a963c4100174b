"""accumulate: several batches an update are one large batch."""

from pathlib import Path

import numpy as np
import pytest
import torch
from small_run import STEPS, make_model, make_stream, settings, stop_at

from langladder.data.batches import StepBatches, Update
from langladder.data.translation import PairBatch, collate
from langladder.models.making import Run, TrainingResult
from langladder.models.translation.transformer import Transformer, TransformerConfig
from langladder.tasks.language_modelling import LanguageModelling, train_language_model
from langladder.tasks.settings import LMTrainingConfig, TranslationTraining
from langladder.tasks.training import train_task
from langladder.tasks.translation import TranslationTask
from langladder.text.storage.token_streams import PairStream, Rows
from langladder.text.tokenize.specials import BOS, EOS, PAD

V = 30


class Groups(StepBatches[PairBatch]):
    """Pairs in order; the batches of a group of pairs follow one another."""

    def __init__(self, pairs: PairStream, groups: list[int]) -> None:
        self.pairs, self.groups = pairs, groups

    def train(self, step: int) -> PairBatch:
        round_, place = divmod(step, len(self.groups))
        start = round_ * sum(self.groups) + sum(self.groups[:place])
        rows = torch.arange(start, start + self.groups[place]) % len(self.pairs.source)
        return collate(self.pairs, rows.numpy())

    def validation(self) -> list[PairBatch]:
        return []

    def size(self, batch: PairBatch) -> int:
        return int((batch.target[:, 1:] != PAD).sum())


@pytest.fixture
def small_pairs() -> PairStream:
    """12 pairs of 2 to 9 words, targets as sources."""
    random = np.random.default_rng(0)
    words = [random.integers(4, V, size=length).astype(np.int32) for length in random.integers(2, 10, size=12)]

    def rows(sentences: list[np.ndarray]) -> Rows:
        return Rows(np.concatenate(sentences), np.cumsum([0, *map(len, sentences)]))

    return PairStream(rows([np.append(row, EOS) for row in words]), rows([np.array([BOS, *row, EOS]) for row in words]))


def trained(pairs: PairStream, groups: list[int], work: Path) -> tuple[Transformer, TrainingResult]:
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(width=16, layers=1, heads=2, dropout=0.0), V, V)
    shown = {"progress": False, "log_every": 1, "accelerator": "cpu", "precision": "fp32"}
    config = TranslationTraining(max_steps=5, optimizer="sgd", lr=0.5, accumulate=len(groups), clip_norm=0.5, **shown)
    return model, train_task(TranslationTask(model, config), Groups(pairs, groups), config, Run(1, work))


def test_parity_with_one_large_batch(small_pairs: PairStream, tmp_path: Path) -> None:
    """Batches of 1 and 5 pairs: each counts by its tokens, and the norm is clipped for the whole."""
    joint, whole = trained(small_pairs, [6], tmp_path / "joint")
    parts, divided = trained(small_pairs, [1, 5], tmp_path / "parts")
    for a, b in zip(joint.parameters(), parts.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    for before, after in zip(whole.curve, divided.curve, strict=True):
        assert after["train_loss"] == pytest.approx(before["train_loss"], rel=1e-5)
    assert divided.steps == whole.steps == 5


def test_an_update_takes_the_next_batches(small_pairs: PairStream) -> None:
    batches = Groups(small_pairs, [1, 2])
    update = Update.of(batches, step=3, count=2)
    assert all(torch.equal(part.source, batches.train(6 + i).source) for i, part in enumerate(update.batches))
    assert sum(update.shares) == pytest.approx(1)
    sizes = [batches.size(part) for part in update.batches]
    assert update.shares == [size / sum(sizes) for size in sizes]
    again = Update.of(batches, step=3, count=2, period=1)
    assert all(torch.equal(part.source, batches.train(0).source) for part in again.batches)


def test_interrupted_run_ends_with_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(work: Path) -> tuple[torch.nn.Module, TrainingResult]:
        model = make_model("lstm")
        config = LMTrainingConfig(**settings(accumulate=3))
        return model, train_language_model(model, make_stream(0), make_stream(1), config, Run(1, work))

    reference, expected = run(tmp_path / "whole")
    with monkeypatch.context() as patch:
        stop_at(patch, LanguageModelling, 7)
        with pytest.raises(KeyError):
            run(tmp_path / "broken")
    model, result = run(tmp_path / "broken")
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), reference.parameters(), strict=True))
    assert result.curve == expected.curve and result.steps == STEPS
