"""The sliced softmax cross-entropy against torch's, its gradients, and known values."""

import math

import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from langladder.nn import output
from langladder.nn.output import SoftmaxOutput


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("slice_bytes", "block_words"), [(1, 1024), (400, 5), (2**20, 1), (2**20, 1024)])
def test_parity_of_loss_and_gradients(smoothing, bias, slice_bytes, block_words, monkeypatch):
    monkeypatch.setattr(output, "SLICE_BYTES", slice_bytes)
    monkeypatch.setattr(output, "BLOCK_WORDS", block_words)
    torch.manual_seed(0)
    layer = SoftmaxOutput(width=6, vocab_size=13, bias=bias)
    hidden, targets = torch.randn(17, 6, requires_grad=True), torch.randint(13, (17,))
    sliced = 0.5 * layer.loss(hidden, targets, smoothing)
    plain = 0.5 * functional.cross_entropy(layer(hidden), targets, reduction="sum", label_smoothing=smoothing)
    assert_close(sliced, plain)
    inputs = [hidden, *layer.parameters()]
    for ours, theirs in zip(torch.autograd.grad(sliced, inputs), torch.autograd.grad(plain, inputs), strict=True):
        assert_close(ours, theirs)
    log_probs = layer.target_log_probs(hidden, targets)
    assert_close(log_probs, functional.log_softmax(layer(hidden), dim=1).gather(1, targets[:, None])[:, 0])


def test_golden_cross_entropy_and_perplexity():
    """CE of q = [.1, .7, .2] against the second class; a uniform guess over 100 has perplexity 100."""
    layer = SoftmaxOutput(width=1, vocab_size=3)
    with torch.no_grad():
        layer.weight.zero_()
        layer.bias.copy_(torch.tensor([0.1, 0.7, 0.2]).log())
    assert layer.loss(torch.zeros(1, 1), torch.tensor([1])).item() == pytest.approx(0.3566749439)
    uniform = SoftmaxOutput(width=1, vocab_size=100)
    torch.nn.init.zeros_(uniform.weight)
    assert math.exp(uniform.loss(torch.ones(1, 1), torch.tensor([7])).item()) == pytest.approx(100)


def test_no_targets_is_no_loss():
    layer = SoftmaxOutput(width=4, vocab_size=9)
    hidden = torch.zeros(0, 4, requires_grad=True)
    loss = layer.loss(hidden, torch.zeros(0, dtype=torch.int64))
    loss.backward()
    assert loss.item() == 0 and layer.weight.grad.abs().sum() == 0
    assert layer.target_log_probs(hidden, torch.zeros(0, dtype=torch.int64)).shape == (0,)


def test_parity_under_bf16():
    torch.manual_seed(0)
    layer = SoftmaxOutput(width=32, vocab_size=50)
    hidden, targets = torch.randn(40, 32, requires_grad=True), torch.randint(50, (40,))
    exact = torch.autograd.grad(layer.loss(hidden, targets), [hidden, layer.weight])
    with torch.autocast("cpu", torch.bfloat16):
        rough = torch.autograd.grad(layer.loss(hidden, targets), [hidden, layer.weight])
    for ours, theirs in zip(rough, exact, strict=True):
        assert ours.dtype == torch.float32
        assert_close(ours, theirs, atol=0.02, rtol=0.05)


def test_gradients_become_the_parameters_own_without_a_copy():
    layer = SoftmaxOutput(width=3, vocab_size=7)
    hidden, targets = torch.randn(5, 3, requires_grad=True), torch.arange(5)
    loss = layer.loss(hidden, targets) / 5
    pointer = loss.grad_fn.next_functions[0][0].grads[1].data_ptr()
    loss.backward(retain_graph=True)
    assert layer.weight.grad.data_ptr() == pointer
    with pytest.raises(RuntimeError, match="once"):
        loss.backward()
