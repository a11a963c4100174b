"""Activations in a deep perceptron: which saturate, which die, and how much gradient reaches the first layer.

    ∂L/∂z_l = f′(z_l) ⊙ W_{l+1}ᵀ ∂L/∂z_{l+1}

Each layer multiplies the gradient by f′. For a sigmoid it is at most 1/4, so little is left after ten layers, and
nearly 0 where it saturates (Glorot & Bengio 2010). For tanh it is 1 at 0; for ReLU it is 1 or 0 (Glorot, Bordes &
Bengio 2011). A ReLU unit whose z is below 0 for every example gets no gradient and never recovers: it is dead. Leaky
ReLU has a slope of 0.01 there (Maas et al. 2013); ELU and GELU are smooth (Clevert et al. 2016; Hendrycks & Gimpel
2016).

Initial weights suit each activation (Xavier for sigmoid and tanh, He for the others). After training:

    saturated   share of all (unit, example) with |f′(z)| below 1 % of the largest slope that f has
    dead        share of the units that are saturated for every example

and the same after training with a too high rate, at which units die.

Shape legend: N points, H width, L layers.
"""

from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import Metric
from claims.foundations.perceptron import (
    Activation,
    DeepConfig,
    Perceptron,
    Points,
    accuracy,
)
from langladder.experiments.experiment import Data
from langladder.ground import schema

STEEPEST: dict[Activation, float] = {"sigmoid": 0.25}  # the largest slope; 1 or a little more for the others
FLAT = 0.01


class Variant(schema.Config):
    """The varied settings."""

    activation: Activation


class ActivationsConfig(DeepConfig):
    """Settings of `Activations`."""

    VARIANT = Variant
    metric: Literal["accuracy", "dead_high"] = "accuracy"
    high_lr: float = Field(default=0.3, gt=0)  # rate at which ReLU units die


class Activations(Comparison[ActivationsConfig]):
    """Saturated and dead units after training, and the gradient by layer before it."""

    Config: ClassVar[type[schema.Config]] = ActivationsConfig
    metrics: ClassVar[dict[str, Metric]] = {
        "accuracy": Metric("accuracy", more_is_better=True),
        "kept": Metric("gradient, first layer / last", drawn=False),
        "saturated": Metric("saturated", drawn=False),
        "dead": Metric("dead", drawn=False),
        "dead_high": Metric("dead at a high rate"),
        "gradient": Metric("‖∂L/∂W‖ before training", along="layer, from the input", log="y"),
    }

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`. It creates its own data."""
        del data, seeds
        config = self.config

        def trial(_: str, change: Change, seed: int) -> Scored:
            activation = Variant(**change).activation
            points, network = config.start(activation, seed)
            gradient = gradient_by_layer(network, points)
            config.train(network, points, config.lr, seed)
            saturated, dead = flatness(network, points, activation)
            harsh = config.start(activation, seed)[1]
            config.train(harsh, points, config.high_lr, seed)
            return 0, {
                "accuracy": accuracy(network, points),
                "kept": gradient[0] / max(gradient[-1], 1e-300),
                "saturated": saturated,
                "dead": dead,
                "dead_high": flatness(harsh, points, activation)[1],
                "gradient": dict(enumerate(gradient, start=1)),
            }

        return trial


def gradient_by_layer(network: Perceptron, points: Points) -> list[float]:
    """‖∂L/∂W_l‖ of the cross-entropy of all points, l = 1 … L."""
    network.zero_grad()
    functional.cross_entropy(network(points.x), points.y).backward()  # type: ignore[no-untyped-call]
    gradients: list[Any] = [layer.weight.grad for layer in network.linear]
    return [float(gradient.norm()) for gradient in gradients]


def flatness(network: Perceptron, points: Points, activation: Activation) -> tuple[float, float]:
    """(share of saturated (unit, example) pairs, share of units that are saturated for every example)."""
    with torch.no_grad():
        below = torch.cat([_flat(network, z, activation) for z, _ in network.layers(points.x)], dim=1)  # (N, L·H)
    return float(below.double().mean()), float(below.all(dim=0).double().mean())


def _flat(network: Perceptron, z: Tensor, activation: Activation) -> Tensor:
    """True where |f′(z)| is below FLAT of its maximum, or z is not a number: (N, H) bool."""
    return ~(slope(network.activation, z).abs() >= FLAT * STEEPEST.get(activation, 1.0))


def slope(activation: torch.nn.Module, z: Tensor) -> Tensor:
    """f′(z), entry by entry, by autograd."""
    with torch.enable_grad():
        z = z.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(activation(z).sum(), z)
    return gradient
