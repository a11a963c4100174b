"""The processes that train one model: how many, what each computes on, and how Lightning is told.

Each process holds the model and learns from its rows of every batch (`data.batches`). The loss of its rows is weighed
so that the mean of all gradients, which DDP takes, is the gradient of the whole batch: the curve is that of one device.
Nobody is started here: torchrun, Slurm or a stage of the pipeline starts the processes and says which is which, see
`ranks`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from lightning_fabric.plugins.environments.cluster_environment import ClusterEnvironment
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from pytorch_lightning.strategies import DDPStrategy

from langladder.errors import InputError
from langladder.ranks import address, from_first, join, ranks
from langladder.schema import checked
from langladder.tasks.checkpoints import SafetensorsCheckpointIO
from langladder.tasks.optimisation import TrainingConfig


class Started(ClusterEnvironment):
    """Processes that somebody has started, see `ranks`."""

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
        """Whether there are others."""
        return ranks().size > 1

    def world_size(self) -> int:
        """All processes."""
        return ranks().size

    def set_world_size(self, size: int) -> None:
        """Lightning's own count, which agrees."""

    def global_rank(self) -> int:
        """This one's number among all."""
        return ranks().rank

    def set_global_rank(self, rank: int) -> None:
        """Lightning's own count, which agrees."""

    def local_rank(self) -> int:
        """This one's number on its machine."""
        return ranks().local_rank

    def node_rank(self) -> int:
        """Its machine's number."""
        return ranks().rank // ranks().local_size


def check_devices(config: TrainingConfig) -> None:
    """Refuse what this machine has not, or what nobody has started.

    Raises:
        InputError: more GPUs than there are, another number of processes than was started, batches that it does not
            divide.
    """
    own, wanted = ranks(), config.devices * config.nodes
    if own.size == 1 and wanted > 1:
        raise InputError(
            f"training.devices={config.devices}, training.nodes={config.nodes}: this process is alone; start them all "
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
            f"training.devices={own.local_size}: this machine has {there} GPUs; set it to {there} or less, or "
            "training.accelerator to cpu"
        )


def on_gpu(config: TrainingConfig) -> bool:
    """Whether it trains on NVIDIA's or AMD's GPUs."""
    return config.accelerator != "cpu" and torch.cuda.is_available()


@contextmanager
def joined(config: TrainingConfig) -> Iterator[None]:
    """Meet the other processes, where there are some; on processors, all of a machine share the threads of one.

    Raises:
        InputError: see `check_devices`.
    """
    check_devices(config)
    own, threads = ranks(), torch.get_num_threads()
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


def trainer_settings(config: TrainingConfig) -> dict[str, Any]:
    """What Lightning's Trainer is told of the processes and of where checkpoints go."""
    own, files = ranks(), SafetensorsCheckpointIO()
    if own.size == 1:
        return {"accelerator": config.accelerator, "devices": 1, "plugins": [files, LightningEnvironment()]}
    # A batch need not touch every parameter on every process. Buffers are constants.
    strategy = DDPStrategy(find_unused_parameters=True, broadcast_buffers=False)
    return {
        "accelerator": "gpu" if on_gpu(config) else "cpu",
        "devices": own.local_size,
        "num_nodes": own.nodes,
        "strategy": strategy,
        "plugins": [files, Started()],
        "use_distributed_sampler": False,
    }
