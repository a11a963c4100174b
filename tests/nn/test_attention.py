"""Attention's score functions by their equations, masks, windows, and their place in the decoder's recurrence."""

import math

import pytest
import torch

from langladder.nn.attention import (
    AdditiveAttention,
    Attention,
    ConcatAttention,
    DotAttention,
    GeneralAttention,
    LocalAttention,
    ScaledDotAttention,
    make_attention,
    masked_softmax,
)
from langladder.nn.attentive_gru import AttentiveGRU
from langladder.nn.multi_head_attention import attend
from langladder.nn.readout import Readout
from langladder.nn.recurrent import RecurrentEncoder, reverse_source


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
    query = torch.tensor([[[0.3]]], dtype=torch.float64)
    first = 2 * math.tanh(0.3 + 0.5) + 3 * math.tanh(-0.3 + 0.5)
    second = 2 * math.tanh(0.3) + 3 * math.tanh(-0.3 + 2.0)
    weights = attention(query, attention.keys(memory), torch.ones(1, 2, dtype=torch.bool))
    total = math.exp(first) + math.exp(second)
    expected = torch.tensor([[[math.exp(first) / total, math.exp(second) / total]]], dtype=torch.float64)
    torch.testing.assert_close(weights, expected)


def pair(Q: int, M: int, T: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    """Queries (2, T, Q) and a memory (2, 6, M)."""
    torch.manual_seed(0)
    return torch.randn(2, T, Q, dtype=torch.float64), torch.randn(2, 6, M, dtype=torch.float64)


def test_parity_additive_equals_concat_score() -> None:
    query, memory = pair(3, 4)
    additive = AdditiveAttention(query_width=3, memory_width=4, width=5).double()
    concat = ConcatAttention(query_width=3, memory_width=4, width=5).double()
    with torch.no_grad():
        concat.join.weight.copy_(torch.cat([additive.query.weight, additive.memory.weight], dim=1))  # [W_a | U_a]
        concat.v.copy_(additive.v)
    first, second = (attention.scores(query, attention.keys(memory)) for attention in (additive, concat))
    torch.testing.assert_close(first, second)
    # the equation word for word: v_aᵀ tanh(W_a [q ; h_j])
    queries, held = query.unsqueeze(2).expand(-1, -1, 6, -1), memory.unsqueeze(1).expand(-1, 3, -1, -1)
    expected = torch.tanh(torch.cat([queries, held], dim=-1) @ concat.join.weight.T) @ concat.v
    torch.testing.assert_close(second, expected)


def test_golden_products() -> None:
    query, memory = torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[3.0, 4.0], [0.5, -1.0]]])
    dot, scaled = DotAttention(), ScaledDotAttention()
    torch.testing.assert_close(dot.scores(query, dot.keys(memory)), torch.tensor([[[11.0, -1.5]]]))
    torch.testing.assert_close(scaled.scores(query, memory), torch.tensor([[[11.0, -1.5]]]) / 2**0.5)
    general = GeneralAttention(query_width=2, memory_width=2)
    with torch.no_grad():
        general.memory.weight.copy_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    # [1 2] · [[1 2] [3 4]] = [7 10];  [7 10] · [3 4] = 61,  [7 10] · [0.5 −1] = −6.5
    torch.testing.assert_close(general.scores(query, general.keys(memory)), torch.tensor([[[61.0, -6.5]]]))


def test_parity_scaled_dot_is_the_transformers_attention() -> None:
    query, memory = pair(4, 4)
    scaled = ScaledDotAttention()
    alpha = scaled(query, scaled.keys(memory), torch.ones(2, 6, dtype=torch.bool))
    torch.testing.assert_close(alpha, attend(query, memory, memory, None)[1])


SCORES = ["additive", "dot", "general", "concat", "scaled_dot"]


@pytest.mark.parametrize("window", [None, 1, 2])
@pytest.mark.parametrize("score", SCORES)
def test_all_queries_at_once_equal_one_by_one_and_padding_is_not_read(score: str, window: int | None) -> None:
    query, memory = pair(4, 4)
    attention: Attention = make_attention(score, query_width=4, memory_width=4, width=5)
    if window:
        attention = LocalAttention(attention, query_width=4, window=window)
    attention.double()
    mask = torch.tensor([[True] * 6, [True] * 2 + [False] * 4])
    alpha = attention(query, attention.keys(memory), mask)
    assert alpha.shape == (2, 3, 6) and (alpha[1, :, 2:] == 0).all() and (alpha >= 0).all()
    for t in range(3):
        item = attention(query[:, t : t + 1], attention.keys(memory), mask)
        torch.testing.assert_close(item[:, 0], alpha[:, t])
    short = attention(query[1:], attention.keys(memory[1:, :2]), mask[1:, :2])
    torch.testing.assert_close(short, alpha[1:, :, :2])
    if window is None:
        torch.testing.assert_close(alpha.sum(-1), torch.ones(2, 3, dtype=torch.float64))


def test_golden_local_attention_by_its_equations() -> None:
    query, memory = pair(4, 4, T=1)
    attention = LocalAttention(DotAttention(), query_width=4, window=2).double()
    mask = torch.tensor([[True] * 6, [True] * 5 + [False]])
    alpha = attention(query, memory, mask)
    for row, length in enumerate((6, 5)):
        q = query[row, 0]
        p = length / (1 + math.exp(-float((torch.tanh(attention.place.weight @ q) @ attention.v).detach())))
        inside = [j for j in range(length) if p - 2 <= j <= p + 2]
        e = {j: math.exp(float(q @ memory[row, j])) for j in inside}
        for j in range(6):
            expected = e[j] / sum(e.values()) * math.exp(-((j - p) ** 2) / 2) if j in inside else 0.0  # σ = D/2 = 1
            assert alpha[row, 0, j].item() == pytest.approx(expected, rel=1e-5)


def test_golden_shapes_of_the_notes() -> None:
    """d_s 128, d_h 256, d_att 64, T_x 10: 24,640 numbers of attention; context (256,)."""
    attention = AdditiveAttention(query_width=128, memory_width=256, width=64)
    assert sum(parameter.numel() for parameter in attention.parameters()) == 24_640
    memory = torch.randn(1, 10, 256)
    alpha = attention(torch.randn(1, 1, 128), attention.keys(memory), torch.ones(1, 10, dtype=torch.bool))
    assert alpha.shape == (1, 1, 10) and torch.bmm(alpha, memory).shape == (1, 1, 256)
    assert Readout("tanh", input_width=100 + 128 + 256, width=7).weight.shape == (7, 484)


def test_golden_readouts() -> None:
    parts = torch.tensor([[1.0]]), torch.tensor([[2.0]])
    maxout, tanh = Readout("maxout", input_width=2, width=2), Readout("tanh", input_width=2, width=1)
    with torch.no_grad():
        maxout.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [-1.0, 0.0]]))
        maxout.bias.copy_(torch.tensor([0.0, 0.0, 0.0, 5.0]))
        tanh.weight.copy_(torch.tensor([[1.0, -1.0]]))
        tanh.bias.zero_()
    torch.testing.assert_close(maxout(*parts), torch.tensor([[2.0, 4.0]]))  # max(1, 2), max(2, −1 + 5)
    torch.testing.assert_close(tanh(*parts), torch.tensor([[math.tanh(-1)]]))


def test_golden_reversed_source_keeps_eos_and_padding() -> None:
    source = torch.tensor([[5, 6, 7, 2], [8, 9, 2, 0], [2, 0, 0, 0]])
    expected = torch.tensor([[7, 6, 5, 2], [9, 8, 2, 0], [2, 0, 0, 0]])
    assert torch.equal(reverse_source(source, source != 0), expected)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_encoder_hands_over_every_layers_last_state(cell: str) -> None:
    """One direction: the top layer's last annotation is its h; padding does not move it."""
    torch.manual_seed(0)
    encoder = RecurrentEncoder(cell, input_width=3, width=4, layers=3, bidirectional=False, dropout=0.0)
    x, mask = torch.randn(2, 5, 3), torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    memory, final = encoder(x, mask)
    assert [part.shape for part in final] == [(3, 2, 4)] * (2 if cell == "lstm" else 1)
    torch.testing.assert_close(final[0][-1], torch.stack([memory[0, 4], memory[1, 2]]))
    assert (memory[1, 3:] == 0).all()


def test_golden_bridge_reads_both_ends_of_each_layer() -> None:
    torch.manual_seed(0)
    encoder = RecurrentEncoder("lstm", input_width=3, width=4, layers=2, bidirectional=True, dropout=0.0)
    x, mask = torch.randn(1, 5, 3), torch.ones(1, 5, dtype=torch.bool)
    memory, (h, c) = encoder(x, mask)
    ends = torch.cat([memory[0, 4, :2], memory[0, 0, 2:]])  # [→h_S ; ←h_1] of the top layer
    torch.testing.assert_close(h[1, 0], torch.tanh(encoder.bridge[0][1](ends)))
    _, (_, cells) = encoder.rnn(x)  # (2 · L, B, H/2): → and ← of layer 1, then of layer 2
    torch.testing.assert_close(c[0, 0], encoder.bridge[1][0](torch.cat([cells[0, 0], cells[1, 0]])))


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
