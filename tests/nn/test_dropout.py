"""Dropout: how many entries fall, what the others become, and that nothing happens outside training."""

import pytest
import torch

from langladder.nn.dropout import Dropout


@pytest.mark.parametrize("p", [0.001, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("trained", [True, False], ids=["kernel", "torch"])
def test_share_and_scale(p, trained):
    torch.manual_seed(0)
    x = torch.ones(1001, 1003, requires_grad=trained)  # no multiple of four
    y = Dropout(p)(x).detach()
    kept = y != 0
    assert y[kept].unique().tolist() == pytest.approx([1 / (1 - p)], rel=2e-4)
    error = (p * (1 - p) / x.numel()) ** 0.5
    assert abs((~kept).double().mean().item() - p) < 4 * error
    # neither rows nor columns fall together, nor places that are a power of two apart
    flat = kept.flatten()
    apart = [flat[2**n :] & flat[: -(2**n)] for n in range(20)]
    for pairs in (kept[1:] & kept[:-1], kept[:, 1:] & kept[:, :-1], *apart):
        assert pairs.double().mean().item() == pytest.approx((1 - p) ** 2, abs=6 * error)


def test_gradient_passes_where_the_entry_passed():
    torch.manual_seed(0)
    x = torch.randn(5, 7, requires_grad=True)
    y = Dropout(0.4)(x)
    y.sum().backward()
    torch.testing.assert_close(x.grad * x, y)


def test_same_seed_same_mask_and_nothing_outside_training():
    drop, x = Dropout(0.3), torch.randn(6, 6, requires_grad=True)
    masks = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        masks.append(drop(x))
    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[0], masks[2])
    assert torch.equal(drop.eval()(x), x)
    assert torch.equal(Dropout(1.0)(x), torch.zeros(6, 6))
