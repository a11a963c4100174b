"""Gradient flow, the price of gates, the copy task: against closed forms and by construction."""

import math
from typing import Literal

import pytest
import torch

from claims.foundations import gradient_flow, recurrent_cost
from claims.foundations.copy_task import CopyConfig, CopyTask, Stack, copy_rows
from claims.foundations.networks import recurrent
from langladder.experiments.experiment import Data
from tests.experiments.declared import comparison, findings_from, five


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
        ({"RNN": 0.5, "LSTM of 1997": 0.99}, True),
        ({"RNN": 0.5, "LSTM of 1997": 0.9}, False),  # it keeps more than the plain one, and yet next to nothing
        ({"RNN": 0.95, "LSTM of 1997": 0.99}, False),  # the plain one keeps enough
        ({"RNN": 0.5, "RNN, orthogonal": 0.95, "GRU": 0.5, "LSTM of 1997": 0.99}, True),  # shown only
    ],
)
def test_the_gradients_verdict_follows_the_numbers(rates: dict[str, float], holds: bool | None) -> None:
    cells = {cell: {"left": five(50 * math.log(rate), 0.1)} for cell, rate in rates.items()}
    result = findings_from("gradient_flow", cells)
    assert result.holds is holds
    decides = "RNN" if rates["RNN"] > 0.9 or holds else "LSTM of 1997"
    assert f"{50 * math.log(rates[decides]):.3f} ({decides}) against -4.605" in result.verdict


@pytest.mark.parametrize(("effort", "outcomes"), [(0.5, {"not tested"}), (1.0, {"holds", "refuted"})])
def test_below_effort_1_nothing_is_judged(effort: float, outcomes: set[str]) -> None:
    config = comparison("gradient_flow").config.model_copy(
        update={"effort": effort, "length": 20, "width": 8, "rows": 2}
    )
    result = gradient_flow.GradientFlow(config).run(Data(), seed=1, progress=lambda _: None)
    assert result.outcome in outcomes and result.rests_on
    assert result.verdict.startswith("Not tested (effort 0.5, as at size tiny") is (effort < 1)


def test_parameters_golden_one_to_three_to_four() -> None:
    """With input width D and state width H the RNN has H·D + H·H + H."""
    counts = [
        recurrent_cost.number_of_parameters(recurrent(cell, input_width=5, width=7)) for cell in recurrent_cost.CELLS
    ]
    assert counts == [7 * 5 + 7 * 7 + 7, 3 * 91, 4 * 91]


@pytest.mark.parametrize(("lstm", "holds"), [(4.1, True), (2.0, False), (6.0, False)])
def test_the_times_verdict_follows_the_numbers(lstm: float, holds: bool) -> None:
    parameters = {"rnn": [10], "gru": [30], "lstm": [40]}
    seconds = {cell: [[1e-6 * times] * 5] for cell, times in (("rnn", 1.0), ("gru", 3.0), ("lstm", lstm))}
    result = recurrent_cost.findings([64], parameters, seconds, 0.182)
    assert result.holds is None  # that of the parameters is arithmetic
    assert result.timed is not None
    assert result.timed.holds is holds
    assert f"1.0 : 3.0 : {lstm}" in result.timed.verdict
    few = {cell: [by[0][:1]] for cell, by in seconds.items()}
    timed = recurrent_cost.findings([64], parameters, few, 0.182).timed
    assert timed is not None and timed.holds is None and "1 seed, 5 are needed" in timed.reason


def test_copy_rows_hold_symbols_blanks_and_signals() -> None:
    rows = copy_rows(50, 4, 3, 6, torch.Generator().manual_seed(0))
    assert rows.shape == (50, 12)
    assert set(rows[:, :3].flatten().tolist()) == {0, 1, 2, 3}
    assert set(rows[:, 3:9].flatten().tolist()) == {4}
    assert set(rows[:, 9:].flatten().tolist()) == {5}


def test_a_gated_network_learns_to_copy_over_a_short_delay() -> None:
    expect = [{"each": ["2"], "is": "better", "than": 0.95, "margin": 0}]
    values = {"bases": ["gru"], "vary": {"delay": [2, 3]}, "expect": expect, "symbols": 4, "length": 1, "width": 16}
    config = CopyConfig.model_validate(values | {"max_steps": 150, "lr": 0.01, "seeds": 1})
    result = CopyTask(config).run(Data(), seed=0, progress=lambda _: None)
    assert result.figures["2_right"] > 0.95


@pytest.mark.parametrize(
    ("rnn", "lstm", "holds"), [(0.13, 0.97, True), (0.13, 0.15, False), (0.13, 0.12, False), (0.25, 0.99, False)]
)
def test_the_copy_verdict_follows_the_numbers(rnn: float, lstm: float, holds: bool) -> None:
    result = findings_from("copy_task", copied(rnn, lstm, 0.99), {"right": 0.125})
    assert result.holds is holds
    decides = f"{rnn:.3f} (RNN delay 100)" if rnn > 0.2 else f"{lstm:.3f} (LSTM delay 100)"
    assert f"{decides} against 0.125 (the baseline)" in result.verdict


def test_an_lstm_that_has_not_learnt_even_a_short_delay_says_nothing() -> None:
    result = findings_from("copy_task", copied(0.13, 0.12, 0.12), {"right": 0.125})
    assert result.holds is None and "0.120 (LSTM delay 5) against 0.125" in result.reason


@pytest.mark.parametrize(
    ("gpt", "mamba", "holds"), [(0.99, 0.4, True), (0.9, 0.4, False), (0.99, 0.95, False), (0.99, 0.85, False)]
)
def test_the_verdict_on_copying_by_length_follows_the_numbers(gpt: float, mamba: float, holds: bool) -> None:
    def by_length(last: float) -> dict[str, dict[str, list[float]]]:
        return {"5": {"right": [0.9] * 5}, "10": {"right": [0.6] * 5}, "20": {"right": [last] * 5}}

    cells = {"gru": by_length(0.3), "min_gru": by_length(0.2), "mamba": by_length(mamba), "gpt": by_length(gpt)}
    assert findings_from("copy_length", cells, {"right": 0.125}).holds is holds


@pytest.mark.parametrize("network", ["min_gru", "mamba", "gpt"])
def test_a_stack_reads_the_symbols_and_not_what_follows(network: Literal["min_gru", "mamba", "gpt"]) -> None:
    torch.manual_seed(0)
    tokens = copy_rows(3, 4, 2, 3, torch.Generator().manual_seed(0))
    stack = Stack(network, symbols=4, width=8, context=tokens.shape[1])
    scores = stack(tokens)
    assert scores.shape == (3, 7, 4)
    changed = tokens.clone()
    changed[:, 0] = (changed[:, 0] + 1) % 4
    moved = (stack(changed) - scores).abs().amax(dim=(0, 2))
    assert (moved > 0).all()
    changed = tokens.clone()
    changed[:, -1] = 0
    torch.testing.assert_close(stack(changed)[:, :-1], scores[:, :-1])


def copied(rnn: float, lstm: float, near: float) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Share right of either at a delay of 100, and of the LSTM at one of 5."""
    rest = {"5": {"right": [0.5] * 5}}
    rows = {"5": {"right": [near] * 5}, "100": {"right": [lstm] * 5}}
    return {"rnn": rest | {"100": {"right": [rnn] * 5}}, "lstm": rows, "gpt": rest}


def test_the_lstm_of_1997_forgets_nothing() -> None:
    """f = 1 to the last bit, so of a state without input all is kept."""
    torch.manual_seed(0)
    network = recurrent("lstm_open", input_width=4, width=6)
    b = network.layers[0].matrices()[2]  # type: ignore[operator]
    assert torch.sigmoid(b[6:12] - 10).eq(1).all() and torch.sigmoid(b[12:18]).eq(0.5).all()


@pytest.mark.parametrize(
    ("hierarchical", "holds"), [([1.0, 2.0, 3.0], True), ([1.0, 5.0, 3.0], False), ([1.0, 20.0, 70.0], False)]
)
def test_the_output_layers_time_follows_the_clock(hierarchical: list[float], holds: bool) -> None:
    """Where the full layer takes 1, 4, 16."""

    def layer(excess: float, seconds: list[float]) -> dict[str, dict[str, list[float]]]:
        sizes = zip(("250", "1000", "4000"), seconds, strict=True)
        return {size: {"excess": [excess] * 5, "seconds": [duration] * 5} for size, duration in sizes}

    full = layer(0.1, [1.0, 4.0, 16.0])
    rest = {"softmax": full, "adaptive": full, "sampled": full}
    both = findings_from("output_layers", {**rest, "hierarchical": layer(0.2, hierarchical)})
    assert both.holds is True
    assert both.timed is not None
    assert both.timed.holds is holds
    early = findings_from("output_layers", {**rest, "hierarchical": layer(0.6, hierarchical)})
    assert early.holds is None  # the full one has learnt, what it is compared with has not
    assert "(hierarchical vocabulary 4000) against 0.5, 0.100 apart" in early.reason and "full" not in early.reason
