"""Functions of kernels against NumPy and torch: exponentials, sigmoids, the bits of bfloat16, a block of logits."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from langladder.kernels.compiled import njit
from langladder.nn import output
from langladder.nn.gelu import TanhGELU, gelu_equation
from langladder.nn.softmax_kernel import exponentials
from langladder.nn.vector_math import SUMS, exponential, read, sigmoid, written
from langladder.nn.vectors import bits


@njit(error_model="numpy")
def entries(x, e, s):
    for i in range(len(x)):
        e[i], s[i] = exponential(x[i]), sigmoid(x[i])


@njit(fastmath=SUMS, error_model="numpy")
def halves(x, y):
    for i in range(len(x)):
        y[i] = written(y, read(x[i]))


def test_parity_of_exponential_and_sigmoid_with_64_bits():
    x = np.concatenate([np.linspace(-87, 88, 200_001), [0.0, -1e-8, 1e-8]]).astype(np.float32)
    e, s = np.empty_like(x), np.empty_like(x)
    entries(x, e, s)
    exact = np.exp(x.astype(np.float64))
    assert np.abs(e / exact - 1).max() < 1.3e-7
    assert np.abs(s * (1 + 1 / exact) - 1).max() < 3e-7


def test_the_ends_of_exponential():
    x = np.array([-1e4, -np.inf, np.nan, 0], dtype=np.float32)
    e, s = np.empty_like(x), np.empty_like(x)
    entries(x, e, s)
    assert e[0] == e[1] and 0 <= e[0] < 2e-38 and np.isnan(e[2]) and e[3] == 1
    assert s[0] < 1e-37 and np.isnan(s[2])


def test_parity_of_bfloat16s_rounding_with_torch():
    x = torch.cat([torch.randn(5000) * 10.0 ** torch.randint(-30, 30, (5000,)), torch.tensor([1.00390625, 1.01171875])])
    x = torch.cat([x, torch.tensor([float("inf"), float("nan"), 0.0, -0.0])])
    y = torch.empty(len(x), dtype=torch.bfloat16)
    halves(x.numpy(), bits(y))
    assert_close(y, x.bfloat16(), rtol=0, atol=0, equal_nan=True)
    back = torch.empty(len(x))
    halves(bits(y), back.numpy())
    assert_close(back, y.float(), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_parity_of_a_block_in_one_pass_with_the_equations(kind, smoothing, monkeypatch):
    """Several blocks, a last one that is shorter, a bias; where a target is found does not matter."""
    monkeypatch.setattr(output, "BLOCK_WORDS", 37)
    torch.manual_seed(0)
    h, W, b = torch.randn(50, 8).to(kind), torch.randn(100, 8).to(kind), torch.randn(100)
    y = torch.randint(100, (50, 1))
    found = output._blocks_by_kernel(h, W, b, y, keep=True, smoothing=smoothing)
    plain = output._blocks(h, W, b, y, keep=True, smoothing=smoothing)
    for ours, theirs in zip(found[:4], plain[:4], strict=True):
        assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    for (words, ours, _), (same, theirs, _) in zip(found[4], plain[4], strict=True):
        assert words == same
        assert_close(ours, theirs, rtol=1e-5 if kind == torch.float32 else 0.01, atol=1e-6)


def test_a_logit_that_is_no_number_makes_the_sum_none():
    z = torch.zeros(2, 40)
    z[0, 7] = float("nan")
    peak, total, target = torch.empty(3, 2).unbind()
    y, none = torch.zeros(2, dtype=torch.int64), torch.zeros(0)
    exponentials(*(x.numpy() for x in (z, torch.zeros(40), y)), 0, *(x.numpy() for x in (peak, total, target, none)))
    assert torch.isnan(total[0]) and total[1] == 40


@pytest.mark.parametrize(("kind", "tolerance"), [(torch.float32, 2e-6), (torch.bfloat16, 0.02)])
def test_parity_of_gelus_kernel_with_the_equation(kind, tolerance):
    x = torch.linspace(-15, 15, 3001, dtype=torch.float64).to(kind)
    inputs = [x.clone().requires_grad_(), x.double().requires_grad_()]
    results = TanhGELU()(inputs[0]), gelu_equation(inputs[1])
    up = torch.linspace(-1, 2, 3001, dtype=torch.float64)
    assert_close(results[0].double(), results[1], atol=tolerance, rtol=tolerance)
    for y in results:
        y.backward(up.to(y.dtype))
    assert_close(inputs[0].grad.double(), inputs[1].grad, atol=2 * tolerance, rtol=2 * tolerance)
