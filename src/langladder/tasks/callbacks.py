"""What watches a training run: the learning curve, the progress bar, the checkpoint to resume from."""
# ruff: noqa: ARG002 - Lightning fixes the arguments of its hooks

import math
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import torch
from pytorch_lightning import Callback, Trainer
from pytorch_lightning.callbacks import Checkpoint

from langladder.ground.errors import InputError
from langladder.ground.progress import say, working
from langladder.ground.ranks import from_first, ranks, summed
from langladder.tasks.gradients import UpdateWatch, makes_row
from langladder.tasks.optimisation import TrainingConfig, learning_rate
from langladder.tasks.task import MONITOR, Task

Row = dict[str, float | None]


class Recorder(Callback):
    """The learning curve: one row at every `log_every`-th step and at every validation.

    A row is {"step", "train_loss" (mean since the row before), "validation_loss" (or None), "lr", "gradient_norm",
    "update_ratio" (of this step, see `gradients`)}, and at a validation the task's other measures (`validation_bleu`).
    The rows travel in the checkpoint, so a resumed run has the whole curve; so do the seconds, which measure and are
    not deterministic.
    """

    def __init__(self, config: TrainingConfig, watch: UpdateWatch) -> None:
        self.config, self.watch = config, watch
        self.rows: list[Row] = []
        self.total, self.batches = torch.zeros(()), 0
        self.tokens, self.seconds = 0, 0.0

    def on_train_batch_start(self, trainer: Trainer, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """Start the clock."""
        self.started = time.perf_counter()

    def on_train_batch_end(self, trainer: Trainer, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Add the step's loss; make a row when it is time."""
        self.total = self.total.to(outputs["loss"].device) + outputs["loss"].detach()
        self.batches += 1
        self.tokens += batch.tokens
        step = pl_module.steps_done
        if makes_row(self.config, step):
            self._add_row(trainer, step, self.watch.taken(pl_module))
        self.seconds += time.perf_counter() - self.started

    def _add_row(self, trainer: Trainer, step: int, update: dict[str, float | None]) -> None:
        loss = self._mean_total().item() / self.batches
        if not math.isfinite(loss):
            raise InputError(
                f"training diverged: the loss is {loss} at step {step}. "
                f"Lower training.lr ({self.config.lr}) or training.clip_norm ({self.config.clip_norm})"
            )
        rate = learning_rate(self.config, step - 1)
        self.rows.append({"step": step, "train_loss": loss, "validation_loss": None, "lr": rate} | update)
        finite = {name: value for name, value in update.items() if value is not None}
        self.total, self.batches = torch.zeros(()), 0
        for logger in trainer.loggers:
            logger.log_metrics({"train_loss": loss, "lr": rate} | finite, step=step)

    def on_validation_end(self, trainer: Trainer, pl_module: Any) -> None:
        """Put what was measured into the step's row."""
        if trainer.sanity_checking or not self.rows:
            return
        found = trainer.callback_metrics
        measures = {name: float(found[name]) for name in sorted(found) if name.startswith("validation_")}
        self.rows[-1].update(measures)
        for logger in trainer.loggers:
            logger.log_metrics(measures, step=pl_module.steps_done)

    def state_dict(self) -> dict[str, Any]:
        """The curve and what has been added up since its last row."""
        names = ("rows", "batches", "tokens", "seconds")
        return {name: getattr(self, name) for name in names} | {"total": self._mean_total()}

    def _mean_total(self) -> torch.Tensor:
        """The losses added up: of several processes the mean, each's part being so many times as large."""
        return summed(self.total) / ranks().size if ranks().size > 1 else self.total

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        vars(self).update(state_dict)


def validations(rows: list[Row]) -> list[Row]:
    """The rows of a curve at which the run validated."""
    return [row for row in rows if row[MONITOR] is not None]


def best_row(rows: list[Row], module: Task) -> Row:
    """The first of the best validations; empty where there was none. What is not a number is the worst."""
    sign = 1.0 if module.mode == "min" else -1.0

    def badness(row: Row) -> float:
        value = sign * cast(float, row[module.monitor])
        return math.inf if math.isnan(value) else value

    return min(validations(rows), key=badness, default={})


class BestWeights(Checkpoint):
    """Keeps the weights of the best validation so far.

    Which one is the best, the recorded curve says. So this callback has no state of its own, and a run goes on as it
    was in another folder (Lightning's `ModelCheckpoint` forgets its best score where its absolute path has changed).
    """

    def __init__(self, path: Path, recorder: Recorder) -> None:
        self.path, self.recorder = path, recorder

    def on_validation_end(self, trainer: Trainer, pl_module: Any) -> None:
        """Write where no validation before was as good (the recorder has added this one to the curve by now)."""
        rows = self.recorder.rows
        if self.recorder.config.fast_dev_run or not rows:
            return
        if from_first(best_row(rows, pl_module) is rows[-1]):  # all processes write a checkpoint together, or none
            trainer.save_checkpoint(self.path, weights_only=True)


class ResumePoint(Checkpoint):
    """Writes the checkpoint to resume from, always between two steps: after validation where a step has one."""

    def __init__(self, path: Path, config: TrainingConfig) -> None:
        self.path, self.config = path, config

    def on_train_batch_end(self, trainer: Trainer, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Write at every `checkpoint_every`-th step, unless validation is still to come at this step."""
        step = pl_module.steps_done
        last = step == self.config.max_steps
        validates = bool(trainer.val_dataloaders) and (last or step % self.config.validate_every == 0)
        if (last or step % self.config.checkpoint_every == 0) and not validates:
            self._save(trainer)

    def on_validation_end(self, trainer: Trainer, pl_module: Any) -> None:
        """Write after every validation (the callbacks with a say in stopping have run by now)."""
        self._save(trainer)

    def _save(self, trainer: Trainer) -> None:
        if not self.config.fast_dev_run:
            trainer.save_checkpoint(self.path)


class StepBar(Callback):
    """One progress bar for the whole run, and one line a validation."""

    def __init__(self, config: TrainingConfig, recorder: Recorder) -> None:
        self.config, self.recorder = config, recorder
        self.shown = ExitStack()

    def on_train_start(self, trainer: Trainer, pl_module: Any) -> None:
        """Show the bar at the step that training starts from."""
        self.task = self.shown.enter_context(working("training", self.config.max_steps, "steps", always=True))
        self.task.done = pl_module.steps_done

    def on_train_batch_end(self, trainer: Trainer, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Move on by one step."""
        self.task.advance()
        if self.recorder.rows and self.recorder.rows[-1]["step"] == pl_module.steps_done:
            self.task.note(f"loss {self.recorder.rows[-1]['train_loss']:.3f}")

    def on_validation_end(self, trainer: Trainer, pl_module: Any) -> None:
        """Say how the step's validation went."""
        row = self.recorder.rows[-1]
        rate = self.recorder.tokens / max(self.recorder.seconds, 1e-9)
        more = f"BLEU {row['validation_bleu']:.2f}  " if "validation_bleu" in row else ""
        more += f"reward {row['validation_reward']:.3f}  " if "validation_reward" in row else ""
        say(
            f"step {row['step']:>7} of {self.config.max_steps}  train {row['train_loss']:.4f}  "
            f"validation {row['validation_loss']:.4f}  {more}{rate:,.0f} {pl_module.unit}/s"
        )

    def teardown(self, trainer: Trainer, pl_module: Any, stage: str) -> None:
        """Close the bar."""
        self.shown.close()
