"""The processes that train one model: their number, and the device of each. (Does not load Lightning.)

Each process has the model and trains on its rows of every batch (`data.batches`). The loss of its rows is weighted so
that DDP's mean of the gradients is the gradient of the whole batch, and the curve equals that of one device. This
module starts no processes: torchrun, Slurm or a pipeline stage starts and numbers them, see `ranks`.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import torch

from langladder.ground.errors import InputError
from langladder.ground.ranks import Ranks, from_first, join, ranks
from langladder.ground.schema import checked
from langladder.tasks.optimisation import TrainingConfig, on_gpu

OLDEST = (7, 0)
"""The compute capability that Triton requires: Volta's."""


def check_devices(config: TrainingConfig, own: Ranks) -> None:
    """Raise an error for devices that this machine does not have, and for processes that were not started.

    Args:
        own: the processes that were started.

    Raises:
        InputError: there are fewer GPUs, another number of processes was started, or the number of processes does not
            divide the batches.
    """
    wanted = config.devices * config.nodes
    if own.size == 1 and wanted > 1:
        raise InputError(
            f"training.devices={config.devices}, training.nodes={config.nodes}: there is only this process; start all "
            f"(torchrun --nproc-per-node {config.devices} …, srun), or set both to 1"
        )
    if wanted not in (1, own.size):
        raise InputError(
            f"training.devices={config.devices}, training.nodes={config.nodes}: {own.size} processes were started, not "
            f"{wanted}; set training.devices to {own.local_size} and training.nodes to {own.nodes}, or both to 1"
        )
    checked(type(config), config.model_dump() | {"devices": own.local_size, "nodes": own.nodes}, "training")
    there = torch.cuda.device_count()
    if on_gpu(config) and own.local_size > there:
        raise InputError(
            f"training.devices={own.local_size}: this machine has {there} GPUs; set it to at most {there}, or "
            "training.accelerator to cpu"
        )


def compiles(config: TrainingConfig, *, one_graph: bool) -> bool:
    """Whether `torch.compile` compiles a step's loss.

    Args:
        one_graph: whether the loss is one graph (`Task.one_graph`); `auto` only compiles such losses.
    """
    if config.compile != "auto":
        return config.compile
    return one_graph and on_gpu(config) and config.strategy != "fsdp" and has_compiler()


def has_compiler() -> bool:
    """Whether the requirements of `torch.compile` are met: Triton, and a C compiler for its launchers."""
    compilers = (os.environ.get("CC", ""), "gcc", "clang")
    recent = torch.cuda.get_device_capability() >= OLDEST
    return recent and find_spec("triton") is not None and any(map(shutil.which, compilers))


@contextmanager
def joined(config: TrainingConfig) -> Iterator[None]:
    """Connect to the other processes, if any. On CPUs, the processes of a machine divide its threads among them.

    Raises:
        InputError: see `check_devices`.
    """
    own, threads = ranks(), torch.get_num_threads()
    check_devices(config, own)
    if own.size == 1:
        yield
        return
    join("nccl" if on_gpu(config) else "gloo")
    if not on_gpu(config):
        torch.set_num_threads(max(1, from_first(threads) // own.local_size))
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def tensor_cores(config: TrainingConfig) -> Iterator[None]:
    """On a GPU, use TF32 for fp32 products, unless fp32 is requested. A choice of the caller is not changed."""
    before = torch.get_float32_matmul_precision()
    if on_gpu(config) and config.precision != "fp32" and before == "highest":
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
