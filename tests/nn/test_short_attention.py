"""Attention through the kernel of short rows: parity with the equation, padding, future, threads, what falls."""

import pytest
import torch

from langladder.nn import short_attention
from langladder.nn.multi_head_attention import MultiHeadAttention, attend, banded
from langladder.nn.short_attention import LONGEST, attend_short, serves

NEVER = 1e-9  # a probability with which nothing falls, as with 0, but by the other way
SHAPES = [  # B, h, T, S, d
    (3, 2, 5, 5, 16),
    (2, 4, 13, 13, 32),
    (2, 1, 1, 9, 16),
    (4, 2, 17, 17, 48),
    (2, 2, 7, 64, 64),
    (1, 3, 6, 8, 80),
    (1, 2, 70, 70, 32),
    (1, 1, 3, 256, 16),
]


def heads(B: int, h: int, T: int, S: int, d: int) -> list[torch.Tensor]:
    """Queries, keys and values as projections leave them: (B, h, ., d), views of (B, ., h · d), two of one matrix."""
    torch.manual_seed(0)
    both = torch.randn(B, S, 2 * h * d).chunk(2, dim=-1)
    parts = (torch.randn(B, T, h * d), *both)
    return [x.unflatten(-1, (h, d)).transpose(1, 2).detach().requires_grad_() for x in parts]


def padding(B: int, S: int) -> torch.Tensor:
    lengths = torch.tensor([max(1, S - 2 * row) for row in range(B)])
    return (torch.arange(S) < lengths[:, None])[:, None, None]


@pytest.mark.parametrize(
    ("shape", "causal"),
    [(shape, causal) for shape in SHAPES for causal in (False, True) if not causal or shape[2] == shape[3]],
    ids=str,
)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("p", [0, NEVER])
def test_parity_with_the_equation_in_results_and_gradients(shape, masked, causal, p):
    B, _, T, S, _ = shape
    x, mask = heads(*shape), padding(B, S) if masked else None
    seen = mask if not causal else banded(T, S, None) if mask is None else banded(T, S, None) & mask
    wanted, _ = attend(*x, seen)
    found = attend_short(*x, mask, p, causal=causal)
    assert serves(*x, mask, p) and found.shape == wanted.shape
    torch.testing.assert_close(found, wanted)
    given = torch.randn_like(wanted)
    for own, other in zip(torch.autograd.grad(found, x, given), torch.autograd.grad(wanted, x, given), strict=True):
        torch.testing.assert_close(own, other)


def test_parity_of_the_gradients_where_weights_fall():
    p, (B, h, T, d) = 0.4, (2, 2, 6, 16)
    query, key, _ = heads(B, h, T, T, d)
    value = torch.eye(T, d).expand(B, h, T, d).contiguous().requires_grad_()  # so that the result is W ⊙ m
    torch.manual_seed(3)
    found = attend_short(query, key, value, None, p, causal=False)
    weights = torch.softmax(query @ key.mT / d**0.5, dim=-1)
    m = (found[..., :T] != 0) / (1 - p)
    torch.testing.assert_close(found[..., :T], (weights * m).detach())
    given = torch.randn_like(found)
    own = torch.autograd.grad(found, [query, key, value], given)
    other = torch.autograd.grad((weights * m) @ value, [query, key, value], given)
    for one, another in zip(own, other, strict=True):
        torch.testing.assert_close(one, another)


def test_share_that_falls_and_same_seed_same_weights():
    query, key, value = heads(8, 4, 32, 32, 32)
    value = torch.eye(32).expand(8, 4, 32, 32)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(attend_short(query, key, value, None, 0.25, causal=False) != 0)
    assert torch.equal(found[0], found[1]) and not torch.equal(found[0], found[2])
    assert found[0].float().mean().item() == pytest.approx(0.75, abs=0.01)


def test_padding_changes_nothing_nor_the_future_where_it_is_causal():
    query, key, value = heads(2, 2, 9, 9, 16)
    mask = torch.ones(2, 1, 1, 9, dtype=torch.bool)
    mask[0, ..., 6:] = False
    mask[1] = False
    before = attend_short(query, key, value, mask, NEVER, causal=False)
    with torch.no_grad():
        key[0, :, 6:], value[0, :, 6:] = 1e4, 7.0
    assert torch.equal(attend_short(query, key, value, mask, NEVER, causal=False), before)
    assert (before[1] == 0).all()
    before = attend_short(query, key, value, None, NEVER, causal=True)
    with torch.no_grad():
        key[:, :, 5:], value[:, :, 5:] = -3.0, 2.0
    after = attend_short(query, key, value, None, NEVER, causal=True)
    assert torch.equal(after[:, :, :5], before[:, :, :5]) and not torch.equal(after, before)


def test_scores_of_any_size_are_taken():
    query, key, value = heads(1, 1, 4, 4, 16)
    with torch.no_grad():
        query.mul_(1e6)
    wanted, _ = attend(query, key, value, None)
    torch.testing.assert_close(attend_short(query, key, value, None, NEVER, causal=False), wanted)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_what_is_no_number_is_not_hidden(wrong):
    query, key, value = heads(2, 2, 5, 5, 16)
    with torch.no_grad():
        query[0, 0, 2] = wrong
        key[0, 0] = key[0, 0].abs() + 0.1
    found = attend_short(query, key, value, None, NEVER, causal=False).detach().clone()
    assert found[0, 0, 2].isnan().all()
    found[0, 0, 2] = 0
    assert found.isfinite().all()


def test_training_takes_it_where_rows_are_short_and_nothing_else_does(monkeypatch):
    taken, plain = [], short_attention.attend_short

    def told(*given, **more):
        taken.append(1)
        return plain(*given, **more)

    monkeypatch.setattr(short_attention, "attend_short", told)
    attention = MultiHeadAttention(width=32, heads=2, dropout=0.1)
    for training, length, times in ((True, 5, 1), (True, LONGEST + 1, 1), (False, 5, 2), (True, LONGEST, 3)):
        x = torch.randn(2, length, 32)
        attention.train(training)(x, *attention.keys_values(x), None)
        assert len(taken) == times
    with torch.no_grad():
        attention.train()(x, *attention.keys_values(x), None)
    assert len(taken) == 3


def test_threads_change_nothing():
    x, found = heads(5, 2, 19, 19, 32), []
    for threads in (1, 2, 3):
        before = torch.get_num_threads()
        try:
            torch.set_num_threads(threads)
            torch.manual_seed(1)
            mixed = attend_short(*x, None, 0.2, causal=True)
            found.append([mixed, *torch.autograd.grad(mixed.square().sum(), x)])
        finally:
            torch.set_num_threads(before)
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))


def test_what_a_head_before_has_left_changes_nothing():
    """Scratch is used again: what is no number in one head stays there, where the future is hidden too."""
    query, key, value = heads(1, 2, 21, 21, 16)
    alone = attend_short(*(x[:, 1:].contiguous() for x in (query, key, value)), None, 0, causal=True)
    with torch.no_grad():
        query[:, 0], key[:, 0] = float("nan"), float("nan")
    found = attend_short(query, key, value, None, 0, causal=True)
    assert found[0, 0].isnan().all() and torch.equal(found[:, 1:], alone)


def test_much_is_not_kept_where_torch_keeps_nothing(monkeypatch):
    x = heads(2, 2, 8, 8, 16)
    monkeypatch.setattr(short_attention, "MOST_KEPT", 2 * 2 * 8 * 8 - 1)
    assert serves(*x, None, 0.1) and not serves(*x, None, 0)
