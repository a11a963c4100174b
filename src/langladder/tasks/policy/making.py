"""Aligning an instructed model by the method of its settings: from dialogues and rankings to what it trains on.

best_of_n leaves the base's weights as they are: what is chosen is chosen when it answers.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from langladder.data.preference_pairs import TokenPair
from langladder.decoding.judging import Judge, by_judge, by_reward_model
from langladder.decoding.rollouts import Prompts
from langladder.ground.errors import InputError
from langladder.models.language.instructed import InstructedGPT, read_instructed
from langladder.models.making import Run, TrainingResult
from langladder.models.reward import RewardModel
from langladder.tasks.policy.training import train_by_expert_iteration, train_dpo, train_grpo, train_ppo
from langladder.text.labelled.instructions import Dialogue, Ranking
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.storage.token_streams import TokenStream

GOLD = "gold"
"""What the gold judge's rewards are called beside the proxy's."""


class Teaching(NamedTuple):
    """What a policy may learn from.

    Attributes:
        train, validation: dialogues, whose prompts alone are used.
        judge: of texts; it scores where there is no reward model, and is watched where there is one.
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
    settings: Any,
    run: Run,
) -> tuple[InstructedGPT, TrainingResult]:
    """Begin with the InstructedGPT in `base`, whose tokenizer lies beside it, and align it.

    Args:
        settings: what the rung's file says: `name`, `method`, and `training` where the method trains.

    Raises:
        InputError: nobody scores the answers, the reward model has another tokenizer; see also the method's training.
    """
    policy, tokenizer = read_instructed(base)
    if teaching.reward_model is not None:
        teaching.reward_model.check_policy(tokenizer, settings.name)
    if settings.method == "best_of_n":
        return policy, TrainingResult([], {"seconds": 0.0})
    template, config = ChatTemplate(tokenizer), settings.training
    room = policy.context - config.max_new_tokens
    if settings.method == "dpo":
        train, held_out = (token_pairs(template, side, policy.context) for side in teaching.preferences)
        watched = None if teaching.judge is None else prompts_of(teaching, teaching.validation, template, room)
        return policy, train_dpo(policy, train, held_out, config, run, watched=watched)
    prompts, watched = (prompts_of(teaching, side, template, room) for side in (teaching.train, teaching.validation))
    if settings.method == "ppo":
        more: Any = {"reward_model": teaching.reward_model, "text": teaching.text}
        return policy, train_ppo(policy, prompts, config, run, watched=watched, **more)[0]
    trained: Any = {"grpo": train_grpo, "expert_iteration": train_by_expert_iteration}[settings.method]
    return policy, trained(policy, prompts, config, run, watched=watched, text=teaching.text)[0]


def prompts_of(teaching: Teaching, dialogues: Sequence[Dialogue], template: ChatTemplate, room: int) -> Prompts:
    """The prompts of at most `room` tokens, and who scores their answers.

    Raises:
        InputError: neither a reward model nor a judge; or there are dialogues, and room for none of their prompts.
    """
    rows = template.prompts([one.prompt for one in dialogues])
    kept = [(one, row) for one, row in zip(dialogues, rows, strict=True) if len(row) <= room]
    if len(dialogues) and not kept:
        raise InputError(
            f"instructions: none of {len(dialogues):,} prompts has at most {room} tokens, so that the base's context "
            "has room for the answer; lower training.max_new_tokens, or choose a base with a longer context"
        )
    asked, ids = [one for one, _ in kept], [row.tolist() for _, row in kept]
    judges = {} if teaching.judge is None else {GOLD: by_judge(teaching.judge, asked, template)}
    if teaching.reward_model is not None:
        return Prompts(ids, by_reward_model(teaching.reward_model), judges)
    if GOLD not in judges:
        raise InputError("reads: these instructions have no gold judge; let the rung read a reward model")
    return Prompts(ids, judges[GOLD])


def token_pairs(template: ChatTemplate, rankings: Sequence[Ranking], context: int) -> list[TokenPair]:
    """The pairs of rankings as ids; those that the context has no room for, or whose ids are equal, are left out."""
    pairs = [pair for one in rankings for pair in one.preferences()]
    prompts = template.prompts([pair.prompt for pair in pairs])
    texts = template.tokenizer.encode_lines([text for pair in pairs for text in (pair.chosen, pair.rejected)])
    found = []
    for prompt, chosen, rejected in zip(prompts, texts[::2], texts[1::2], strict=True):
        one = TokenPair(prompt.tolist(), chosen.tolist(), rejected.tolist())
        if len(one.prompt) + max(len(one.chosen), len(one.rejected)) < context and one.chosen != one.rejected:
            found.append(one)
    return found
