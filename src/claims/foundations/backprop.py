"""Backpropagation by hand: a network of two layers, with every number of its graph and its effect on the loss.

    z₁ = x W₁ + b₁,   a₁ = relu(z₁),   z₂ = a₁ W₂ + b₂,   a₂ = σ(z₂),   L = −log a₂      (the label is 1)

x (1, 2), three hidden units, one output; rows are examples, so W₁ is (2, 3). The numbers are the same in every run, so
that you can follow them with a pencil. The findings also have the derivatives by finite differences, and one step of
gradient descent, after which the loss is lower.
"""

from typing import ClassVar

import numpy as np
from pydantic import Field

from claims.foundations.autodiff import Array, Node, backward, in_order, negative_log, relu, sigmoid
from langladder.experiments.experiment import Data, Experiment, ExperimentConfig, Progress
from langladder.experiments.findings import Findings, Graph, GraphNode, opened
from langladder.experiments.statistics import Verdict
from langladder.ground import schema

EPSILON = 1e-6  # step of the finite differences
AGREE = 1e-6
DRAWN = 3  # significant digits in the drawing; the table has more


class BackpropConfig(ExperimentConfig):
    """Settings of `Backprop`: the numbers of the network; rows are inputs, columns the units of a layer."""

    x: list[float] = Field(default=[0.5, 0.8], min_length=1, max_length=4)
    w1: list[list[float]] = Field(default=[[0.1, 0.3, 0.5], [0.2, 0.4, 0.6]], min_length=1)
    b1: list[float] = Field(default=[0.1, 0.2, 0.3], min_length=1, max_length=4)
    w2: list[list[float]] = Field(default=[[0.7], [0.8], [0.9]], min_length=1)
    b2: list[float] = Field(default=[0.1], min_length=1, max_length=1)
    lr: float = Field(default=0.1, gt=0)


Weights = dict[str, Array]


class Backprop(Experiment[BackpropConfig]):
    """The graph with values and gradients, and the gradients by finite differences."""

    Config: ClassVar[type[schema.Config]] = BackpropConfig

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:  # noqa: ARG002 - nothing is random
        """See `Experiment.examine`."""
        weights = weights_of(self.config)
        loss = network(weights)
        backward(loss)
        progress(f"loss {float(loss.value.item()):.6f}")
        return findings(loss, weights, self.config.lr)


def weights_of(config: BackpropConfig) -> Weights:
    """All parameters and the input, with the names of the module's equations."""
    rows = {"x": [config.x], "W₁": config.w1, "b₁": [config.b1], "W₂": config.w2, "b₂": [config.b2]}
    return {name: np.array(values, dtype=np.float64) for name, values in rows.items()}


def network(weights: Weights) -> Node:
    """The graph of the loss."""
    x, w1, b1, w2, b2 = (Node(value, name) for name, value in weights.items())
    # z₁ = x W₁ + b₁
    z1 = ((x @ w1).called("x W₁") + b1).called("z₁")  # (1, H)
    a1 = relu(z1).called("a₁")
    # z₂ = a₁ W₂ + b₂
    z2 = ((a1 @ w2).called("a₁ W₂") + b2).called("z₂")  # (1, 1)
    a2 = sigmoid(z2).called("a₂")
    # L = −log a₂
    return negative_log(a2).called("L")


def differences(weights: Weights) -> Weights:
    """∂L/∂ every entry of the parameters and the input, by central differences."""
    gradients = {}
    for name, value in weights.items():
        gradients[name] = np.zeros_like(value)
        for index in np.ndindex(value.shape):
            losses = []
            for step in (EPSILON, -EPSILON):
                moved = value.copy()
                moved[index] += step
                losses.append(network(weights | {name: moved}).value.item())
            gradients[name][index] = (losses[0] - losses[1]) / (2 * EPSILON)
    return gradients


def descended(weights: Weights, gradients: Weights, rate: float) -> Weights:
    """θ − η ∂L/∂θ of all parameters, but not the input."""
    return {name: value - rate * gradients[name] * (name != "x") for name, value in weights.items()}


def findings(loss: Node, weights: Weights, rate: float) -> Findings:
    """The claim is refuted if a gradient does not agree with finite differences, or if a step of gradient descent
    raises the loss.

    Otherwise nothing was tested, because the chain rule is a theorem.
    """
    nodes = in_order(loss)
    gradients = {node.name: node.gradient for node in nodes}
    numeric = differences(weights)
    gap = max(float(np.abs(gradients[name] - numeric[name]).max()) for name in weights)
    before = float(loss.value.item())
    after = float(network(descended(weights, gradients, rate)).value.item())
    agrees = gap < AGREE and after < before
    verdict = Verdict(None, "the chain rule is a theorem; these numbers follow from it") if agrees else Verdict(False)
    return Findings(
        **opened(
            verdict,
            f"the loss is {before:.6f}; its gradients agree with finite differences to {gap:.0e}, and a step of "
            f"{rate:g} against them leaves {after:.6f}.",
        ),
        columns=["node", "made by", "of", "value", "∂L/∂node", "by finite differences"],
        rows=[
            [
                node.name,
                node.operation or "given",
                ", ".join(parent.name for parent in node.parents),
                formatted(node.value),
                formatted(node.gradient),
                formatted(numeric[node.name]) if node.name in numeric else None,
            ]
            for node in nodes
        ],
        plots=[],
        graphs=[
            Graph(
                title="The graph of the loss",
                caption="in each box its name, its value, and below the line ∂L/∂node",
                nodes=[
                    GraphNode(
                        name=node.name,
                        operation=node.operation,
                        value=formatted(node.value, DRAWN),
                        gradient=formatted(node.gradient, DRAWN),
                        parents=[parent.name for parent in node.parents],
                    )
                    for node in nodes
                ],
            )
        ],
        figures={"loss": before, "loss_after_a_step": after},
    )


def formatted(value: Array, digits: int = 4) -> str:
    """Numbers with this many significant digits, row by row."""
    rows = np.atleast_2d(value)
    return "; ".join(" ".join(f"{entry:.{digits}g}" for entry in row) for row in rows)
