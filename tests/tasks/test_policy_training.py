"""Policies climb on a reward that is easy to earn, and stay where they are on a short leash."""

import copy
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from policy_run import ASK, PROMPTS, WATCHED, V, make_pairs, make_policy, make_text, on_policy, run, settings, share

from langladder.data.preference_pairs import answers
from langladder.data.prompts import RolloutBatches
from langladder.decoding.rollouts import Prompts, roll_out
from langladder.models.language.gpt import GPT
from langladder.models.reward import RewardModel
from langladder.tasks.policy.dpo import DPO, references
from langladder.tasks.policy.expert_iteration import ExpertIteration
from langladder.tasks.policy.grpo import GRPO
from langladder.tasks.policy.policy_task import OnPolicy
from langladder.tasks.policy.ppo import PPO, critic_from, make_critic
from langladder.tasks.policy.responses import reference_log_probs, response_log_probs, response_states, sequence_kl
from langladder.tasks.policy.settings import DPOTraining, ExpertIterationTraining, GRPOTraining, PPOTraining
from langladder.tasks.policy.training import train_by_expert_iteration, train_dpo, train_grpo, train_ppo
from langladder.text.tokenize.specials import EOS, PAD

METHODS: dict[str, tuple[Any, Any]] = {
    "ppo": (train_ppo, PPOTraining),
    "grpo": (train_grpo, GRPOTraining),
    "expert iteration": (train_by_expert_iteration, ExpertIterationTraining),
}


def trained(method: str, folder: Path, **changes: Any) -> tuple[GPT, dict[str, Any], list[dict[str, float]]]:
    """The policy, the last row of its curve, and the history of its rollouts."""
    train, kind = METHODS[method]
    policy = make_policy()
    result, history = train(policy, PROMPTS, kind(**on_policy(**changes)), run(folder), held_out=WATCHED)
    assert not policy.training
    return policy, result.curve[-1], history


@pytest.mark.parametrize("method", METHODS)
def test_the_reward_climbs(method: str, tmp_path: Path) -> None:
    _, last, history = trained(method, tmp_path, max_steps=60, validate_every=60, log_every=60, beta=0.0)
    assert len(history) == 15
    assert history[0]["reward"] < 0.2
    assert history[-1]["reward"] > 0.6
    assert last["validation_reward"] > 0.6
    assert last["validation_kl"] > 3
    assert history[0]["kl"] == pytest.approx(0, abs=1e-4)  # the policy begins as its reference


@pytest.mark.parametrize("method", METHODS)
def test_with_a_high_kl_coefficient_it_stays_at_the_reference(method: str, tmp_path: Path) -> None:
    _, last, history = trained(
        method, tmp_path, max_steps=40, validate_every=40, log_every=40, beta=200.0, lr=0.003, min_lr=0.0
    )
    assert last["validation_kl"] < 0.25
    assert history[-1]["reward"] < 0.3


def test_the_adaptive_kl_coefficient_reaches_its_target(tmp_path: Path) -> None:
    """β rises while the KL is above it."""
    changes = {"adaptive": {"target": 0.2, "gain": 2.0}, "beta": 0.05, "max_steps": 40, "validate_every": 40}
    _, _, history = trained("ppo", tmp_path, **changes)
    assert history[0]["beta"] == 0.05
    assert history[1]["beta"] == pytest.approx(0.05 * 0.6)  # no KL at all yet: the error is cut to −0.2
    assert all((later["beta"] > row["beta"]) == (row["kl"] > 0.2) for row, later in pairwise(history))
    assert any(row["kl"] > 0.2 for row in history)


def test_dpo_prefers_what_was_chosen(tmp_path: Path) -> None:
    train, validation = make_pairs(32, 1), make_pairs(16, 2)
    policy = make_policy()
    config = DPOTraining(**settings(max_steps=30, validate_every=15, batch_size=8))
    result = train_dpo(policy, train, validation, config, run(tmp_path), held_out=WATCHED)
    assert result.curve[-1]["validation_accuracy"] == 1
    assert result.curve[-1]["validation_loss"] < 0.3
    assert {"validation_reward", "validation_kl", "validation_words"} <= result.curve[-1].keys()
    assert "validation_step" not in result.curve[-1]
    log_probs = references(policy, validation)
    before = references(make_policy(), validation)
    assert ((log_probs - before)[:, 0] > (log_probs - before)[:, 1]).all()
    close = make_policy()
    train_dpo(close, train, [], config.model_copy(update={"lr": 1e-6}), run(tmp_path / "slow"))
    assert abs(references(close, validation) - before).max() < 0.1


def task(method: str, **changes: Any) -> OnPolicy:
    policy = make_policy()
    if method == "grpo":
        return GRPO(policy, GRPOTraining(**on_policy(**changes)), PROMPTS, None)
    if method == "expert iteration":
        return ExpertIteration(policy, ExpertIterationTraining(**on_policy(**changes)), PROMPTS, None)
    config = PPOTraining(**on_policy(entropy_weight=0.1, **changes))
    return PPO(policy, make_critic(policy, shared=config.critic == "shared"), config, PROMPTS)


@pytest.mark.parametrize(("method", "critic"), [("ppo", "own"), ("ppo", "shared"), ("grpo", None)])
def test_gradient_reaches_every_parameter_and_not_the_reference(method: str, critic: str | None) -> None:
    learner = task(method, **({"critic": critic} if critic else {}))
    batches = RolloutBatches(len(ASK), 0, per_rollout=4, kept=16, epochs=1, minibatches=1, seed=1)
    learner.train()
    assert not learner.training  # nothing is dropped out
    learner.loss(batches.train(0)).backward()  # type: ignore[no-untyped-call]
    without = [name for name, parameter in learner.named_parameters() if parameter.grad is None]
    assert not without
    assert all(
        bool(parameter.grad.isfinite().all()) for parameter in learner.parameters() if parameter.grad is not None
    )
    assert all(parameter.grad is None and not parameter.requires_grad for parameter in learner.reference.parameters())
    assert not [name for name in learner.state_dict() if "reference" in name]


@pytest.mark.parametrize("kind", ["instructed", "gpt"])
def test_log_probs_of_rollouts_equal_those_of_a_forward_pass(kind: str) -> None:
    """The ratio of a policy to itself is 1: rollouts with caches and teacher forcing agree, padding changes nothing."""
    policy = make_policy() if kind == "instructed" else make_policy(GPT)
    drawn = roll_out(policy, ASK, max_new_tokens=6, seed=1)
    torch.testing.assert_close(reference_log_probs(policy, drawn), drawn.log_probs, atol=1e-5, rtol=1e-5)
    assert float(sequence_kl(policy, policy, drawn).abs().max()) < 1e-5
    policy.eval()
    tokens, starts, mask = drawn[:3]
    row = slice(1, 2)
    end = int(starts[1] + mask[1].sum())
    alone = response_states(policy, tokens[row, :end], starts[row], int(mask[1].sum()))
    log_probs, entropies = response_log_probs(
        policy, alone, tokens[row, :end], starts[row], mask[row, : alone.shape[1]], entropies=True
    )
    torch.testing.assert_close(log_probs[0], drawn.log_probs[1, : log_probs.shape[1]], atol=1e-5, rtol=1e-5)
    assert bool((entropies > 0).all())


@pytest.mark.parametrize("kind", ["instructed", "gpt"])
def test_values_read_while_drawing_are_those_read_again(kind: str) -> None:
    """One body for policy and critic: the states that drew a response have its values."""
    policy = make_policy() if kind == "instructed" else make_policy(GPT)
    learner = PPO(policy, make_critic(policy, shared=True), PPOTraining(**on_policy(critic="shared")), PROMPTS)
    drawn = roll_out(policy, ASK, max_new_tokens=6, seed=1, value=learner.value())
    assert drawn.values is not None and float(drawn.values[drawn.mask].std()) > 0
    torch.testing.assert_close(drawn.values, learner._values(drawn), atol=1e-5, rtol=1e-4)
    same = roll_out(policy, ASK, max_new_tokens=6, seed=1)
    assert same.values is None and torch.equal(same.tokens, drawn.tokens)
    own = PPO(policy, make_critic(policy, shared=False), PPOTraining(**on_policy()), PROMPTS)
    assert own.value() is None


def test_a_critic_begins_as_the_reward_model(tmp_path: Path) -> None:
    """Behind the last token it says the reward; the reward model itself is not trained."""
    config = RewardModel.Config(body=make_policy().config)  # type: ignore[call-arg]
    reward = RewardModel(config, V + 3).eval()
    reward.bias += 0.25
    tokens = torch.tensor([[*ASK[3], 9, 8, EOS], [*ASK[0], 9, EOS, PAD, PAD, PAD, PAD]])
    lengths = (tokens != PAD).sum(dim=1)
    followed = torch.nn.functional.pad(tokens, (0, 1)).scatter(1, lengths[:, None], 9)
    values = critic_from(reward).eval()(followed, lengths, 1, None)[:, 0]
    torch.testing.assert_close(values, reward(tokens))
    before = copy.deepcopy(reward.state_dict())
    settings_ = PPOTraining(**on_policy(max_steps=2, critic="reward"))
    train_ppo(make_policy(), PROMPTS, settings_, run(tmp_path), reward_model=reward)
    assert all(torch.equal(ours, before[name]) for name, ours in reward.state_dict().items())


def test_expert_iteration_learns_the_best_responses_only() -> None:
    learner = task("expert iteration", best=2, minibatches=1)
    drawn = roll_out(learner.model, [ask for ask in ASK[:3] for _ in range(4)], max_new_tokens=6, seed=1)
    rewards = torch.tensor([0.0, 3.0, 1.0, 3.0, 5.0, 4.0, 6.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    learner.history.append({})
    result = learner.assess(drawn, rewards, drawn.log_probs)
    assert result.advantages.amax(dim=1).tolist() == [3, 3, 6, 5, 1, 1]
    assert learner.history[-1]["best_reward"] == pytest.approx(19 / 6)
    wanted = drawn.tokens[torch.tensor([1, 3, 6, 4, 8, 9])]
    assert torch.equal(result.tokens, wanted[:, : result.tokens.shape[1]])


def test_plain_text_beside_is_not_forgotten(tmp_path: Path) -> None:
    """PPO-ptx: the loss on the text falls with it, and rises without."""
    text, losses = make_text(), {}
    tokens = torch.from_numpy(text.ids[:210].reshape(10, 21).astype("int64"))
    for weight in (0.0, 2.0):
        policy = make_policy()
        mix = {"weight": weight, "windows": 4, "length": 16}
        config = PPOTraining(**on_policy(max_steps=24, beta=0.0, pretraining=mix))
        train_ppo(policy, PROMPTS, config, run(tmp_path / str(weight)), text=text)
        losses[weight] = float(policy.loss(policy(tokens[:, :-1])[0], tokens[:, 1:]).detach())
    before = make_policy()
    start = float(before.loss(before.eval()(tokens[:, :-1])[0], tokens[:, 1:]).detach())
    assert losses[2.0] < start - 0.2 < losses[0.0]


def test_truncated_responses_get_the_configured_reward(tmp_path: Path) -> None:
    _, _, history = trained("grpo", tmp_path, max_steps=1, unfinished_reward=-1.0)
    row = history[0]
    assert row["reward"] < row["finished"] * 1.0 - (1 - row["finished"]) + 1e-6
    assert 0 < row["finished"] < 1


def test_the_best_weights_may_be_kept(tmp_path: Path) -> None:
    """By the reward, or the last ones."""
    scores = {}
    for keep in ("last", "validation_reward"):
        folder = tmp_path / keep
        changes = {"lr": 0.3, "max_steps": 12, "validate_every": 4, "clip": 0.9, "keep": keep}
        policy, _, _ = trained("ppo", folder, **changes)
        drawn = roll_out(policy, ASK[:8], max_new_tokens=6, seed=3, step=2**31)
        scores[keep] = sum(share(drawn.responses(range(8)))) / 8
    result, _ = train_ppo(
        make_policy(), PROMPTS, PPOTraining(**on_policy(**changes)), run(tmp_path / "again"), held_out=WATCHED
    )
    rewards = [row["validation_reward"] for row in result.curve[1:] if row.get("validation_reward") is not None]
    assert scores["validation_reward"] == pytest.approx(max(rewards), abs=1e-6)
    assert scores["last"] == pytest.approx(rewards[-1], abs=1e-6)


@pytest.mark.parametrize("method", ["ppo", "dpo"])
def test_nothing_is_dropped_out(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first rollout and after a validation."""
    kind: Any = PPO if method == "ppo" else DPO
    loss, seen = kind.loss, []

    def watched(self: Any, batch: Any) -> torch.Tensor:
        seen.extend(module.training for module in self.modules())
        result: torch.Tensor = loss(self, batch)
        return result

    monkeypatch.setattr(kind, "loss", watched)
    changes = {"max_steps": 3, "validate_every": 1}
    if method == "ppo":
        trained("ppo", tmp_path, **changes)
    else:
        pairs = make_pairs(8, 1)
        train_dpo(make_policy(), pairs, pairs, DPOTraining(**settings(**changes)), run(tmp_path), held_out=WATCHED)
    assert seen
    assert not any(seen)


def test_batches_of_pairs_hold_the_chosen_first() -> None:
    pairs = make_pairs(3, 1)
    batch = answers(pairs, references(make_policy(), pairs))
    for number, pair in enumerate(pairs):
        for row, response in ((number, pair.chosen), (number + 3, pair.rejected)):
            start, length = int(batch.starts[row]), int(batch.mask[row].sum())
            assert batch.tokens[row, :start].tolist() == list(pair.prompt)
            assert batch.tokens[row, start : start + length].tolist() == [*response, 3]
    learner = DPO(make_policy(), DPOTraining(**settings()))
    learner.train()
    assert float(learner.loss(batch).detach()) == pytest.approx(0.693147, abs=1e-5)  # the policy is its reference


def test_judges_get_the_index_of_the_prompt(tmp_path: Path) -> None:
    rows: list[int] = []

    def score(responses: Any) -> list[float]:
        rows.extend(response.row for response in responses)
        assert all(list(response.prompt) == ASK[response.row] for response in responses)
        return [0.0] * len(responses)

    train_grpo(make_policy(), Prompts(ASK, score), GRPOTraining(**on_policy(max_steps=12, samples=2)), run(tmp_path))
    assert set(rows) == set(range(12))  # three rollouts of four prompts: every prompt once an epoch
