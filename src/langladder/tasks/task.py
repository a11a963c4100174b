"""A task has a network and defines its loss on a batch; the training loop is separate.

A task is a LightningModule (`training_step`, `validation_step`, `configure_optimizers`, `log`). It differs from
Lightning's defaults so that a run ends with the same bits wherever it was interrupted, and for any number of processes:

    accumulation   in `training_step`: batches are weighted by the number of terms in their mean loss, over all
                   processes (`StepBatches.terms`); the Trainer would weight them equally
    clipping       `configure_gradient_clipping`: Lightning's refuses fused optimisers in bf16
    curve          the `Recorder` passes it to loggers: Lightning would log a validation one step earlier, and training
                   only at multiples of `log_every_n_steps`
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import pytorch_lightning as pl
import torch
from pytorch_lightning.trainer.states import TrainerFn
from pytorch_lightning.utilities.types import OptimizerLRSchedulerConfig
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from langladder.data.batches import Update, generator
from langladder.ground.ranks import MACHINE, from_first, gathered, ranks, summed
from langladder.tasks.checkpoints import Checkpoint
from langladder.tasks.devices import compiles
from langladder.tasks.optimisation import (
    TrainingConfig,
    clip_gradients,
    clip_update,
    learning_rate,
    make_optimizer,
    make_schedule,
    penalty,
    train_by_rows,
)

MONITOR = "validation_loss"


class Task(pl.LightningModule):
    """Base of all tasks. Subclasses hold the network and define its loss; the rest is the same for every task.

    Attributes:
        monitor: the validation measure that selects the best weights.
        mode: whether its lowest (min) or its highest value (max) is the best.
        unit: what its speed counts per second.
        rate: the learning rate of the last update.
        tally: additional counts of `evaluate` in a validation, for `measures`.
    """

    monitor: str = MONITOR
    mode: Literal["min", "max"] = "min"
    unit: ClassVar[str] = "tokens"

    def __init__(self, config: TrainingConfig) -> None:
        super().__init__()
        self.config = config
        self.seed = 0
        self.steps_done = 0
        self.rate = 0.0
        self.tally: Counter[str] = Counter()
        self._validated: list[tuple[float, int]] = []
        self._compiled: tuple[Callable[..., torch.Tensor], Callable[..., tuple[torch.Tensor, ...]]] | None = None

    @abstractmethod
    def loss(self, batch: Any) -> torch.Tensor:
        """Mean loss of a training batch: a scalar to differentiate."""

    def means(self, batch: Any) -> tuple[torch.Tensor, ...]:
        """The means whose sum is `loss`. `StepBatches.terms` has the number of terms of each."""
        return (self.loss(batch),)

    @property
    def one_graph(self) -> bool:
        """Whether the loss is one graph on a GPU, and gives every weight a gradient for every batch."""
        return False

    @abstractmethod
    def evaluate(self, batch: Any) -> tuple[float, int]:
        """(summed loss, number of terms) of a validation batch; the validation loss is the ratio of their sums."""

    def measures(self) -> dict[str, float]:
        """Validation measures besides the loss, with names that begin with `validation_`."""
        return {}

    def carried(self) -> object:
        """The state between steps besides the weights (e.g. a hidden state): tensors and their collections."""
        return None

    def set_carried(self, carried: Any) -> None:
        """Restore the state of `carried`, for any number of processes."""

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        """See `make_optimizer` and `make_schedule`."""
        train_by_rows(self, self.config)
        optimizer = make_optimizer(self, self.config)
        schedule = make_schedule(optimizer, self.config)
        plateau = isinstance(schedule, ReduceLROnPlateau)
        interval = "epoch" if plateau else "step"
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": interval, "monitor": self.monitor},
        }

    def lr_scheduler_step(self, scheduler: LRScheduler, metric: object) -> None:
        """After each update. ReduceLROnPlateau is stepped at the validation itself, so that its checkpoint has the new
        rate."""
        del metric
        if not isinstance(scheduler, ReduceLROnPlateau):
            scheduler.step()

    def on_fit_start(self) -> None:
        """Turn off checks of sparse gradients, about which torch would otherwise warn; compile the loss if requested.

        The loss is compiled, not the network, so that weights keep their names in all files.
        """
        torch.sparse.check_sparse_tensor_invariants.disable()  # type: ignore[no-untyped-call]
        self._compiled = None
        if compiles(self.config, one_graph=self.one_graph):
            torch.compiler.reset()  # drop the graphs of other training runs: torch keeps few per function
            self._compiled = torch.compile(self.loss), torch.compile(self.means)

    def on_train_batch_start(self, batch: object, batch_idx: int) -> None:  # noqa: ARG002 - fixed by Lightning
        """Make the step's randomness a function of (seed, step); each process has its own dropout."""
        key = (self.seed, self.steps_done, *filter(None, [ranks().rank]))
        seed = int(generator(*key).integers(2**63))
        if self.device.type == "cpu":  # torch.manual_seed would note a stack trace per step for each absent accelerator
            torch.default_generator.manual_seed(seed)
        else:
            torch.manual_seed(seed)
        if isinstance(self.config.schedule, str):
            self.rate = learning_rate(self.config, self.steps_done)
        else:
            self.rate = float(self.trainer.optimizers[0].param_groups[0]["lr"])

    def transfer_batch_to_device(self, batch: object, device: torch.device, dataloader_idx: int) -> object:
        """On a CPU, return the batch unchanged: Lightning would traverse every number of a batch of trees for
        nothing."""
        return batch if device.type == "cpu" else super().transfer_batch_to_device(batch, device, dataloader_idx)

    def configure_gradient_clipping(self, *_: object, **__: object) -> None:
        """See `clip_update`. Here, because Lightning's own clipping refuses fused optimisers in bf16."""
        if self.config.clip_norm is None:
            return
        if isinstance(self.config.schedule, str):
            clip_update(self, self.trainer.optimizers[0], self.config.clip_norm)
        else:
            clip_gradients(self, self.config.clip_norm)

    def training_step(self, update: Update) -> torch.Tensor:
        """One update: the mean loss of its batches. The gradients of all batches except the last are accumulated
        here."""
        self.zero_grad()
        before = torch.zeros((), device=self.device)
        *parts, (last, last_share, last_weights) = zip(update.batches, update.shares, update.weights, strict=True)
        for batch, share, weights in parts:
            loss = share * self._weighted(batch, weights)
            with torch.autocast(self.device.type, enabled=False):
                loss.backward()  # type: ignore[no-untyped-call]
            before += loss.detach()
        loss = last_share * self._weighted(last, last_weights)
        if parts and last_weights and self.config.strategy != "fsdp":
            # DDP must exchange all accumulated gradients, even those to which the last batch adds nothing.
            for parameter in self.parameters():
                if parameter.grad is not None:
                    loss = loss + 0.0 * parameter.flatten()[0]
        if self.config.l1 or self.config.l2:
            loss = loss + penalty(self, self.config)
        self.steps_done += 1
        return before + loss

    def _weighted(self, batch: object, weights: tuple[float, ...]) -> torch.Tensor:
        """The loss of a batch, or of this process's part of it times the number of processes, because DDP averages over
        them."""
        loss, means = self._compiled or (self.loss, self.means)
        if not weights:
            return loss(batch)
        # L = Σ_r Σ_i (n_ri / n_i) L_ri = (1/n) Σ_r n Σ_i (n_ri / n_i) L_ri
        parts = zip(weights, means(batch), strict=True)
        return ranks().size * torch.stack([weight * mean for weight, mean in parts]).sum()

    def optimizer_zero_grad(self, *_: object, **__: object) -> None:
        """Do nothing: Lightning would clear the gradients that `training_step` has accumulated before the last
        batch."""

    def on_validation_epoch_start(self) -> None:
        """Reset the sums for a new validation."""
        self.tally, self._validated = Counter(), []

    def validation_step(self, batch: tuple[object, bool]) -> None:
        """Add one validation batch. A batch that does not count only keeps the processes synchronised."""
        validation, counts = batch
        before = Counter(self.tally)
        figures = self.evaluate(validation)
        if counts:
            self._validated.append(figures)
        else:
            self.tally = Counter({name: before[name] for name in self.tally})

    def on_validation_epoch_end(self) -> None:
        """Publish the mean loss and the other measures for early stopping and for keeping the best weights."""
        total, count = 0.0, 0
        for loss, terms in self._of_all():
            total, count = total + loss, count + terms
        names = sorted(self.tally)
        numbers = summed(torch.tensor([self.tally[name] for name in names], dtype=torch.float64))
        self.tally = Counter({name: int(number) for name, number in zip(names, numbers.tolist(), strict=True)})
        measures = from_first({MONITOR: total / max(1, count)} | self.measures())
        for name, value in measures.items():  # the recorder passes them to loggers with their step
            tensor = torch.tensor(value, dtype=torch.float64, device=self.device)
            self.log(name, tensor, prog_bar=name == MONITOR, logger=False, batch_size=1)
        if self.trainer.state.fn == TrainerFn.FITTING:
            for scheduler in self.trainer.lr_scheduler_configs:
                if isinstance(scheduler.scheduler, ReduceLROnPlateau):
                    scheduler.scheduler.step(measures[self.monitor])

    def _of_all(self) -> list[tuple[float, int]]:
        """The results of all processes in the order of the batches, which does not depend on the number of
        processes."""
        if ranks().size == 1:
            return self._validated
        most = int(max(gathered(torch.tensor([len(self._validated)])))[0])
        padded = torch.full((most, 2), -1.0, dtype=torch.float64)
        padded[: len(self._validated)] = torch.tensor(self._validated, dtype=torch.float64).view(-1, 2)
        rows = torch.stack(gathered(padded), dim=1).flatten(0, 1).tolist()  # result i of each, then i + 1
        return [(loss, int(terms)) for loss, terms in rows if terms >= 0]

    def on_save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Add the step, from which batches, dropout and rates follow. Lightning adds the counters of its loops."""
        checkpoint["run"] = self.run()
        checkpoint["steps_done"] = self.steps_done
        checkpoint["carried"] = self.carried()

    def on_load_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Restore the step and the state from a checkpoint."""
        self.steps_done = checkpoint["steps_done"]
        self.set_carried(checkpoint["carried"])

    def run(self) -> dict[str, object]:
        """Everything that must be equal to continue from a checkpoint."""
        free = {"progress", "profiler", "log_every", "checkpoint_every", "logger"}
        free |= {*MACHINE}
        return {"seed": self.seed, "config": self.config.model_dump(mode="json", exclude=free)}


def task_of(module: pl.LightningModule) -> Task:
    """The module that Lightning passes to callbacks, as a task."""
    assert isinstance(module, Task)
    return module
