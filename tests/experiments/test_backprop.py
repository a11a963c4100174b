"""The small automatic differentiation: against torch, closed forms and numbers worked by hand; its graph as drawn."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from claims.foundations import autodiff
from claims.foundations.autodiff import (
    Node,
    backward,
    in_order,
    maximum,
    negative_log,
    relu,
    sigmoid,
    tanh,
)
from claims.foundations.backprop import (
    BackpropConfig,
    descended,
    differences,
    findings,
    network,
    weights_of,
)
from langladder.experiments.findings import Graph, GraphNode
from langladder.faces.report.graphs import draw_computation


def gradients(loss: Node) -> dict[str, np.ndarray]:
    backward(loss)
    return {node.name: node.gradient for node in in_order(loss)}


def test_golden_graph_of_a_product_of_sums() -> None:
    """f = (x + y)(y + 2) at x = 3, y = 4: 42, ∂f/∂x = 6, ∂f/∂y = 13 (both ways add up)."""
    x, y, two = Node(3, "x"), Node(4, "y"), Node(2, "2")
    f = ((x + y) * (y + two)).called("f")
    result = gradients(f)
    assert float(f.value) == 42
    assert {name: float(result[name]) for name in ("x", "y")} == {"x": 6.0, "y": 13.0}


def test_golden_two_layer_network() -> None:
    """x = (0.5, 0.8), 2–3–1, ReLU and sigmoid, label 1: every number worked by hand."""
    weights = weights_of(BackpropConfig())
    loss = network(weights)
    values = {node.name: node.value.ravel().tolist() for node in in_order(loss)}
    assert values["z₁"] == pytest.approx([0.31, 0.67, 1.03])
    assert values["z₂"] == pytest.approx([1.780])
    assert values["a₂"] == pytest.approx([0.855697], abs=1e-6) and values["L"] == pytest.approx([0.155839], abs=1e-6)
    result = gradients(loss)
    flat = {name: value.ravel().tolist() for name, value in result.items()}
    assert flat["a₂"] == pytest.approx([-1.168638], abs=1e-6) and flat["z₂"] == pytest.approx([-0.144303], abs=1e-6)
    assert flat["W₂"] == pytest.approx([-0.044734, -0.096683, -0.148632], abs=1e-6)
    assert flat["z₁"] == flat["b₁"] == pytest.approx([-0.101012, -0.115443, -0.129873], abs=1e-6)
    assert result["W₁"].T.ravel().tolist() == pytest.approx(
        [-0.050506, -0.080810, -0.057721, -0.092354, -0.064936, -0.103898], abs=1e-6
    )
    after = descended(weights, result, 0.1)
    assert after["W₂"].ravel().tolist() == pytest.approx([0.704473, 0.809668, 0.914863], abs=1e-6)
    assert after["b₂"].item() == pytest.approx(0.114430, abs=1e-6)
    assert after["W₁"].T.ravel().tolist() == pytest.approx(
        [0.105051, 0.208081, 0.305772, 0.409235, 0.506494, 0.610390], abs=1e-6
    )
    assert after["b₁"].ravel().tolist() == pytest.approx([0.110101, 0.211544, 0.312987], abs=1e-6)
    assert network(after).value.item() == pytest.approx(0.143184, abs=1e-6)


def test_golden_forward_of_a_deeper_network() -> None:
    """2–3–2–1 at x = (0.5, 0.3): the last sigmoid of 0.262 is 0.565128."""
    assert sigmoid(Node(0.262)).value == pytest.approx(0.565128, abs=1e-6)
    assert sigmoid(Node(1.1)).value == pytest.approx(0.750260, abs=1e-6)


def test_golden_jacobians() -> None:
    """f = (x₁² + x₂, x₁x₂) at (3, 2): [[6, 1], [2, 3]]; of a sigmoid layer diag(σ′(z)) W."""
    rows = []
    for which in (0, 1):
        x1, x2 = Node(3, "x1"), Node(2, "x2")
        result = gradients([x1 * x1 + x2, x1 * x2][which].called("f"))
        rows.append([float(result["x1"]), float(result["x2"])])
    assert rows == [[6, 1], [2, 3]]
    rng = np.random.default_rng(0)
    W, x = rng.normal(size=(3, 2)), rng.normal(size=(1, 3))
    for unit in (0, 1):
        pick = np.zeros((2, 1))
        pick[unit] = 1
        node = Node(x, "x")
        s = sigmoid(node @ Node(W)).called("s")
        result = gradients((s @ Node(pick)).called("f"))
        slope = float(s.value[0, unit] * (1 - s.value[0, unit]))
        np.testing.assert_allclose(result["x"][0], slope * W[:, unit])


OPERATIONS: dict[str, tuple[Callable[..., Node], Callable[..., torch.Tensor], int]] = {
    "+": (lambda x, y: x + y, torch.add, 2),
    "⊙": (lambda x, y: x * y, torch.mul, 2),
    "max": (maximum, torch.maximum, 2),
    "relu": (relu, torch.relu, 1),
    "σ": (sigmoid, torch.sigmoid, 1),
    "tanh": (tanh, torch.tanh, 1),
    "−log": (negative_log, lambda x: -x.log(), 1),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("shapes", [((3, 4), (3, 4)), ((3, 4), (1, 4)), ((3, 4), (4,)), ((3, 1), (3, 4))])
def test_parity_of_operations_with_torch(operation: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    ours, theirs, count = OPERATIONS[operation]
    rng = np.random.default_rng(1)
    values = [
        rng.uniform(0.1, 2, size=shape) * (1 if operation == "−log" else rng.choice([-1, 1], shape)) for shape in shapes
    ]
    nodes = [Node(value, str(i)) for i, value in enumerate(values[:count])]
    tensors = [torch.tensor(value, requires_grad=True) for value in values[:count]]
    result, wanted = ours(*nodes), theirs(*tensors)
    np.testing.assert_allclose(result.value, wanted.detach().numpy())
    mix = rng.normal(size=result.value.shape)  # so that every entry has a gradient of its own
    total = np.ones((1, result.value.shape[0])), np.ones((result.value.shape[1], 1))
    backward(Node(total[0]) @ (result * Node(mix)) @ Node(total[1]))
    (wanted * torch.tensor(mix)).sum().backward()  # type: ignore[no-untyped-call]
    for node, tensor in zip(nodes, tensors, strict=True):
        assert tensor.grad is not None
        np.testing.assert_allclose(node.gradient, tensor.grad.numpy())


def test_parity_of_a_network_with_torch() -> None:
    rng = np.random.default_rng(2)
    shapes = {"x": (5, 3), "w": (3, 4), "b": (1, 4), "v": (4, 1)}
    values = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    n = {name: Node(value, name) for name, value in values.items()}
    t = {name: torch.tensor(value, requires_grad=True) for name, value in values.items()}
    loss = Node(np.ones((1, 5))) @ negative_log(sigmoid(tanh(n["x"] @ n["w"] + n["b"]) @ n["v"]))
    backward(loss)
    (-(torch.tanh(t["x"] @ t["w"] + t["b"]) @ t["v"]).sigmoid().log()).sum().backward()  # type: ignore[no-untyped-call]
    for name, node in n.items():
        grad: Any = t[name].grad
        np.testing.assert_allclose(node.gradient, grad.numpy())


def test_golden_ties_of_a_maximum_are_the_seconds() -> None:
    x, y = Node(2.0), Node(2.0)
    backward(maximum(x, y))
    assert (float(x.gradient), float(y.gradient)) == (0.0, 1.0)
    zero = Node(0.0)
    backward(relu(zero))
    assert float(zero.gradient) == 0.0


def test_backward_starts_fresh() -> None:
    x = Node(3.0)
    loss = x * x
    backward(loss)
    backward(loss)
    assert float(x.gradient) == 6.0


def test_a_wrong_rule_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = findings_of()
    assert right.holds is None and "theorem" in right.reason
    monkeypatch.setattr(
        "claims.foundations.backprop.relu",
        lambda x: Node(np.maximum(x.value, 0), "", "relu", (x,), lambda g: (g * 0.5,)),
    )
    assert findings_of().holds is False


def findings_of() -> Any:
    weights = weights_of(BackpropConfig())
    loss = network(weights)
    backward(loss)
    return findings(loss, weights, 0.1)


def test_finite_differences_agree() -> None:
    weights = weights_of(BackpropConfig(x=[1.0, -2.0]))
    result = gradients(network(weights))
    for name, numeric in differences(weights).items():
        np.testing.assert_allclose(result[name], numeric, atol=1e-8)


def test_the_graph_is_drawn_with_its_numbers() -> None:
    (graph,) = findings_of().graphs
    svg = draw_computation(graph, "g")
    assert svg is not None and svg.startswith("<svg") and "0.156" in svg and "-0.144" in svg
    assert svg.count('class="edge"') == sum(len(node.parents) for node in graph.nodes) and len(graph.nodes) == 12
    assert svg == draw_computation(graph, "g")
    assert draw_computation(Graph(title="", caption="", nodes=[]), "g") is None


def test_a_graph_names_what_is_there() -> None:
    node = GraphNode(name="a", value="1", gradient="1")
    with pytest.raises(ValidationError, match=r"b uses \['c'\], not defined before it"):
        Graph(title="t", caption="", nodes=[node, GraphNode(name="b", value="1", gradient="1", parents=["c"])])
    with pytest.raises(ValidationError, match="two nodes have the same name"):
        Graph(title="t", caption="", nodes=[node, node])


def test_every_rule_is_named_in_the_table() -> None:
    doc = autodiff.__doc__ or ""
    assert all(sign in doc for sign in ("x + y", "x ⊙ y", "max(x, y)", "relu(x)", "X W", "σ(x)", "tanh(x)", "−log x"))
