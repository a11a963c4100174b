"""Comparison of losses: the gradient of each for a confidently wrong network (Golik, Doetsch & Ney 2013).

With scores z, p = softmax(z), the truth y as a one-hot vector and t = 2y − 1:

    cross-entropy           L = −log p_y                    ∂L/∂z = p − y
    squared error           L = Σ_k (p_k − y_k)²            ∂L/∂z = 2 (diag(p) − p pᵀ)(p − y)
    binary cross-entropy    L = −Σ_k log σ(t_k z_k)         ∂L/∂z_k = σ(z_k) − y_k
    hinge                   L = Σ_k max(0, 1 − t_k z_k)     ∂L/∂z_k = −t_k where t_k z_k < 1, else 0

The Jacobian of the softmax, diag(p) − p pᵀ, is nearly 0 if p is nearly one-hot, right or wrong. Cross-entropy's factor
1/p_y cancels this; squared error does not. So squared error gives almost no gradient to a network that is sure of a
wrong label. The experiment measures the gradients of two scores by their confidence in the wrong label. It also
measures the SGD steps to classify spirals, from initial weights and from a network that was trained on wrong labels
before. Each loss uses the best of the same learning rates.
"""

import math
from copy import deepcopy
from functools import cache
from typing import ClassVar, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from claims.foundations.perceptron import Loss, Perceptron, Points, accuracy, learn, spirals
from langladder.experiments.experiment import Data
from langladder.ground import schema
from langladder.tasks.optimisation import TrainingConfig

Kind = Literal["cross_entropy", "squared_error", "binary", "hinge"]
Start = Literal["wrong labels", "first weights"]
EVERY = 10  # steps between two measurements of the accuracy


class Variant(schema.Config):
    """The varied settings."""

    loss: Kind


class LossesConfig(ComparisonConfig):
    """Settings of `Losses`."""

    VARIANT = Variant
    bases: list[Start] = Field(min_length=1)
    metric: Literal["steps", "learnt"] = "steps"
    confidences: list[float] = Field(default=[0.5, 0.9, 0.99, 0.999, 0.9999], min_length=2)  # of the wrong label
    rates: list[float] = Field(default=[0.1, 0.3, 1.0], min_length=1)  # each loss uses the best of these
    width: int = Field(default=32, ge=2)
    arms: int = Field(default=3, ge=2)  # K
    points: int = Field(default=600, ge=10)
    batch_size: int = Field(default=64, ge=1)
    wrong_steps: int = Field(default=800, ge=2)  # at effort 1: steps of training on wrong labels
    max_steps: int = Field(default=1200, ge=2)  # at effort 1: maximum steps of training on the right labels
    learnt: float = Field(default=0.9, gt=0, le=1)  # accuracy at which training ends


class Losses(Comparison[LossesConfig]):
    """Training steps by loss, from either start, and the gradient by confidence.

    The gradients follow from the equations; they are shown without a verdict. Runs that do not finish count with the
    maximum number of steps.
    """

    Config: ClassVar[type[schema.Config]] = LossesConfig
    metrics: ClassVar[dict[str, Metric]] = {
        "steps": Metric("steps to learn"),
        "learnt": Metric("share of the runs that learn", more_is_better=True, drawn=False, of_runs=True),
        "gradient": Metric("‖∂L/∂z‖ of a wrong answer", along="probability of the wrong label", log="y"),
    }

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`. It creates its own data."""
        del data
        config, most = self.config, self.config.steps(self.config.max_steps)
        begun = {seed: self._begun(seed) for seed in seeds}

        @cache
        def steps(base: Start, kind: Kind) -> dict[int, float]:
            """Seed → steps, at the rate with the fewest on average."""
            counts = [[self._steps(kind, begun[seed][base], rate, most) for seed in seeds] for rate in config.rates]
            return dict(zip(seeds, min(counts, key=sum), strict=True))

        def trial(base: Start, change: Change, seed: int) -> Scored:
            kind = Variant(**change).loss
            needed = steps(base, kind)[seed]
            curve = {f"{sure:.4g}": gradient(kind, sure) for sure in config.confidences}
            return 0, {
                "steps": max(1.0, needed),
                "learnt": float(needed < most),
                "gradient": curve if base == config.bases[0] else {},
            }

        return trial

    def _begun(self, seed: int) -> "dict[Start, Begun]":
        """The two starting networks."""
        config = self.config
        points = spirals(config.points, arms=config.arms, seed=seed)
        torch.manual_seed(seed)
        network = Perceptron([2, config.width, config.width, config.arms], "tanh")
        first = deepcopy(network)
        wrong = Points(points.x, (points.y + 1) % config.arms)
        teaching = sgd(1.0, config.steps(config.wrong_steps))
        learn(network, wrong, LOSSES["cross_entropy"], teaching, rows=config.batch_size, seed=seed)
        return {"first weights": Begun(first, points, seed), "wrong labels": Begun(network, points, seed)}

    def _steps(self, kind: Kind, begun: "Begun", rate: float, most: int) -> float:
        """Steps until the accuracy is reached; `most` if it is not reached."""
        network, config = deepcopy(begun.network), self.config
        for done in range(0, most, EVERY):
            if accuracy(network, begun.points) >= config.learnt:
                return float(done)
            some = {"rows": config.batch_size, "seed": begun.seed + done}
            losses = learn(network, begun.points, LOSSES[kind], sgd(rate, EVERY), **some)
            if not math.isfinite(losses[-1]):
                break
        return float(most)


class Begun(NamedTuple):
    """A network, its training data, and the seed of its batches."""

    network: Perceptron
    points: Points
    seed: int


def sgd(rate: float, steps: int) -> TrainingConfig:
    """Plain SGD with a constant rate, without clipping."""
    return TrainingConfig(optimizer="sgd", lr=rate, schedule="constant", max_steps=steps, clip_norm=None)


def _signs(scores: Tensor, labels: Tensor) -> Tensor:
    """t = 2y − 1: (N, K)."""
    return 2 * functional.one_hot(labels, scores.shape[1]).to(scores.dtype) - 1


def squared_error(scores: Tensor, labels: Tensor) -> Tensor:
    """Mean over the rows of Σ_k (p_k − y_k)², after a softmax."""
    # L = Σ_k (p_k − y_k)²
    truth = functional.one_hot(labels, scores.shape[1]).to(scores.dtype)
    return (scores.softmax(dim=1) - truth).square().sum(dim=1).mean()


def binary_cross_entropy(scores: Tensor, labels: Tensor) -> Tensor:
    """Mean over the rows of −Σ_k log σ(t_k z_k): each class against the rest."""
    # L = −Σ_k log σ(t_k z_k)
    return -functional.logsigmoid(_signs(scores, labels) * scores).sum(dim=1).mean()


def hinge(scores: Tensor, labels: Tensor) -> Tensor:
    """Mean over the rows of Σ_k max(0, 1 − t_k z_k)."""
    # L = Σ_k max(0, 1 − t_k z_k)
    return (1 - _signs(scores, labels) * scores).clamp(min=0).sum(dim=1).mean()


LOSSES: dict[Kind, Loss] = {
    "cross_entropy": functional.cross_entropy,
    "squared_error": squared_error,
    "binary": binary_cross_entropy,
    "hinge": hinge,
}


def gradient(kind: Kind, sure: float) -> float:
    """‖∂L/∂z‖ of two scores (½ log c/(1−c), −½ log c/(1−c)), whose softmax gives the wrong label probability c."""
    half = 0.5 * math.log(sure / (1 - sure))
    scores = torch.tensor([[half, -half]], dtype=torch.float64, requires_grad=True)
    LOSSES[kind](scores, torch.tensor([1])).backward()  # type: ignore[no-untyped-call]
    assert scores.grad is not None
    return float(scores.grad.norm())
