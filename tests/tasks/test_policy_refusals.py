"""Bad settings, prompts, pairs and judges are refused, and the message says which and where."""

from pathlib import Path
from typing import Any

import pytest
from policy_run import ASK, PROMPTS, WATCHED, make_pairs, make_policy, make_text, on_policy, run, settings, share
from pydantic import ValidationError

from langladder.data.preference_pairs import TokenPair, check_pairs
from langladder.decoding.rollouts import Prompts
from langladder.ground.errors import InputError
from langladder.tasks.policy.settings import DPOTraining, ExpertIterationTraining, GRPOTraining, PPOTraining
from langladder.tasks.policy.training import train_dpo, train_grpo, train_ppo
from langladder.text.tokenize.specials import BOS


def grpo(folder: Path, prompts: Prompts = PROMPTS, watched: Prompts | None = WATCHED, **changes: Any) -> None:
    train_grpo(make_policy(), prompts, GRPOTraining(**on_policy(**changes)), run(folder), held_out=watched)


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        (PPOTraining, {"minibatches": 17}, "minibatches=17 exceeds the 16 responses"),
        (PPOTraining, {"accumulate": 3}, "accumulate=3 does not divide inner_epochs × minibatches = 4"),
        (PPOTraining, {"patience": 2}, "patience=2 with keep=last"),
        (PPOTraining, {"precision": "bf16"}, "precision=bf16: ratios"),
        (PPOTraining, {"clip": 1.0}, "clip"),
        (GRPOTraining, {"samples": 1}, "samples"),
        (ExpertIterationTraining, {"best": 4}, "best=4 of samples=4: best must be smaller"),
        (ExpertIterationTraining, {"best": 1, "minibatches": 5}, "minibatches=5 exceeds the 4 responses"),
        (DPOTraining, {"label_smoothing": 0.5}, "label_smoothing"),
    ],
)
def test_invalid_settings_are_refused(kind: Any, changes: dict[str, Any], message: str) -> None:
    base = settings() if kind is DPOTraining else on_policy()
    with pytest.raises(ValidationError, match=message):
        kind(**base | changes)


def test_prompts_that_cannot_be_answered(tmp_path: Path) -> None:
    long = Prompts([*ASK, [BOS, *[4] * 20]], share)
    with pytest.raises(InputError, match=r"prompt 12: 21 tokens, and with max_new_tokens=6 more .* context of 24"):
        grpo(tmp_path, long)
    with pytest.raises(InputError, match="prompt 12"):
        grpo(tmp_path, PROMPTS, long)
    with pytest.raises(InputError, match="no training prompts"):
        grpo(tmp_path, Prompts([], share))
    with pytest.raises(InputError, match=r"keep=validation_reward: there are no validation prompts"):
        grpo(tmp_path, watched=None, keep="validation_reward")
    assert not list(tmp_path.iterdir())


def test_judges_without_valid_rewards_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"score: gave \(3,\) for 16 responses"):
        grpo(tmp_path, Prompts(ASK, lambda _: [1.0, 2.0, 3.0]))
    with pytest.raises(InputError, match=r"score: .* one finite number"):
        grpo(tmp_path, Prompts(ASK, lambda result: [float("nan")] * len(result)))
    with pytest.raises(InputError, match="gold: gave"):
        grpo(tmp_path, Prompts(ASK, share, {"gold": lambda _: []}))


def test_plain_text_that_is_not_there(tmp_path: Path) -> None:
    def train(text: Any, **mix: Any) -> None:
        config = PPOTraining(**on_policy(pretraining={"weight": 1.0} | mix))
        train_ppo(make_policy(), PROMPTS, config, run(tmp_path), text=text)

    with pytest.raises(InputError, match=r"pretraining.weight=1.0: there is no plain text"):
        train(None)
    with pytest.raises(InputError, match="length=25 exceeds the model's context of 24"):
        train(make_text(), length=25)


def test_a_critic_of_a_reward_model_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"training.critic=reward: .* set it to own or shared"):
        train_ppo(make_policy(), PROMPTS, PPOTraining(**on_policy(critic="reward")), run(tmp_path))


def test_pairs_that_teach_nothing(tmp_path: Path) -> None:
    good = make_pairs(2, 1)
    for bad, message in (
        (TokenPair(ASK[0], [5, 6], [5, 6]), "pair 2: both responses are equal"),
        (TokenPair(ASK[0], [], [5]), "pair 2: the chosen response is empty"),
        (TokenPair(ASK[0], [5], []), "pair 2: the rejected response is empty"),
        (TokenPair(ASK[0], [5], [6] * 22), "pair 2: 25 tokens with EOS exceed the policy's context of 24"),
    ):
        with pytest.raises(InputError, match=message):
            train_dpo(make_policy(), [*good, bad], [], DPOTraining(**settings()), run(tmp_path))
    check_pairs([TokenPair(ASK[0], [5], [6] * 22)], None)
    with pytest.raises(InputError, match="no training pairs"):
        train_dpo(make_policy(), [], [], DPOTraining(**settings()), run(tmp_path))
    with pytest.raises(InputError, match="keep=validation_reward"):
        config = DPOTraining(**settings(keep="validation_reward"))
        train_dpo(make_policy(), good, good, config, run(tmp_path))
