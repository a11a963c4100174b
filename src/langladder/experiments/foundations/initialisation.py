"""First weights: signal and gradient by depth, and whether anything is learnt (Glorot & Bengio 2010; He et al. 2015).

With n_in inputs a unit, weights of variance v and inputs of mean square q, the mean square of the next layer's z is
n_in · v · q: it stays where v = 1 / n_in, and is multiplied by the same factor in every layer where it is not. ReLU
halves it, so v = 2 / n_in (He). Backwards n_out stands for n_in, and v = 2 / (n_in + n_out) is between (Xavier).

    zeros      W = 0: all units of a layer are the same, and no gradient passes W
    constant   W = 1 / n_in: gradients pass, but all units of a layer get the same one and stay the same for ever
    small      N(0, (0.1 / √n_in)²): shrinks by ten, layer by layer
    large      N(0, (4 / √n_in)²): grows; tanh saturates, ReLU overflows
    xavier, he as `nn.initialisation`

Shape legend: N points, H width, L layers.
"""

import math
from typing import ClassVar, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from langladder.experiments.experiment import Data, Experiment, Progress
from langladder.experiments.findings import Findings, Plot, figure, opened, rounded, series
from langladder.experiments.foundations.activations import gradient_by_layer
from langladder.experiments.foundations.perceptron import DeepConfig, accuracy, title_of
from langladder.experiments.statistics import Verdict, above, difference, every, gated, mean
from langladder.ground import schema
from langladder.nn.initialisation import initialise

Start = Literal["zeros", "constant", "small", "large", "xavier", "he"]
TITLES: dict[Start, str] = {"xavier": "Xavier", "he": "He"}
FACTORS: dict[Start, float] = {"small": 0.1, "large": 4.0}
LEARNT = 0.8  # accuracy from which on a network has learnt
Kind = tuple[Literal["tanh", "relu"], Start]


class InitialisationConfig(DeepConfig):
    """Settings of `Initialisations`."""

    activations: list[Literal["tanh", "relu"]] = Field(default=["tanh", "relu"], min_length=1)
    starts: list[Start] = Field(default=["zeros", "constant", "small", "large", "xavier", "he"], min_length=1)
    layers: int = Field(default=10, ge=2)  # L


class Outcome(NamedTuple):
    """Root mean square of a_l and ‖∂L/∂W_l‖, l = 1 … L, at the start; different units and accuracy after training."""

    signal: list[float]
    gradient: list[float]
    different: float
    accuracy: float


class Initialisations(Experiment[InitialisationConfig]):
    """Signal and gradient by layer, a line a way to begin."""

    Config: ClassVar[type[schema.Config]] = InitialisationConfig

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:  # noqa: ARG002 - makes its own data
        """See `Experiment.examine`."""
        config = self.config
        found: dict[Kind, list[Outcome]] = {}
        for kind in ((activation, start) for activation in config.activations for start in config.starts):
            found[kind] = [self._outcome(kind, number) for number in config.numbers(seed)]
            progress(f"{_title(kind)}: accuracy {averaged(found[kind]).accuracy:.0%}")
        return findings(found, 1 / config.arms)

    def _outcome(self, kind: Kind, seed: int) -> Outcome:
        points, network = self.config.start(kind[0], seed)
        for layer in (*network.linear, network.head):
            begin(layer.weight, kind[1])
        with torch.no_grad():
            signal = [float(a.square().mean().sqrt()) for _, a in network.layers(points.x)]
        gradient = gradient_by_layer(network, points)
        self.config.train(network, points, self.config.lr, seed)
        return Outcome(signal, gradient, different_units(network.linear[1]), accuracy(network, points))


def begin(weight: Tensor, start: Start) -> None:
    """Overwrite W (n_out, n_in) in place; see the module's table."""
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
    """Share of a layer's units whose weights no other has."""
    weight: Tensor = layer.weight.detach()  # type: ignore[operator]
    _, counts = torch.unique(weight, dim=0, return_counts=True)
    return float((counts == 1).sum()) / len(weight)


def averaged(outcomes: list[Outcome]) -> Outcome:
    """Means over the seeds."""
    columns = [one.signal for one in outcomes], [one.gradient for one in outcomes]
    signal, gradient = ([mean(layer) for layer in zip(*some, strict=True)] for some in columns)
    return Outcome(
        signal, gradient, mean([one.different for one in outcomes]), mean([one.accuracy for one in outcomes])
    )


def _title(kind: Kind) -> str:
    return f"{title_of(kind[0])}, {TITLES.get(kind[1], kind[1])}"


def findings(runs: dict[Kind, list[Outcome]], guessing: float) -> Findings:
    """The claim holds where the start made for its activation reaches LEARNT, and zeros, constant and small do not with
    any.

    Args:
        runs: a value a seed.
    """
    found = {kind: averaged(outcomes) for kind, outcomes in runs.items()}
    right = {kind: [one.accuracy for one in outcomes] for kind, outcomes in runs.items()}
    meant: list[Kind] = [("tanh", "xavier"), ("relu", "he")]
    verdict = Verdict(None, "needs Xavier for tanh, He for ReLU, and zeros")
    if set(meant) <= set(found) and any(start == "zeros" for _, start in found):
        lost = [kind for kind in found if kind[1] in ("zeros", "constant", "small")]
        gate = above(max(right.values(), key=mean), guessing, "nothing was learnt: the best accuracy")
        learn = [difference(right[kind], LEARNT).exceeds() for kind in meant]
        verdict = gated([gate], every([*learn, *(difference(LEARNT, right[kind]).exceeds() for kind in lost)]))
    said = ", ".join(f"{_title(kind)} {outcome.accuracy:.0%}" for kind, outcome in found.items())
    layers = list(range(1, len(next(iter(found.values())).signal) + 1))
    names = {"signal": "root mean square of the units", "gradient": "‖∂L/∂W‖"}
    plots = [
        Plot(
            title=f"{what.capitalize()} by layer, {title_of(activation)}",
            x_label="layer, from the input",
            y_label=f"{names[what]}, {title_of(activation)}",
            log_y=True,
            series=[
                series(TITLES.get(kind[1], kind[1]), layers, [v if v > 0 else None for v in getattr(outcome, what)])
                for kind, outcome in found.items()
                if kind[0] == activation
            ],
        )
        for activation in dict.fromkeys(kind[0] for kind in found)
        for what in names
    ]
    return Findings(
        **opened(verdict, f"accuracy after training is {said} (guessing: {guessing:.0%})."),
        columns=[
            "network",
            "signal, last / first",
            "‖∂L/∂W‖, first layer",
            "last layer",
            "different units",
            "accuracy",
        ],
        rows=[
            [
                _title(kind),
                _ratio(o.signal[-1], o.signal[0]),
                *map(rounded, (o.gradient[0], o.gradient[-1], o.different, o.accuracy)),
            ]
            for kind, o in found.items()
        ],
        plots=plots,
        figures={f"{figure(*kind)}_accuracy": o.accuracy for kind, o in found.items()},
    )


def _ratio(a: float, b: float) -> float | None:
    """a / b; None where nothing arrives."""
    return rounded(a / b) if b > 0 else None
