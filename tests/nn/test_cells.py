"""The readable cells: by hand, and against torch's fused layers."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from langladder.nn.cells import CellWeights, gru_blend, gru_step, lstm_step, rnn_step


def f64(*rows):
    return torch.tensor(rows, dtype=torch.float64)


def test_golden_rnn_three_steps():
    zero = torch.zeros(2, dtype=torch.float64)
    weights = CellWeights(f64([0.1, 0.2, 0.3], [0.4, 0.5, 0.6]), f64([0.7, 0.8], [0.9, 1.0]), f64(0.1, 0.2), zero)
    h = f64([0.0, 0.0])
    expected = ([0.405321, 0.753066], [0.865830, 0.972031], [0.941796, 0.989892])
    for x, value in zip(([0.5, 0.2, 0.8], [0.3, 0.9, 0.4], [0.7, 0.1, 0.6]), expected, strict=True):
        h = rnn_step(weights.drive(f64(x)), h, weights)
        assert_close(h, f64(value), atol=1e-6, rtol=0)


def test_golden_lstm_step():
    weights = CellWeights(
        torch.full((8, 2), 0.1, dtype=torch.float64),
        torch.full((8, 2), 0.1, dtype=torch.float64),
        *f64([0.0] * 8, [0.0] * 8),
    )
    h, c = lstm_step(weights.drive(f64([0.3, 0.5])), f64([0.6, 0.8]), f64([0.5, -0.5]), weights)
    assert_close(c, f64([0.39750934, -0.15726989]), atol=1e-8, rtol=0)
    assert_close(h, f64([0.20960439, -0.08653777]), atol=1e-8, rtol=0)


def test_golden_gru_gate_and_blend():
    """Reset gate of the worked example, and h_t = (1 − z) ⊙ h + z ⊙ h̃."""
    r = torch.sigmoid(f64([0.5, 0.3, 0.2, 0.1], [0.4, 0.6, 0.1, 0.3]) @ f64(0.6, 0.8, 0.3, 0.5) + f64(0.1, 0.2))
    assert_close(r, f64(0.679179, 0.750260), atol=1e-6, rtol=0)
    assert_close(gru_blend(f64(0.6, 0.8), f64(0.82, 0.91), f64(0.60, 0.55)), f64(0.732, 0.8605))


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
@pytest.mark.parametrize("layers", [1, 2])
def test_parity_with_fused_layers(kind, layers):
    torch.manual_seed(0)
    fused = kind(5, 7, num_layers=layers, batch_first=True)
    x = torch.randn(3, 6, 5)
    expected, _ = fused(x)
    for layer in range(layers):
        weights = CellWeights.of(fused, layer)
        h, c, outputs = torch.zeros(3, 7), torch.zeros(3, 7), []
        for driven in weights.drive(x).unbind(1):
            if kind is nn.RNN:
                h = rnn_step(driven, h, weights)
            elif kind is nn.GRU:
                h = gru_step(driven, h, weights, reset_after=True)
            else:
                h, c = lstm_step(driven, h, c, weights)
            outputs.append(h)
        x = torch.stack(outputs, dim=1)
    assert_close(x, expected, atol=1e-5, rtol=0)


def test_gru_forms_differ_and_keep_their_promises():
    torch.manual_seed(0)
    weights = CellWeights(torch.randn(9, 4), torch.randn(9, 3), torch.randn(9), torch.randn(9))
    x, h = torch.randn(2, 4), torch.randn(2, 3)
    after, before = (gru_step(weights.drive(x), h, weights, reset_after=form) for form in (True, False))
    assert not torch.allclose(after, before)
    # A closed update gate copies the state: z = 0 in the paper's form, z = 1 in torch's.
    for reset_after, shut in ((False, -1e4), (True, 1e4)):
        b = weights.b.clone()
        b[3:6] = shut
        closed = CellWeights(weights.W, weights.U, b, weights.c)
        assert_close(gru_step(closed.drive(x), h, closed, reset_after=reset_after), h)


def test_gradient_flows_through_an_open_lstm_cell():
    """With f = 1 and i = 0 the cell is copied, and its gradient is exactly 1 however many steps."""
    b = torch.cat([torch.full((3,), -1e4), torch.full((3,), 1e4), torch.zeros(6)])
    weights = CellWeights(torch.randn(12, 2), torch.randn(12, 3), b, torch.zeros(12))
    start = torch.randn(1, 3, requires_grad=True)
    h, c = torch.zeros(1, 3), start
    for _ in range(50):
        h, c = lstm_step(weights.drive(torch.randn(1, 2)), h, c, weights)
    c.sum().backward()
    assert_close(c, start)
    assert_close(start.grad, torch.ones(1, 3))
