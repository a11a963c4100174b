"""Losses side by side: what each tells a network that is confidently wrong (Golik, Doetsch & Ney 2013).

With scores z, p = softmax(z), the truth y as a one-hot vector and t = 2y − 1:

    cross-entropy           L = −log p_y                    ∂L/∂z = p − y
    squared error           L = Σ_k (p_k − y_k)²            ∂L/∂z = 2 (diag(p) − p pᵀ)(p − y)
    binary cross-entropy    L = −Σ_k log σ(t_k z_k)         ∂L/∂z_k = σ(z_k) − y_k
    hinge                   L = Σ_k max(0, 1 − t_k z_k)     ∂L/∂z_k = −t_k where t_k z_k < 1, else 0

The Jacobian of the softmax, diag(p) − p pᵀ, is nearly 0 where p is nearly one-hot, right or wrong; cross-entropy's
1/p_y cancels it, squared error keeps it. So a network that is sure of a wrong label is told next to nothing. Measured
are the gradients of two scores by how sure they are of the wrong one, and the steps of SGD until spirals are told
apart, from first weights and from a network that was taught wrong labels before; each loss at the best of the same
rates.
"""

import math
from collections.abc import Sequence
from copy import deepcopy
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from langladder.experiments.experiment import Data, Experiment, Progress, RepeatedConfig
from langladder.experiments.findings import Findings, Plot, opened, rounded, series
from langladder.experiments.foundations.perceptron import Loss, Perceptron, Points, accuracy, learn, spirals
from langladder.experiments.statistics import Verdict, difference, gated, mean
from langladder.ground import schema
from langladder.tasks.optimisation import TrainingConfig

Kind = Literal["cross_entropy", "squared_error", "binary", "hinge"]
TITLES: dict[Kind, str] = {
    "cross_entropy": "cross-entropy",
    "squared_error": "squared error",
    "binary": "binary cross-entropy",
    "hinge": "hinge",
}
Start = Literal["first weights", "wrong labels"]
STARTS: tuple[Start, ...] = ("first weights", "wrong labels")
EVERY = 10  # steps between two looks at the accuracy


class LossesConfig(RepeatedConfig):
    """Settings of `Losses`."""

    confidences: list[float] = Field(default=[0.5, 0.9, 0.99, 0.999, 0.9999], min_length=2)  # of the wrong label
    rates: list[float] = Field(default=[0.1, 0.3, 1.0], min_length=1)  # each loss has the best of these
    width: int = Field(default=32, ge=2)
    arms: int = Field(default=3, ge=2)  # K
    points: int = Field(default=600, ge=10)
    batch_size: int = Field(default=64, ge=1)
    wrong_steps: int = Field(default=800, ge=2)  # at effort 1: of teaching wrong labels
    max_steps: int = Field(default=1200, ge=2)  # at effort 1: of learning the right ones
    learnt: float = Field(default=0.9, gt=0, le=1)  # accuracy at which they are
    margin: float = Field(default=0.7, ge=0)  # ln of the times as many steps that count


class Losses(Experiment[LossesConfig]):
    """Gradient by confidence, and steps to learn by loss and start."""

    Config: ClassVar[type[schema.Config]] = LossesConfig

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:  # noqa: ARG002 - makes its own data
        """See `Experiment.examine`."""
        config = self.config
        gradients = {kind: [gradient(kind, sure) for sure in config.confidences] for kind in TITLES}
        steps: dict[Kind, dict[Start, list[float]]] = {kind: {} for kind in TITLES}
        most = config.steps(config.max_steps)
        begun = [self._begun(number) for number in config.numbers(seed)]
        for kind in TITLES:
            for start in STARTS:
                found = [[self._steps(kind, one[start], rate, most) for one in begun] for rate in config.rates]
                steps[kind][start] = min(found, key=mean)
            said = ", ".join(f"{mean(counts):.0f} from {start}" for start, counts in steps[kind].items())
            progress(f"{TITLES[kind]}: steps {said}")
        return findings(config.confidences, gradients, steps, most=most, margin=config.margin)

    def _begun(self, seed: int) -> "dict[Start, Begun]":
        """The two networks to begin with."""
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
        """Steps until the accuracy is reached; `most` where it is not."""
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
    """A network, what it is to learn, and the seed of its batches."""

    network: Perceptron
    points: Points
    seed: int


def sgd(rate: float, steps: int) -> TrainingConfig:
    """Plain SGD at a constant rate, never clipped."""
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


def findings(
    confidences: Sequence[float],
    gradients: dict[Kind, list[float]],
    steps: dict[Kind, dict[Start, list[float]]],
    *,
    most: int,
    margin: float,
) -> Findings:
    """The claim holds where unlearning wrong labels takes squared error so many times the steps (e^margin).

    The gradients are arithmetic, which is shown and not judged. Steps that were given up count as `most`.
    """
    left = {kind: gradients[kind][-1] / gradients[kind][0] for kind in gradients}
    able = [float(count < most) for count in steps["cross_entropy"]["wrong labels"]]
    gate = Verdict(True) if all(able) else Verdict(None, f"{mean(able):.0%} of the networks with cross-entropy learn")
    logs = {kind: np.log(np.maximum(1.0, by["wrong labels"])) for kind, by in steps.items()}  # (S,)
    verdict = gated([gate], difference(logs["squared_error"], logs["cross_entropy"]).exceeds(margin))
    said = ", ".join(
        f"{TITLES[kind]} {_steps(by['wrong labels'], most)} (from first weights {_steps(by['first weights'], most)})"
        for kind, by in steps.items()
    )
    sure = confidences[-1]
    return Findings(
        **opened(
            verdict,
            f"at {sure:.4g} for the wrong label the gradient is {gradients['cross_entropy'][-1]:.2g} with "
            f"cross-entropy and {gradients['squared_error'][-1]:.2g} with squared error; steps to unlearn wrong "
            f"labels: {said}.",
        ),
        columns=["loss", *(f"‖∂L/∂z‖ at {one:.4g}" for one in confidences), *(f"steps from {s}" for s in STARTS)],
        rows=[
            [TITLES[kind], *map(rounded, gradients[kind]), *(_steps(by[start], most) for start in STARTS)]
            for kind, by in steps.items()
        ],
        plots=[
            Plot(
                title="Gradient of a wrong answer",
                x_label="probability that the wrong label has",
                y_label="‖∂L/∂z‖ with respect to the scores",
                log_y=True,
                series=[series(TITLES[k], [f"{c:.4g}" for c in confidences], line) for k, line in gradients.items()],
            ),
            Plot(
                title="Steps to learn",
                x_label="where SGD begins",
                y_label="steps, at the best of the rates",
                series=[series(TITLES[kind], list(STARTS), map(mean, by.values())) for kind, by in steps.items()],
                levels={"given up": float(most)},
            ),
        ],
        figures={f"{kind}_steps_from_wrong_labels": mean(by["wrong labels"]) for kind, by in steps.items()}
        | {f"{kind}_gradient_left": value for kind, value in left.items()},
    )


def _steps(counts: Sequence[float], most: int) -> str:
    count = mean(counts)
    return f"{count:.0f}" if count < most else f"> {most}"
