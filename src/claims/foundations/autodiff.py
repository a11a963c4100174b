"""Backpropagation in a hundred lines: a graph of numbers, each of which knows its inputs.

Each node is the result of one operation. Given ∂L/∂node = g, the operation computes the gradients of its inputs:

    z = x + y        ∂L/∂x = g,              ∂L/∂y = g                     if shapes were broadcast, summed back
    z = x ⊙ y        ∂L/∂x = g ⊙ y,          ∂L/∂y = g ⊙ x
    z = max(x, y)    ∂L/∂x = g [x > y],      ∂L/∂y = g [x ≤ y]              a tie goes to y (torch splits it)
    z = relu(x)      ∂L/∂x = g [x > 0]
    Z = X W          ∂L/∂X = G Wᵀ,           ∂L/∂W = Xᵀ G
    z = σ(x)         ∂L/∂x = g ⊙ z ⊙ (1 − z)
    z = tanh(x)      ∂L/∂x = g ⊙ (1 − z²)
    z = −log x       ∂L/∂x = −g / x

`backward` traverses the graph from the loss, visits each node after all nodes that use it, and sums the incoming
gradients. This is the whole algorithm (Rumelhart, Hinton & Williams 1986).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rule = Callable[[Array], tuple[Array, ...]]


class Node:
    """A value, its gradient (0 until `backward`), the operation and its input nodes.

    Args:
        parents: the input nodes; rule: ∂L/∂node → ∂L/∂parent for each of them.
    """

    def __init__(
        self, value: Any, name: str = "", operation: str = "", parents: Sequence["Node"] = (), rule: Rule | None = None
    ) -> None:
        self.value: Array = np.asarray(value, dtype=np.float64)
        self.gradient: Array = np.zeros_like(self.value)
        self.name, self.operation, self.parents, self.rule = name, operation, tuple(parents), rule

    def __add__(self, other: "Node") -> "Node":
        return Node(self.value + other.value, operation="+", parents=(self, other), rule=lambda g: (g, g))

    def __mul__(self, other: "Node") -> "Node":
        x, y = self.value, other.value
        return Node(x * y, operation="⊙", parents=(self, other), rule=lambda g: (g * y, g * x))

    def __matmul__(self, other: "Node") -> "Node":
        x, w = self.value, other.value  # (N, I), (I, O)
        return Node(x @ w, operation="@", parents=(self, other), rule=lambda g: (g @ w.T, x.T @ g))

    def called(self, name: str) -> "Node":
        """Set the node's name, and return the node."""
        self.name = name
        return self


def maximum(first: Node, second: Node) -> Node:
    """The elementwise maximum."""
    x, y = first.value, second.value
    return Node(np.maximum(x, y), "", "max", (first, second), lambda g: (g * (x > y), g * (x <= y)))


def relu(x: Node) -> Node:
    """max(0, x)."""
    return Node(np.maximum(x.value, 0), "", "relu", (x,), lambda g: (g * (x.value > 0),))


def sigmoid(x: Node) -> Node:
    """1 / (1 + e^−x)."""
    z = 1 / (1 + np.exp(-x.value))
    return Node(z, "", "σ", (x,), lambda g: (g * z * (1 - z),))


def tanh(x: Node) -> Node:
    """The hyperbolic tangent."""
    z = np.tanh(x.value)
    return Node(z, "", "tanh", (x,), lambda g: (g * (1 - z * z),))


def negative_log(x: Node) -> Node:
    """−log x, the loss if x is the probability of the true label."""
    return Node(-np.log(x.value), "", "−log", (x,), lambda g: (-g / x.value,))


def in_order(last: Node) -> list[Node]:
    """A node and all of its ancestors, each after its own parents."""
    order: list[Node] = []
    seen: set[int] = set()

    def visit(node: Node) -> None:
        if id(node) not in seen:
            seen.add(id(node))
            for parent in node.parents:
                visit(parent)
            order.append(node)

    visit(last)
    return order


def backward(loss: Node) -> None:
    """Set ∂L/∂node of every node of the graph; `loss` has one entry."""
    nodes = in_order(loss)
    for node in nodes:
        node.gradient = np.zeros_like(node.value)
    loss.gradient = np.ones_like(loss.value)
    for node in reversed(nodes):
        for parent, gradient in zip(node.parents, node.rule(node.gradient) if node.rule else (), strict=True):
            # ∂L/∂parent = Σ over all nodes that use it
            parent.gradient = parent.gradient + _summed(gradient, parent.value.shape)


def _summed(gradient: Array, shape: tuple[int, ...]) -> Array:
    """A gradient in the shape of its node: summed over broadcast axes."""
    extra = gradient.ndim - len(shape)
    gradient = gradient.sum(axis=tuple(range(extra)))
    stretched = tuple(axis for axis, size in enumerate(shape) if size == 1 and gradient.shape[axis] > 1)
    result: Array = gradient.sum(axis=stretched, keepdims=True) if stretched else gradient
    return result
