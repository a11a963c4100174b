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
        round_, group = divmod(step, len(self.groups))
        start = round_ * sum(self.groups) + sum(self.groups[:group])
        rows = torch.arange(start, start + self.groups[group]) % len(self.pairs.source)
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
    quiet = {"progress": False, "log_every": 1, "accelerator": "cpu", "precision": "fp32"}
    config = TranslationTraining(max_steps=5, optimizer="sgd", lr=0.5, accumulate=len(groups), clip_norm=0.5, **quiet)
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


def test_l1_and_l2_move_matrices_once_an_update_and_no_vector(tmp_path: Path) -> None:
    """θ ← θ − η (g + l1 sign θ + 2 l2 θ) with SGD, whether an update has one batch or two."""

    def after(name: str, **penalties: float) -> tuple[dict[str, torch.Tensor], float]:
        model = make_model("gpt")
        plain = {"optimizer": "sgd", "schedule": "constant", "clip_norm": None, "warmup_steps": 0, "lr": 0.5}
        once = {"max_steps": 1, "validate_every": 1, "log_every": 1, "accumulate": 2}
        config = LMTrainingConfig(**settings(**plain, **once, **penalties))
        result = train_language_model(model, make_stream(0), make_stream(1), config, Run(1, tmp_path / name))
        return dict(model.named_parameters()), result.curve[-1]["train_loss"]

    start = {name: parameter.detach().clone() for name, parameter in make_model("gpt").named_parameters()}
    (without, bare), (with_both, larger) = after("without"), after("with", l1=0.01, l2=0.03)
    for name, theta in start.items():
        step = 0.5 * (0.01 * theta.sign() + 0.06 * theta) if theta.dim() > 1 else torch.zeros_like(theta)
        torch.testing.assert_close(without[name] - with_both[name], step, atol=1e-6, rtol=1e-4)
    matrices = torch.cat([theta.flatten() for theta in start.values() if theta.dim() > 1])
    expected = 0.01 * matrices.abs().sum() + 0.03 * matrices.square().sum()
    assert larger - bare == pytest.approx(float(expected), rel=1e-4)


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
