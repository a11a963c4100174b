"""Truth tables by depth and width: what a hidden layer is for (Minsky & Papert 1969; Rumelhart et al. 1986).

Without a hidden layer the network divides the inputs by one hyperplane, w · x + b = 0:

    AND: x₁ + x₂ − 1.5 > 0      OR: x₁ + x₂ − 0.5 > 0      XOR: no line has (0,1), (1,0) on one side and (0,0), (1,1)
                                                           on the other, so at most 3 of the 4 rows are right

XOR is the parity of two bits. With n threshold units in one hidden layer, unit k is on if more than k − ½ inputs are 1,
and parity of n bits is their alternating sum: Σₖ (−1)^(k+1) [x₁ + … + xₙ > k − ½]. A test has these weights.

Shape legend: n inputs, 2ⁿ rows of a table.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from claims.foundations.perceptron import Perceptron, Points, accuracy
from claims.training import train
from langladder.experiments.experiment import Data
from langladder.ground import schema
from langladder.tasks.optimisation import TrainingConfig

Table = Literal["and", "or", "xor", "parity"]
TABLES: Mapping[Table, Callable[[Tensor], Tensor]] = {
    "and": lambda ones: ones == 2,
    "or": lambda ones: ones > 0,
    "xor": lambda ones: ones == 1,
    "parity": lambda ones: ones % 2 == 1,
}
"""Table → the output for a number of ones; all but parity have two inputs."""


class Variant(schema.Config):
    """The varied settings: hidden layers and their units."""

    layers: int = Field(ge=0)
    width: int = Field(default=1, ge=1)


class LogicConfig(ComparisonConfig):
    """Settings of `Logic`."""

    VARIANT = Variant
    bases: list[Table] = Field(min_length=1)
    metric: Literal["accuracy"] = "accuracy"
    bits: int = Field(default=4, ge=2, le=12)  # n, of parity
    max_steps: int = Field(default=1000, ge=2)  # at effort 1; each reads the whole table
    lr: float = Field(default=0.03, gt=0)  # of Adam


class Logic(Comparison[LogicConfig]):
    """Share of right rows by truth table, hidden layers and units."""

    Config: ClassVar[type[schema.Config]] = LogicConfig
    metrics: ClassVar[dict[str, Metric]] = {
        "accuracy": Metric("right rows", more_is_better=True),
        "loss": Metric("training loss, nats", along="step", log="y"),
    }

    def __init__(self, config: LogicConfig) -> None:
        super().__init__(config)
        self.titles: Mapping[Any, str] = {name: name.upper() for name in TABLES} | {
            "parity": f"{config.bits}-bit parity"
        }

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`. It creates its own data."""
        del data, seeds
        config = self.config
        training = TrainingConfig(
            optimizer="adam",
            lr=config.lr,
            schedule="constant",
            max_steps=config.steps(config.max_steps),
            clip_norm=None,
        )

        def trial(base: Table, change: Change, seed: int) -> Scored:
            variant, rows = Variant(**change), table(base, config.bits)
            torch.manual_seed(seed)
            network = Perceptron([rows.x.shape[1], *[variant.width] * variant.layers, 2], "tanh")
            losses = train(network, lambda _: functional.cross_entropy(network(rows.x), rows.y), training)
            size = sum(parameter.numel() for parameter in network.parameters())
            return size, {"accuracy": accuracy(network, rows), "loss": dict(list(enumerate(losses))[::10])}

        return trial


def table(name: Table, bits: int) -> Points:
    """All rows of a truth table: x (2ⁿ, n) of 0 and 1, y (2ⁿ,)."""
    n = bits if name == "parity" else 2
    x = torch.tensor([[row >> bit & 1 for bit in range(n)] for row in range(2**n)], dtype=torch.float32)
    return Points(x, TABLES[name](x.sum(dim=1)).long())
