"""FSDP: each process keeps a part of every matrix, its gradient and the optimiser's state (Rajbhandari et al. 2020).

A layer's weights are gathered before it computes, and released after it (PyTorch's `fully_shard`), so that no device
needs memory for all weights and their Adam moments. Training uses a copy of the network with such weights; the given
network gets the whole weights at the end, and is saved as usual. Checkpoints also have whole weights, so any number of
processes, even one, can continue from them.
"""

import copy
from collections.abc import Mapping
from typing import Any

import torch
from pytorch_lightning.strategies import DDPStrategy
from torch import Tensor
from torch.optim import Optimizer

from langladder.ground.errors import InputError
from langladder.models.network import Network
from langladder.tasks.optimisation import whole

READS = ("log_probs", "losses", "target_log_probs", "follow_log_probs")
"""Methods of a network, besides `forward`, that tasks call and that need gathered weights."""


class Sharded(DDPStrategy):
    """Lightning's strategy: like DDP, but each process keeps only a part of the weights."""

    def configure_ddp(self) -> None:
        """Replace the network by the sharded copy, on its device.

        Raises:
            InputError: the network does not define its layers (`Network.shards`).
        """
        task = self.model
        assert task is not None
        network = getattr(task, "model", None)
        check_shards(network)
        assert isinstance(network, Network)
        task.model = shard(copy.deepcopy(network), self.root_device)
        self.network = network.cpu()

    def lightning_module_state_dict(self) -> dict[str, Tensor]:
        """All weights, unsharded, on every process."""
        assert self.lightning_module is not None
        return {name: _gathered(tensor) for name, tensor in self.lightning_module.state_dict().items()}

    def optimizer_state(self, optimizer: Optimizer) -> dict[str, Any]:
        """The optimiser's state, unsharded, on every process."""
        result: dict[str, Any] = optimizer.state_dict()
        state = {
            number: {name: _gathered(value) for name, value in own.items()} for number, own in result["state"].items()
        }
        return result | {"state": state}

    def load_optimizer_state_dict(self, checkpoint: Mapping[str, Any]) -> None:
        """Load this process's part of an unsharded state."""
        for optimizer, saved in zip(self.optimizers, checkpoint["optimizer_states"], strict=True):
            parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
            state = {
                number: {name: _part(value, parameters[number]) for name, value in own.items()}
                for number, own in saved["state"].items()
            }
            optimizer.load_state_dict(saved | {"state": state})

    def on_train_end(self) -> None:
        """Load the weights into the original network, and restore it."""
        weights, task = self.lightning_module_state_dict(), self.lightning_module
        assert task is not None
        task.model = self.network.to(self.root_device)
        task.load_state_dict(weights)


def check_shards(network: object) -> None:
    """Raise an error for a network that cannot be sharded.

    Raises:
        InputError: it does not define its layers (`Network.shards`).
    """
    if not getattr(network, "shards", ()):
        raise InputError(
            f"training.strategy=fsdp: a {type(network).__name__} has no layers to shard; GPT and BERT have. Set it "
            "to ddp"
        )


def shard(network: Network, device: torch.device) -> Network:
    """Shard the weights over all processes, in place."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

    mesh = init_device_mesh(device.type, (torch.distributed.get_world_size(),))
    for name in network.shards:
        for layer in getattr(network, name):
            fully_shard(layer, mesh=mesh)
    fully_shard(network, mesh=mesh)
    for name in READS:
        if hasattr(network, name):
            register_fsdp_forward_method(network, name)
    return network


def _gathered(tensor: Tensor) -> Tensor:
    """Gather a sharded tensor on the CPU (all processes must call this); return any other tensor unchanged."""
    return whole(tensor).cpu() if hasattr(tensor, "full_tensor") else tensor


def _part(value: object, parameter: Tensor) -> object:
    """This process's part of a tensor of the parameter's shape."""
    from torch.distributed.tensor import DTensor, distribute_tensor

    if not isinstance(value, Tensor) or value.shape != parameter.shape or not isinstance(parameter, DTensor):
        return value
    return distribute_tensor(value.to(parameter.device), parameter.device_mesh, parameter.placements)
