"""Activations in a deep perceptron: who saturates, who dies, how much gradient reaches the first layer.

    ∂L/∂z_l = f′(z_l) ⊙ W_{l+1}ᵀ ∂L/∂z_{l+1}

Each layer multiplies the gradient by f′. A sigmoid's is 1/4 at most, so that little is left after ten layers, and near
0 where it saturates (Glorot & Bengio 2010); tanh's is 1 at 0; ReLU's is 1 or 0 (Glorot, Bordes & Bengio 2011). A ReLU
unit whose z is below 0 for every example has no gradient and never comes back: it is dead. Leaky ReLU keeps a slope of
0.01 there (Maas et al. 2013), ELU and GELU bend (Clevert et al. 2016; Hendrycks & Gimpel 2016).

Weights begin as each activation wants them (Xavier for sigmoid and tanh, He for the others). After training:

    saturated   share of all (unit, example) with |f′(z)| below 1 % of the largest slope that f has
    dead        share of the units that are saturated for every example

and the same after training at a rate too high, where units die.

Shape legend: N points, H width, L layers.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from langladder.experiments.experiment import Data, Experiment, Progress
from langladder.experiments.findings import Findings, Plot, opened, rounded, series
from langladder.experiments.foundations.perceptron import Activation, DeepConfig, Perceptron, Points, accuracy, title_of
from langladder.experiments.statistics import Verdict, above, difference, every, gated, mean
from langladder.ground import schema

STEEPEST: dict[Activation, float] = {"sigmoid": 0.25}  # the largest slope; 1 or a little more for the others
FLAT = 0.01
LEARNT = 0.8  # accuracy from which on a network has learnt


class ActivationsConfig(DeepConfig):
    """Settings of `Activations`."""

    activations: list[Activation] = Field(
        default=["sigmoid", "tanh", "relu", "leaky_relu", "elu", "gelu"], min_length=1
    )
    high_lr: float = Field(default=0.3, gt=0)  # at which ReLU units die


class Outcome(NamedTuple):
    """Of one network: ‖∂L/∂W_l‖ at the start, l = 1 … L; shares and accuracy after training; dead at the high rate."""

    gradients: list[float]
    saturated: float
    dead: float
    dead_high: float
    accuracy: float


class Activations(Experiment[ActivationsConfig]):
    """A line an activation: gradient by layer; a row: what training leaves."""

    Config: ClassVar[type[schema.Config]] = ActivationsConfig

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:  # noqa: ARG002 - makes its own data
        """See `Experiment.examine`."""
        found: dict[Activation, list[Outcome]] = {}
        for activation in self.config.activations:
            found[activation] = [self._outcome(activation, number) for number in self.config.numbers(seed)]
            of = averaged(found[activation])
            progress(f"{title_of(activation)}: accuracy {of.accuracy:.0%}, dead {of.dead:.0%}")
        return findings(found, 1 / self.config.arms, self.config.margin)

    def _outcome(self, activation: Activation, seed: int) -> Outcome:
        config = self.config
        points, network = config.start(activation, seed)
        gradients = gradient_by_layer(network, points)
        config.train(network, points, config.lr, seed)
        saturated, dead = flatness(network, points, activation)
        _, harsh = config.start(activation, seed)
        config.train(harsh, points, config.high_lr, seed)
        return Outcome(gradients, saturated, dead, flatness(harsh, points, activation)[1], accuracy(network, points))


def gradient_by_layer(network: Perceptron, points: Points) -> list[float]:
    """‖∂L/∂W_l‖ of the cross-entropy of all points, l = 1 … L."""
    network.zero_grad()
    functional.cross_entropy(network(points.x), points.y).backward()  # type: ignore[no-untyped-call]
    gradients: list[Any] = [layer.weight.grad for layer in network.linear]
    return [float(gradient.norm()) for gradient in gradients]


def flatness(network: Perceptron, points: Points, activation: Activation) -> tuple[float, float]:
    """(share of all (unit, example) that is saturated, share of the units that is so for every example)."""
    with torch.no_grad():
        below = torch.cat([_flat(network, z, activation) for z, _ in network.layers(points.x)], dim=1)  # (N, L·H)
    return float(below.double().mean()), float(below.all(dim=0).double().mean())


def _flat(network: Perceptron, z: Tensor, activation: Activation) -> Tensor:
    """Where |f′(z)| is below FLAT of its largest, or z is no number: (N, H) bool."""
    return ~(slope(network.activation, z).abs() >= FLAT * STEEPEST.get(activation, 1.0))


def slope(activation: torch.nn.Module, z: Tensor) -> Tensor:
    """f′(z), entry by entry, by autograd."""
    with torch.enable_grad():
        z = z.detach().requires_grad_()
        (found,) = torch.autograd.grad(activation(z).sum(), z)
    return found


def averaged(outcomes: Sequence[Outcome]) -> Outcome:
    """Means over the seeds."""
    gradients = [mean(layer) for layer in zip(*(one.gradients for one in outcomes), strict=True)]
    return Outcome(gradients, *(mean(values) for values in zip(*(one[1:] for one in outcomes), strict=True)))


def findings(runs: dict[Activation, list[Outcome]], guessing: float, margin: float) -> Findings:
    """The claim holds where the sigmoid network does not reach LEARNT and every other does, and ReLU units die at a
    high rate, by a share of `margin` more than leaky ones.

    Args:
        runs: a value a seed.
    """
    found = {one: averaged(outcomes) for one, outcomes in runs.items()}
    right, dead_at = (
        {one: [getattr(outcome, key) for outcome in outcomes] for one, outcomes in runs.items()}
        for key in ("accuracy", "dead_high")
    )
    reach = {one: outcome.gradients[0] / max(outcome.gradients[-1], 1e-300) for one, outcome in found.items()}
    verdict = Verdict(None, "needs sigmoid, ReLU and leaky ReLU")
    if {"sigmoid", "relu", "leaky_relu"} <= set(found):
        learn = [difference(values, LEARNT).exceeds() for one, values in right.items() if one != "sigmoid"]
        lost = difference(LEARNT, right["sigmoid"]).exceeds()
        dies = difference(dead_at["relu"], dead_at["leaky_relu"]).exceeds(margin)
        gate = above(max(right.values(), key=mean), guessing, "nothing was learnt: the best accuracy")
        verdict = gated([gate], every([*learn, lost, dies]))
    said = ", ".join(f"{title_of(one)} {outcome.accuracy:.0%}" for one, outcome in found.items())
    left = ", ".join(f"{title_of(one)} {value:.1g}" for one, value in reach.items())
    dead = ", ".join(f"{title_of(one)} {outcome.dead_high:.0%}" for one, outcome in found.items())
    layers = list(range(1, len(next(iter(found.values())).gradients) + 1))
    return Findings(
        **opened(
            verdict,
            f"accuracy is {said} (guessing: {guessing:.0%}); the first layer's gradient at the start, as a multiple of "
            f"the last's, is {left}; units dead after training at a high rate: {dead}.",
        ),
        columns=["activation", "gradient, first / last", "saturated", "dead", "dead at a high rate", "accuracy"],
        rows=[
            [title_of(one), rounded(reach[one]), *map(rounded, (o.saturated, o.dead, o.dead_high, o.accuracy))]
            for one, o in found.items()
        ],
        plots=[
            Plot(
                title="Gradient by layer, before training",
                x_label="layer, from the input",
                y_label="‖∂L/∂W‖",
                log_y=True,
                series=[series(title_of(one), layers, _positive(o.gradients)) for one, o in found.items()],
            )
        ],
        figures={f"{one}_accuracy": outcome.accuracy for one, outcome in found.items()}
        | {f"{one}_dead_at_a_high_rate": outcome.dead_high for one, outcome in found.items()},
    )


def _positive(values: Sequence[float]) -> list[float | None]:
    """What a log axis can show."""
    return [value if value > 0 else None for value in values]
