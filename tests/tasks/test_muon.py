"""Muon: parity with torch and the singular value decomposition, and the parameters left to AdamW."""

from copy import deepcopy

import pytest
import torch
from torch import nn

from langladder.models.encoders.bert import BERT
from langladder.models.language.gpt import GPT
from langladder.models.language.recurrent import RecurrentLM
from langladder.models.translation.transformer import Transformer
from langladder.tasks.muon import ITERATIONS, hidden_matrices, newton_schulz, orthogonal
from langladder.tasks.optimisation import TrainingConfig, make_optimizer, set_learning_rate


def singular_values(matrix):
    return torch.linalg.svdvals(matrix.double())


def test_newton_schulz_keeps_the_directions_and_levels_their_lengths():
    torch.manual_seed(0)
    matrix = torch.randn(24, 24)
    u, _, v = torch.linalg.svd(matrix)
    done = newton_schulz(matrix[None], iterations=5)[0]
    # uᵀ X v is diagonal where X has the directions of the matrix.
    levelled = u.T @ done @ v.T
    torch.testing.assert_close(levelled, torch.diag(levelled.diag()), atol=1e-4, rtol=0)
    assert singular_values(done)[:-1].min() > 0.6
    assert singular_values(done).max() < 1.3


def test_squares_of_a_matrix_stand_alone():
    """Q, K and V of one projection, the gates of an LSTM; tall or wide."""
    torch.manual_seed(0)
    parts = [torch.randn(6, 6) for _ in range(3)]
    (tall,) = orthogonal([torch.cat(parts)])
    wide_matrix, other = orthogonal([torch.cat(parts, dim=1), torch.randn(5, 7)])
    for index, part in enumerate(parts):
        alone = newton_schulz(part[None])[0]
        torch.testing.assert_close(tall[6 * index : 6 * index + 6], alone)
        torch.testing.assert_close(wide_matrix[:, 6 * index : 6 * index + 6], alone)
    assert other.shape == (5, 7)


def test_parity_with_torch_muon():
    """The same path as torch.optim.Muon, which computes in bfloat16."""
    torch.manual_seed(0)
    start, gradients = torch.randn(16, 16), torch.randn(4, 16, 16)
    ours, theirs = nn.Linear(16, 16, bias=False), nn.Parameter(start.clone())
    ours.weight.data.copy_(start)
    settings = TrainingConfig(optimizer="muon", lr=1e-3, muon_lr=0.1, weight_decay=0.5, schedule="constant")
    rule = make_optimizer(ours, settings)
    peer = torch.optim.Muon([theirs], lr=0.1, weight_decay=0.5, ns_steps=ITERATIONS)
    for gradient in gradients:
        set_learning_rate(rule, settings, 0)
        ours.weight.grad, theirs.grad = gradient.clone(), gradient.clone()
        rule.step()
        peer.step()
    moved = (theirs - start).norm()
    assert (ours.weight - theirs).norm() < 0.02 * moved


@pytest.mark.parametrize(
    ("model", "tables"),
    [
        (RecurrentLM(RecurrentLM.Config(width=16, embedding_dim=16, tie_weights=False), 50), 2),
        (Transformer(Transformer.Config(width=16, layers=1, heads=2, positions="learned"), 50, 50), 3),
        (GPT(GPT.Config(width=16, layers=1, heads=2, context=512), 50), 2),
        (GPT(GPT.Config(width=16, layers=1, heads=2, positions="sinusoidal"), 50), 1),
        (BERT(BERT.Config(width=16, layers=1, heads=2, context=512), 50), 3),
    ],
)
def test_tables_of_words_and_positions_are_no_hidden_matrices(model, tables):
    hidden = {id(p) for p in hidden_matrices(model)}
    others = [p for p in model.parameters() if p.dim() == 2 and id(p) not in hidden]
    assert len(others) == tables
    assert {len(p) for p in others} <= {50, 512, 2}  # words, positions, segments


def test_every_parameter_is_moved_and_the_state_is_kept():
    torch.manual_seed(0)
    model = RecurrentLM(RecurrentLM.Config(width=8, embedding_dim=8), 20)
    settings = TrainingConfig(optimizer="muon", lr=0.01, schedule="constant")

    def update(rule):
        set_learning_rate(rule, settings, 0)
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
        rule.step()

    rule = make_optimizer(model, settings)
    before = [parameter.clone() for parameter in model.parameters()]
    update(rule)
    assert not any(torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    saved = deepcopy(rule.state_dict())
    update(rule)
    expected = [parameter.clone() for parameter in model.parameters()]
    model.load_state_dict(weights)
    again = make_optimizer(model, settings)
    again.load_state_dict(saved)
    update(again)
    assert all(torch.equal(old, new) for old, new in zip(expected, model.parameters(), strict=True))
