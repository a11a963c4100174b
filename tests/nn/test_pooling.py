"""Pooling: the numbers of the notes, masks, and texts that are shorter than the number of kept values."""

import pytest
import torch

from langladder.nn.pooling import Pool, Pooling, chunked_pool, k_max_pool, max_pool, mean_pool, sum_pool

C = torch.tensor([0.73, 0.85, 0.62, 0.91, 0.45])[None, :, None]  # (1, 5, 1)
ALL = torch.ones(1, 5, dtype=torch.bool)
KINDS: tuple[Pooling, ...] = ("max", "mean", "k_max", "chunked", "attentive")


def test_golden_pooling_of_the_notes() -> None:
    """The notes sort k-max; kept in the order of the text it is (.85, .91)."""
    assert max_pool(C, ALL).item() == pytest.approx(0.91)
    assert mean_pool(C, ALL).item() == pytest.approx(0.712)
    assert sum_pool(C, ALL).item() == pytest.approx(3.56)
    assert k_max_pool(C, ALL, 2)[0, :, 0].tolist() == pytest.approx([0.85, 0.91])
    assert chunked_pool(C, ALL, 2)[0, :, 0].tolist() == pytest.approx([0.85, 0.91])  # .73 .85 .62 | .91 .45


def test_k_max_and_chunks_fill_up_with_zeros() -> None:
    mask = torch.tensor([[True, True, False, False, False]])
    assert k_max_pool(C, mask, 3)[0, :, 0].tolist() == pytest.approx([0.73, 0.85, 0.0])
    assert k_max_pool(C, mask, 7)[0, :, 0].tolist() == pytest.approx([0.73, 0.85, *[0.0] * 5])
    assert chunked_pool(C, mask, 3)[0, :, 0].tolist() == pytest.approx([0.73, 0.85, 0.0])
    assert k_max_pool(-C, mask, 1).item() == pytest.approx(-0.73)


def test_k_max_takes_the_first_of_equal_values() -> None:
    c = torch.tensor([0.0, 0.5, 0.0, 0.0])[None, :, None]
    assert k_max_pool(c, torch.ones(1, 4, dtype=torch.bool), 2)[0, :, 0].tolist() == [0.0, 0.5]


@pytest.mark.parametrize("kind", KINDS)
def test_padding_changes_nothing_and_gets_no_gradient(kind: Pooling) -> None:
    torch.manual_seed(0)
    pool, c = Pool(kind, features=4, k=3, parts=2), torch.randn(2, 6, 4)
    mask = torch.arange(6) < torch.tensor([[3], [6]])
    alone = pool(c[:1, :3], mask[:1, :3])
    other = c.clone()
    other[0, 3:] = 100.0
    other.requires_grad_(True)
    batched = pool(other, mask)
    assert batched.shape == (2, pool.width)
    torch.testing.assert_close(batched[:1], alone)
    batched.sum().backward()
    assert other.grad is not None and (other.grad[0, 3:] == 0).all() and other.grad.isfinite().all()


def test_attention_weights_are_shares_of_the_text() -> None:
    torch.manual_seed(0)
    pool, c = Pool("attentive", features=4), torch.randn(2, 5, 4)
    mask = torch.arange(5) < torch.tensor([[2], [5]])
    weights = pool.weights(c, mask)
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(2))
    assert (weights[0, 2:] == 0).all()
    torch.testing.assert_close(pool(c, mask)[0], weights[0] @ c[0])
