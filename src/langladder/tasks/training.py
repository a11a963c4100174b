"""One training loop for every task: a `Task` defines the loss, `train_task` runs it with a Lightning Trainer.

A run that is killed at any moment and restarted ends with the same bits as an uninterrupted run, because everything a
step depends on is either in the checkpoint (weights, optimiser, carried state, curve, early stopping) or a pure
function of (seed, step): the batch, the learning rate, and the random numbers of dropout.
"""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict, cast

import pytorch_lightning as pl
import torch
from lightning_fabric.plugins.environments.cluster_environment import ClusterEnvironment
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from lightning_fabric.utilities.exceptions import MisconfigurationException
from pytorch_lightning.callbacks import EarlyStopping, ModelSummary, ProgressBar
from pytorch_lightning.loggers import Logger
from pytorch_lightning.loggers.logger import DummyLogger
from pytorch_lightning.strategies import DDPStrategy

from langladder.data.batches import StepBatches, Update
from langladder.ground.errors import InputError
from langladder.ground.memory import keep_freed_memory, peak_bytes
from langladder.ground.progress import say
from langladder.ground.ranks import address, first, from_first, ranks
from langladder.models.making import Kept, Run, TrainingResult
from langladder.models.network import Network
from langladder.nn.lora import adapted
from langladder.tasks.callbacks import (
    BestWeights,
    Recorder,
    ResumePoint,
    Snapshots,
    StepBar,
    UpdateSize,
    all_snapshots,
    best_row,
    mean_weights,
    snapshots,
    validations,
)
from langladder.tasks.checkpoints import SUFFIX, Checkpoint, SafetensorsCheckpointIO, read_checkpoint
from langladder.tasks.devices import joined, tensor_cores
from langladder.tasks.extensions import built_callbacks, built_flags, built_loggers, quiet
from langladder.tasks.optimisation import Precision, TrainingConfig, on_gpu, resolve_precision
from langladder.tasks.sharding import Sharded
from langladder.tasks.task import MONITOR, Task


def train_task(module: Task, batches: StepBatches[Any], config: TrainingConfig, run: Run) -> TrainingResult:
    """Train `module`; it ends with its best validation weights (its last ones without validation).

    With `lora`, what is trained is part of its weights in the end, see `nn.lora`.

    With `average_checkpoints` above 1, it ends with the mean weights of its last validations instead.

    Args:
        batches: training batch of each step, and the validation batches.
        run: its seed is used for dropout; batches and initial weights have their own seeds. If its checkpoint folder
            has a checkpoint of this run, training continues from it.

    Raises:
        InputError: the checkpoint belongs to another run, early stopping has no validation data, or training diverged.
    """
    with joined(config), tensor_cores(config):
        run = replace(run, checkpoints=Path(from_first(str(run.checkpoints))))
        if config.lora is None:
            return _train(module, batches, config, run)
        network = cast(Network, module.model)
        settings = config.lora.model_dump()
        with adapted(network, network.from_base, seed=run.seed, **settings):
            trained = sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)
            say(f"LoRA: {trained:,} numbers are trained")
            return replace(_train(module, batches, config, run), trained=trained)


def _train(module: Task, batches: StepBatches[Any], config: TrainingConfig, run: Run) -> TrainingResult:
    checkpoints = run.checkpoints
    last, best, kept = checkpoints / f"last{SUFFIX}", checkpoints / f"best{SUFFIX}", checkpoints / "snapshots"
    module.save_hyperparameters(config.model_dump(mode="json"))  # for loggers that record settings
    module.seed = run.seed
    recorder = Recorder(config, UpdateSize(config))
    validation, precision = batches.validation(), resolve_precision(config, one_shape=batches.one_shape)
    if config.patience is not None and not len(validation):
        raise InputError(f"training.patience={config.patience}: there is no validation data; set it to null")
    with _quiet(), _reproducible():
        saved = _read_own(module, last) if last.is_file() and not config.fast_dev_run else None
        if saved is not None:
            _check_kept(module, saved, best, kept)
        elif not config.fast_dev_run:
            for old in all_snapshots(kept) if first() else ():  # from a run without a checkpoint
                old.unlink()
        if saved is None or not _finished(saved, module):
            callbacks = _callbacks(module, recorder, checkpoints, bool(len(validation)))
            trainer = _trainer(module, precision, callbacks, checkpoints, config.max_steps, _loggers(config, run))
            data = StepData(module, batches, validation)
            resume = None if saved is None else str(last)
            with _refusals_of_lightning():
                trainer.fit(module, datamodule=data, ckpt_path=resume)
            trainer.strategy.barrier()  # everything has been written
        else:
            module.on_load_checkpoint(saved)
            recorder.load_state_dict(saved["callbacks"]["Recorder"])
            module.load_state_dict(saved["state_dict"])
        row, chosen = best_row(recorder.rows, module), None
        loss = row.get(MONITOR)
        if config.average_checkpoints > 1 and not config.fast_dev_run:
            module.load_state_dict(mean_weights(snapshots(kept, module.steps_done)))
            loss = _validated(module, precision, validation, checkpoints) if len(validation) else None
        elif len(validation) and best.is_file() and not config.fast_dev_run:
            module.load_state_dict(read_checkpoint(best)["state_dict"])
            chosen = Kept(
                cast(int, row["step"]), module.monitor, cast(float, row[module.monitor]), module.mode == "max"
            )
            if config.progress and first():
                say(str(chosen))
    seconds = recorder.seconds
    cost = {"seconds": seconds, "tokens_per_second": recorder.tokens / max(seconds, 1e-9)}
    if recorder.processor_seconds:
        cost["processor_seconds"] = recorder.processor_seconds
    cost["peak_memory_bytes"] = peak_bytes()
    return TrainingResult(recorder.rows, cost, loss, steps=module.steps_done, kept=chosen)


def _loggers(config: TrainingConfig, run: Run) -> list[Logger]:
    """The run's logger and those of the settings; with several processes, only the first process has loggers."""
    if not first():
        return [DummyLogger()] if config.callbacks else []  # some callbacks require a logger
    own = [cast(Logger, run.logger())] if run.logger else []
    return [*own, *built_loggers(config.logger)]


def _callbacks(module: Task, recorder: Recorder, checkpoints: Path, validates: bool) -> list[pl.Callback]:
    config = module.config
    callbacks: list[pl.Callback] = [recorder.update_size, recorder]
    if config.progress and first():
        callbacks.append(StepBar(config, recorder))
    if config.patience is not None:
        # at the validation, not at the end of Lightning's epoch, so that this step's checkpoint has the count
        stops = EarlyStopping(
            module.monitor, patience=config.patience, mode=module.mode, check_on_train_epoch_end=False
        )
        callbacks.append(stops)
    if config.average_checkpoints > 1:
        callbacks.append(Snapshots(checkpoints / "snapshots", config))
    if validates:
        callbacks.append(BestWeights(checkpoints / f"best{SUFFIX}", recorder))
    callbacks += built_callbacks(config.callbacks)
    return [*callbacks, ResumePoint(checkpoints / f"last{SUFFIX}", config)]


def _trainer(
    module: Task,
    precision: Precision,
    callbacks: list[pl.Callback],
    checkpoints: Path,
    steps: int,
    loggers: Sequence[Logger] = (),
) -> pl.Trainer:
    """The Trainer. An "epoch" is the steps up to the next validation."""
    config = module.config
    flags: dict[str, Any] = {
        "deterministic": "warn",
        "profiler": config.profiler,
        "enable_progress_bar": any(isinstance(callback, ProgressBar) for callback in callbacks),
        "enable_model_summary": any(isinstance(callback, ModelSummary) for callback in callbacks),
        "default_root_dir": checkpoints,
    }
    with _refusals_of_lightning():
        return pl.Trainer(
            max_epochs=-1,
            max_steps=steps,
            **trainer_settings(config, one_graph=module.one_graph),
            precision="bf16-mixed" if precision == "bf16" else "32-true",
            callbacks=callbacks,
            logger=list(loggers) or False,
            log_every_n_steps=config.log_every,
            num_sanity_val_steps=0,
            fast_dev_run=config.fast_dev_run,
            enable_checkpointing=bool(callbacks),
            **flags | built_flags(config.trainer),
        )


@contextmanager
def _refusals_of_lightning() -> Iterator[None]:
    """Errors from Lightning become errors in the settings, for example a callback that needs a logger."""
    try:
        yield
    except MisconfigurationException as error:
        raise InputError(f"training.trainer, callbacks, logger: {' '.join(str(error).split())}") from error


def _validated(module: Task, precision: Precision, validation: Sequence[object], checkpoints: Path) -> float:
    """The validation loss of the current weights, computed as during training."""
    trainer = _trainer(module, precision, [], checkpoints, 0)
    trainer.validate(module, _Validation(validation), verbose=False)
    return float(trainer.callback_metrics[MONITOR])


class StepData(pl.LightningDataModule):
    """The batches of a run: the training batches up to the next validation, and the validation batches, if any."""

    def __init__(self, module: Task, batches: StepBatches[Any], validation: Sequence[object]) -> None:
        super().__init__()
        self.module, self.batches, self.validation = module, batches, validation

    def train_dataloader(self) -> Iterable[Update]:
        """The training batches of the updates."""
        return _Steps(self.module, self.batches, self.module.config)

    def val_dataloader(self) -> Iterable[tuple[object, bool]]:
        """The validation batches of this process."""
        return _Validation(self.validation) if len(self.validation) else []


class _Steps:
    """The updates up to the next validation, from the step that the task has reached."""

    def __init__(self, module: Task, batches: StepBatches[Any], config: TrainingConfig) -> None:
        self.module, self.batches, self.config = module, batches, config

    def __iter__(self) -> Iterator[Update]:
        return pinned_ahead(self._drawn()) if on_gpu(self.config) else self._drawn()

    def _drawn(self) -> Iterator[Update]:
        first, every = self.module.steps_done, self.config.validate_every
        for step in range(first, min((first // every + 1) * every, self.config.max_steps)):
            own = ranks().rank, ranks().size
            yield Update.of(self.batches, step, self.config.accumulate, self.config.overfit_batches, own)


def pinned_ahead(updates: Iterator[Update]) -> Iterator[Update]:
    """The batches in pinned memory, which a GPU can read while it computes. A thread prepares each batch during the
    previous step."""

    def draw() -> Any:
        return _pinned(next(updates, None))

    with ThreadPoolExecutor(1) as thread:
        following = thread.submit(draw)
        while (update := following.result()) is not None:
            following = thread.submit(draw)
            yield update


def _pinned(value: Any) -> Any:
    """A batch with all tensors in pinned memory; other objects are unchanged."""
    if isinstance(value, torch.Tensor):
        return value.pin_memory()
    if isinstance(value, dict):
        return {key: _pinned(entry) for key, entry in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_pinned, value))
    return type(value)(map(_pinned, value)) if type(value) in (list, tuple) else value


@dataclass(frozen=True)
class _Validation:
    """This process's batches, every n-th, and whether each counts. All processes have the same number of batches."""

    batches: Sequence[object]

    def __iter__(self) -> Iterator[tuple[object, bool]]:
        for position in range(ranks().rank, len(self) * ranks().size, ranks().size):
            counts = position < len(self.batches)
            yield self.batches[position if counts else 0], counts

    def __len__(self) -> int:
        return -(-len(self.batches) // ranks().size)


def _read_own(module: Task, path: Path) -> Checkpoint:
    saved = read_checkpoint(path)
    if saved.get("run") != module.run():
        raise InputError(
            f"{path}: a checkpoint of another run (other settings or seed); delete it or use another folder"
        )
    return saved


def _check_kept(module: Task, saved: Checkpoint, best: Path, kept: Path) -> None:
    """Raise an error if files of weights that the run may end with are missing beside its checkpoint.

    Raises:
        InputError: they are missing, for example if only the checkpoint was copied.
    """
    config, done = module.config, int(saved["steps_done"])
    if config.average_checkpoints > 1:
        so_far = done // config.validate_every + (done == config.max_steps and done % config.validate_every > 0)
        missing = kept if len(snapshots(kept, done)) < min(config.average_checkpoints, so_far) else None
    else:
        validated = validations(saved["callbacks"]["Recorder"]["rows"])
        missing = best if validated and not best.is_file() else None
    if missing is not None:
        raise InputError(
            f"{missing}: missing or incomplete, but the training at step {done} may need its weights; copy it too, "
            f"or delete {best.parent} to start afresh"
        )


def _finished(saved: Checkpoint, module: Task) -> bool:
    """Whether the checkpoint is the end of a run: all steps are done, or early stopping has ended it."""
    if saved["steps_done"] >= module.config.max_steps:
        return True
    rows = validations(saved["callbacks"]["Recorder"]["rows"])
    if module.config.patience is None or not rows:
        return False
    return len(rows) - 1 - rows.index(best_row(rows, module)) >= module.config.patience


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Lightning's own output, see `quiet`, and its warnings."""
    with quiet(), warnings.catch_warnings():
        for module in ("pytorch_lightning", "lightning", "lightning_fabric"):
            warnings.filterwarnings("ignore", module=module)
        warnings.filterwarnings("ignore", message="FSDP2-wrapped module .* returned a view")  # nothing writes to it
        yield


@contextmanager
def _reproducible() -> Iterator[None]:
    """Use deterministic kernels inside; restore the global random state and switches afterwards."""
    keep_freed_memory()
    deterministic: Any = torch.utils.deterministic
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    filling = deterministic.fill_uninitialized_memory
    deterministic.fill_uninitialized_memory = False  # only protects against reads of uninitialised memory
    try:
        with torch.random.fork_rng():
            yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        deterministic.fill_uninitialized_memory = filling


class Started(ClusterEnvironment):
    """Processes that were started outside, see `ranks`."""

    @property
    def creates_processes_externally(self) -> bool:
        """Always."""
        return True

    @property
    def main_address(self) -> str:
        """See `ranks.address`."""
        return address()[0]

    @property
    def main_port(self) -> int:
        """See `ranks.address`."""
        return address()[1]

    @staticmethod
    def detect() -> bool:
        """Whether there are several processes."""
        return ranks().size > 1

    def world_size(self) -> int:
        """The number of processes."""
        return ranks().size

    def set_world_size(self, size: int) -> None:
        """Lightning's own count, which agrees."""

    def global_rank(self) -> int:
        """The number of this process among all."""
        return ranks().rank

    def set_global_rank(self, rank: int) -> None:
        """Lightning's own count, which agrees."""

    def local_rank(self) -> int:
        """The number of this process on its machine."""
        return ranks().local_rank

    def node_rank(self) -> int:
        """The number of this process's machine."""
        return ranks().rank // ranks().local_size


class TrainerSettings(TypedDict, total=False):
    """Arguments of Lightning's Trainer."""

    accelerator: str
    devices: int
    num_nodes: int
    strategy: DDPStrategy
    plugins: list[Any]
    use_distributed_sampler: bool


def trainer_settings(config: TrainingConfig, *, one_graph: bool = False) -> TrainerSettings:
    """The Trainer's strategy for processes, with our checkpoint files.

    Args:
        one_graph: see `Task.one_graph`. DDP then does not search the graph of each step for weights without a gradient.
    """
    own, files = ranks(), SafetensorsCheckpointIO()
    if own.size == 1:
        return {"accelerator": config.accelerator, "devices": 1, "plugins": [files, LightningEnvironment()]}
    # In other tasks, a process's batch may not use every parameter. Buffers are constants.
    kind = Sharded if config.strategy == "fsdp" else DDPStrategy
    strategy = kind(find_unused_parameters=not one_graph, broadcast_buffers=False, gradient_as_bucket_view=True)
    return {
        "accelerator": "gpu" if on_gpu(config) else "cpu",
        "devices": own.local_size,
        "num_nodes": own.nodes,
        "strategy": strategy,
        "plugins": [files, Started()],
        "use_distributed_sampler": False,
    }
