"""Flags of the Trainer, callbacks, loggers, optimisers and schedules that the settings add, and their errors."""

import csv
import inspect
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from pydantic import ValidationError
from small_run import STEPS, make_model, make_stream, settings, stop_at

from langladder.evaluation.work import STATES
from langladder.ground.errors import InputError
from langladder.models.making import Run
from langladder.tasks.checkpoints import read_checkpoint
from langladder.tasks.extensions import CALLBACKS, FLAGS, OPTIMIZERS, PACKAGES, trainer_flags
from langladder.tasks.language_modelling import LanguageModelling, train_language_model
from langladder.tasks.optimisation import state_size
from langladder.tasks.settings import LMTrainingConfig

OPTIM = "torch.optim."
PLATEAU: dict[str, Any] = {"_target_": f"{OPTIM}lr_scheduler.ReduceLROnPlateau", "patience": 0, "factor": 0.5}
PLATEAU |= {"threshold": 100.0, "threshold_mode": "abs"}
STEP = {"_target_": f"{OPTIM}lr_scheduler.StepLR", "step_size": 3, "gamma": 0.1}
WARM_UP = {"_target_": f"{OPTIM}lr_scheduler.LinearLR", "start_factor": 0.1, "total_iters": 3}
LATER = {"_target_": f"{OPTIM}lr_scheduler.CosineAnnealingLR"}
BOTH = {"_target_": f"{OPTIM}lr_scheduler.SequentialLR", "schedulers": [WARM_UP, LATER], "milestones": [3]}
MONITOR = {"lr_monitor": {"_target_": "lightning.pytorch.callbacks.LearningRateMonitor", "logging_interval": "step"}}


def train(work: Path, kind: str = "lstm", **changes: Any):
    model = make_model(kind)
    config = LMTrainingConfig(**settings(**changes))
    return model, train_language_model(model, make_stream(0), make_stream(1), config, Run(1, work))


def csv_logger(folder: Path) -> dict[str, Any]:
    return {"csv": {"_target_": "pytorch_lightning.loggers.CSVLogger", "save_dir": str(folder), "name": "run"}}


def logged(folder: Path) -> list[dict[str, str]]:
    """The rows of all versions of a CSV logger."""
    files = sorted(folder.glob("run/version_*/metrics.csv"))
    return [row for file in files for row in csv.DictReader(file.open())]


@pytest.mark.parametrize("stop", [4, 7, 13])
@pytest.mark.parametrize(
    "changes",
    [
        {"optimizer": {"_target_": f"{OPTIM}NAdam", "lr": 0.01, "_partial_": True}},
        {"optimizer": {"_target_": f"{OPTIM}SGD", "momentum": 0.5, "nesterov": True, "weight_decay": 0.01}},
        {"schedule": {"_target_": f"{OPTIM}lr_scheduler.OneCycleLR", "max_lr": 0.05}, "optimizer": "adam"},
        {
            "schedule": {"_target_": f"{OPTIM}lr_scheduler.StepLR", "step_size": 3},
            "optimizer": "sgd",
            "clip_norm": 0.01,
        },
        {"schedule": PLATEAU},
        {"schedule": BOTH},
        {"callbacks": MONITOR, "trainer": {"detect_anomaly": True, "inference_mode": False}},
    ],
    ids=["nadam", "sgd", "one_cycle", "step", "plateau", "sequential", "monitored"],
)
def test_a_run_with_them_ends_with_the_same_bits_where_it_was_interrupted(changes, stop, tmp_path, monkeypatch):
    if "callbacks" in changes:
        changes = changes | {"logger": csv_logger(tmp_path / "log")}
    expected, whole = train(tmp_path / "whole", **changes)
    with monkeypatch.context() as patch:
        stop_at(patch, LanguageModelling, stop)
        with pytest.raises(KeyError):
            train(tmp_path / "part", **changes)
    model, result = train(tmp_path / "part", **changes)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), expected.parameters(), strict=True))
    assert result.curve == whole.curve


def test_a_schedule_is_stepped_at_every_update_and_a_plateau_at_validations(tmp_path):
    curve = train(tmp_path / "a", optimizer="sgd", lr=1.0, clip_norm=1e-4, schedule=STEP, log_every=1)[1].curve
    assert [row["lr"] for row in curve] == pytest.approx([10.0 ** -(i // 3) for i in range(STEPS)])
    curve = train(tmp_path / "b", lr=0.5, schedule=PLATEAU, log_every=1)[1].curve  # the first validation is the best
    assert [row["lr"] for row in curve] == pytest.approx([0.5] * 10 + [0.25] * 5 + [0.125])
    curve = train(tmp_path / "c", lr=0.5, schedule=LATER, log_every=1)[1].curve
    cosine = [0.25 * (1 + torch.cos(torch.tensor(torch.pi * i / STEPS)).item()) for i in range(STEPS)]
    assert [row["lr"] for row in curve] == pytest.approx(cosine, rel=1e-4)


def test_loggers_and_callbacks_see_the_steps_of_the_whole_run_when_it_is_resumed(tmp_path, monkeypatch):
    changes = {"callbacks": MONITOR, "schedule": "constant", "warmup_steps": 0, "log_every": 1}
    train(tmp_path / "whole", **changes | {"logger": csv_logger(tmp_path / "whole log")})
    changes |= {"logger": csv_logger(tmp_path / "log")}
    with monkeypatch.context() as patch:
        stop_at(patch, LanguageModelling, 10)
        with pytest.raises(KeyError):
            train(tmp_path / "run", **changes)
    train(tmp_path / "run", **changes)
    rows = logged(tmp_path / "log")
    validated = {int(row["step"]) for row in rows if row.get("validation_loss")}
    assert validated == {5, 10, 15, 16}
    assert f"max_steps: {STEPS}" in (tmp_path / "log" / "run" / "version_0" / "hparams.yaml").read_text()

    def rates(folder: Path) -> dict[int, float]:
        return {int(row["step"]): float(row["lr-AdamW/pg1"]) for row in logged(folder) if row.get("lr-AdamW/pg1")}

    assert rates(tmp_path / "log") == rates(tmp_path / "whole log") == dict.fromkeys(range(STEPS), 0.005)
    assert read_checkpoint(tmp_path / "run" / "last.safetensors")["global_step"] == STEPS


def test_a_profiler_reports_and_changes_no_bit(tmp_path):
    expected, _ = train(tmp_path / "plain")
    for name, profiler in (
        ("simple", "simple"),
        (
            "written",
            {"_target_": "pytorch_lightning.profilers.SimpleProfiler", "dirpath": str(tmp_path), "filename": "p"},
        ),
    ):
        model, _ = train(tmp_path / name, trainer={"profiler": profiler})
        assert all(torch.equal(a, b) for a, b in zip(model.parameters(), expected.parameters(), strict=True))
    assert "run_training_batch" in (tmp_path / "fit-p.txt").read_text(encoding="utf-8")


def test_the_optimiser_has_its_arguments_and_the_rate_of_the_settings():
    nadam = {"_target_": f"{OPTIM}NAdam", "weight_decay": 0.1, "lr": 0.03}
    config = LMTrainingConfig(**settings(optimizer=nadam, lr=0.001))
    assert config.lr == 0.03 and config.optimizer == {"_target_": f"{OPTIM}NAdam", "weight_decay": 0.1}
    configured = LanguageModelling(make_model("gpt"), config).configure_optimizers()
    optimizer = configured["optimizer"]
    assert isinstance(optimizer, torch.optim.NAdam)
    assert [group["weight_decay"] for group in optimizer.param_groups] == [0.1, 0.0]
    assert {p.dim() for p in optimizer.param_groups[1]["params"]} == {1}
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.03 / 3)  # the first of three steps of warm-up


def test_the_numbers_that_an_optimiser_keeps_are_counted():
    assert {name: state_size(name) for name in STATES if name != "muon"} == {
        name: size for name, size in STATES.items() if name != "muon"
    }
    assert state_size({"_target_": f"{OPTIM}NAdam"}) == 2 and state_size({"_target_": f"{OPTIM}SGD"}) == 0


def test_every_trainer_flag_is_supported_or_refused_with_a_reason():
    set_by_trainer = {"enable_progress_bar", "enable_model_summary", "deterministic", "inference_mode", "profiler"}
    set_by_trainer |= {"detect_anomaly", "default_root_dir", "enable_autolog_hparams"}
    assert {*trainer_flags()} == set_by_trainer | {*FLAGS} and not set_by_trainer & {*FLAGS}
    for name in FLAGS:
        with pytest.raises(ValidationError, match=f"trainer.{name} is not supported: "):
            LMTrainingConfig(**settings(trainer={name: 1}))
    for name in CALLBACKS:
        assert hasattr(pl.callbacks, name), name
    for name in OPTIMIZERS:
        assert inspect.isclass(getattr(torch.optim, name))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trainer": {"profilr": "simple"}}, "trainer.profilr: not a flag of .*; the nearest: profiler"),
        ({"trainer": {"profiler": "simpl"}}, "trainer: Lightning says: .*profiler"),
        ({"trainer": {"deterministic": False}}, "end with the same bits"),
        ({"trainer": {"profiler": {"_target_": "os.system", "command": "true"}}}, "is not allowed: a class of"),
        ({"optimizer": "adamm"}, "Input should be 'adamw', 'adam', .* or 'muon'"),
        ({"optimizer": {"_target_": f"{OPTIM}NAdamm"}}, "does not exist"),
        ({"optimizer": {"_target_": f"{OPTIM}NAdam", "beta": 1}}, "NAdam has no argument beta; the nearest: betas"),
        ({"optimizer": {"_target_": f"{OPTIM}LBFGS"}}, "LBFGS is not supported: it computes the loss several times"),
        ({"optimizer": {"_target_": "builtins.eval"}}, "is not allowed: a class of torch.optim"),
        ({"optimizer": {"_target_": "mine.optimisers.Fast"}}, "plugins: .mine., or LANGLADDER_PLUGINS=mine"),
        ({"optimizer": {"_target_": "pytorch_lightning.callbacks.Timer"}}, "is not allowed"),
        ({"optimizer": {"_target_": f"{OPTIM}lr_scheduler.StepLR"}}, "is not a subclass of Optimizer"),
        ({"schedule": {"_target_": f"{OPTIM}lr_scheduler.StepLR"}}, "StepLR needs step_size"),
        ({"callbacks": {"stop": {"_target_": "pytorch_lightning.callbacks.EarlyStopping"}}}, "training.patience"),
        ({"callbacks": {"_target_": "pytorch_lightning.callbacks.Timer"}}, "one entry without a name"),
        ({"callbacks": [{"_target_": "pytorch_lightning.callbacks.Timer", "duration": "1:0:0:0"}]}, "by the clock"),
        ({"callbacks": "lr_monitor"}, "a list of entries"),
        ({"logger": {"csv": {"_target_": "pytorch_lightning.loggers.CSVLogger"}}}, "CSVLogger needs save_dir"),
    ],
)
def test_errors_are_one_line_and_raised_before_training(changes, message):
    with pytest.raises(ValidationError, match=message) as caught:
        LMTrainingConfig(**settings(**changes))
    assert caught.value.error_count() == 1


@pytest.mark.parametrize("name", PACKAGES)
def test_a_class_whose_package_is_not_installed_is_refused_with_the_name_of_the_package(name, monkeypatch):
    kind, home = ("logger", pl.loggers) if name.endswith("Logger") else ("callbacks", pl.callbacks)
    entry = {
        name: {"_target_": f"{home.__name__}.{name}"} | ({"save_dir": "logs"} if name.startswith("Tensor") else {})
    }
    monkeypatch.setattr("langladder.tasks.extensions.find_spec", lambda package: package == PACKAGES[name][-1] or None)
    LMTrainingConfig(**settings(**{kind: entry}))
    monkeypatch.setattr("langladder.tasks.extensions.find_spec", lambda _: None)
    with pytest.raises(ValidationError, match=rf"{name} needs [\w-]+, which is not installed: pip install [\w-]+"):
        LMTrainingConfig(**settings(**{kind: entry}))
    source = inspect.getsource(inspect.getmodule(getattr(home, name)))
    assert PACKAGES[name][0] in source  # Lightning's own word for it


def test_what_lightning_refuses_when_it_starts_is_an_error_of_the_settings(tmp_path):
    with pytest.raises(InputError, match=r"callbacks, logger: Cannot use `LearningRateMonitor`"):
        train(tmp_path, callbacks=MONITOR)
