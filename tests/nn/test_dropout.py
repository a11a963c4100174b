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


@pytest.mark.parametrize("trained", [True, False], ids=["kernel", "torch"])
def test_parity_of_one_pass_with_two(trained):
    """The same numbers fall, to the same bits, in results and gradients."""
    drop = Dropout(0.4)
    base, x = (torch.randn(6, 7, requires_grad=trained) for _ in range(2))
    for one, two in (
        (lambda: drop.onto(base, x), lambda: base + drop(x)),
        (lambda: drop.rectified(x) + 0 * base, lambda: drop(torch.relu(x)) + 0 * base),
    ):
        results = []
        for run in (one, two):
            torch.manual_seed(1)
            y = run()
            results.append((y, *torch.autograd.grad((y**2).sum(), [base, x])) if trained else (y,))
        for own, other in zip(*results, strict=True):
            assert torch.equal(own, other)


def test_what_lies_below_is_taken_as_it_is():
    base, x = torch.zeros(3, 5, dtype=torch.float64), torch.ones(3, 5, requires_grad=True)
    assert Dropout(0.5).onto(base, x).dtype == torch.float64  # other numbers: the long way
    assert Dropout(0.5).onto(base[:1].float(), x).shape == (3, 5)
    assert torch.equal(Dropout(0.5).eval().onto(base.float(), x), x)
    assert torch.equal(Dropout(0.0).rectified(-x), torch.zeros(3, 5))
