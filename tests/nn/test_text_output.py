"""The softmax over words alone: what a full softmax over the first rows says, and −∞ behind them."""

import math

import torch

from langladder.nn.output import SoftmaxOutput, TextOutput

V, M, D = 7, 3, 4


def tables() -> tuple[TextOutput, SoftmaxOutput]:
    """Tied to a table of V + M rows, and a full softmax over its first V."""
    torch.manual_seed(0)
    weight = torch.nn.Parameter(torch.randn(V + M, D))
    alone = SoftmaxOutput(width=D, vocab_size=V, bias=False)
    alone.weight = torch.nn.Parameter(weight.detach()[:V].clone())
    return TextOutput(width=D, vocab_size=V, unsaid=M, tied=weight), alone


def test_golden_scores_behind_the_words_are_minus_infinity() -> None:
    layer = TextOutput(width=2, vocab_size=2, unsaid=1)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[math.log(3), 0.0], [0.0, 1.0]]))
    scores = layer(torch.tensor([[1.0, 0.0]]))  # ln 3, 0 → 3/4, 1/4, 0
    assert scores[0, 2] == -math.inf
    torch.testing.assert_close(torch.softmax(scores, dim=1), torch.tensor([[0.75, 0.25, 0.0]]))


def test_parity_with_a_softmax_over_the_words() -> None:
    layer, alone = tables()
    hidden, targets = torch.randn(5, D, requires_grad=True), torch.tensor([0, 1, 6, 3, 3])
    other = hidden.detach().clone().requires_grad_(True)
    torch.testing.assert_close(layer(hidden)[:, :V], alone(other))
    torch.testing.assert_close(layer.target_log_probs(hidden, targets), alone.target_log_probs(other, targets))
    layer.loss(hidden, targets).backward()
    alone.loss(other, targets).backward()
    torch.testing.assert_close(hidden.grad, other.grad)
    torch.testing.assert_close(layer.weight.grad[:V], alone.weight.grad)
    assert not layer.weight.grad[V:].any()
    assert layer.products() == V * D


def test_gradient_of_the_log_softmax_is_finite() -> None:
    layer, _ = tables()
    torch.log_softmax(layer(torch.randn(3, D)), dim=1)[:, 2].sum().backward()
    assert layer.weight.grad.isfinite().all() and not layer.weight.grad[V:].any()
