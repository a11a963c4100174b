"""Training by a reward: Q and risk by hand, gradients against finite differences, more reward after training."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch.testing import assert_close

from langladder.data.translation import PairBatch
from langladder.models.translation.attention_seq2seq import AttentionSeq2Seq
from langladder.models.translation.transformer import Transformer
from langladder.models.translation.translator import Translator
from langladder.tasks.settings import TranslationTuning
from langladder.tasks.translation_reward import RewardTask, candidate_log_probs, expected_cost, self_critical
from langladder.text.tokenize.specials import BOS, EOS, PAD
from tests.gradient_check import exact

V = 7
BATCH = PairBatch(torch.tensor([[4, 5, EOS], [6, EOS, PAD]]), torch.tensor([[BOS, 4, 5, EOS], [BOS, 6, EOS, PAD]]))
EVERY = [[*ids] for length in range(3) for ids in product((4, 5, 6), repeat=length)]
"""Every translation of at most two words."""


def network(kind: type[Any] = AttentionSeq2Seq) -> Translator:
    torch.manual_seed(0)
    sizes = {"width": 8, "heads": 2, "layers": 1} if kind is Transformer else {"width": 6, "embedding_dim": 6}
    model: Translator = kind(kind.Config.model_validate(sizes | {"dropout": 0.0}), V, V)
    return model


def task(model: Translator, reward: Any, **how: Any) -> RewardTask:
    return RewardTask(model, TranslationTuning.model_validate({"reward": how}), reward=reward)


def fours(ids: Sequence[int], reference: Sequence[int]) -> float:
    """The share of 4 among the words."""
    del reference
    return sum(id_ == 4 for id_ in ids) / max(1, len(ids))


def test_golden_risk_of_three_candidates() -> None:
    """P = 1/2, 1/4, 1/4 and costs 0, 1/2, 1."""
    log_probs, costs = torch.tensor([0.5, 0.25, 0.25]).log(), torch.tensor([0.0, 0.5, 1.0])
    # α = 1: Q = P, risk = 1/8 + 1/4
    assert float(expected_cost(log_probs, costs, 1.0)) == pytest.approx(0.375)
    # α = 1/2: √P = 0.70711, 0.5, 0.5, of sum 1.70711: Q = 0.41421, 0.29289, 0.29289
    assert float(expected_cost(log_probs, costs, 0.5)) == pytest.approx(0.29289 * 1.5, abs=1e-5)
    # only what the candidates are in proportion counts: P of all three times 1/10 gives the same Q
    assert_close(expected_cost(log_probs - np.log(10.0), costs, 0.5), expected_cost(log_probs, costs, 0.5))
    # −mean (R − b) log P = −(0.5 ln 0.5 + 0 − 0.5 ln 0.25) / 3
    assert float(self_critical(log_probs, 1 - costs, 0.5)) == pytest.approx(-0.5 * np.log(2.0) / 3)


def test_golden_gradient_of_the_risk() -> None:
    """d risk / d log P(y) = α Q(y) (cost(y) − risk)."""
    log_probs = torch.tensor([0.5, 0.25, 0.25]).log().requires_grad_()
    (gradient,) = torch.autograd.grad(expected_cost(log_probs, torch.tensor([0.0, 0.5, 1.0]), 1.0), log_probs)
    assert_close(gradient, torch.tensor([0.5 * -0.375, 0.25 * 0.125, 0.25 * 0.625]))


@pytest.mark.parametrize("kind", [AttentionSeq2Seq, Transformer])
def test_candidates_have_their_log_probability(kind: type[Any]) -> None:
    model = network(kind).eval()
    candidates = [[[4, 5], [], [6]], [[6]]]
    result = candidate_log_probs(model, BATCH.source, candidates)
    assert [len(item) for item in result] == [3, 1]
    for row, several in enumerate(candidates):
        for ids, log_prob in zip(several, result[row], strict=True):
            target = torch.tensor([[BOS, *ids, EOS]])
            alone = BATCH.source[row : row + 1]
            assert_close(log_prob, model.log_probs(alone[alone != PAD][None], target).sum())


def _compare(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = network().double()
    rewards = dict(zip(map(tuple, EVERY), np.linspace(0.0, 1.0, len(EVERY)), strict=True))
    learn = task(model, lambda ids, _: float(rewards[tuple(ids)]), method=method, alpha=0.7)
    monkeypatch.setattr(RewardTask, "_samples", lambda *_: [EVERY, EVERY])
    monkeypatch.setattr(RewardTask, "_greedy", lambda *_: [[4], [5]])
    learn.loss(BATCH).backward()
    random, step, checked = np.random.default_rng(0), 1e-5, 0
    for parameter in model.parameters():
        flat = parameter.data.view(-1)
        entry = int(random.integers(len(flat)))
        kept, losses = float(flat[entry]), []
        for change in (step, -step):
            flat[entry] = kept + change
            losses.append(float(learn.loss(BATCH).detach()))
        flat[entry] = kept
        slope = 0.0 if parameter.grad is None else float(parameter.grad.view(-1)[entry])
        assert slope == pytest.approx((losses[0] - losses[1]) / (2 * step), rel=1e-3, abs=1e-7)
        checked += abs(slope) > 1e-5
    assert checked > 5


@pytest.mark.parametrize("method", ["risk", "self_critical"])
def test_gradient_against_finite_differences(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every translation of at most two words as candidates; both losses, through the network."""
    with exact():
        _compare(method, monkeypatch)


def test_sampled_gradient_is_that_of_the_expected_reward() -> None:
    """REINFORCE, by exact enumeration: −Σ_y P(y) (R(y) − b) ∇ log P(y) = −∇ Σ_y P(y) R(y), if Σ P = 1."""
    logits = torch.tensor([0.3, -0.2, 0.5, 0.0], dtype=torch.float64, requires_grad=True)
    rewards = torch.tensor([0.1, 0.9, 0.4, 0.0], dtype=torch.float64)
    (wanted,) = torch.autograd.grad(-(torch.softmax(logits, 0) * rewards).sum(), logits)
    result = torch.zeros_like(logits)
    for y, p in enumerate(torch.softmax(logits, 0).tolist()):
        item = self_critical(torch.log_softmax(logits, 0)[y : y + 1], rewards[y : y + 1], 0.7)
        result += p * torch.autograd.grad(item, logits)[0]
    assert_close(result, wanted)


@pytest.mark.parametrize("method", ["risk", "self_critical"])
def test_more_reward_after_training(method: str) -> None:
    model = network()
    learn = task(model, fours, method=method, samples=8, alpha=1.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    result = []
    for step in range(25):
        learn.steps_done = step
        result.append(np.mean([fours(ids, []) for several in learn._samples(BATCH.source) for ids in several]))
        optimizer.zero_grad()
        learn.loss(BATCH).backward()
        optimizer.step()
    assert result[0] < 0.5 and np.mean(result[-3:]) > 0.8


def test_the_same_step_draws_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function of the seed, the step and the sentence; the reference is among the candidates of risk, each once."""
    learn = task(network(), fours, samples=6)
    first = learn._samples(BATCH.source)
    assert first == learn._samples(BATCH.source)
    learn.steps_done = 1
    assert first != learn._samples(BATCH.source)
    seen: list[Any] = []
    monkeypatch.setattr(RewardTask, "_samples", lambda *_: [[[4], [4], [4, 5]], [[5]]])
    learn.reward = lambda ids, reference: seen.append((tuple(ids), tuple(reference))) or 0.0  # type: ignore[func-returns-value]
    learn.loss(BATCH)
    assert seen == [((4, 5), (4, 5)), ((4,), (4, 5)), ((6,), (6,)), ((5,), (6,))]


def test_nothing_has_dropout_not_even_between_the_layers_of_a_stack() -> None:
    config = AttentionSeq2Seq.Config(width=6, embedding_dim=6, layers=2, dropout=0.5)
    learn = task(AttentionSeq2Seq(config, V, V).train(), fours, samples=6)
    assert_close(learn.loss(BATCH), learn.loss(BATCH), rtol=0.0, atol=0.0)


def test_only_one_loss_is_allowed() -> None:
    for other in ({"label_smoothing": 0.1}, {"scheduled_sampling": 0.2}, {"guided_attention": {"weight": 1.0}}):
        with pytest.raises(ValidationError, match="belongs to cross-entropy, which training by a reward replaces"):
            TranslationTuning.model_validate(other | {"reward": {}})
    assert TranslationTuning.model_validate({"label_smoothing": 0.1}).reward is None
    with pytest.raises(ValidationError, match="risk"):
        TranslationTuning.model_validate({"reward": {"method": "reinforce"}})
