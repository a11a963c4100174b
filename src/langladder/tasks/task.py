"""What is being learnt, apart from how: a task holds a network and says its loss on a batch."""

from abc import abstractmethod
from typing import Any, ClassVar, Literal

import pytorch_lightning as pl
import torch

from langladder.data.batches import Update, generator
from langladder.tasks.optimisation import (
    TrainingConfig,
    clip_gradients,
    make_optimizer,
    set_learning_rate,
    train_by_rows,
)

MONITOR = "validation_loss"


class Task(pl.LightningModule):
    """What is being learnt. Subclasses hold the network and say its loss; the rest is the same for every task.

    Attributes:
        monitor: the measure of a validation that says which weights are best.
        mode: whether its lowest (min) or its highest value (max) is the best.
        unit: what its speed is counted in.
    """

    monitor: str = MONITOR
    mode: Literal["min", "max"] = "min"
    unit: ClassVar[str] = "tokens"

    def __init__(self, config: TrainingConfig) -> None:
        super().__init__()
        self.config = config
        self.seed = 0
        self.steps_done = 0
        self._sums = [0.0, 0]

    @abstractmethod
    def loss(self, batch: Any) -> torch.Tensor:
        """Mean loss of a training batch: a scalar to differentiate."""

    @abstractmethod
    def evaluate(self, batch: Any) -> tuple[float, int]:
        """(summed loss, number of terms) of a validation batch; the validation loss is the ratio of their sums."""

    def measures(self) -> dict[str, float]:
        """What a validation measures besides the loss, by names that begin with `validation_`."""
        return {}

    def carried(self) -> Any:
        """What goes from step to step besides the weights (e.g. a hidden state): tensors and their collections."""
        return None

    def set_carried(self, carried: Any) -> None:
        """Put back what `carried` gave."""

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """See `make_optimizer`."""
        train_by_rows(self, self.config)
        return make_optimizer(self, self.config)

    def on_fit_start(self) -> None:
        """Settle a question that torch otherwise asks on the terminal: gradients by rows need no checking."""
        torch.sparse.check_sparse_tensor_invariants.disable()  # type: ignore[no-untyped-call]

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:  # noqa: ARG002 - fixed by Lightning
        """Make the step's randomness and learning rate functions of (seed, step)."""
        seed = int(generator(self.seed, self.steps_done).integers(2**63))
        if self.device.type == "cpu":  # torch.manual_seed would note a stack trace per step for each absent accelerator
            torch.default_generator.manual_seed(seed)
        else:
            torch.manual_seed(seed)
        set_learning_rate(self.trainer.optimizers[0], self.config, self.steps_done)

    def configure_gradient_clipping(self, *_: Any, **__: Any) -> None:
        """See `clip_gradients`. Here, because Lightning's own clipping refuses fused optimisers in bf16."""
        if self.config.clip_norm is not None:
            clip_gradients(self, self.config.clip_norm)

    def training_step(self, update: Update) -> torch.Tensor:
        """One update: the mean loss of its batches, whose gradients but the last's are added up here."""
        self.zero_grad()
        before = torch.zeros((), device=self.device)
        *parts, (last, last_share) = zip(update.batches, update.shares, strict=True)
        for batch, share in parts:
            loss = share * self.loss(batch)
            with torch.autocast(self.device.type, enabled=False):
                loss.backward()  # type: ignore[no-untyped-call]
            before += loss.detach()
        loss = last_share * self.loss(last)
        self.steps_done += 1
        return before + loss

    def optimizer_zero_grad(self, *_: Any, **__: Any) -> None:
        """Nothing: Lightning would clear the gradients between `training_step` and the last batch's."""

    def on_validation_epoch_start(self) -> None:
        """Begin a validation."""
        self._sums = [0.0, 0]

    def validation_step(self, batch: Any) -> None:
        """Add one validation batch."""
        total, count = self.evaluate(batch)
        self._sums = [self._sums[0] + total, self._sums[1] + count]

    def on_validation_epoch_end(self) -> None:
        """Publish the mean loss and the other measures for early stopping and for keeping the best weights."""
        measures = {MONITOR: self._sums[0] / max(1, self._sums[1])} | self.measures()
        for name, value in measures.items():
            self.trainer.callback_metrics[name] = torch.tensor(value, dtype=torch.float64)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the step, and leave out Lightning's own counters: a resumed run counts on from the step."""
        checkpoint.pop("loops", None)
        checkpoint["run"] = self.run()
        checkpoint["steps_done"] = self.steps_done
        checkpoint["carried"] = self.carried()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self.steps_done = checkpoint["steps_done"]
        self.set_carried(checkpoint["carried"])

    def run(self) -> dict[str, Any]:
        """What must be the same for a checkpoint to be continued."""
        shown = {"progress", "profiler", "log_every", "checkpoint_every"}
        return {"seed": self.seed, "config": self.config.model_dump(mode="json", exclude=shown)}
