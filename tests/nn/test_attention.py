"""Additive attention: the equation, its mask, and its place in the decoder's recurrence."""

import math

import pytest
import torch

from langladder.nn.attention import AdditiveAttention, masked_softmax
from langladder.nn.attentive_gru import AttentiveGRU


def test_golden_softmax_of_scores() -> None:
    scores = torch.tensor([[1.0, 2.0, 3.0]])
    weights = masked_softmax(scores, torch.ones(1, 3, dtype=torch.bool))
    torch.testing.assert_close(weights, torch.tensor([[0.09003057, 0.24472847, 0.66524096]]))


def test_golden_masked_softmax() -> None:
    weights = masked_softmax(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[True, True, False]]))
    torch.testing.assert_close(weights, torch.tensor([[0.26894142, 0.73105858, 0.0]]))
    assert weights[0, 2].item() == 0.0


def test_golden_additive_scores_in_closed_form() -> None:
    attention = AdditiveAttention(query_width=1, memory_width=2, width=2).double()
    with torch.no_grad():
        attention.query.weight.copy_(torch.tensor([[1.0], [-1.0]]))  # W_a
        attention.memory.weight.copy_(torch.tensor([[0.5, 0.0], [0.0, 2.0]]))  # U_a
        attention.v.copy_(torch.tensor([2.0, 3.0]))
    memory = torch.tensor([[[1.0, 0.25], [0.0, 1.0]]], dtype=torch.float64)
    query = torch.tensor([[0.3]], dtype=torch.float64)
    first = 2 * math.tanh(0.3 + 0.5) + 3 * math.tanh(-0.3 + 0.5)
    second = 2 * math.tanh(0.3) + 3 * math.tanh(-0.3 + 2.0)
    weights = attention(query, attention.keys(memory), torch.ones(1, 2, dtype=torch.bool))
    total = math.exp(first) + math.exp(second)
    expected = torch.tensor([[math.exp(first) / total, math.exp(second) / total]], dtype=torch.float64)
    torch.testing.assert_close(weights, expected)


def test_parity_additive_equals_concat_score() -> None:
    torch.manual_seed(0)
    attention = AdditiveAttention(query_width=3, memory_width=4, width=5).double()
    query, memory = torch.randn(2, 3, dtype=torch.float64), torch.randn(2, 6, 4, dtype=torch.float64)
    joined = torch.cat([query.unsqueeze(1).expand(-1, 6, -1), memory], dim=-1)  # [q; h_j]
    both = torch.cat([attention.query.weight, attention.memory.weight], dim=1)  # [W_a | U_a]
    expected = torch.tanh(joined @ both.T) @ attention.v
    torch.testing.assert_close(attention.scores(query, attention.keys(memory)), expected)


@pytest.fixture
def cell() -> AttentiveGRU:
    torch.manual_seed(1)
    attention = AdditiveAttention(query_width=5, memory_width=4, width=6)
    return AttentiveGRU(input_width=3, memory_width=4, width=5, attention=attention).double()


def test_golden_recurrence_by_its_equations(cell: AttentiveGRU) -> None:
    x, s = torch.randn(2, 3, dtype=torch.float64), torch.randn(2, 5, dtype=torch.float64)
    memory, mask = torch.randn(2, 7, 4, dtype=torch.float64), torch.ones(2, 7, dtype=torch.bool)
    state, alpha = cell.step(x, s, *cell.prepare(memory), mask)
    c = (alpha.unsqueeze(2) * memory).sum(1)  # Σ_j α_j h_j
    (wz, wr, wn), (bz, br, bn) = cell.input.weight.chunk(3), cell.input.bias.chunk(3)
    (cz, cr, cn), (uz, ur) = cell.context.weight.chunk(3), cell.gates.weight.chunk(2)
    z = torch.sigmoid(x @ wz.T + bz + c @ cz.T + s @ uz.T)
    r = torch.sigmoid(x @ wr.T + br + c @ cr.T + s @ ur.T)
    n = torch.tanh(x @ wn.T + bn + c @ cn.T + (r * s) @ cell.candidate.weight.T)
    torch.testing.assert_close(state, (1 - z) * s + z * n)


def test_parity_all_steps_at_once_equal_one_by_one(cell: AttentiveGRU) -> None:
    x, s = torch.randn(2, 4, 3, dtype=torch.float64), torch.randn(2, 5, dtype=torch.float64)
    mask = torch.tensor([[True] * 6, [True] * 3 + [False] * 3])
    prepared = cell.prepare(torch.randn(2, 6, 4, dtype=torch.float64))
    states, alphas = cell(x, s, *prepared, mask)
    for t in range(4):
        s, alpha = cell.step(x[:, t], s, *prepared, mask)
        torch.testing.assert_close(states[:, t], s)
        torch.testing.assert_close(alphas[:, t], alpha)
    assert (alphas[1, :, 3:] == 0).all()
    torch.testing.assert_close(alphas.sum(-1), torch.ones(2, 4, dtype=torch.float64))
