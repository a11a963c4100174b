"""Causal attention: fused against the equation, worked numbers, positions."""

import math

import pytest
import torch
from torch.testing import assert_close

from langladder.nn.multi_head_attention import CausalSelfAttention, MultiHeadAttention, Rotary, attend, banded
from langladder.nn.packing import Layout
from langladder.nn.token_embedding import sinusoidal


def test_golden_attention_weights():
    X = torch.tensor([[0.5, 0.3, 0.8, 0.2], [0.6, 0.9, 0.1, 0.7], [0.2, 0.4, 0.5, 0.3]])
    W_Q = torch.tensor([[0.2, 0.1], [-0.1, 0.3], [0.4, 0.2], [0.1, -0.2]])
    W_K = torch.tensor([[0.3, -0.1], [0.2, 0.4], [-0.2, 0.1], [0.3, 0.2]])
    _, weights = attend(X @ W_Q, X @ W_K, X, None)
    expected = [[0.311658, 0.371396, 0.316947], [0.322936, 0.350591, 0.326472], [0.320382, 0.355728, 0.323890]]
    assert_close(weights, torch.tensor(expected), atol=1e-6, rtol=0)


def test_parity_of_fused_kernel_and_equation():
    torch.manual_seed(0)
    layer = CausalSelfAttention(width=12, heads=3, dropout=0.0)
    x = torch.randn(2, 9, 12)
    mixed, weights = layer.forward_equation(x)
    assert_close(layer(x)[0], mixed)
    assert_close(weights.sum(-1), torch.ones(2, 3, 9))
    assert (weights.triu(1) == 0).all()


def test_parity_of_bf16_training_with_fp32_whose_attention_it_is():
    """Under autocast on a CPU the products with the heads stay in float32, forwards and backwards."""
    torch.manual_seed(0)
    layer = CausalSelfAttention(width=16, heads=2, dropout=0.0)
    x = torch.randn(2, 9, 16, requires_grad=True)
    seen = []
    whole = layer.mix(*(part.float() for part in layer._projected(x)), causal=True)
    with torch.autocast("cpu", torch.bfloat16):
        query, key, value = layer._projected(x)
        rough = layer.mix(query, key, value, causal=True)
        rough.register_hook(lambda grad: seen.append(grad.dtype))
        mixed, _ = layer(x)
    assert rough.dtype == torch.float32 and mixed.dtype == torch.bfloat16
    assert_close(rough, whole, atol=0.03, rtol=0.03)
    exact, result = (torch.autograd.grad(part.square().sum(), x)[0] for part in (whole, rough))
    assert_close(result, exact, atol=0.1, rtol=0.05)
    assert seen == [torch.float32]


@pytest.mark.parametrize("length", [1, 3, 4, 5, 8, 11, 16])
def test_parity_of_blocks_and_banded_equation(length):
    """Lengths below the window, at its multiples, and between them."""
    torch.manual_seed(0)
    layer = CausalSelfAttention(width=12, heads=3, dropout=0.0, window=4)
    x = torch.randn(2, length, 12)
    mixed, weights = layer.forward_equation(x)
    assert_close(layer(x)[0], mixed)
    assert (weights.tril(-4) == 0).all() and (weights.triu(1) == 0).all()


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("window", [None, 2, 5, 40])
def test_parity_of_cached_and_uncached_attention(window, grouped):
    """Grouped queries are turned, too: keys that a band drops do not change where the others stand."""
    torch.manual_seed(0)
    more = {"key_value_heads": 1, "rotary": Rotary(13, 4, 10.0)} if grouped else {}
    layer = CausalSelfAttention(width=12, heads=3, dropout=0.0, window=window, **more)
    x = torch.randn(2, 13, 12)
    whole, _ = layer(x)
    past, parts = None, []
    for part in x.split([3, 1, 1, 6, 2], dim=1):
        mixed, past = layer(part, past)
        parts.append(mixed)
    assert_close(torch.cat(parts, dim=1), whole)
    kept = 13 if window is None else min(13, window - 1)  # a band keeps no more than it needs
    assert past[0].shape == (2, 1 if grouped else 3, kept, 4)


def test_golden_rotation():
    """Entries 0 and 2 are a pair, turned by 1 a position; 1 and 3, turned by 100^(−2/4) = 0.1."""
    result = Rotary(8, 4, 100.0)(torch.tensor([[[[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]]]), first=2)[0, 0]
    expected = [[math.cos(2), math.cos(0.2), math.sin(2), math.sin(0.2)]]
    expected += [[-math.sin(3), -math.sin(0.3), math.cos(3), math.cos(0.3)]]
    assert_close(result, torch.tensor(expected))


def test_scores_of_rotary_positions_depend_on_the_distance_alone():
    torch.manual_seed(0)
    rotary, (query, key) = Rotary(32, 8, 10000.0), torch.randn(2, 1, 1, 1, 8)
    scores = [(rotary(query, first + 5) * rotary(key, first)).sum() for first in (0, 3, 26)]
    assert_close(torch.stack(scores), scores[0].expand(3), atol=1e-5, rtol=0)
    assert abs(scores[0] - (query * key).sum()) > 0.01


def test_parity_of_grouped_queries_and_repeated_projections():
    """Two heads that share keys and values are two heads with the same W_K and W_V."""
    torch.manual_seed(0)
    rotary = Rotary(9, 4, 10.0)
    grouped = CausalSelfAttention(width=16, heads=4, dropout=0.0, key_value_heads=2, rotary=rotary)
    plain = CausalSelfAttention(width=16, heads=4, dropout=0.0, rotary=rotary)
    for whole, own in zip(plain.project.parameters(), grouped.project.parameters(), strict=True):
        query, key, value = own.data.split([16, 8, 8])
        repeated = [part.view(2, 1, 4, -1).expand(2, 2, 4, -1).reshape(whole[:16].shape) for part in (key, value)]
        whole.data = torch.cat([query, *repeated])
    plain.output = grouped.output
    x = torch.randn(2, 9, 16)
    assert_close(grouped(x)[0], plain(x)[0])
    layout = Layout.of(torch.arange(9) < torch.tensor([[9], [4]]))
    packed = grouped.forward_packed(layout.pack(x), layout)
    assert_close(packed, layout.pack(plain(x)[0]))


def test_golden_banded_mask():
    assert banded(2, 4, 2).tolist() == [[False, True, True, False], [False, False, True, True]]
    assert banded(3, 3, None).tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_golden_sinusoidal_positions():
    table = sinusoidal(4, 4)
    assert_close(table[0], torch.tensor([0.0, 1.0, 0.0, 1.0]))
    assert_close(table[1], torch.tensor([0.8414709848, 0.5403023059, 0.0099998333, 0.9999500004]))
    assert_close(table[2], torch.tensor([0.909297, -0.416147, 0.019999, 0.999800]), atol=1e-6, rtol=0)


def test_shift_of_positions_is_a_rotation():
    table = sinusoidal(50, 8)
    for pair in range(4):
        angle = 3 / 10000 ** (2 * pair / 8)
        turn = torch.tensor([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
        part = table[:, 2 * pair : 2 * pair + 2]
        assert_close(part[:-3] @ turn.T, part[3:], atol=1e-5, rtol=0)


@pytest.mark.parametrize("causal", [False, True])
def test_padding_changes_nothing_nor_do_rows_beside(causal):
    """Packed rows equal padded ones by the equation; other rows of the batch change nothing."""
    torch.manual_seed(0)
    mask = torch.arange(9) < torch.tensor([[9], [4], [6]])
    attention = MultiHeadAttention(width=32, heads=2, dropout=0.0)
    layout, x = Layout.of(mask), torch.randn(3, 9, 32)
    allowed = mask[:, None, None] & banded(9, 9, None) if causal else mask[:, None, None]
    expected, _ = attention.forward_equation(x, *attention.keys_values(x), allowed)
    packed = layout.pack(x)
    result = attention(packed, packed, layout, layout, causal=causal)
    assert_close(result, layout.pack(expected))
    packed = packed.clone()
    packed[9:13] = 1e4
    again = attention(packed, packed, layout, layout, causal=causal)
    assert_close(again[:9], result[:9])
    assert_close(again[13:], result[13:])
