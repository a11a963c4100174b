"""Gradient norm and update ratio: against closed forms, in the curve and at the logger, without touching a bit."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from small_run import make_model, make_stream, settings
from torch import nn

from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.making import Run, TrainingResult
from langladder.tasks import callbacks as gradients
from langladder.tasks.callbacks import gradient_norm, makes_row, sampled, update_ratio
from langladder.tasks.language_modelling import train_language_model
from langladder.tasks.optimisation import TrainingConfig
from langladder.tasks.settings import LMTrainingConfig


class Log:
    """A Lightning logger that stores its metrics."""

    def __init__(self) -> None:
        self.logged: list[tuple[int, dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None

    def log_metrics(self, metrics: dict[str, Any], step: int) -> None:
        self.logged.append((step, metrics))


def train(
    work: Path, kind: str = "lstm", logger: Callable[[], Any] | None = None, **changes: Any
) -> tuple[Any, TrainingResult]:
    model: NeuralLanguageModel = make_model(kind)
    config = LMTrainingConfig(**settings(**changes))
    return model, train_language_model(model, make_stream(0), make_stream(1), config, Run(1, work, logger))


def two_weights() -> nn.Module:
    """θ = (3, 4) in two parameters."""
    module = nn.Module()
    for name, value in (("a", 3.0), ("b", 4.0)):
        module.register_parameter(name, nn.Parameter(torch.full((1,), value)))
    return module


def test_golden_norm_and_ratio() -> None:
    """g = (6, 8): ‖g‖ = 10. An SGD step of 0.05 moves θ by 0.5, a tenth of ‖θ‖ = 5."""
    module = two_weights()
    sum(p.square().sum() for p in module.parameters()).backward()  # type: ignore[union-attr]
    assert float(gradient_norm(module)) == pytest.approx(10.0)
    before = sampled(module)
    torch.optim.SGD(module.parameters(), lr=0.05).step()
    assert update_ratio(before, module) == pytest.approx(0.1)


def test_parity_of_the_norm_with_torch_by_rows_and_dense() -> None:
    for sparse in (True, False):
        torch.manual_seed(0)
        module = nn.Sequential(nn.Embedding(7, 3, sparse=sparse), nn.Linear(3, 5))
        module(torch.tensor([1, 1, 4])).square().sum().backward()
        result = float(gradient_norm(module))
        dense = [p.grad.to_dense().flatten() for p in module.parameters() if p.grad is not None]
        assert result == pytest.approx(float(torch.cat(dense).norm()), rel=1e-6)
    assert float(gradient_norm(nn.Linear(2, 2))) == 0.0


@pytest.mark.parametrize("columns", [8, 10, 300])
def test_a_large_table_is_sampled_fairly(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """An update that moves some columns only is seen at its true size, whatever the table's width."""
    monkeypatch.setattr(gradients, "SAMPLE", 500)
    module = nn.Linear(columns, 3000 // columns * 10, bias=False)
    nn.init.ones_(module.weight)
    before = sampled(module)
    assert len(before[0]) <= 500
    with torch.no_grad():
        module.weight[:, : columns // 2] += 0.1
    assert update_ratio(before, module) == pytest.approx(0.1 * math.sqrt(0.5), rel=0.1)


def test_without_trained_parameters_the_update_ratio_is_zero() -> None:
    module = nn.Linear(2, 2).requires_grad_(False)
    assert update_ratio(sampled(module), module) == 0.0


def test_rows_are_written_at_the_steps_of_the_settings() -> None:
    config = TrainingConfig(log_every=4, validate_every=5, max_steps=11)
    assert [step for step in range(1, 12) if makes_row(config, step)] == [4, 5, 8, 10, 11]


@pytest.mark.parametrize("kind", ["lstm", "gpt"])
def test_every_row_has_both_and_so_has_the_log(kind: str, tmp_path: Path) -> None:
    log = Log()
    _, result = train(tmp_path, kind, lambda: log)
    assert all(row["gradient_norm"] > 0 and 0 < row["update_ratio"] < 1 for row in result.curve)  # type: ignore[operator]
    rows = {step: metrics for step, metrics in log.logged if "train_loss" in metrics}
    assert list(rows) == [row["step"] for row in result.curve]
    for row in result.curve:
        assert rows[int(row["step"] or 0)]["update_ratio"] == row["update_ratio"]


def test_the_norm_is_that_before_clipping_and_the_ratio_that_of_the_step(tmp_path: Path) -> None:
    """SGD at a constant rate: ‖Δθ‖ = η · min(‖g‖, c), so the ratio falls as the norm is clipped."""
    same = {"optimizer": "sgd", "schedule": "constant", "warmup_steps": 0, "max_steps": 1, "log_every": 1}
    free = train(tmp_path / "free", clip_norm=None, **same)[1].curve[0]
    clipped = train(tmp_path / "clipped", clip_norm=0.01, **same)[1].curve[0]
    assert free["gradient_norm"] == pytest.approx(clipped["gradient_norm"], rel=1e-6)
    norm, ratios = free["gradient_norm"], (free["update_ratio"], clipped["update_ratio"])
    assert norm is not None and norm > 0.01
    assert ratios[0] / ratios[1] == pytest.approx(norm / 0.01, rel=1e-3)  # type: ignore[operator]


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_watching_changes_no_bit(optimizer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched, _ = train(tmp_path / "watched", optimizer=optimizer)
    monkeypatch.setattr(gradients.UpdateSize, "on_before_optimizer_step", lambda *_: None)
    alone, result = train(tmp_path / "alone", optimizer=optimizer)
    assert all(torch.equal(p, q) for p, q in zip(watched.parameters(), alone.parameters(), strict=True))
    assert "gradient_norm" not in result.curve[0]
