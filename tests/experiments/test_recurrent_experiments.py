"""Gradient flow, the price of gates, the copy task: against closed forms and by construction."""

import pytest
import torch

from langladder.experiments import gradient_flow, output_layers, recurrent_cost
from langladder.experiments.copy_task import CopyConfig, CopyTask, Network, copy_rows, findings
from langladder.experiments.experiment import Data
from langladder.experiments.networks import recurrent


def test_gradient_norms_golden_of_a_linear_network() -> None:
    """At x = 0 every state is 0 and tanh′ = 1, so the RNN is linear: ∂L/∂x_{T−k} = Wᵀ (Uᵀ)ᵏ v, exactly."""
    torch.manual_seed(3)
    network, v, steps = recurrent("rnn", input_width=5, width=7), torch.randn(7), 12
    W, U = (part.detach().double() for part in network.layers[0].matrices()[:2])  # type: ignore[operator]
    norms = gradient_flow.gradient_norms(network, torch.zeros(2, steps, 5), v)
    state = v.double()
    for k in range(steps):
        assert norms[k] == pytest.approx(float((W.T @ state).norm()), rel=1e-5)
        state = U.T @ state


def test_an_orthogonal_linear_network_golden_keeps_the_norm() -> None:
    """(Uᵀ)ᵏ v has the norm of v at every distance."""
    torch.manual_seed(3)
    network = recurrent("rnn_orthogonal", input_width=7, width=7)
    with torch.no_grad():
        network.layers[0].matrices()[0].copy_(torch.eye(7))  # type: ignore[operator]
    norms = gradient_flow.gradient_norms(network, torch.zeros(1, 30, 7), torch.ones(7))
    assert norms.tolist() == pytest.approx([7**0.5] * 30, rel=1e-4)


@pytest.mark.parametrize(("faster", "holds"), [("rnn", True), ("lstm", False)])
def test_the_gradients_verdict_follows_the_numbers(faster: str, holds: bool) -> None:
    shares = {cell: (0.5 if cell == faster else 0.9) ** torch.arange(60.0) for cell in ("rnn", "gru", "lstm")}
    found = gradient_flow.findings(shares)
    assert found.holds is holds
    assert f"{0.5**50:.1e}" in found.verdict
    assert found.figures[f"{faster}_left_after_50"] == pytest.approx(0.5**50, rel=1e-4)


def test_parameters_golden_one_to_three_to_four() -> None:
    """With input width D and state width H the RNN has H·D + H·H + H."""
    counts = [
        recurrent_cost.number_of_parameters(recurrent(cell, input_width=5, width=7)) for cell in recurrent_cost.CELLS
    ]
    assert counts == [7 * 5 + 7 * 7 + 7, 3 * 91, 4 * 91]


@pytest.mark.parametrize(("lstm", "holds"), [(4.1, True), (2.0, False)])
def test_the_times_verdict_follows_the_numbers(lstm: float, holds: bool) -> None:
    parameters = {"rnn": [10], "gru": [30], "lstm": [40]}
    found = recurrent_cost.findings([64], parameters, {"rnn": [1e-6], "gru": [3e-6], "lstm": [lstm * 1e-6]})
    assert found.holds is None  # that of the parameters is arithmetic
    assert found.timed is not None
    assert found.timed.holds is holds
    assert f"1.0 : 3.0 : {lstm}" in found.timed.verdict


def test_copy_rows_hold_symbols_blanks_and_signals() -> None:
    rows = copy_rows(50, 4, 3, 6, torch.Generator().manual_seed(0))
    assert rows.shape == (50, 12)
    assert set(rows[:, :3].flatten().tolist()) == {0, 1, 2, 3}
    assert set(rows[:, 3:9].flatten().tolist()) == {4}
    assert set(rows[:, 9:].flatten().tolist()) == {5}


def test_a_gated_network_learns_to_copy_over_a_short_delay() -> None:
    config = CopyConfig(networks=["gru"], delays=[2], symbols=4, length=1, width=16, max_steps=150, lr=0.01)
    found = CopyTask(config).run(Data(), seed=0, progress=lambda _: None)
    assert found.figures["gru_delay"] == 2.0


@pytest.mark.parametrize(
    ("rnn", "gru", "holds"),
    [(0.13, 0.96, True), (0.13, 0.95, False), (0.13, 0.12, False), (0.25, 0.99, False), (None, 0.99, None)],
)
def test_the_copy_verdict_follows_the_numbers(rnn: float | None, gru: float, holds: bool | None) -> None:
    """An eighth of 384 symbols is guessed right, ± 1.7 %."""
    accuracy: dict[Network, dict[int, float]] = {} if rnn is None else {"rnn": {10: 0.9, 100: rnn}}
    found = findings(accuracy | {"gru": {10: 0.99, 100: gru}}, chance=0.125, examined=384)
    assert found.holds is holds
    assert found.figures["gru_delay"] == (100 if gru > 0.95 else 10)
    assert f"GRU {gru:.0%}" in found.verdict
    assert f"GRU {'none of these' if gru > 0.95 else 100}." in found.verdict


@pytest.mark.parametrize(
    ("hierarchical", "holds"), [([1.0, 2.0, 3.0], True), ([1.0, 5.0, 3.0], False), ([1.0, 20.0, 70.0], False)]
)
def test_the_output_layers_time_follows_the_clock(hierarchical: list[float], holds: bool) -> None:
    """Where the full layer takes 1, 4, 16."""
    seconds = zip((100, 400, 1600), (1.0, 4.0, 16.0), hierarchical, strict=True)
    found: dict[output_layers.Layer, dict[int, output_layers.Outcome]] = {"softmax": {}, "hierarchical": {}}
    for size, full, own in seconds:
        found["softmax"][size] = output_layers.Outcome(0.1, full)
        found["hierarchical"][size] = output_layers.Outcome(0.2, own)
    both = output_layers.findings(found)
    assert both.holds is True
    assert both.timed is not None
    assert both.timed.holds is holds
