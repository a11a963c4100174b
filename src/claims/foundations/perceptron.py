"""Shared by the foundations: the classification of points on spiral arms, and perceptrons of any depth.

    arm k at turn t ∈ [0, 1]:   r = t,   φ = 2π k / K + turns · 2π t + noise,   x = (r cos φ, r sin φ)

The arms are not linearly separable, and a network of two hidden layers learns them in a second. Each experiment changes
one thing at a time. A layer is z = W a + b, a = f(z). W is initialised with `nn.initialisation`, b with 0.

Shape legend: N points, K classes, H width, L hidden layers.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from claims.declaration import ComparisonConfig
from claims.training import train
from langladder.nn.initialisation import initialise
from langladder.tasks.optimisation import TrainingConfig

Activation = Literal["sigmoid", "tanh", "relu", "leaky_relu", "elu", "gelu"]
ACTIVATIONS: dict[Activation, Callable[[], nn.Module]] = {
    "sigmoid": nn.Sigmoid,  # 1 / (1 + e^−z)
    "tanh": nn.Tanh,  # (e^z − e^−z) / (e^z + e^−z)
    "relu": nn.ReLU,  # max(0, z)
    "leaky_relu": lambda: nn.LeakyReLU(0.01),  # z, or 0.01 z below 0
    "elu": nn.ELU,  # z, or e^z − 1 below 0
    "gelu": nn.GELU,  # z Φ(z)
}
TURNS = 0.6
NOISE = 0.12


class Points(NamedTuple):
    """x (N, 2) and the arm of each, y (N,) int64."""

    x: Tensor
    y: Tensor

    def batch(self, rows: int, draw: torch.Generator) -> "Points":
        """A random sample of this size."""
        chosen = torch.randint(len(self.y), (rows,), generator=draw)
        return Points(self.x[chosen], self.y[chosen])


def spirals(count: int, *, arms: int, seed: int) -> Points:
    """`count` points, assigned to the arms in turn."""
    draw = torch.Generator().manual_seed(seed)
    y = torch.arange(count) % arms
    t = torch.rand(count, generator=draw).sqrt()  # (N,)
    angle = 2 * math.pi * (y / arms + TURNS * t) + NOISE * torch.randn(count, generator=draw)
    return Points(torch.stack([t * angle.cos(), t * angle.sin()], dim=1), y)


class Perceptron(nn.Module):
    """Layers of one width, then a linear one.

    Args:
        widths: of the input, the hidden layers and the output.
        norm: a module between W a + b and f.
    """

    def __init__(
        self, widths: Sequence[int], activation: Activation, norm: Literal["none", "batch", "layer"] = "none"
    ) -> None:
        super().__init__()
        *hidden, last = [nn.Linear(a, b) for a, b in pairwise(widths)]
        self.linear = nn.ModuleList(hidden)
        kinds: dict[str, Callable[[int], nn.Module]] = {"batch": nn.BatchNorm1d, "layer": nn.LayerNorm}
        self.norms = nn.ModuleList(kinds.get(norm, nn.Identity)(layer.out_features) for layer in hidden)
        self.activation, self.head = ACTIVATIONS[activation](), last
        for layer in (*hidden, last):
            initialise(layer.weight, "xavier" if activation in ("sigmoid", "tanh") else "he")
            nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        """(N, D) → logits (N, K)."""
        states = self.layers(x)
        logits: Tensor = self.head(states[-1][1] if states else x)
        return logits

    def layers(self, x: Tensor) -> list[tuple[Tensor, Tensor]]:
        """The results of each hidden layer for x: (z, a), (N, H) each."""
        parameters = []
        for linear, norm in zip(self.linear, self.norms, strict=True):
            z = norm(linear(x))
            x = self.activation(z)
            parameters.append((z, x))
        return parameters


Loss = Callable[[Tensor, Tensor], Tensor]


def learn(
    network: nn.Module, points: Points, loss: Loss, config: TrainingConfig, *, rows: int, seed: int
) -> list[float]:
    """Train in place on batches of `rows` points; returns the loss of each step, see `training.train`."""
    draw = torch.Generator().manual_seed(seed)

    def trial(_: int) -> Tensor:
        batch = points.batch(rows, draw)
        return loss(network(batch.x), batch.y)

    return train(network, trial, config)


@torch.no_grad()
def accuracy(network: nn.Module, points: Points) -> float:
    """Share of the points whose arm has the highest score."""
    return float((network(points.x).argmax(dim=1) == points.y).double().mean())


class DeepConfig(ComparisonConfig):
    """Settings of experiments on depth: a perceptron of L layers, trained with momentum on the spirals."""

    bases: list[Literal["perceptron"]] = Field(min_length=1)
    layers: int = Field(default=10, ge=1)  # L
    width: int = Field(default=32, ge=2)  # H
    arms: int = Field(default=3, ge=2)  # K
    points: int = Field(default=600, ge=10)  # N
    batch_size: int = Field(default=64, ge=1)
    max_steps: int = Field(default=500, ge=2)  # at effort 1
    lr: float = Field(default=0.01, gt=0)

    def start(self, activation: Activation, seed: int) -> tuple[Points, Perceptron]:
        """The points and an untrained network of a seed."""
        points = spirals(self.points, arms=self.arms, seed=seed)
        torch.manual_seed(seed)
        return points, Perceptron([2, *[self.width] * self.layers, self.arms], activation)

    def train(self, network: Perceptron, points: Points, rate: float, seed: int) -> None:
        """Train in place with one learning rate."""
        training = TrainingConfig(
            optimizer="momentum", lr=rate, schedule="constant", max_steps=self.steps(self.max_steps), clip_norm=None
        )
        learn(network, points, functional.cross_entropy, training, rows=self.batch_size, seed=seed)
