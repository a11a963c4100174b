"""The mean of a run's last checkpoints (Vaswani et al. 2017, section 6.1: the last 5 of a base model, 20 of a big one).

    θ̄ = (1/n) Σ_{i=1..n} θ(s_i),   s_1 < … < s_n the last n steps at which the run validated

The paper's checkpoints lie ten minutes apart; here they lie `validate_every` steps apart, so that the result is a
function of the settings. A step's snapshot depends on nothing but that step, so a run that was killed writes the same
one again.
"""
# ruff: noqa: ARG002 - Lightning fixes the arguments of its hooks

from pathlib import Path
from typing import Any

import torch
from pytorch_lightning import Callback, LightningModule, Trainer

from langladder.data.batches import Update
from langladder.ground.ranks import first
from langladder.tasks.checkpoints import SUFFIX, read_checkpoint, write_checkpoint
from langladder.tasks.optimisation import TrainingConfig
from langladder.tasks.task import task_of


class Snapshots(Callback):
    """Keeps the weights of the last `average_checkpoints` validations in a folder, one file per step."""

    def __init__(self, folder: Path, config: TrainingConfig) -> None:
        self.folder, self.config = folder, config

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Update, batch_idx: int
    ) -> None:
        """Write the weights of a step that validates; let the oldest go."""
        step = task_of(pl_module).steps_done
        if self.config.fast_dev_run or (step % self.config.validate_every and step != self.config.max_steps):
            return
        weights = trainer.strategy.lightning_module_state_dict()
        if not first():
            return
        write_checkpoint(self.folder / f"{step:09}{SUFFIX}", {"state_dict": weights})
        for old in snapshots(self.folder, step)[: -self.config.average_checkpoints]:
            old.unlink()


def snapshots(folder: Path, step: int) -> list[Path]:
    """The snapshots up to `step`, oldest first."""
    return [path for path in all_snapshots(folder) if int(path.name.removesuffix(SUFFIX)) <= step]


def all_snapshots(folder: Path) -> list[Path]:
    """All of them, oldest first; other files in the folder are not ours."""
    return sorted(folder.glob(f"{'[0-9]' * 9}{SUFFIX}"))


def mean_weights(paths: list[Path]) -> dict[str, torch.Tensor]:
    """θ̄ over the files, each number summed in float64; what is no float (counts) is as in the last file."""
    total: dict[str, torch.Tensor] = {}
    for path in paths:
        last = read_checkpoint(path)["state_dict"]
        total = {name: value.double() + total.get(name, 0.0) for name, value in last.items()}
    return {
        name: (total[name] / len(paths)).to(value.dtype) if value.is_floating_point() else value
        for name, value in last.items()
    }
