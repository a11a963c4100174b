"""Training a policy from its settings: what the methods ask for, put together.

Each function trains `policy` in place from the weights that it has, which are also its reference; it ends with the
weights that `keep` asks for, on the CPU, in evaluation mode.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from langladder.data.language_modelling import WindowBatches
from langladder.data.preference_pairs import PairBatches, TokenPair, check_pairs
from langladder.data.prompts import RolloutBatches
from langladder.decoding.rollouts import Prompts, check_prompts
from langladder.ground.errors import InputError
from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.making import Run, TrainingResult
from langladder.models.reward import RewardModel
from langladder.tasks.policy.critic import critic_from, make_critic
from langladder.tasks.policy.dpo import DPO, references
from langladder.tasks.policy.expert_iteration import ExpertIteration
from langladder.tasks.policy.grpo import GRPO
from langladder.tasks.policy.on_policy import OnPolicy
from langladder.tasks.policy.policy_task import PolicyTask, shown
from langladder.tasks.policy.ppo import PPO
from langladder.tasks.policy.settings import (
    DPOTraining,
    ExpertIterationTraining,
    GRPOTraining,
    OnPolicyTraining,
    PPOTraining,
)
from langladder.tasks.training import train_task
from langladder.text.storage.token_streams import TokenStream

History = list[dict[str, float]]


def train_ppo(
    policy: NeuralLanguageModel,
    prompts: Prompts,
    config: PPOTraining,
    run: Run,
    *,
    watched: Prompts | None = None,
    text: TokenStream | None = None,
    reward_model: RewardModel | None = None,
) -> tuple[TrainingResult, History]:
    """PPO; `reward_model` is what the critic begins as where `critic` says so. See `_train`."""
    torch.manual_seed(run.seed)
    if config.critic == "reward":
        if reward_model is None:
            raise InputError("training.critic=reward: the rewards are of no reward model; set it to own or shared")
        critic = critic_from(reward_model)
    else:
        critic = make_critic(policy, shared=config.critic == "shared")
    return _train(PPO(policy, critic, config, prompts, watched), config, run, text)


def train_grpo(
    policy: NeuralLanguageModel,
    prompts: Prompts,
    config: GRPOTraining,
    run: Run,
    *,
    watched: Prompts | None = None,
    text: TokenStream | None = None,
) -> tuple[TrainingResult, History]:
    """GRPO. See `_train`."""
    return _train(GRPO(policy, config, prompts, watched), config, run, text)


def train_by_expert_iteration(
    policy: NeuralLanguageModel,
    prompts: Prompts,
    config: ExpertIterationTraining,
    run: Run,
    *,
    watched: Prompts | None = None,
    text: TokenStream | None = None,
) -> tuple[TrainingResult, History]:
    """Expert iteration. See `_train`."""
    return _train(ExpertIteration(policy, config, prompts, watched), config, run, text)


def train_dpo(
    policy: NeuralLanguageModel,
    train: Sequence[TokenPair],
    validation: Sequence[TokenPair],
    config: DPOTraining,
    run: Run,
    *,
    watched: Prompts | None = None,
) -> TrainingResult:
    """DPO.

    Args:
        watched: prompts that the policy answers at each validation.

    Raises:
        InputError: no pairs, see `check_pairs` and `check_prompts`, `keep` asks for what is not measured; see also
            `train_task`.
    """
    if not train:
        raise InputError("dpo: no training pairs that the base's context has room for; see the stage `prefer`")
    check_pairs([*train, *validation], policy.context)
    task = DPO(policy, config, watched)
    _check_watched(task, policy, bool(validation))
    said = references(policy, train), references(policy, validation)
    batches = PairBatches(train, validation, said, batch_size=config.batch_size, seed=run.seed)
    return _run(task, policy, batches, run)


def _train(
    task: OnPolicy, config: OnPolicyTraining, run: Run, text: TokenStream | None
) -> tuple[TrainingResult, History]:
    """Train on the policy's own samples; → how it went, and a row for each rollout (`OnPolicy.history`).

    Raises:
        InputError: no prompts, see `check_prompts`; plain text is asked for and there is none; `keep` asks for what
            is not measured; see also `train_task`.
    """
    policy = task.model
    if not len(task.prompts.ids):
        raise InputError("rollouts: no training prompts; see the report of the stage `clean`")
    check_prompts(task.prompts.ids, policy.context, config.max_new_tokens)
    _check_watched(task, policy, task.watched is not None and bool(len(task.watched.ids)))
    batches = RolloutBatches(
        len(task.prompts.ids),
        min(config.validation_prompts, len(task.watched.ids)) if task.watched else 0,
        per_rollout=config.prompts,
        kept=config.kept,
        epochs=config.inner_epochs,
        minibatches=config.minibatches,
        seed=run.seed,
        text=_windows(config, policy, text, run.seed),
    )
    return _run(task, policy, batches, run), task.history


def _run(task: PolicyTask, policy: NeuralLanguageModel, batches: Any, run: Run) -> TrainingResult:
    config = task.config
    begun = task.measured_at_start(run.seed)
    result = train_task(task, batches, config, run)
    policy.cpu().eval()
    return TrainingResult([*begun, *shown(result.curve)], result.cost, result.best_validation_loss)


def _check_watched(task: PolicyTask, policy: NeuralLanguageModel, validates: bool) -> None:
    settings = task.settings
    if task.watched is not None:
        check_prompts(task.watched.ids, policy.context, settings.max_new_tokens)
    measured = validates and (task.watched is not None or settings.keep != "validation_reward")
    if settings.keep != "last" and not measured:
        raise InputError(f"training.keep={settings.keep}: there is nothing to validate on; set it to last")


def _windows(
    config: OnPolicyTraining, policy: NeuralLanguageModel, text: TokenStream | None, seed: int
) -> WindowBatches | None:
    """Windows of plain text, where they weigh something."""
    mix = config.pretraining
    if not mix.weight:
        return None
    if text is None:
        raise InputError(
            f"training.pretraining.weight={mix.weight}: there is no plain text to learn beside; set it to 0"
        )
    if policy.context is not None and mix.length > policy.context:
        raise InputError(
            f"training.pretraining.length={mix.length} exceeds the policy's context of {policy.context} tokens"
        )
    nothing = TokenStream(np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64))
    return WindowBatches(text, nothing, batch_size=mix.windows, sequence_length=mix.length, seed=seed)
