"""The tanh form of GELU against torch's kernel, with gradients."""

import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from langladder.nn.gelu import TanhGELU


def test_parity_with_torch_and_gradient():
    x = torch.linspace(-12, 12, 4001, requires_grad=True)
    ours, theirs = TanhGELU()(x), functional.gelu(x, approximate="tanh")
    assert_close(ours, theirs, atol=1e-6, rtol=1e-6)
    up = torch.linspace(-1, 2, 4001)
    gradients = [torch.autograd.grad(y, x, up)[0] for y in (ours, theirs)]
    assert_close(*gradients, atol=2e-6, rtol=1e-5)
    assert_close(TanhGELU()(x.detach()), theirs.detach())


def test_golden_values():
    """GELU(1) = ½ (1 + tanh(√(2/π) · 1.044715)) = 0.841192; far out it is x, or 0."""
    x = torch.tensor([0.0, 1.0, -1.0, 30.0, -30.0], requires_grad=True)
    assert TanhGELU()(x).tolist() == pytest.approx([0, 0.841192, -0.158808, 30, 0], abs=1e-6)
