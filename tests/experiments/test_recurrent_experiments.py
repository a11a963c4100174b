"""Gradient flow, the price of gates, the copy task: against closed forms and by construction."""

import math

import pytest
import torch

from langladder.experiments.experiment import Data
from langladder.experiments.foundations import gradient_flow, output_layers, recurrent_cost
from langladder.experiments.foundations.copy_task import CopyConfig, CopyTask, Network, copy_rows, findings
from langladder.experiments.foundations.networks import FlowCell, recurrent


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


@pytest.mark.parametrize(
    ("rates", "holds"),
    [
        ({"rnn": 0.5, "gru": 0.9, "lstm": 0.9}, True),
        ({"rnn": 0.5, "gru": 0.5, "lstm": 0.9}, False),
        ({"rnn": 0.95, "gru": 0.99, "lstm": 0.99}, False),  # the plain one keeps enough
        ({"rnn": 0.5, "rnn_orthogonal": 0.95, "gru": 0.9, "lstm": 0.9}, True),  # the claim is of the usual weights
        ({"rnn": 0.5, "rnn_orthogonal": 0.7, "gru": 0.9, "lstm": 0.6}, True),
        ({"rnn": 0.5}, None),
    ],
)
def test_the_gradients_verdict_follows_the_numbers(rates: dict[FlowCell, float], holds: bool | None) -> None:
    noise = torch.linspace(-0.1, 0.1, 5)[:, None]
    logs = {cell: math.log(rate) * torch.arange(60.0) + noise for cell, rate in rates.items()}
    found = gradient_flow.findings(logs, 0.7)
    assert found.holds is holds
    assert f"{rates['rnn'] ** 50:.1e}" in found.verdict
    if "rnn_orthogonal" in rates:  # said with the verdict, whatever it is
        keeps = ["more" if rates["rnn_orthogonal"] > rates[cell] else "less" for cell in ("gru", "lstm")]
        assert f"orthogonal keeps {keeps[0]} than the GRU, {keeps[1]} than the LSTM." in found.verdict
    assert found.figures["rnn_left_after_50"] == pytest.approx(rates["rnn"] ** 50, rel=1e-4)


@pytest.mark.parametrize(("effort", "outcomes"), [(0.5, {"not tested"}), (1.0, {"holds", "refuted"})])
def test_below_effort_1_nothing_is_judged(effort: float, outcomes: set[str]) -> None:
    config = gradient_flow.GradientFlowConfig(effort=effort, length=20, width=8, rows=2, margin=0.0)
    found = gradient_flow.GradientFlow(config).run(Data(), seed=1, progress=lambda _: None)
    assert found.outcome in outcomes
    assert found.verdict.startswith("Not tested (effort 0.5, as at size tiny") is (effort < 1)


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
    [(0.13, 0.97, True), (0.13, 0.93, False), (0.13, 0.12, False), (0.25, 0.99, False), (None, 0.99, None)],
)
def test_the_copy_verdict_follows_the_numbers(rnn: float | None, gru: float, holds: bool | None) -> None:
    accuracy: dict[Network, dict[int, list[float]]] = {} if rnn is None else {"rnn": {10: [0.9] * 5, 100: [rnn] * 5}}
    found = findings(accuracy | {"gru": {10: [0.99] * 5, 100: [gru] * 5}}, chance=0.125, margin=0.05)
    assert found.holds is holds
    assert found.figures["gru_delay"] == (100 if gru > 0.95 else 10)
    assert f"GRU {gru:.0%}" in found.verdict
    assert f"GRU {'none of these' if gru > 0.95 else 100}." in found.verdict


def test_a_gru_that_has_not_learnt_even_a_short_delay_says_nothing() -> None:
    rows: dict[Network, dict[int, list[float]]] = {"rnn": {10: [0.5] * 5, 100: [0.13] * 5}}
    found = findings(rows | {"gru": {10: [0.9] * 5, 100: [0.2] * 5}}, chance=0.125, margin=0.05)
    assert found.holds is None and "not trained far enough" in found.reason


@pytest.mark.parametrize(
    ("hierarchical", "holds"), [([1.0, 2.0, 3.0], True), ([1.0, 5.0, 3.0], False), ([1.0, 20.0, 70.0], False)]
)
def test_the_output_layers_time_follows_the_clock(hierarchical: list[float], holds: bool) -> None:
    """Where the full layer takes 1, 4, 16."""
    seconds = zip((100, 400, 1600), (1.0, 4.0, 16.0), hierarchical, strict=True)
    found: dict[output_layers.Layer, dict[int, list[output_layers.Outcome]]] = {"softmax": {}, "hierarchical": {}}
    for size, full, own in seconds:
        found["softmax"][size] = [output_layers.Outcome(0.1, full)] * 5
        found["hierarchical"][size] = [output_layers.Outcome(0.2, own)] * 5
    both = output_layers.findings(found, 0.01, 0.5)
    assert output_layers.findings(found, 0.01, 0.05).holds is None  # both layers are far above the floor
    early = output_layers.findings(found, 0.01, 0.15)  # the full one has learnt, what it is compared with has not
    assert early.holds is None
    assert "the hierarchical layer loses above the floor 0.2 is not below 0.15" in early.reason
    assert "full layer" not in early.reason
    assert both.holds is True
    assert both.timed is not None
    assert both.timed.holds is holds
