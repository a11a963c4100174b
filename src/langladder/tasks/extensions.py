"""Extensions of a training run: flags of Lightning's Trainer, callbacks, loggers, an optimiser, a schedule.

Each of them, except the flags, is an entry `{_target_: dotted.path.of.AClass, argument: value, …}` as in Hydra. The
class must be in torch.optim, in Lightning's callbacks, loggers or profilers, in langladder, or in a package that the
user has listed (`ground.plugins`). Names, arguments and kinds of classes are checked with the settings, before anything
runs.

A training run makes two promises: a run that is killed and resumed ends with the same bits as an uninterrupted one, and
a run is a function of its settings. An extension that breaks one of them is an error, which states the reason.
"""

import inspect
import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, cast

import torch
from torch.optim.lr_scheduler import LRScheduler

from langladder.ground import plugins
from langladder.ground.errors import InputError
from langladder.ground.schema import short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytorch_lightning import Callback
    from pytorch_lightning.loggers import Logger

Target = dict[str, Any]
"""`_target_` and the arguments of the class that it names, by name."""
Kind = Literal["optimizer", "schedule", "callbacks", "logger", "profiler"]

HOMES: dict[Kind, tuple[str, ...]] = {
    "optimizer": ("torch.optim", "langladder.tasks"),
    "schedule": ("torch.optim.lr_scheduler", "langladder.tasks"),
    "callbacks": ("pytorch_lightning.callbacks", "langladder.tasks"),
    "logger": ("pytorch_lightning.loggers", "langladder.tasks"),
    "profiler": ("pytorch_lightning.profilers", "langladder.tasks"),
}
"""The allowed packages of the classes of each kind, besides plugins."""
ALIASES = {"lightning.pytorch.": "pytorch_lightning.", "lightning.": "pytorch_lightning."}
STEPS = ("T_max", "total_steps")
"""Arguments of schedules whose default is the number of steps of the run."""

REPORTS = ("pytorch_lightning.profilers.profiler", "pytorch_lightning.callbacks.model_summary")
"""Loggers that print a table because the user has requested it."""

BY_CLOCK = "a run that ends by the clock is not a function of its settings"
OURS = "it is set by langladder"
FLAGS = {
    "accelerator": "set training.accelerator",
    "strategy": "set training.strategy",
    "devices": "set training.devices",
    "num_nodes": "set training.nodes",
    "precision": "set training.precision",
    "logger": "set logger (conf/logger)",
    "callbacks": "set callbacks (conf/callbacks)",
    "fast_dev_run": "set training.fast_dev_run",
    "max_epochs": "set training.max_steps; an epoch is here the stretch up to the next validation",
    "min_epochs": "set training.max_steps; an epoch is here the stretch up to the next validation",
    "max_steps": "set training.max_steps",
    "min_steps": "set training.patience",
    "max_time": f"{BY_CLOCK}; set training.max_steps",
    "limit_train_batches": "a run that is resumed would validate at other steps; set training.max_steps",
    "limit_val_batches": "set training.validation_tokens, where the rung has it",
    "limit_test_batches": "the Trainer does not test here; the stage evaluate does",
    "limit_predict_batches": "the Trainer predicts nothing here",
    "overfit_batches": "set training.overfit_batches",
    "val_check_interval": "set training.validate_every",
    "check_val_every_n_epoch": "set training.validate_every",
    "num_sanity_val_steps": "a validation before the first step would count as one of the run's, and be saved",
    "log_every_n_steps": "set training.log_every",
    "enable_checkpointing": f"{OURS}: every run can be resumed; set training.checkpoint_every",
    "accumulate_grad_batches": "batches are weighted by their tokens; set training.accumulate",
    "gradient_clip_val": "Lightning's clipping refuses fused optimisers in bf16; set training.clip_norm",
    "gradient_clip_algorithm": "gradients are clipped by their norm; set training.clip_norm",
    "benchmark": "kernels that are chosen by measured time give different bits in each run",
    "use_distributed_sampler": f"{OURS}: each process takes its rows of the same batches",
    "barebones": "a run without callbacks, curve and checkpoints cannot be resumed",
    "plugins": f"{OURS}: checkpoints are safetensors; packages of your own are listed in params.yaml: plugins",
    "sync_batchnorm": f"{OURS}: with several processes, buffers must be constants",
    "reload_dataloaders_every_n_epochs": "batches are functions of (seed, step)",
    "model_registry": "models are registered in MLflow",
}
"""Flags of the Trainer that are not supported, each with the setting to use instead or the reason."""
CALLBACKS = {
    "EarlyStopping": "a finished run that is resumed would continue; set training.patience",
    "StochasticWeightAveraging": "it counts epochs, but here an epoch is the steps up to a validation; set "
    "training.average_checkpoints",
    "WeightAveraging": "its averages are not in our checkpoints; set training.average_checkpoints",
    "EMAWeightAveraging": "its averages are not in our checkpoints; set training.average_checkpoints",
    "GradientAccumulationScheduler": "set training.accumulate",
    "BatchSizeFinder": "the figures would depend on the machine; set training.batch_size",
    "LearningRateFinder": "search for a rate with Hydra instead: -m lm.training.lr=0.001,0.01",
    "BaseFinetuning": "it counts epochs, which are here stretches up to a validation",
    "BackboneFinetuning": "it counts epochs, which are here stretches up to a validation",
    "ModelPruning": "the model could not be saved in the form that its class defines",
    "SpikeDetection": "a resumed run would not leave out the same batch",
}
"""Callbacks of Lightning that are not supported, each with the reason."""
PACKAGES = {
    "CometLogger": ("comet_ml",),
    "MLFlowLogger": ("mlflow",),
    "RichModelSummary": ("rich",),
    "RichProgressBar": ("rich",),
    "TensorBoardLogger": ("tensorboard", "tensorboardX"),
    "WandbLogger": ("wandb",),
}
"""Classes of Lightning that need one of these packages, which Lightning looks for only when it creates them."""
OPTIMIZERS = {
    "LBFGS": "it computes the loss several times a step, and every step is one batch",
    "SparseAdam": "it only supports sparse gradients",
}


def checked_target(kind: Kind, entry: object) -> Target:
    """Check that the class of an entry exists, is allowed and accepts its arguments.

    Raises:
        ValueError: it does not; the message names the reason.
    """
    if not isinstance(entry, Mapping) or "_target_" not in entry:
        raise ValueError(f"{short(entry)}: write {{_target_: {HOMES[kind][0]}.AClass, argument: value}}")
    arguments = {
        str(key): value for key, value in entry.items() if key not in ("_partial_", "_convert_", "_recursive_")
    }
    located = _located(kind, str(arguments["_target_"]))
    if (name := located.__name__) in (refused := {"callbacks": CALLBACKS, "optimizer": OPTIMIZERS}.get(kind, {})):
        raise ValueError(f"{name} is not supported: {refused[name]}")
    packages = PACKAGES.get(name, ()) if located.__module__.startswith("pytorch_lightning.") else ()
    if packages and not any(map(find_spec, packages)):
        package = packages[0].replace("_", "-")
        raise ValueError(f"{name} needs {package}, which is not installed: pip install {package}")
    if name == "Timer" and arguments.get("duration") is not None:
        raise ValueError(f"Timer with a duration is not supported: {BY_CLOCK}")
    if kind != "schedule" or "schedulers" not in arguments:
        _check_arguments(located, arguments, kind)
    for inner in arguments.get("schedulers", []) if kind == "schedule" else []:
        checked_target(kind, inner)
    return arguments


def checked_entries(kind: Kind, entries: object) -> dict[str, Target]:
    """Callbacks or loggers, by name, from a list of entries or from entries by name (null removes one)."""
    if isinstance(entries, Mapping):
        named = {str(name): entry for name, entry in entries.items() if entry is not None}
        if "_target_" in named:
            raise ValueError(f"one entry without a name; write {{a_name: {{_target_: {named['_target_']}, …}}}}")
    elif isinstance(entries, Sequence) and not isinstance(entries, str):
        named = {str(number): entry for number, entry in enumerate(entries)}
    else:
        raise ValueError("a list of entries, or entries by names: {name: {_target_: …}}")
    return {name: checked_target(kind, entry) for name, entry in named.items()}


def checked_flags(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Check that Lightning's Trainer has these flags and that they may be set.

    Raises:
        ValueError: the first flag that is unknown or not allowed.
    """
    if not flags:
        return {}
    for name in flags:
        if name in FLAGS:
            raise ValueError(f"trainer.{name} is not supported: {FLAGS[name]}")
        if name not in (known := trainer_flags()):
            near = get_close_matches(name, [flag for flag in known if flag not in FLAGS], n=3, cutoff=0.5)
            nearest = f"; the nearest: {', '.join(near)}" if near else ""
            raise ValueError(f"trainer.{name}: not a flag of pytorch_lightning.Trainer{nearest}")
    if flags.get("deterministic") is False:
        raise ValueError(
            "trainer.deterministic=false is not supported: a run must end with the same bits; use true or warn"
        )
    checked = dict(flags)
    if isinstance(profiler := flags.get("profiler"), Mapping):
        checked["profiler"] = checked_target("profiler", profiler)
    _try(json.dumps({key: value for key, value in checked.items() if key != "profiler" or isinstance(value, str)}))
    return checked


@cache
def trainer_flags() -> tuple[str, ...]:
    """All arguments of Lightning's Trainer."""
    from pytorch_lightning import Trainer

    return tuple(name for name in inspect.signature(Trainer.__init__).parameters if name != "self")


@cache
def _try(flags: str) -> None:
    """Check the values of flags with Lightning."""
    from lightning_fabric.utilities.exceptions import MisconfigurationException
    from pytorch_lightning import Trainer

    try:
        with quiet():
            Trainer(accelerator="cpu", devices=1, logger=False, enable_checkpointing=False, **json.loads(flags))
    except (MisconfigurationException, TypeError, ValueError) as error:
        raise ValueError(f"trainer: Lightning says: {' '.join(str(error).split())[:300]}") from error


def built(kind: Kind, entry: Target, *first: object) -> Any:
    """Create the object of an entry. `first` are the arguments before its own, also for entries inside it.

    Raises:
        InputError: the class refuses its arguments.
    """
    arguments = {key: _inner(kind, value, first) for key, value in entry.items() if key != "_target_"}
    try:
        return _located(kind, entry["_target_"])(*first, **arguments)
    except (TypeError, ValueError, ImportError, RuntimeError) as error:
        message = " ".join(str(error).split())[:300]
        raise InputError(f"training.{kind}: {entry['_target_']}: {message}") from error


def _inner(kind: Kind, value: object, first: tuple[object, ...]) -> object:
    if isinstance(value, Mapping) and "_target_" in value:
        return built(kind, checked_target(kind, value), *first)
    if isinstance(value, list):
        return [_inner(kind, entry, first) for entry in value]
    return value


def built_flags(flags: Mapping[str, Any]) -> dict[str, Any]:
    """The Trainer's flags, with the profiler of an entry as an object."""
    profiler = flags.get("profiler")
    return dict(flags) | ({"profiler": built("profiler", dict(profiler))} if isinstance(profiler, Mapping) else {})


def built_callbacks(entries: Mapping[str, Target]) -> "list[Callback]":
    """Callbacks from the settings."""
    return [built("callbacks", entry) for entry in entries.values()]


def built_loggers(entries: Mapping[str, Target]) -> "list[Logger]":
    """Loggers from the settings."""
    return [built("logger", entry) for entry in entries.values()]


def built_schedule(entry: Target, optimizer: torch.optim.Optimizer, steps: int) -> LRScheduler:
    """A schedule of torch or of a plugin. Its arguments in `STEPS` that have no value are set to the number of steps of
    the run."""

    def whole(target: Target) -> Target:
        inner = {"schedulers": [whole(part) for part in target["schedulers"]]} if "schedulers" in target else {}
        parameters = inspect.signature(_located("schedule", target["_target_"])).parameters
        return {name: steps for name in STEPS if name in parameters} | target | inner

    return cast(LRScheduler, built("schedule", whole(entry), optimizer))


def _located(kind: Kind, target: str) -> type:
    """The class of an entry's `_target_`.

    Raises:
        ValueError: the class is not allowed, or does not exist.
    """
    for other, ours in ALIASES.items():
        target = ours + target.removeprefix(other) if target.startswith(other) else target
    package = plugins.package_of(target)
    homes = (package,) if package else tuple(package for package in HOMES[kind] if target.startswith(f"{package}."))
    if not homes:
        allowed = ", ".join(HOMES[kind])
        raise ValueError(f"_target_: {short(target)} is not allowed: a class of {allowed}{plugins.advice(target)}")
    location = plugins.find(target, homes)
    if not isinstance(location, type) or not issubclass(location, _base(kind)) or location is _base(kind):
        raise InputError(f"_target_: {target!r} is not a subclass of {_base(kind).__name__}")
    return location


def _base(kind: Kind) -> type:
    """The base class of each kind."""
    if kind == "optimizer":
        return torch.optim.Optimizer
    if kind == "schedule":
        return LRScheduler
    from pytorch_lightning import Callback
    from pytorch_lightning.loggers import Logger
    from pytorch_lightning.profilers import Profiler

    return {"callbacks": Callback, "logger": Logger, "profiler": Profiler}[kind]


def _check_arguments(located: type, entry: Target, kind: Kind) -> None:
    signature = inspect.signature(located)
    names = [name for name in entry if name != "_target_"]
    open_ended = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in signature.parameters.values())
    for name in names:
        if name not in signature.parameters and not open_ended:
            near = get_close_matches(name, signature.parameters, n=3, cutoff=0.5)
            nearest = f"; the nearest: {', '.join(near)}" if near else ""
            raise ValueError(f"{located.__name__} has no argument {name}{nearest}")
    first = 1 if kind in ("optimizer", "schedule") else 0
    for number, (name, parameter) in enumerate(signature.parameters.items()):
        named = number < first or name in entry or (kind == "schedule" and name in STEPS)
        if (
            not named
            and parameter.default is parameter.empty
            and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        ):
            raise ValueError(f"{located.__name__} needs {name}")


@contextmanager
def quiet() -> "Iterator[None]":
    """Keep Lightning from printing devices, tips and worker processes; requested output is still printed."""
    wanted = dict.fromkeys(("pytorch_lightning", "lightning", "lightning_fabric"), logging.ERROR)
    wanted |= dict.fromkeys(REPORTS, logging.INFO)
    loggers = [logging.getLogger(name) for name in wanted]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(wanted[logger.name])
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
