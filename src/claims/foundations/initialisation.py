"""Initial weights: signal and gradient by depth, and whether the network learns (Glorot & Bengio 2010; He et al. 2015).

For n_in inputs per unit, weights of variance v and inputs of mean square q, the mean square of the next layer's z is
n_in · v · q. It is constant if v = 1 / n_in; otherwise every layer multiplies it by the same factor. ReLU halves it, so
v = 2 / n_in (He). In the backward pass, n_out replaces n_in; v = 2 / (n_in + n_out) is a compromise (Xavier).

    zeros      W = 0: all units of a layer are equal, and no gradient passes through W
    constant   W = 1 / n_in: gradients pass, but all units of a layer get the same one and always stay equal
    small      N(0, (0.1 / √n_in)²): shrinks by ten, layer by layer
    large      N(0, (4 / √n_in)²): grows; tanh saturates, ReLU overflows
    xavier, he as `nn.initialisation`

Shape legend: N points, H width, L layers.
"""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import Metric
from claims.foundations.activations import gradient_by_layer
from claims.foundations.perceptron import DeepConfig, accuracy
from langladder.experiments.experiment import Data
from langladder.ground import schema
from langladder.nn.initialisation import initialise

Start = Literal["zeros", "constant", "small", "large", "xavier", "he"]
FACTORS: dict[Start, float] = {"small": 0.1, "large": 4.0}


class Variant(schema.Config):
    """The varied settings."""

    start: Start


class InitialisationConfig(DeepConfig):
    """Settings of `Initialisations`."""

    VARIANT = Variant
    bases: list[Literal["tanh", "relu"]] = Field(min_length=1)  # type: ignore[assignment]
    metric: Literal["accuracy"] = "accuracy"
    layers: int = Field(default=10, ge=2)  # L


class Initialisations(Comparison[InitialisationConfig]):
    """Signal and gradient by layer before training, and accuracy after it, by initialisation."""

    Config: ClassVar[type[schema.Config]] = InitialisationConfig
    titles: Mapping[Any, str] = {"relu": "ReLU"}
    metrics: ClassVar[dict[str, Metric]] = {
        "accuracy": Metric("accuracy", more_is_better=True),
        "kept": Metric("signal, last layer / first", drawn=False),
        "first": Metric("‖∂L/∂W‖, first layer", drawn=False),
        "last": Metric("last layer", drawn=False),
        "different": Metric("different units", drawn=False),
        "signal": Metric("root mean square of the units", along="layer, from the input", log="y"),
        "gradient": Metric("‖∂L/∂W‖", along="layer, from the input", log="y"),
    }

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`. It creates its own data."""
        del data, seeds
        config = self.config

        def trial(base: Any, change: Change, seed: int) -> Scored:
            points, network = config.start(base, seed)
            for layer in (*network.linear, network.head):
                begin(layer.weight, Variant(**change).start)
            with torch.no_grad():
                signal = [float(a.square().mean().sqrt()) for _, a in network.layers(points.x)]
            gradient = gradient_by_layer(network, points)
            config.train(network, points, config.lr, seed)
            return 0, {
                "accuracy": accuracy(network, points),
                "kept": signal[-1] / signal[0] if signal[0] > 0 else math.nan,  # no signal or gradient arrives
                "first": gradient[0],
                "last": gradient[-1],
                "different": different_units(network.linear[1]),
                "signal": dict(enumerate(signal, start=1)),
                "gradient": dict(enumerate(gradient, start=1)),
            }

        return trial


def begin(weight: Tensor, start: Start) -> None:
    """Overwrite W (n_out, n_in) in place; see the table in the module docstring."""
    n_in = weight.shape[1]
    if start == "zeros":
        nn.init.zeros_(weight)
    elif start == "constant":
        nn.init.constant_(weight, 1 / n_in)
    elif start in ("xavier", "he"):
        initialise(weight, start)
    else:
        nn.init.normal_(weight, std=FACTORS[start] / math.sqrt(n_in))


def different_units(layer: nn.Module) -> float:
    """Share of a layer's units with weights that differ from all other units'."""
    weight: Tensor = layer.weight.detach()  # type: ignore[operator]
    _, counts = torch.unique(weight, dim=0, return_counts=True)
    return float((counts == 1).sum()) / len(weight)
