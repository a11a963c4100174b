"""Whole recurrent layers: fused against the loop, sizes, dropout that holds for a sequence, first weights, BPTT."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from langladder.nn.cells import CellWeights, peephole_step, rnn_step
from langladder.nn.dropout import Dropout, LockedDropout, embed_with_word_dropout
from langladder.nn.initialisation import initialise
from langladder.nn.recurrent import GATES, FusedLayer, LoopLayer, RecurrentStack, noisy
from tests.bf16 import lstm_runs

B, T, READ, H = 3, 6, 5, 7


def stack(cell: str, **settings: object) -> RecurrentStack:
    torch.manual_seed(0)
    return RecurrentStack(cell, **({"input_width": READ, "width": H} | settings))


def fused_and_loop(cell: str, **regularised: float) -> tuple[FusedLayer, LoopLayer]:
    """The same layer twice, with the same weights."""
    torch.manual_seed(0)
    settings: dict[str, Any] = {"input_width": READ, "width": H, "weight_drop": 0.0} | regularised
    fused = FusedLayer(cell, **settings)
    loop = LoopLayer(cell, reset_after=True, layer_norm=False, **settings)
    weights = CellWeights.of(fused.rnn)
    with torch.no_grad():
        loop.W.copy_(weights.W)
        loop.U.copy_(weights.U)
        if loop.c is None:
            loop.b.copy_(weights.b + weights.c)
        else:
            loop.b.copy_(weights.b)
            loop.c.copy_(weights.c)
    return fused, loop


@pytest.mark.parametrize("regularised", [{}, {"weight_drop": 0.5}, {"weight_noise": 0.1}])
@pytest.mark.parametrize("cell", ["rnn", "relu_rnn", "gru", "lstm"])
def test_parity_of_fused_and_loop(cell, regularised):
    fused, loop = fused_and_loop(cell, **regularised)
    x, state = torch.randn(B, T, READ), tuple(torch.randn(B, H) for _ in range(2 if cell == "lstm" else 1))
    results = []
    for layer in (fused, loop):
        torch.manual_seed(1)  # the same entries of U are dropped
        hidden, last = layer(x, state)
        W, U, _ = layer.matrices()
        results.append([hidden, *last, *torch.autograd.grad(hidden.square().sum(), [W, U])])
    for ours, theirs in zip(*results, strict=True):
        assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
    for layer in (fused, loop):
        layer.eval()
    assert_close(fused(x, state)[0], loop(x, state)[0], atol=1e-5, rtol=0)
    if regularised:
        assert not torch.allclose(results[0][0], fused(x, state)[0])


def test_parity_of_blind_peepholes_with_lstm():
    lstm, peephole = fused_and_loop("lstm")[0], stack("peephole").layers[0]
    weights = CellWeights.of(lstm.rnn)
    with torch.no_grad():
        peephole.W.copy_(weights.W)
        peephole.U.copy_(weights.U)
        peephole.b.copy_(weights.b + weights.c)
    x, state = torch.randn(B, T, READ), (torch.randn(B, H), torch.randn(B, H))
    assert_close(peephole(x, state)[0], lstm(x, state)[0], atol=1e-5, rtol=0)


def test_golden_peephole_gates_see_their_own_unit_and_the_output_gate_the_new_cell():
    array = torch.ones(1, 1)
    weights = CellWeights(torch.zeros(4, 1), torch.zeros(4, 1), torch.zeros(4))
    h, c = peephole_step(torch.zeros(1, 4), 0 * array, array, weights, torch.tensor([[1.0], [2.0], [3.0]]))
    new = torch.sigmoid(torch.tensor(2.0))  # f = σ(2 · 1), i ⊙ tanh(0) = 0
    assert_close(c, new * array)
    assert_close(h, torch.sigmoid(3 * new) * torch.tanh(new) * array)  # σ(3 · 1) would be the old cell's
    # five units: what one unit's cell holds reaches no other unit
    weights = CellWeights(torch.zeros(20, 1), torch.zeros(20, 5), torch.zeros(20))
    first = torch.zeros(1, 5)
    second = first.index_fill(1, torch.tensor([2]), 1.0)
    torch.manual_seed(0)
    p, driven = torch.randn(3, 5), torch.randn(1, 20)
    outs = [peephole_step(driven, first, cell, weights, p)[0] for cell in (first, second)]
    assert ((outs[0] != outs[1]) == second.bool()).all()


def test_gradients_of_the_peepholes_are_those_of_finite_differences():
    """Also on the way from the output gate through the new cell back to the old one."""
    torch.manual_seed(0)
    shapes = ((2, 12), (2, 3), (2, 3), (3, 3))
    driven, h, c, p = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes)
    weights = CellWeights(torch.zeros(12, 1), torch.randn(12, 3, dtype=torch.float64), torch.zeros(12))
    assert torch.autograd.gradcheck(lambda *inputs: peephole_step(*inputs[:3], weights, inputs[3]), (driven, h, c, p))


def test_golden_parameters_are_1_to_3_to_4():
    sizes = {cell: sum(p.numel() for p in stack(cell, input_width=300, width=512).parameters()) for cell in GATES}
    assert sizes["rnn"] == 416_768 and sizes["gru"] == 1_250_304 and sizes["lstm"] == 1_667_072
    assert (sizes["gru"], sizes["lstm"]) == (3 * sizes["rnn"], 4 * sizes["rnn"])
    assert sizes["peephole"] == sizes["lstm"] - 4 * 512 + 3 * 512  # one bias vector, three peepholes
    deep = stack("lstm", input_width=300, width=128, layers=4)
    assert sum(p.numel() for p in deep.parameters()) == 220_160 + 3 * 132_096


VARIANTS = [
    ("rnn", {}),
    ("gru", {}),
    ("gru", {"reset_after": False}),
    ("lstm", {}),
    ("peephole", {}),
    *((cell, {"layer_norm": True}) for cell in GATES),
    ("gru", {"layer_norm": True, "reset_after": False}),
]


@pytest.mark.parametrize(("cell", "settings"), VARIANTS, ids=str)
@pytest.mark.parametrize("layers", [1, 3])
def test_gradient_and_carried_state(cell, settings, layers):
    """Reading in two parts is reading in one; every parameter matters."""
    network, x = stack(cell, layers=layers, **settings), torch.randn(B, T, READ)
    whole, last = network(x)
    first, state = network(x[:, :2])
    second, again = network(x[:, 2:], state)
    assert_close(torch.cat([first, second], dim=1), whole)
    for ours, theirs in zip(last, again, strict=True):
        assert ours.shape == (layers, B, H)
        assert_close(ours, theirs)
    whole.square().sum().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("cell", ["lstm", "peephole", "gru"])
def test_bf16_runs_and_agrees(cell):
    if cell == "lstm" and not lstm_runs():
        pytest.skip("torch's LSTM needs AVX-512 to run in bf16 at all")
    network, x = stack(cell, layers=2, layer_norm=cell == "gru"), torch.randn(B, T, READ)
    with torch.autocast("cpu", torch.bfloat16):
        rough, state = network(x)
        network(x, state)
    assert_close(rough.float(), network(x)[0], atol=0.05, rtol=0.05)


def test_layer_norm_makes_the_cell_blind_to_the_weights_scale():
    network, x = stack("lstm", layer_norm=True), 5 * torch.randn(B, T, READ)
    before = network(x)[0]
    with torch.no_grad():
        network.layers[0].W *= 10
        network.layers[0].U *= 10
    assert_close(network(x)[0], before, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("p", [0.001, 0.1, 0.9])
def test_dropout_drops_a_share_and_scales_the_rest(p):
    torch.manual_seed(0)
    x = torch.ones(301, 403, requires_grad=True)  # no multiple of four
    y = Dropout(p)(x)
    kept = y != 0
    assert y[kept].unique().tolist() == pytest.approx([1 / (1 - p)])
    assert abs((~kept).double().mean().item() - p) < 4 * (p * (1 - p) / x.numel()) ** 0.5
    y.sum().backward()
    assert_close(x.grad, y)  # the gradient passes where the entry passed
    torch.manual_seed(0)
    assert torch.equal(Dropout(p)(x), y) and torch.equal(Dropout(p).eval()(x), x)


def test_locked_dropout_keeps_one_mask_a_row():
    torch.manual_seed(0)
    x = LockedDropout(0.5)(torch.ones(4, 9, 50))
    assert torch.equal(x, x[:, :1].expand_as(x)) and set(x.unique().tolist()) == {0.0, 2.0}
    assert not torch.equal(x[0], x[1])
    assert torch.equal(LockedDropout(0.5).eval()(x), x)
    fresh = nn.Dropout(0.5)(torch.ones(1, 2, 50))
    assert not torch.equal(fresh[:, 0], fresh[:, 1])


def test_word_dropout_drops_a_word_everywhere():
    torch.manual_seed(0)
    embedding, tokens = nn.Embedding(20, 3), torch.arange(20).repeat(2, 2)
    x = embed_with_word_dropout(embedding, tokens, 0.5)
    assert torch.equal(x[0, :20], x[1, 20:])
    dropped = (x[0, :20] == 0).all(dim=1)
    assert 0 < dropped.sum() < 20
    assert_close(x[0, :20][~dropped], 2 * embedding.weight[~dropped])
    assert torch.equal(embed_with_word_dropout(embedding.eval(), tokens, 0.5), embedding(tokens))


@pytest.mark.parametrize("kind", ["xavier", "he", "orthogonal", "uniform"])
def test_golden_initial_variance_gate_by_gate(kind):
    torch.manual_seed(0)
    weight = torch.empty(4 * 200, 200)
    initialise(weight, kind, gates=4)
    expected = {"xavier": 2 / 400, "he": 2 / 200, "orthogonal": 1 / 200, "uniform": 1 / (3 * 200)}[kind]
    assert weight.var().item() == pytest.approx(expected, rel=0.03)
    if kind == "orthogonal":
        for gate in weight.chunk(4):
            assert_close(gate @ gate.T, torch.eye(200), atol=1e-5, rtol=0)


def test_golden_bptt_is_the_sum_over_steps():
    """∂L/∂U = Σ_t δ_t h_{t−1}ᵀ with δ_t = (∂L_t/∂h_t + Uᵀ δ_{t+1}) ⊙ (1 − h_t²): each step's own share, once."""
    torch.manual_seed(0)
    weights = CellWeights(*(torch.randn(*shape, dtype=torch.float64) for shape in ((H, READ), (H, H), (H,))))
    weights.U.requires_grad_()
    x, states = torch.randn(T, READ, dtype=torch.float64), [torch.zeros(H, dtype=torch.float64)]
    for driven in weights.drive(x):
        states.append(rnn_step(driven, states[-1], weights))
    sum(0.5 * h.square().sum() for h in states[1:]).backward()  # ∂L_t/∂h_t = h_t

    gradient, above = torch.zeros(H, H, dtype=torch.float64), torch.zeros(H, dtype=torch.float64)
    for t in range(T, 0, -1):
        delta = (states[t] + above).detach() * (1 - states[t].detach() ** 2)
        gradient += torch.outer(delta, states[t - 1].detach())
        above = weights.U.detach().T @ delta
    assert_close(weights.U.grad, gradient)


@pytest.mark.parametrize("cell", ["rnn", "relu_rnn", "gru", "gru, reset before", "lstm", "peephole"])
def test_recurrent_dropout_is_a_mask_of_the_state_that_holds_for_all_steps(cell):
    """Of one row it is the same as dropping columns of U, whatever the cell."""
    settings = {"layers": 1, "reset_after": cell != "gru, reset before"}
    dropped = stack(cell.split(",")[0], recurrent_dropout=0.5, **settings).layers[0]
    assert isinstance(dropped, LoopLayer)
    x, state = torch.randn(1, T, READ), tuple(torch.randn(1, H) for _ in range(2 if dropped.W.shape[0] == 4 * H else 1))
    torch.manual_seed(1)
    ours, _ = dropped(x, state)
    torch.manual_seed(1)
    mask = nn.functional.dropout(torch.ones(1, H), 0.5)
    dropped.eval()
    plain, _ = dropped(x, state)
    with torch.no_grad():
        dropped.U.mul_(mask)
    assert_close(ours, dropped(x, state)[0])
    assert not torch.allclose(ours, plain)


def test_recurrent_dropout_draws_a_mask_for_each_row():
    layer = stack("rnn", recurrent_dropout=0.5).layers[0]
    ours, _ = layer(torch.zeros(2, T, READ), (torch.ones(2, H),))
    assert not torch.allclose(ours[0], ours[1])


def test_noise_of_weights_has_its_deviation():
    layer = stack("lstm", input_width=100, width=100, weight_noise=0.1).layers[0]
    W = torch.stack([noisy(layer.rnn.weight_ih_l0, 0.1) - layer.rnn.weight_ih_l0 for _ in range(4)])
    assert float(W.detach().std()) == pytest.approx(0.1, rel=0.02)
    assert noisy(layer.rnn.weight_ih_l0, 0.0) is layer.rnn.weight_ih_l0


@pytest.mark.parametrize("cell", ["rnn", "lstm", "peephole"])
def test_a_learnt_start_is_the_state_before_the_first_step(cell):
    network = stack(cell, layers=2, learn_start=True)
    assert network.start is not None and (network.start == 0).all()
    with torch.no_grad():
        network.start.normal_()
    x = torch.randn(B, T, READ)
    first = network.start.view(network.states, 2, 1, H).expand(-1, -1, B, -1).unbind(0)
    hidden, _ = network(x)
    assert_close(hidden, network(x, first)[0])
    hidden[:, 0].sum().backward()
    assert (network.start.grad != 0).all()


def test_golden_identity_start_keeps_a_state():
    """Le et al. 2015: with U = I, b = 0 and nothing to read, ReLU keeps a state, and its gradient, over any delay."""
    network = stack("relu_rnn")
    _, U, _ = network.layers[0].matrices()
    initialise(U, "identity")
    assert torch.equal(U, torch.eye(H))
    for name, parameter in network.named_parameters():
        if "bias" in name:
            nn.init.zeros_(parameter)
    state = torch.rand(1, B, H, requires_grad=True)
    hidden, _ = network(torch.zeros(B, 200, READ), (state,))
    assert_close(hidden[:, -1], state[0])
    hidden[:, -1].sum().backward()
    assert_close(state.grad, torch.ones(1, B, H))
