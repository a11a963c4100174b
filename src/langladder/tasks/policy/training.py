"""Aligning an instructed model with the method of its settings: builds the training data from dialogues and rankings.

best_of_n does not change the base's weights; it chooses among answers at inference. Each `train_…` trains `policy` in
place. Its weights at the start are also the reference. It ends with the weights that `keep` selects, on the CPU, in
evaluation mode.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch

from langladder.data.preference_pairs import PairBatches, TokenPair, check_pairs
from langladder.data.prompts import RolloutBatches
from langladder.decoding.judging import Judge, by_judge, by_reward_model
from langladder.decoding.rollouts import Prompts, check_prompts
from langladder.ground.errors import InputError
from langladder.models.language.instructed import InstructedGPT, read_instructed
from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.making import Run, TrainingResult
from langladder.models.reward import RewardModel
from langladder.tasks.language_modelling import mixed_windows
from langladder.tasks.policy.dpo import DPO, references
from langladder.tasks.policy.expert_iteration import ExpertIteration
from langladder.tasks.policy.grpo import GRPO
from langladder.tasks.policy.policy_task import OnPolicy, PolicyTask, without_step
from langladder.tasks.policy.ppo import PPO, critic_from, make_critic
from langladder.tasks.policy.settings import (
    AlignSettings,
    DPOTraining,
    ExpertIterationTraining,
    GRPOTraining,
    OnPolicyTraining,
    PPOTraining,
)
from langladder.tasks.training import train_task
from langladder.text.labelled.instructions import Dialogue, Ranking
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.storage.token_streams import TokenStream

History = list[dict[str, float]]


def train_ppo(
    policy: NeuralLanguageModel,
    prompts: Prompts,
    config: PPOTraining,
    run: Run,
    *,
    held_out: Prompts | None = None,
    text: TokenStream | None = None,
    reward_model: RewardModel | None = None,
) -> tuple[TrainingResult, History]:
    """PPO. With critic=reward, the critic starts as a copy of `reward_model`. See `_train`."""
    torch.manual_seed(run.seed)
    if config.critic == "reward":
        if reward_model is None:
            raise InputError(
                "training.critic=reward: the rewards do not come from a reward model; set it to own or shared"
            )
        critic = critic_from(reward_model)
    else:
        critic = make_critic(policy, shared=config.critic == "shared")
    return _train(PPO(policy, critic, config, prompts, held_out), config, run, text)


def train_grpo(
    policy: NeuralLanguageModel,
    prompts: Prompts,
    config: GRPOTraining,
    run: Run,
    *,
    held_out: Prompts | None = None,
    text: TokenStream | None = None,
) -> tuple[TrainingResult, History]:
    """GRPO. See `_train`."""
    return _train(GRPO(policy, config, prompts, held_out), config, run, text)


def train_by_expert_iteration(
    policy: NeuralLanguageModel,
    prompts: Prompts,
    config: ExpertIterationTraining,
    run: Run,
    *,
    held_out: Prompts | None = None,
    text: TokenStream | None = None,
) -> tuple[TrainingResult, History]:
    """Expert iteration. See `_train`."""
    return _train(ExpertIteration(policy, config, prompts, held_out), config, run, text)


def train_dpo(
    policy: NeuralLanguageModel,
    train: Sequence[TokenPair],
    validation: Sequence[TokenPair],
    config: DPOTraining,
    run: Run,
    *,
    held_out: Prompts | None = None,
) -> TrainingResult:
    """DPO.

    Args:
        held_out: prompts that the policy answers at each validation.

    Raises:
        InputError: there are no pairs, or `keep` names a measure that is not available; see also `check_pairs`,
            `check_prompts` and `train_task`.
    """
    if not train:
        raise InputError("dpo: no training pairs fit into the base's context; see the stage `prefer`")
    check_pairs([*train, *validation], policy.context)
    task = DPO(policy, config, held_out)
    _check_held_out(task, policy, bool(validation))
    log_probs = references(policy, train), references(policy, validation)
    batches = PairBatches(train, validation, log_probs, batch_size=config.batch_size, seed=run.seed)
    return _run(task, policy, batches, run)


def _train(
    task: OnPolicy, config: OnPolicyTraining, run: Run, text: TokenStream | None
) -> tuple[TrainingResult, History]:
    """Train on the policy's own samples. Returns the result, and a row for each rollout (`OnPolicy.history`).

    Raises:
        InputError: there are no prompts, no plain text although it is requested, or `keep` names a measure that is not
            available; see also `check_prompts` and `train_task`.
    """
    policy = task.model
    if not len(task.prompts.ids):
        raise InputError("rollouts: no training prompts; see the report of the stage `clean`")
    check_prompts(task.prompts.ids, policy.context, config.max_new_tokens)
    _check_held_out(task, policy, task.held_out is not None and bool(len(task.held_out.ids)))
    batches = RolloutBatches(
        len(task.prompts.ids),
        min(config.validation_prompts, len(task.held_out.ids)) if task.held_out else 0,
        per_rollout=config.prompts,
        kept=config.kept,
        epochs=config.inner_epochs,
        minibatches=config.minibatches,
        seed=run.seed,
        text=mixed_windows(config.pretraining, policy, text, run.seed),
    )
    return _run(task, policy, batches, run), task.history


def _run(
    task: PolicyTask, policy: NeuralLanguageModel, batches: RolloutBatches | PairBatches, run: Run
) -> TrainingResult:
    config = task.config
    begun = task.measured_at_start(run.seed)
    result = train_task(task, batches, config, run)
    policy.cpu().eval()
    return replace(result, curve=[*begun, *without_step(result.curve)])


def _check_held_out(task: PolicyTask, policy: NeuralLanguageModel, validates: bool) -> None:
    settings = task.settings
    if task.held_out is not None:
        check_prompts(task.held_out.ids, policy.context, settings.max_new_tokens)
    measured = validates and (task.held_out is not None or settings.keep != "validation_reward")
    if settings.keep != "last" and not measured:
        raise InputError(f"training.keep={settings.keep}: there are no validation prompts; set it to last")


GOLD = "gold"
"""The name of the gold judge's rewards, where the proxy's are `reward`."""


class Teaching(NamedTuple):
    """The data that a policy can learn from.

    Attributes:
        train, validation: dialogues; only their prompts are used.
        judge: scores texts. Without a reward model it gives the rewards for training; with one it is only used in
            validation.
        text: plain text, for PPO-ptx.
        reward_model: the proxy, or None.
        preferences: training and validation rankings, for DPO.
    """

    train: Sequence[Dialogue]
    validation: Sequence[Dialogue]
    judge: Judge | None = None
    text: TokenStream | None = None
    reward_model: RewardModel | None = None
    preferences: tuple[Sequence[Ranking], Sequence[Ranking]] = ((), ())


def make(
    base: Path,
    teaching: Teaching,
    *,
    settings: AlignSettings,
    run: Run,
) -> tuple[InstructedGPT, TrainingResult]:
    """Start with the InstructedGPT in `base`, which also holds its tokenizer, and align it.

    Args:
        settings: those of the rung's file: `name`, `method`, and `training` if the method trains.

    Raises:
        InputError: there is neither judge nor reward model, or the reward model has another tokenizer; see also the
            method's training function.
    """
    policy, tokenizer = read_instructed(base)
    if teaching.reward_model is not None:
        teaching.reward_model.check_policy(tokenizer, settings.name)
    if settings.method == "best_of_n":
        return policy, TrainingResult([], {"seconds": 0.0})
    template, config = ChatTemplate(tokenizer), settings.training
    room = policy.context - config.max_new_tokens
    if isinstance(config, DPOTraining):
        train, validation = (token_pairs(template, side, policy.context) for side in teaching.preferences)
        held_out = None if teaching.judge is None else prompts_of(teaching, teaching.validation, template, room)
        return policy, train_dpo(policy, train, validation, config, run, held_out=held_out)
    prompts, held_out = (prompts_of(teaching, side, template, room) for side in (teaching.train, teaching.validation))
    text = teaching.text
    if isinstance(config, PPOTraining):
        reward_model = teaching.reward_model
        result, _ = train_ppo(policy, prompts, config, run, held_out=held_out, text=text, reward_model=reward_model)
    elif isinstance(config, GRPOTraining):
        result, _ = train_grpo(policy, prompts, config, run, held_out=held_out, text=text)
    else:
        assert isinstance(config, ExpertIterationTraining)
        result, _ = train_by_expert_iteration(policy, prompts, config, run, held_out=held_out, text=text)
    return policy, result


def prompts_of(teaching: Teaching, dialogues: Sequence[Dialogue], template: ChatTemplate, room: int) -> Prompts:
    """The prompts of at most `room` tokens, and the model or judge that scores their answers.

    Raises:
        InputError: there is neither a reward model nor a judge; or there are dialogues, but all of their prompts are
            too long.
    """
    rows = template.prompts([dialogue.prompt for dialogue in dialogues])
    kept = [(dialogue, row) for dialogue, row in zip(dialogues, rows, strict=True) if len(row) <= room]
    if len(dialogues) and not kept:
        raise InputError(
            f"instructions: none of {len(dialogues):,} prompts has at most {room} tokens, so that the base's context "
            "has room for the answer; lower training.max_new_tokens, or choose a base with a longer context"
        )
    with_room, ids = [ranking for ranking, _ in kept], [row.tolist() for _, row in kept]
    judges = {} if teaching.judge is None else {GOLD: by_judge(teaching.judge, with_room, template)}
    if teaching.reward_model is not None:
        return Prompts(ids, by_reward_model(teaching.reward_model), judges)
    if GOLD not in judges:
        raise InputError("reads: these instructions have no gold judge; let the rung read a reward model")
    return Prompts(ids, judges[GOLD])


def token_pairs(template: ChatTemplate, rankings: Sequence[Ranking], context: int) -> list[TokenPair]:
    """The pairs of the rankings as ids, without pairs that exceed the context and pairs of equal ids."""
    pairs = [pair for ranking in rankings for pair in ranking.preferences()]
    prompts = template.prompts([pair.prompt for pair in pairs])
    texts = template.tokenizer.encode_lines([text for pair in pairs for text in (pair.chosen, pair.rejected)])
    results = []
    for prompt, chosen, rejected in zip(prompts, texts[::2], texts[1::2], strict=True):
        entry = TokenPair(prompt.tolist(), chosen.tolist(), rejected.tolist())
        if len(entry.prompt) + max(len(entry.chosen), len(entry.rejected)) < context and entry.chosen != entry.rejected:
            results.append(entry)
    return results
