"""Callbacks of a training run: the learning curve, the progress bar, checkpoints, and the mean of the last ones.

The curve has two figures to check first if training fails:

    gradient norm     ‖g‖ of all gradients together, before clipping
    update ratio      ‖θ′ − θ‖ / ‖θ‖: the optimiser's step relative to the weights

If the norm grows without limit, gradients explode; if it goes to 0, they vanish. A ratio of about 1e-3 is usual; a much
larger one destroys what was learned, a much smaller one learns nothing (a rule of thumb). Both are only measured at
steps with a row of the learning curve, and do not affect training. For a parameter with more than SAMPLE entries, the
ratio uses every k-th entry, so that a large table is not copied.

A run can end with the mean of its last checkpoints (Vaswani et al. 2017, section 6.1: the last 5 of a base model, 20 of
a big one):

    θ̄ = (1/n) Σ_{i=1..n} θ(s_i),   s_1 < … < s_n the last n steps at which the run validated

The paper's checkpoints are ten minutes apart; here they are `validate_every` steps apart, so that the result is a
function of the settings. A step's snapshot depends only on that step, so a run that was killed writes the same one
again.
"""

# ruff: noqa: ARG002 - Lightning fixes the arguments of its hooks

import math
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import torch
from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.callbacks import Checkpoint
from torch import Tensor, nn
from torch.optim import Optimizer

from langladder.data.batches import Update
from langladder.ground.errors import InputError
from langladder.ground.progress import Stopwatch, say, working
from langladder.ground.ranks import first, from_first, ranks, summed
from langladder.models.making import LAST, Row, measure_title
from langladder.tasks.checkpoints import SUFFIX, read_checkpoint, write_checkpoint
from langladder.tasks.optimisation import TrainingConfig, local, whole
from langladder.tasks.task import MONITOR, Task, task_of

SAMPLE = 65_536


def makes_row(config: TrainingConfig, step: int) -> bool:
    """Whether the learning curve has a row at the `step`-th update."""
    return step % config.log_every == 0 or step % config.validate_every == 0 or step == config.max_steps


class UpdateSize(Callback):
    """Measures the updates that make a row; `measured` gives them."""

    def __init__(self, config: TrainingConfig) -> None:
        self.config = config
        self._norm: Tensor | None = None
        self._before: list[Tensor] = []

    def on_before_optimizer_step(self, trainer: Trainer, pl_module: LightningModule, optimizer: Optimizer) -> None:
        """Called when the gradients of all batches of the update are summed, before clipping."""
        if makes_row(self.config, task_of(pl_module).steps_done):
            self._norm, self._before = gradient_norm(pl_module), sampled(pl_module)

    def measured(self, module: nn.Module) -> dict[str, float | None]:
        """`gradient_norm` and `update_ratio` of the last update; None for values that are not finite."""
        if self._norm is None:
            return {}
        figures = {"gradient_norm": float(self._norm), "update_ratio": update_ratio(self._before, module)}
        self._norm, self._before = None, []
        return {name: value if math.isfinite(value) else None for name, value in figures.items()}


@torch.no_grad()
def gradient_norm(module: nn.Module) -> Tensor:
    """‖g‖ over all parameters together, gradients by rows included; a scalar."""
    grads = [parameter.grad for parameter in module.parameters() if parameter.grad is not None]
    dense = [grad.coalesce().values() if grad.is_sparse else grad for grad in grads]
    return whole(nn.utils.get_total_norm(dense)) if dense else torch.zeros(())


@torch.no_grad()
def sampled(module: nn.Module) -> list[Tensor]:
    """A copy of the trainable parameters; of large ones, every k-th entry: (≤ SAMPLE,) each."""
    return [_every(parameter).clone() for parameter in _trainable(module)]


@torch.no_grad()
def update_ratio(before: list[Tensor], module: nn.Module) -> float:
    """‖θ′ − θ‖ / ‖θ‖, with θ from `sampled` and θ′ the current parameters; 0 if nothing is trained."""
    moved, length = torch.zeros((), dtype=torch.float64), torch.zeros((), dtype=torch.float64)
    for old, parameter in zip(before, _trainable(module), strict=True):
        k = _stride(parameter)
        moved += k * (_every(parameter) - old).double().square().sum().cpu()
        length += k * old.double().square().sum().cpu()
    if any(hasattr(parameter, "to_local") for parameter in module.parameters()):
        moved, length = summed(torch.stack([moved, length]))
    return math.sqrt(float(moved) / float(length)) if length > 0 else 0.0


def _trainable(module: nn.Module) -> list[Tensor]:
    """The parameters; of sharded ones, this process's part."""
    return [local(parameter) for parameter in module.parameters() if parameter.requires_grad]


def _stride(parameter: Tensor) -> int:
    """k, an odd number, so that the sample covers all columns of a table."""
    k = -(-parameter.numel() // SAMPLE)
    return k if k % 2 else k + 1


def _every(parameter: Tensor) -> Tensor:
    return parameter.detach().reshape(-1)[:: _stride(parameter)]


class Recorder(Callback):
    """The learning curve: one row at every `log_every`-th step and at every validation.

    A row is {"step", "train_loss" (mean since the row before), "validation_loss" (or None), "lr", "gradient_norm",
    "update_ratio" (of this step, see the module)}, and at a validation the task's other measures (`validation_bleu`).
    Checkpoints contain the rows, so a resumed run has the whole curve. They also contain the measured seconds, which
    are not deterministic.
    """

    def __init__(self, config: TrainingConfig, update_size: UpdateSize) -> None:
        self.config, self.update_size = config, update_size
        self.rows: list[Row] = []
        self.total, self.batches = torch.zeros(()), 0
        self.tokens, self.seconds, self.processor_seconds = 0, 0.0, 0.0

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Update, batch_idx: int) -> None:
        """Start the clock."""
        self.clock = Stopwatch()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: object, batch: Update, batch_idx: int
    ) -> None:
        """Add the step's loss, and a row if one is due."""
        assert isinstance(outputs, Mapping)
        self.total = self.total.to(outputs["loss"].device) + outputs["loss"].detach()
        self.batches += 1
        self.tokens += batch.tokens
        step = task_of(pl_module).steps_done
        if makes_row(self.config, step):
            self._add_row(trainer, step, task_of(pl_module).rate, self.update_size.measured(pl_module))
            pl_module.log("train_loss", cast(float, self.rows[-1]["train_loss"]), prog_bar=True, logger=False)
        self.seconds += self.clock.seconds
        if pl_module.device.type == "cpu":  # elsewhere the processors only wait
            self.processor_seconds += self.clock.processor_seconds

    def _add_row(self, trainer: Trainer, step: int, rate: float, update: dict[str, float | None]) -> None:
        loss = self._mean_total().item() / self.batches
        if not math.isfinite(loss):
            raise InputError(
                f"training diverged: the loss is {loss} at step {step}. "
                f"Lower training.lr ({self.config.lr}) or training.clip_norm ({self.config.clip_norm})"
            )
        self.rows.append({"step": step, "train_loss": loss, "validation_loss": None, "lr": rate} | update)
        finite = {name: value for name, value in update.items() if value is not None}
        self.total, self.batches = torch.zeros(()), 0
        for logger in trainer.loggers:
            logger.log_metrics({"train_loss": loss, "lr": rate} | finite, step=step)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Add the measurements to the step's row."""
        if trainer.sanity_checking or not self.rows:
            return
        metrics = trainer.callback_metrics
        measures = {name: float(metrics[name]) for name in sorted(metrics) if name.startswith("validation_")}
        self.rows[-1].update(measures)
        for logger in trainer.loggers:
            logger.log_metrics(measures, step=task_of(pl_module).steps_done)

    def state_dict(self) -> dict[str, object]:
        """The curve and the sums since its last row."""
        names = ("rows", "batches", "tokens", "seconds", "processor_seconds")
        return {name: getattr(self, name) for name in names} | {"total": self._mean_total()}

    def _mean_total(self) -> torch.Tensor:
        """The summed losses. With several processes it is their mean, because each part is scaled by the number of
        processes."""
        return summed(self.total) / ranks().size if ranks().size > 1 else self.total

    def load_state_dict(self, state_dict: dict[str, object]) -> None:
        """Restore the state of a checkpoint."""
        vars(self).update(state_dict)


def validations(rows: list[Row]) -> list[Row]:
    """The rows of a curve at which the run validated."""
    return [row for row in rows if row[MONITOR] is not None]


def best_row(rows: list[Row], module: Task) -> Row:
    """The first of the best validations; empty if there was none. NaN is the worst value."""
    sign = 1.0 if module.mode == "min" else -1.0

    def badness(row: Row) -> float:
        value = sign * cast(float, row[module.monitor])
        return math.inf if math.isnan(value) else value

    return min(validations(rows), key=badness, default={})


class BestWeights(Checkpoint):
    """Keeps the weights of the best validation so far.

    The recorded curve determines the best one. So this callback has no state, and a run continues unchanged
    in another folder (Lightning's `ModelCheckpoint` forgets its best score if its absolute path has changed).
    """

    def __init__(self, path: Path, recorder: Recorder) -> None:
        self.path, self.recorder = path, recorder

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write the weights if this validation is the best so far (the recorder has already added it to the curve)."""
        rows = self.recorder.rows
        if self.recorder.config.fast_dev_run or not rows:
            return
        if from_first(
            best_row(rows, task_of(pl_module)) is rows[-1]
        ):  # all processes write a checkpoint together, or none
            trainer.save_checkpoint(self.path, weights_only=True)


class ResumePoint(Checkpoint):
    """Writes the checkpoint to resume from, always between two steps: after validation where a step has one."""

    def __init__(self, path: Path, config: TrainingConfig) -> None:
        self.path, self.config = path, config

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: object, batch: Update, batch_idx: int
    ) -> None:
        """Write at every `checkpoint_every`-th step, unless validation is still to come at this step."""
        step = task_of(pl_module).steps_done
        last = step == self.config.max_steps
        validates = bool(trainer.val_dataloaders) and (last or step % self.config.validate_every == 0)
        if (last or step % self.config.checkpoint_every == 0) and not validates:
            self._save(trainer)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write after every validation (early stopping has already run)."""
        self._save(trainer)

    def _save(self, trainer: Trainer) -> None:
        if not self.config.fast_dev_run:
            trainer.save_checkpoint(self.path)


class StepBar(Callback):
    """One progress bar for the whole run, and one line per validation."""

    def __init__(self, config: TrainingConfig, recorder: Recorder) -> None:
        self.config, self.recorder = config, recorder
        self.stack = ExitStack()

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Show the bar, at the step at which training starts."""
        self.task = self.stack.enter_context(working("training", self.config.max_steps, "steps", always=True))
        self.task.done = task_of(pl_module).steps_done

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: object, batch: Update, batch_idx: int
    ) -> None:
        """Advance by one step."""
        self.task.advance()
        if self.recorder.rows and self.recorder.rows[-1]["step"] == task_of(pl_module).steps_done:
            self.task.note(f"loss {self.recorder.rows[-1]['train_loss']:.3f}")

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Print the results of the step's validation."""
        row = self.recorder.rows[-1]
        rate = self.recorder.tokens / max(self.recorder.seconds, 1e-9)
        others = [name for name in row if name.startswith("validation_") and name not in (MONITOR, LAST)]
        more = "".join(f"{measure_title(name)} {row[name]:.4g}  " for name in others)
        say(
            f"step {row['step']:>7} of {self.config.max_steps}  train {row['train_loss']:.4f}  "
            f"validation {row['validation_loss']:.4f}  {more}{rate:,.0f} {pl_module.unit}/s"
        )

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Close the bar."""
        self.stack.close()


class Snapshots(Callback):
    """Keeps the weights of the last `average_checkpoints` validations in a folder, one file per step."""

    def __init__(self, folder: Path, config: TrainingConfig) -> None:
        self.folder, self.config = folder, config

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: object, batch: Update, batch_idx: int
    ) -> None:
        """Write the weights of a step with validation, and delete the oldest file."""
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
    """All snapshots, oldest first; other files in the folder are ignored."""
    return sorted(folder.glob(f"{'[0-9]' * 9}{SUFFIX}"))


def mean_weights(paths: list[Path]) -> dict[str, torch.Tensor]:
    """θ̄ over the files, summed in float64. Tensors that are not floats (counts) are those of the last file."""
    total: dict[str, torch.Tensor] = {}
    for path in paths:
        last = read_checkpoint(path)["state_dict"]
        total = {name: value.double() + total.get(name, 0.0) for name, value in last.items()}
    return {
        name: (total[name] / len(paths)).to(value.dtype) if value.is_floating_point() else value
        for name, value in last.items()
    }
