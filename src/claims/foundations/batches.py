"""Batch, mini-batch and stochastic gradient descent: loss by updates and by examples read (Bottou & Bousquet 2007).

    θ ← θ − η · (1/B) Σᵢ ∂Lᵢ/∂θ        B: all N points (batch), some (mini-batch), or one (stochastic)

A gradient over all points is exact and takes N examples; one over B points has B/N of the work and noise of variance
σ²/B. The same number of examples is read by each, so a smaller batch makes N/B times as many updates. A rate that suits
one batch does not suit another: each has the best of equally many rates, and this rate is chosen for each question by
itself, for the loss after all examples and for the loss after as many updates as there are passes.

Shape legend: N points, B points of a batch.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch.nn import functional

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from claims.foundations.optimisers import last_loss
from claims.foundations.perceptron import Perceptron, Points, spirals
from claims.training import train
from langladder.experiments.experiment import Data
from langladder.ground import schema
from langladder.tasks.optimisation import TrainingConfig


class Variant(schema.Config):
    """The varied settings: points of a batch (0: all of them), and the learning rates to choose from."""

    rows: int = Field(ge=0)
    rates: list[float] = Field(min_length=1)


class BatchesConfig(ComparisonConfig):
    """Settings of `Batches`."""

    VARIANT = Variant
    bases: list[Literal["perceptron"]] = Field(min_length=1)
    metric: Literal["loss", "early"] = "loss"
    width: int = Field(default=32, ge=2)
    arms: int = Field(default=3, ge=2)
    points: int = Field(default=240, ge=10)  # N
    passes: int = Field(default=40, ge=1)  # over all points, at effort 1


class Batches(Comparison[BatchesConfig]):
    """Loss on all points after the same number of examples, by the size of a batch."""

    Config: ClassVar[type[schema.Config]] = BatchesConfig
    metrics: ClassVar[dict[str, Metric]] = {
        "loss": Metric("loss on all points, nats"),
        "early": Metric("loss after as many updates as of all points", drawn=False),
        "updates": Metric("updates", drawn=False),
        "rate": Metric("best rate", drawn=False),
        "early_rate": Metric("best rate for as many updates", drawn=False),
        "by_updates": Metric("loss on all points, nats", along="updates", log="x"),
        "by_examples": Metric("loss on all points, nats", along="examples read"),
    }

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`. It creates its own data."""
        del data
        config = self.config

        @cache
        def losses(rows: int, rate: float, seed: int) -> dict[int, float]:
            return self._losses(rows, rate, seed)

        def trial(_: str, change: Change, seed: int) -> Scored:
            variant = Variant(**change)
            rows = variant.rows or config.points
            updates = config.steps(config.passes)
            rate = best_rate(variant.rates, lambda rate: [*losses(rows, rate, seeds[0]).values()][-1])
            early = best_rate(variant.rates, lambda rate: losses(rows, rate, seeds[0]).get(updates, math.nan))
            curve = losses(rows, rate, seed)
            return 0, {
                "loss": [*curve.values()][-1],
                "early": losses(rows, early, seed).get(updates, math.nan),
                "early_rate": early,
                "updates": float(max(curve)),
                "rate": rate,
                "by_updates": curve,
                "by_examples": {updates * rows: loss for updates, loss in curve.items()},
            }

        return trial

    def _losses(self, rows: int, rate: float, seed: int) -> dict[int, float]:
        """Updates so far → loss on all points: after each pass, and after as many updates as there are passes."""
        config = self.config
        points = spirals(config.points, arms=config.arms, seed=seed)
        torch.manual_seed(seed)
        network = Perceptron([2, config.width, config.width, config.arms], "tanh")
        each, passes = -(-config.points // rows), config.steps(config.passes)
        steps = passes * each
        training = TrainingConfig(optimizer="sgd", lr=rate, schedule="constant", max_steps=steps, clip_norm=None)
        batches = passes_over(config.points, rows, seed)
        losses: dict[int, float] = {}

        def loss(step: int) -> torch.Tensor:
            del step
            chosen = next(batches)
            return functional.cross_entropy(network(points.x[chosen]), points.y[chosen])

        def watch(updates: int) -> None:
            if updates % each == 0 or updates == passes:
                losses[updates] = whole(network, points)

        train(network, loss, training, watch)
        return losses or {0: math.nan}


def best_rate(rates: Sequence[float], loss: Callable[[float], float]) -> float:
    """The rate with the lowest loss; a loss that is not a number is the highest."""
    return min(rates, key=lambda rate: last_loss([loss(rate)]))


def passes_over(points: int, rows: int, seed: int) -> Iterator[torch.Tensor]:
    """Batches of at most B = `rows` indices, without end: every point once in each pass, each pass in another order."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        yield from torch.split(torch.randperm(points, generator=generator), rows)


@torch.no_grad()
def whole(network: Perceptron, points: Points) -> float:
    """The mean loss over all points, nats."""
    return float(functional.cross_entropy(network(points.x), points.y))
