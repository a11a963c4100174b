"""Universal approximation, drawn: one hidden layer of growing width (Cybenko 1989; Hornik et al. 1989).

    f̂(x) = c + Σₖ vₖ tanh(wₖ x + bₖ)

For every continuous f on an interval and every ε > 0 there is a width with sup |f − f̂| < ε. The theorem says that such
weights exist; it says neither how many units are needed nor that gradient descent finds them. Here f is

    f(x) = sin(3x) + 0.5 sin(7x)     on [−2, 2]

Unit k is centred at x = −bₖ / wₖ. The biases are drawn so that the centres are spread over the interval: with bₖ = 0
every ReLU bends at x = 0, and gradient descent hardly moves the bends apart.

Shape legend: N points on the interval.
"""

from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from claims.foundations.perceptron import Perceptron
from claims.training import train
from langladder.experiments.experiment import Data
from langladder.ground import schema
from langladder.tasks.optimisation import TrainingConfig


class Variant(schema.Config):
    """The varied setting: units of the hidden layer."""

    width: int = Field(ge=1)


class ApproximationConfig(ComparisonConfig):
    """Settings of `Approximation`."""

    VARIANT = Variant
    bases: list[Literal["tanh", "relu"]] = Field(min_length=1)
    metric: Literal["error"] = "error"
    points: int = Field(default=200, ge=10)  # N
    max_steps: int = Field(default=2000, ge=2)  # at effort 1; each reads all points
    lr: float = Field(default=0.02, gt=0)  # of Adam


class Approximation(Comparison[ApproximationConfig]):
    """The mean error of one hidden layer by its width, and what it computes."""

    Config: ClassVar[type[schema.Config]] = ApproximationConfig
    metrics: ClassVar[dict[str, Metric]] = {
        "error": Metric("root mean square error"),
        "largest": Metric("largest error", drawn=False),
        "output": Metric("output", along="x"),
    }

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`. It creates its own data."""
        del data, seeds
        config = self.config
        x = torch.linspace(-2, 2, config.points)[:, None]  # (N, 1)
        y = target(x)
        training = TrainingConfig(
            optimizer="adam",
            lr=config.lr,
            schedule="warmup_cosine",
            max_steps=config.steps(config.max_steps),
            clip_norm=None,
        )

        def trial(base: Literal["tanh", "relu"], change: Change, seed: int) -> Scored:
            torch.manual_seed(seed)
            network = Perceptron([1, Variant(**change).width, 1], base)
            first: Any = network.linear[0]
            spread(first.weight, first.bias)
            train(network, lambda _: functional.mse_loss(network(x), y), training)
            with torch.no_grad():
                output = network(x)
            size = sum(parameter.numel() for parameter in network.parameters())
            return size, {
                "error": float((output - y).square().mean().sqrt()),
                "largest": float((output - y).abs().max()),
                "output": {round(float(x_value), 2): float(value) for x_value, value in zip(x, output, strict=True)},
            }

        return trial


@torch.no_grad()
def spread(weight: Tensor, bias: Tensor) -> None:
    """Draw biases b (H,) = −w · centre for weights w (H, 1), with centres uniform on [−2, 2]; in place."""
    bias.copy_(-weight[:, 0] * torch.empty_like(bias).uniform_(-2, 2))


def target(x: Tensor) -> Tensor:
    """f(x), elementwise."""
    return (3 * x).sin() + 0.5 * (7 * x).sin()
