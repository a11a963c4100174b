"""FSDP: each process keeps a part of every matrix, its gradient and the optimiser's state (Rajbhandari et al. 2020).

A layer's weights are gathered when it is about to compute, and let go after it (PyTorch's `fully_shard`), so that no
device needs room for all of them with their Adam moments. The network that is trained is a copy with such weights; the
one that was given gets the whole weights at the end, and is saved as ever. So are checkpoints: any number of processes,
one among them, goes on from them.
"""

import copy
from collections.abc import Mapping
from typing import Any

import torch
from pytorch_lightning.strategies import DDPStrategy
from torch import Tensor, nn

from langladder.ground.errors import InputError

READS = ("log_probs", "losses", "target_log_probs", "follow_log_probs")
"""What tasks ask of a network besides `forward`: before it, too, the weights are to be gathered."""


class Sharded(DDPStrategy):
    """Lightning's strategy: all as DDP has it, but for what a process keeps."""

    def configure_ddp(self) -> None:
        """Put the copy in the network's place, on its device.

        Raises:
            InputError: the network does not say which layers it has.
        """
        task: Any = self.model
        given: Any = getattr(task, "model", None)
        check_shards(given)
        task.model = shard(copy.deepcopy(given), self.root_device)
        self.given = given.cpu()

    def lightning_module_state_dict(self) -> dict[str, Any]:
        """All weights, whole, on every process."""
        assert self.lightning_module is not None
        return {name: whole(tensor) for name, tensor in self.lightning_module.state_dict().items()}

    def optimizer_state(self, optimizer: Any) -> dict[str, Tensor]:
        """The same of the optimiser's state."""
        found: dict[str, Any] = optimizer.state_dict()
        state = {number: {name: whole(value) for name, value in own.items()} for number, own in found["state"].items()}
        return found | {"state": state}

    def load_optimizer_state_dict(self, checkpoint: Mapping[str, Any]) -> None:
        """Keep this process's parts of it."""
        for optimizer, saved in zip(self.optimizers, checkpoint["optimizer_states"], strict=True):
            parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
            state = {
                number: {name: _part(value, parameters[number]) for name, value in own.items()}
                for number, own in saved["state"].items()
            }
            optimizer.load_state_dict(saved | {"state": state})

    def on_train_end(self) -> None:
        """Give the weights to the network that was given, and put it back."""
        weights, task = self.lightning_module_state_dict(), self.lightning_module
        assert task is not None
        task.model = self.given.to(self.root_device)
        task.load_state_dict(weights)


def check_shards(network: Any) -> None:
    """Refuse a network that cannot be shared out.

    Raises:
        InputError: it says no layers (`Network.shards`).
    """
    if not getattr(network, "shards", ()):
        raise InputError(
            f"training.strategy=fsdp: a {type(network).__name__} has no layers to share out; GPT and BERT have. Set it "
            "to ddp"
        )


def shard(network: Any, device: torch.device) -> nn.Module:
    """Share the weights out, in place, among all processes."""
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
    shared: nn.Module = network
    return shared


def whole(value: Any) -> Any:
    """A tensor that is shared out, gathered on the processor (all processes must ask); anything else as it is."""
    return value.full_tensor().cpu() if hasattr(value, "full_tensor") else value


def _part(value: Any, parameter: Any) -> Any:
    """This process's part of a tensor of the parameter's shape."""
    if not isinstance(value, Tensor) or value.shape != parameter.shape or not hasattr(parameter, "placements"):
        return value
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(value.to(parameter.device), parameter.device_mesh, parameter.placements)
