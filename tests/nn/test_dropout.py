"""Dropout: how many entries fall, what the others become, and that nothing happens outside training."""

import pytest
import torch

from langladder.nn.dropout import Dropout


@pytest.mark.parametrize("p", [0.001, 0.1, 0.5, 0.9])
def test_share_and_scale(p):
    torch.manual_seed(0)
    x = torch.ones(1001, 1003)  # no multiple of four
    y = Dropout(p)(x)
    kept = y != 0
    assert y[kept].unique().tolist() == pytest.approx([1 / (1 - p)], rel=2e-4)
    error = (p * (1 - p) / x.numel()) ** 0.5
    assert abs((~kept).double().mean().item() - p) < 4 * error + 1 / 65536
    # neither rows nor columns, nor the four entries of one random number, fall together
    for pairs in (kept[1:] & kept[:-1], kept[:, 1:] & kept[:, :-1], kept.flatten()[2:] & kept.flatten()[:-2]):
        assert pairs.double().mean().item() == pytest.approx((1 - p) ** 2, abs=6 * error + 2 / 65536)


def test_gradient_passes_where_the_entry_passed():
    torch.manual_seed(0)
    x = torch.randn(5, 7, requires_grad=True)
    y = Dropout(0.4)(x)
    y.sum().backward()
    torch.testing.assert_close(x.grad * x, y)


def test_same_seed_same_mask_and_nothing_outside_training():
    drop, x = Dropout(0.3), torch.randn(6, 6)
    masks = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        masks.append(drop(x))
    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[0], masks[2])
    assert torch.equal(drop.eval()(x), x)
    assert torch.equal(Dropout(1.0)(x), torch.zeros(6, 6))
