"""The rank of this process in a training, and the exchange of values between processes.

The launcher sets environment variables: torchrun and the stages of the pipeline set RANK, WORLD_SIZE, LOCAL_RANK,
LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT; Slurm's srun sets its own variables. Without them a process is alone, and
this module does nothing.
"""

import os
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import torch

PATIENCE = timedelta(minutes=30)
"""How long a process waits for the others."""
PORT = 15_000
"""Slurm sets no port: the first of those derived from the job number."""

MACHINE = ("devices", "nodes", "strategy", "compile")
"""Settings of a training for the number of processes and compiled kernels: sums differ in the last bits. They belong to
the machine, and an interrupted training may continue with others."""

Value = TypeVar("Value")


@dataclass(frozen=True)
class Ranks:
    """The number of this process among all and among those of its machine, and how many these are."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1

    @property
    def nodes(self) -> int:
        """Machines; all have as many processes."""
        return self.size // self.local_size


def ranks() -> Ranks:
    """The ranks in the environment."""
    environment = os.environ
    if int(environment.get("WORLD_SIZE") or 1) > 1 and "RANK" in environment:
        size, local = int(environment["WORLD_SIZE"]), int(environment.get("LOCAL_RANK") or 0)
        return Ranks(int(environment["RANK"]), size, local, int(environment.get("LOCAL_WORLD_SIZE") or size))
    if int(environment.get("SLURM_STEP_NUM_TASKS") or 1) > 1:  # set by srun alone, not in a batch script
        size, nodes = int(environment["SLURM_STEP_NUM_TASKS"]), int(environment.get("SLURM_STEP_NUM_NODES") or 1)
        return Ranks(int(environment["SLURM_PROCID"]), size, int(environment["SLURM_LOCALID"]), size // nodes)
    return Ranks()


def first() -> bool:
    """Whether this process writes the output: models, figures, checkpoints, messages."""
    return ranks().rank == 0


def address() -> tuple[str, int]:
    """Where the processes meet: a name of the first one's machine, and a port there."""
    environment = os.environ
    host, port = environment.get("MASTER_ADDR"), environment.get("MASTER_PORT")
    if host is None:
        from lightning_fabric.plugins.environments.slurm import SLURMEnvironment

        host = SLURMEnvironment.resolve_root_node_address(environment.get("SLURM_STEP_NODELIST") or "127.0.0.1")
    return host, int(port or PORT + int(environment.get("SLURM_JOB_ID") or 0) % 10_000)


def join(backend: str) -> None:
    """Connect to the other processes, once; the connection ends with the process.

    Args:
        backend: nccl (GPUs) or gloo.
    """
    import torch.distributed as dist

    own = ranks()
    if own.size == 1 or dist.is_initialized():
        return
    host, port = address()
    os.environ |= {"MASTER_ADDR": host, "MASTER_PORT": str(port)}
    if backend == "nccl":
        import torch

        torch.cuda.set_device(own.local_rank)
    dist.init_process_group(backend, rank=own.rank, world_size=own.size, timeout=PATIENCE)


def part() -> None:
    """Disconnect from the other processes, if connected."""
    import torch.distributed as dist

    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()


def is_distributed() -> bool:
    """Whether other processes are connected."""
    import torch.distributed as dist

    return bool(dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1)


def from_first(value: Value) -> Value:
    """The value of the first process."""
    if not is_distributed():
        return value
    import torch.distributed as dist

    values: list[Value] = [value]
    dist.broadcast_object_list(values, device=_device())
    return values[0]


def summed(values: "torch.Tensor") -> "torch.Tensor":
    """Reduced entry by entry over all processes; of equal shapes."""
    if not is_distributed():
        return values
    import torch.distributed as dist

    total = values.detach().to(_device(), copy=True)
    dist.all_reduce(total)
    return total.to(values.device)


def gathered(values: "torch.Tensor") -> "list[torch.Tensor]":
    """The tensors of all processes, by rank; of equal shapes."""
    if not is_distributed():
        return [values]
    import torch
    import torch.distributed as dist

    own = values.detach().to(_device()).contiguous()
    tensors = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(tensors, own)
    return [tensor.to(values.device) for tensor in tensors]


def _device() -> "torch.device":
    """The device that tensors must be on to be sent."""
    import torch
    import torch.distributed as dist

    return torch.device("cuda", ranks().local_rank) if dist.get_backend() == "nccl" else torch.device("cpu")
