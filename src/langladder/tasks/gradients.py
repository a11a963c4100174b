"""How large the gradient is, and how far an update moves the weights: what to look at first where training fails.

    gradient norm     ‖g‖ of all gradients together, before clipping
    update ratio      ‖θ′ − θ‖ / ‖θ‖: the step that the optimiser made of it, as a share of the weights

A norm that grows without end explodes, one that goes to 0 vanishes; a ratio about 1e-3 is usual, far more destroys what
was learnt, far less learns nothing (a rule of thumb, not a law). Both are measured at the steps that make a row of the
learning curve, and change nothing: they only read. Of a parameter with more than SAMPLE entries the ratio is taken of
every k-th one, which stands for k, so that a large table costs no copy of itself.
"""
# ruff: noqa: ARG002 - Lightning fixes the arguments of its hooks

import math
from typing import Any

import torch
from pytorch_lightning import Callback, Trainer
from torch import Tensor, nn

from langladder.ground.ranks import summed
from langladder.tasks.optimisation import TrainingConfig

SAMPLE = 65_536


def makes_row(config: TrainingConfig, step: int) -> bool:
    """Whether the learning curve has a row at the `step`-th update."""
    return step % config.log_every == 0 or step % config.validate_every == 0 or step == config.max_steps


class UpdateWatch(Callback):
    """Measures the updates that make a row; `taken` says what it found."""

    def __init__(self, config: TrainingConfig) -> None:
        self.config = config
        self._norm: Tensor | None = None
        self._before: list[Tensor] = []

    def on_before_optimizer_step(self, trainer: Trainer, pl_module: Any, optimizer: Any) -> None:
        """The gradients of all of the update's batches are there, not yet clipped."""
        if makes_row(self.config, pl_module.steps_done):
            self._norm, self._before = gradient_norm(pl_module), sampled(pl_module)

    def taken(self, module: nn.Module) -> dict[str, float | None]:
        """`gradient_norm` and `update_ratio` of the update just made; None for what is not finite."""
        if self._norm is None:
            return {}
        found = {"gradient_norm": float(self._norm), "update_ratio": update_ratio(self._before, module)}
        self._norm, self._before = None, []
        return {name: value if math.isfinite(value) else None for name, value in found.items()}


@torch.no_grad()
def gradient_norm(module: nn.Module) -> Tensor:
    """‖g‖ over all parameters together, gradients by rows included; a scalar."""
    grads = [parameter.grad for parameter in module.parameters() if parameter.grad is not None]
    dense = [grad.coalesce().values() if grad.is_sparse else grad for grad in grads]
    norm: Any = nn.utils.get_total_norm(dense) if dense else torch.zeros(())
    found: Tensor = norm.full_tensor() if hasattr(norm, "full_tensor") else norm
    return found


@torch.no_grad()
def sampled(module: nn.Module) -> list[Tensor]:
    """A copy of the trainable parameters, of large ones every k-th entry: (≤ SAMPLE,) each."""
    return [_every(parameter).clone() for parameter in _trainable(module)]


@torch.no_grad()
def update_ratio(before: list[Tensor], module: nn.Module) -> float:
    """‖θ′ − θ‖ / ‖θ‖, θ from `sampled` and θ′ as the module is now; 0 where nothing is trained."""
    moved, length = torch.zeros((), dtype=torch.float64), torch.zeros((), dtype=torch.float64)
    for old, parameter in zip(before, _trainable(module), strict=True):
        k = _stride(parameter)
        moved += k * (_every(parameter) - old).double().square().sum().cpu()
        length += k * old.double().square().sum().cpu()
    if any(hasattr(parameter, "to_local") for parameter in module.parameters()):
        moved, length = summed(torch.stack([moved, length]))
    return math.sqrt(float(moved) / float(length)) if length > 0 else 0.0


def _trainable(module: nn.Module) -> list[Any]:
    """The parameters; of those that are shared out, this process's parts."""
    own: list[Any] = [parameter for parameter in module.parameters() if parameter.requires_grad]
    return [parameter.to_local() if hasattr(parameter, "to_local") else parameter for parameter in own]


def _stride(parameter: Tensor) -> int:
    """k, an odd number, so that the columns of a table take turns."""
    k = -(-parameter.numel() // SAMPLE)
    return k if k % 2 else k + 1


def _every(parameter: Tensor) -> Tensor:
    return parameter.detach().reshape(-1)[:: _stride(parameter)]
