"""A run that is killed in the middle of a rollout's updates goes on from its checkpoint and ends with the same bits."""

from pathlib import Path
from typing import Any

import pytest
import torch
from policy_run import PROMPTS, WATCHED, make_pairs, make_policy, make_text, on_policy, run, settings
from small_run import moved, stop_at

from langladder.models.language.gpt import GPT
from langladder.tasks.checkpoints import read_checkpoint
from langladder.tasks.policy.dpo import DPO
from langladder.tasks.policy.policy_task import OnPolicy
from langladder.tasks.policy.settings import DPOTraining, ExpertIterationTraining, GRPOTraining, PPOTraining
from langladder.tasks.policy.training import train_by_expert_iteration, train_dpo, train_grpo, train_ppo

ADAPTIVE = {"adaptive": {"target": 0.5}, "entropy_weight": 0.01, "whiten_rewards": True}
MIX = {"pretraining": {"weight": 0.5, "windows": 2, "length": 8}}


def train(name: str, work: Path) -> tuple[GPT, Any, Any]:
    """The trained policy, its curve, and its history."""
    policy = make_policy()
    if name == "dpo":
        config = DPOTraining(**settings(batch_size=4))
        result = train_dpo(policy, make_pairs(10, 1), make_pairs(6, 2), config, run(work), held_out=WATCHED)
        return policy, result.curve, []
    if name == "grpo":
        result, history = train_grpo(policy, PROMPTS, GRPOTraining(**on_policy()), run(work), held_out=WATCHED)
    elif name == "expert iteration":
        expert = ExpertIterationTraining(**on_policy(best=2))
        result, history = train_by_expert_iteration(policy, PROMPTS, expert, run(work), held_out=WATCHED)
    else:
        shared = {"critic": "shared", "accumulate": 2} if name == "ppo, shared" else ADAPTIVE | MIX
        config_ppo = PPOTraining(**on_policy(**shared))
        text = make_text() if "pretraining" in shared else None
        result, history = train_ppo(policy, PROMPTS, config_ppo, run(work), held_out=WATCHED, text=text)
    return policy, result.curve, history


@pytest.mark.parametrize("name", ["ppo", "ppo, shared", "grpo", "expert iteration", "dpo"])
def test_interrupted_run_ends_with_the_same_bits(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four minibatches a rollout; killed in the third one, and so is the checkpoint that it goes on from."""
    with monkeypatch.context() as patch:
        stop_at(patch, DPO if name == "dpo" else OnPolicy, 10)
        with pytest.raises(KeyError):
            train(name, tmp_path / "broken")
    saved = read_checkpoint(tmp_path / "broken" / "last.safetensors")
    assert saved["steps_done"] in (9, 10)
    resumed, whole = train(name, moved(tmp_path / "broken")), train(name, tmp_path / "whole")
    for (parameter, ours), theirs in zip(resumed[0].state_dict().items(), whole[0].state_dict().values(), strict=True):
        assert torch.equal(ours, theirs), parameter
    assert resumed[1:] == whole[1:]


def test_a_finished_run_is_not_trained_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = train("grpo", tmp_path)
    stop_at(monkeypatch, OnPolicy, 14)
    again = train("grpo", tmp_path)
    assert all(torch.equal(a, b) for a, b in zip(first[0].parameters(), again[0].parameters(), strict=True))
    assert first[1:] == again[1:]
