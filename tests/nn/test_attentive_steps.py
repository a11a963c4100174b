"""The kernel that trains an attention decoder's recurrence: equal to the equations, whatever the rows."""

import pytest
import torch

from langladder.nn import attentive_gru
from langladder.nn.attention import Score, make_attention
from langladder.nn.attentive_gru import AttentiveGRU

Shape = tuple[int, int, int]
D, M = 5, 24


def cell(H: int, A: int, score: Score = "additive") -> AttentiveGRU:
    torch.manual_seed(1)
    attention = make_attention(score, query_width=H, memory_width=M, width=A)
    return AttentiveGRU(input_width=D, memory_width=M, width=H, attention=attention)


def inputs(shape: Shape, H: int, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    """x, s_0 and the memory; then what comes to the states and to α from above."""
    B, T, S = shape
    random = torch.Generator().manual_seed(2)
    sizes = [(B, T, D), (B, H), (B, S, M), (B, T, H), (B, T, S)]
    return [torch.randn(*size, generator=random, dtype=torch.float64).to(dtype) for size in sizes]


def outcome(one: AttentiveGRU, given: list[torch.Tensor], mask: torch.Tensor) -> list[torch.Tensor]:
    """States, α, and every gradient."""
    x, s, memory = (tensor.clone().requires_grad_() for tensor in given[:3])
    parts = [*one.parameters(), x, s, memory]
    states, alpha = one(x, s, *one.prepare(memory), mask)
    loss = (states * given[3]).sum() + (alpha * given[4]).sum()
    return [states.detach(), alpha.detach(), *torch.autograd.grad(loss, parts)]


def lengths(shape: Shape) -> torch.Tensor:
    """Rows of 1, 2, 3 … source positions, as far as there are so many."""
    B, _, S = shape
    return torch.arange(S) <= torch.arange(B)[:, None] % S


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 5), (8, 4, 6), (21, 5, 9), (9, 2, 33)])
@pytest.mark.parametrize(("H", "A"), [(16, 16), (32, 48), (48, 16)])
def test_parity_with_the_equations_in_float64(shape, H, A, monkeypatch):
    called = []
    all_steps = attentive_gru.all_steps

    def counted(*given):
        called.append(1)
        return all_steps(*given)

    monkeypatch.setattr(attentive_gru, "all_steps", counted)
    one, mask = cell(H, A), lengths(shape)
    found = outcome(one, inputs(shape, H), mask)
    assert called == [1]
    exact = outcome(one.double(), inputs(shape, H, torch.float64), mask)
    assert called == [1]  # float64 goes by the equations
    for mine, theirs in zip(found, exact, strict=True):
        assert (mine - theirs).abs().max() <= 3e-6 * max(1.0, float(theirs.abs().max()))


def test_gradients_reach_every_parameter():
    shape, H = (4, 3, 5), 16
    assert all(bool(part.abs().sum() > 0) for part in outcome(cell(H, 16), inputs(shape, H), lengths(shape))[2:])


def test_padding_changes_nothing():
    """Neither rows beside, nor source positions behind a row's end, nor what stands in them."""
    shape, H = (6, 4, 7), 32
    one, given, mask = cell(H, 16), inputs(shape, H), lengths(shape)
    whole = outcome(one, given, mask)
    given[2] = torch.where(mask[..., None], given[2], 100.0)
    for before, after in zip(whole[:2], outcome(one, given, mask)[:2], strict=True):
        assert torch.equal(before, after)
    assert not whole[1][:, :, 3:][:3].any() and not whole[-1][0, 1:].any()
    alone = outcome(one, [tensor[2:3] for tensor in given], mask[2:3])
    assert torch.allclose(alone[0], whole[0][2:3], atol=1e-6)
    narrow = outcome(
        one, [given[0][:3], given[1][:3], given[2][:3, :3], given[3][:3], given[4][:3, :, :3]], mask[:3, :3]
    )
    assert torch.allclose(narrow[0], whole[0][:3], atol=1e-6)


def test_causal_later_words_change_nothing_before_them():
    shape, H = (3, 5, 4), 16
    one, given, mask = cell(H, 16), inputs(shape, H), lengths(shape)
    before = outcome(one, given, mask)
    given[0][:, 3:] += 1
    after = outcome(one, given, mask)
    assert torch.equal(before[0][:, :3], after[0][:, :3]) and not torch.equal(before[0][:, 3], after[0][:, 3])


def test_threads_share_the_rows():
    shape, H = (21, 3, 6), 32
    one, given, mask, threads = cell(H, 16), inputs(shape, H), lengths(shape), torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = outcome(one, given, mask)
        torch.set_num_threads(2)
        shared = outcome(one, given, mask)
    finally:
        torch.set_num_threads(threads)
    for mine, theirs in zip(alone, shared, strict=True):
        torch.testing.assert_close(mine, theirs, atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize(("H", "A", "score"), [(24, 16, "additive"), (16, 20, "additive"), (16, 16, "concat")])
def test_what_the_kernel_does_not_know_goes_by_the_equations(H, A, score, monkeypatch):
    monkeypatch.setattr(attentive_gru, "all_steps", None)
    shape = (3, 2, 4)
    outcome(cell(H, A, score), inputs(shape, H), lengths(shape))
    with torch.no_grad():  # scoring
        one, given = cell(16, 16), inputs(shape, 16)
        one(given[0], given[1], *one.prepare(given[2]), lengths(shape))
    with torch.autocast("cpu", torch.bfloat16):
        outcome(one, given, lengths(shape))
