"""Attention through the kernel of short rows: parity with the equation, padding, future, threads, what falls."""

import numpy as np
import pytest
import torch

from langladder.nn import short_attention
from langladder.nn.multi_head_attention import MultiHeadAttention, attend, banded
from langladder.nn.packing import Layout
from langladder.nn.short_attention import LONGEST, Rows, serves

NEVER = 1e-9  # a probability with which nothing falls, as with 0, but by the other way
SHAPES = [  # heads, queries and memory positions of each row, d
    (2, [5, 5, 5], [5, 5, 5], 16),
    (4, [13, 2], [13, 2], 32),
    (1, [1, 1], [9, 40], 16),
    (2, [17, 33, 1, 0, 16], [17, 33, 1, 0, 16], 48),
    (2, [7, 3], [64, 1], 64),
    (3, [6], [8], 80),
    (2, [70], [70], 32),
    (1, [3, 4], [256, 2], 16),
]


def attend_rows(query, key, value, asked, seen, p, *, causal):
    """The kernel on (N, h, d)."""
    x, rows = (part.flatten(1) for part in (query, key, value)), Rows.of(asked, seen, query.shape[1])
    return short_attention.attend_rows(*x, rows, p, causal=causal).view(query.shape)


def heads(h: int, asked: list[int], seen: list[int], d: int) -> list[torch.Tensor]:
    """Queries, keys and values as projections leave them: (N, h, d), views of (N, h · d), two of one matrix."""
    torch.manual_seed(0)
    both = torch.randn(sum(seen), 2 * h * d).chunk(2, dim=-1)
    parts = (torch.randn(sum(asked), h * d), *both)
    return [x.unflatten(-1, (h, d)).detach().requires_grad_() for x in parts]


def row_by_row(x: list[torch.Tensor], asked: list[int], seen: list[int], *, causal: bool) -> torch.Tensor:
    """The equation, each row by itself."""
    rows = zip(*(part.split(lengths) for part, lengths in zip(x, (asked, seen, seen), strict=True)), strict=True)
    found = []
    for q, k, v in rows:
        mask = banded(len(q), len(k), None) if causal else None
        found.append(attend(q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1), mask)[0].transpose(0, 1))
    return torch.cat(found)


@pytest.mark.parametrize(
    ("shape", "causal"),
    [(shape, causal) for shape in SHAPES for causal in (False, True) if not causal or shape[1] == shape[2]],
    ids=str,
)
@pytest.mark.parametrize("p", [0, NEVER])
def test_parity_with_the_equation_in_results_and_gradients(shape, causal, p):
    _, asked, seen, _ = shape
    x, lengths = heads(*shape), (np.array(asked), np.array(seen))
    wanted = row_by_row(x, asked, seen, causal=causal)
    found = attend_rows(*x, *lengths, p, causal=causal)
    assert serves(*(part.flatten(1) for part in x), Rows.of(*lengths, x[0].shape[1]), p)
    torch.testing.assert_close(found, wanted)
    given = torch.randn_like(wanted)
    for own, other in zip(torch.autograd.grad(found, x, given), torch.autograd.grad(wanted, x, given), strict=True):
        torch.testing.assert_close(own, other)


def test_queries_that_see_nothing_become_zero():
    query, key, value = heads(2, [3, 2], [0, 4], 16)
    found = attend_rows(query, key, value, np.array([3, 2]), np.array([0, 4]), NEVER, causal=False)
    assert (found[:3] == 0).all() and (found[3:] != 0).all()
    gradients = torch.autograd.grad(found.sum(), [query, key, value])
    assert all(gradient.isfinite().all() for gradient in gradients) and (gradients[0][:3] == 0).all()


def test_parity_of_the_gradients_where_weights_fall():
    p, (h, T, d), n = 0.4, (2, 6, 16), np.array([6, 6])
    query, key, _ = heads(h, [T, T], [T, T], d)
    value = torch.eye(T, d).repeat(2, 1)[:, None].repeat(1, h, 1).requires_grad_()  # so that the result is W ⊙ m
    torch.manual_seed(3)
    found = attend_rows(query, key, value, n, n, p, causal=False)
    q, k, v = (x.unflatten(0, (2, T)).transpose(1, 2) for x in (query, key, value))
    weights = torch.softmax(q @ k.mT / d**0.5, dim=-1)
    W = found.unflatten(0, (2, T)).transpose(1, 2)[..., :T]
    m = (W != 0) / (1 - p)
    torch.testing.assert_close(W, (weights * m).detach())
    given = torch.randn_like(found)
    own = torch.autograd.grad(found, [query, key, value], given)
    other = torch.autograd.grad(((weights * m) @ v).transpose(1, 2).flatten(0, 1), [query, key, value], given)
    for one, another in zip(own, other, strict=True):
        torch.testing.assert_close(one, another)


def test_share_that_falls_and_same_seed_same_weights():
    query, key, _ = heads(4, [32] * 8, [32] * 8, 32)
    value, n, found = torch.eye(32).repeat(8, 1)[:, None].repeat(1, 4, 1), np.full(8, 32), []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(attend_rows(query, key, value, n, n, 0.25, causal=False) != 0)
    assert torch.equal(found[0], found[1]) and not torch.equal(found[0], found[2])
    assert found[0].float().mean().item() == pytest.approx(0.75, abs=0.01)


@pytest.mark.parametrize("causal", [False, True])
def test_padding_changes_nothing_nor_do_rows_beside(causal):
    """Packed rows give what padded ones do by the equation, and what a row's neighbours hold does not matter."""
    attention, mask = (
        MultiHeadAttention(width=32, heads=2, dropout=0.0),
        torch.arange(9) < torch.tensor([[9], [4], [6]]),
    )
    layout, x = Layout.of(mask), torch.randn(3, 9, 32)
    allowed = mask[:, None, None] & banded(9, 9, None) if causal else mask[:, None, None]
    wanted, _ = attention.forward_equation(x, *attention.keys_values(x), allowed)
    packed = layout.pack(x)
    found = attention(packed, packed, layout, layout, causal=causal)
    torch.testing.assert_close(found, layout.pack(wanted))
    with torch.no_grad():
        torch.testing.assert_close(attention(packed, packed, layout, layout, causal=causal), found)
    packed = packed.clone()
    packed[9:13] = 1e4
    again = attention(packed, packed, layout, layout, causal=causal)
    assert torch.equal(again[:9], found[:9]) and torch.equal(again[13:], found[13:])


def test_causal_rows_see_no_future():
    (query, key, value), n = heads(2, [9, 9], [9, 9], 16), np.array([9, 9])
    before = attend_rows(query, key, value, n, n, NEVER, causal=True)
    with torch.no_grad():
        for row in (5, 14):
            key[row : row + 4], value[row : row + 4] = -3.0, 2.0
    after = attend_rows(query, key, value, n, n, NEVER, causal=True)
    assert torch.equal(after[:5], before[:5]) and torch.equal(after[9:14], before[9:14])
    assert not torch.equal(after, before)


def test_scores_of_any_size_are_taken():
    x = heads(1, [4], [4], 16)
    with torch.no_grad():
        x[0].mul_(1e6)
    found = attend_rows(*x, np.array([4]), np.array([4]), NEVER, causal=False)
    torch.testing.assert_close(found, row_by_row(x, [4], [4], causal=False))


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_what_is_no_number_is_not_hidden(wrong):
    (query, key, value), n = heads(2, [5, 5], [5, 5], 16), np.array([5, 5])
    with torch.no_grad():
        query[2, 0] = wrong
        key[:5, 0] = key[:5, 0].abs() + 0.1
    found = attend_rows(query, key, value, n, n, NEVER, causal=False).detach().clone()
    assert found[2, 0].isnan().all()
    found[2, 0] = 0
    assert found.isfinite().all()


def test_training_takes_it_where_rows_are_short_or_weights_fall_and_nothing_else_does(monkeypatch):
    taken, plain = [], short_attention.attend_rows

    def told(*given, **more):
        taken.append(1)
        return plain(*given, **more)

    monkeypatch.setattr(short_attention, "attend_rows", told)
    for dropout, training, length, more in (
        (0.1, True, 5, 1),
        (0.1, True, LONGEST + 1, 1),
        (0.1, False, 5, 1),
        (0.1, False, LONGEST + 1, 0),
        (0.0, True, LONGEST, 1),
        (0.0, True, LONGEST + 1, 0),
    ):
        attention, x = (
            MultiHeadAttention(width=32, heads=2, dropout=dropout).train(training),
            torch.randn(2, length, 32),
        )
        taken.clear()
        attention.forward_cached(x, *attention.keys_values(x))
        assert len(taken) == more
        packed, layout = x.flatten(0, 1), Layout.of(torch.ones(2, length, dtype=torch.bool))
        attention(packed, packed, layout, layout)
        assert len(taken) == 2 * more
        with torch.no_grad():
            attention(packed, packed, layout, layout)
        assert len(taken) == 2 * more


def test_threads_change_nothing():
    x, n, found = heads(2, [19, 3, 8, 1, 30], [19, 3, 8, 1, 30], 32), np.array([19, 3, 8, 1, 30]), []
    for threads in (1, 2, 3):
        before = torch.get_num_threads()
        try:
            torch.set_num_threads(threads)
            torch.manual_seed(1)
            mixed = attend_rows(*x, n, n, 0.2, causal=True)
            found.append([mixed, *torch.autograd.grad(mixed.square().sum(), x)])
        finally:
            torch.set_num_threads(before)
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))


def test_what_a_head_or_row_before_has_left_changes_nothing():
    """Scratch is used again: what is no number in one head stays there, where the future is hidden too."""
    x, n = heads(2, [21, 30, 5], [21, 30, 5], 16), np.array([21, 30, 5])
    alone = attend_rows(*(part[:, 1:].contiguous() for part in x), n, n, 0, causal=True)
    short = attend_rows(*(part[51:].contiguous() for part in x), n[2:], n[2:], 0, causal=True)
    with torch.no_grad():
        x[0][:51, 0], x[1][:51, 0] = float("nan"), float("nan")
    found = attend_rows(*x, n, n, 0, causal=True)
    assert found[:51, 0].isnan().all() and torch.equal(found[:, 1:], alone) and torch.equal(found[51:], short)
    gradients = torch.autograd.grad(found[51:].sum() + found[:, 1].sum(), x)
    assert all(gradient[51:].isfinite().all() and gradient[:, 1].isfinite().all() for gradient in gradients)


def test_much_is_not_kept_where_torch_keeps_nothing(monkeypatch):
    x, rows = [part.flatten(1) for part in heads(2, [8, 8], [8, 8], 16)], Rows.of(*[np.array([8, 8])] * 2, 2)
    monkeypatch.setattr(short_attention, "MOST_KEPT", rows.weights - 1)
    assert serves(*x, rows, 0.1) and not serves(*x, rows, 0)
