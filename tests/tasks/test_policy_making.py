"""Aligning by a method's name: each method trains a model from the base and its inputs; missing inputs are errors."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from langladder.ground.errors import InputError
from langladder.models.language.instructed import InstructedGPT, read_instructed
from langladder.models.making import Run, TrainingResult
from langladder.models.reward import RewardModel, begin_reward
from langladder.tasks.policy.settings import DPOTraining, ExpertIterationTraining, GRPOTraining, PPOTraining
from langladder.tasks.policy.training import Teaching, make, prompts_of, token_pairs
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from tests.models.spoken import DIALOGUES, RANKINGS, TOKENIZER, judge, saved_instructed

SETTINGS: dict[str, Any] = {
    "ppo": PPOTraining,
    "grpo": GRPOTraining,
    "expert_iteration": ExpertIterationTraining,
    "dpo": DPOTraining,
}
TEMPLATE = ChatTemplate(TOKENIZER)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_instructed(tmp_path_factory.mktemp("aligned") / "sft")


def reward_model(base: Path) -> RewardModel:
    return begin_reward(SimpleNamespace(name="r", model=RewardModel.Config(dropout=0.0)), base, seed=1).eval()


def rung(method: str, **changes: Any) -> SimpleNamespace:
    small = {"max_steps": 2, "validate_every": 1, "lr": 0.01, "max_new_tokens": 3, "progress": False}
    small |= {"prompts": 4} if method not in ("dpo", "best_of_n") else {}
    small |= {"samples": 2} if method in ("grpo", "expert_iteration") else {}
    training = SETTINGS[method](**(small | {"accelerator": "cpu"} | changes)) if method in SETTINGS else None
    return SimpleNamespace(name=method, method=method, training=training)


def make_method(
    base: Path, folder: Path, method: str, teaching: Teaching, **changes: Any
) -> tuple[InstructedGPT, TrainingResult]:
    return make(base, teaching, settings=rung(method, **changes), run=Run(1, folder))


@pytest.mark.parametrize("method", [*SETTINGS, "best_of_n"])
def test_each_method_makes_a_model_of_its_base(method: str, base: Path, tmp_path: Path) -> None:
    teaching = Teaching(DIALOGUES, DIALOGUES, judge, None, reward_model(base), (RANKINGS, RANKINGS))
    if method == "dpo":
        teaching = teaching._replace(reward_model=None)
    model, how = make_method(base, tmp_path, method, teaching)
    before = read_instructed(base)[0]
    moved = any(
        not torch.equal(parameter, other)
        for parameter, other in zip(model.parameters(), before.parameters(), strict=True)
    )
    assert moved == (method != "best_of_n") and not model.training
    measured = [row for row in how.curve if row.get("validation_reward") is not None]
    assert bool(measured) == (method != "best_of_n")
    if measured:  # what the base earns stands first
        assert (measured[0]["step"], measured[0]["validation_kl"], measured[0]["train_loss"]) == (0, 0.0, None)
        assert how.curve[1]["step"] == 1
    if method not in ("dpo", "best_of_n"):
        assert "validation_gold" in measured[-1]  # beside the proxy


def test_the_gold_judge_scores_where_there_is_no_reward_model() -> None:
    result = prompts_of(Teaching(DIALOGUES, DIALOGUES, judge), DIALOGUES, TEMPLATE, 12)
    assert not result.judges and len(result.ids) == len(DIALOGUES)
    with pytest.raises(InputError, match="reads: these instructions have no gold judge"):
        prompts_of(Teaching(DIALOGUES, DIALOGUES), DIALOGUES, TEMPLATE, 12)


def test_prompts_without_room_are_left_out_and_their_judge_keeps_the_rows() -> None:
    lengths = [len(row) for row in TEMPLATE.prompts([item.prompt for item in DIALOGUES])]
    result = prompts_of(Teaching(DIALOGUES, DIALOGUES, judge), DIALOGUES[::-1], TEMPLATE, min(lengths))
    assert len(result.ids) == 4 and all(len(row) == min(lengths) for row in result.ids)
    with pytest.raises(InputError, match=r"none of \d+ prompts has at most 2 tokens.*lower training.max_new_tokens"):
        prompts_of(Teaching(DIALOGUES, DIALOGUES, judge), DIALOGUES, TEMPLATE, 2)


def test_a_reward_model_of_another_tokenizer_is_refused(base: Path, tmp_path: Path) -> None:
    other = reward_model(base)
    words = "say twice please not king queen dog mouse"  # as many words, another one among them
    other.tokenizer = train_tokenizer([words], TokenizerConfig(kind="word", vocab_size=None))
    with pytest.raises(InputError, match="not that of the reward model"):
        make_method(base, tmp_path, "ppo", Teaching(DIALOGUES, DIALOGUES, judge, None, other))


def test_pairs_of_rankings_as_tokens() -> None:
    pairs = token_pairs(TEMPLATE, RANKINGS[:1], 12)
    assert len(pairs) == len(RANKINGS[0].pairs()) and pairs[0].chosen != pairs[0].rejected
    assert list(pairs[0].prompt) == TEMPLATE.prompt(RANKINGS[0].prompt).tolist()
    assert token_pairs(TEMPLATE, RANKINGS[:1], len(pairs[0].prompt) + 1) == []  # no room
