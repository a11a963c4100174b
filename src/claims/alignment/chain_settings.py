"""Settings of experiments' small chains of GPT, SFT model, reward model and policy (`small_policies`)."""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from langladder.corpora.instructions.judge import NoiseConfig
from langladder.experiments.experiment import ExperimentConfig
from langladder.ground.schema import checked
from langladder.models.language.gpt import GPTConfig
from langladder.tasks.policy.settings import DPOTraining, PPOTraining
from langladder.tasks.settings import InstructionTraining, LMTrainingConfig, PretrainingMix, RewardTraining

Method = Literal["ppo", "dpo"]
PPO = {"lr": 0.0003, "prompts": 128, "minibatches": 4, "beta": 0.3, "whiten_rewards": True, "value_weight": 0.5}
"""The values of conf/align/ppo.yaml, with fewer prompts per rollout."""
LEAST = 28
"""Minimum number of dialogues at any effort: two of each kind."""


class ChainConfig(ExperimentConfig):
    """Settings of an experiment that aligns language models. Numbers of dialogues are those at effort 1 and above."""

    width: int = Field(default=64, ge=4)
    layers: int = Field(default=2, ge=1)
    heads: int = Field(default=4, ge=1)
    context: int = Field(default=64, ge=32)
    gpt_steps: int = Field(default=800, ge=1)
    gpt_batch_size: int = Field(default=16, ge=1)
    gpt_lr: float = Field(default=0.004, gt=0)
    demonstrations: int = Field(default=5000, ge=LEAST)
    sft_steps: int = Field(default=2500, ge=1)
    sft_batch_size: int = Field(default=32, ge=1)
    sft_lr: float = Field(default=0.004, gt=0)
    sft_repeats: int = Field(default=8, ge=1)  # maximum repeats per epoch of dialogues of rare kinds
    sft_text: float = Field(default=1.0, ge=0)  # γ of plain text, as much per step as for the GPT; 0: it is forgotten
    ranked: int = Field(default=6000, ge=LEAST)  # prompts with ranked answers
    samples: int = Field(default=4, ge=2)  # K answers per prompt
    noise: NoiseConfig = NoiseConfig()
    reward_epochs: float = Field(default=2.0, gt=0)  # fewer at smaller effort
    reward_batch_size: int = Field(default=16, ge=1)  # prompts
    reward_lr: float = Field(default=0.001, gt=0)
    likelihood: bool = True  # of reward models, see conf/reward/reward.yaml
    prompts: int = Field(default=1000, ge=LEAST)  # of rollouts
    max_new_tokens: int = Field(default=20, ge=1)
    ppo_steps: int = Field(default=160, ge=1)  # updates
    ppo: dict[str, object] = Field(default={})  # of `PPOTraining`
    dpo_steps: int = Field(default=200, ge=1)
    dpo: dict[str, object] = Field(default={})  # of `DPOTraining`
    test_prompts: int = Field(default=1000, ge=LEAST)  # number of prompts of test, and of unseen kinds

    def count(self, number: int) -> int:
        """This many dialogues at effort 1 and above, fewer below it."""
        return max(LEAST, self.fewer(number))

    def network(self, width: int | None = None) -> dict[str, object]:
        """Settings of a GPT."""
        arguments = {"context": self.context, "width": width or self.width, "layers": self.layers, "heads": self.heads}
        return arguments | {"dropout": 0.0}

    def pretraining(self) -> LMTrainingConfig:
        """Training settings of a GPT on the text."""
        steps = self.steps(self.gpt_steps)
        values: dict[str, object] = {"batch_size": self.gpt_batch_size, "sequence_length": self.context}
        return LMTrainingConfig.model_validate(_loop(self.gpt_lr, steps) | values)

    def tuning(self, **changes: Any) -> InstructionTraining:
        """Training settings on the demonstrations."""
        values = _loop(self.sft_lr, self.steps(changes.pop("max_steps", self.sft_steps)))
        values |= {"batch_size": self.sft_batch_size, "too_long": "leave_out", "repeats": self.sft_repeats}
        mix = {"weight": self.sft_text, "windows": self.gpt_batch_size, "length": self.context}
        values["pretraining"] = PretrainingMix.model_validate(mix)
        return InstructionTraining.model_validate(values | changes)

    def rewarding(self, prompts: int, **changes: Any) -> RewardTraining:
        """Training settings of a reward model on the rankings of this many prompts."""
        batch = changes.get("batch_size", self.reward_batch_size)
        steps = self.steps(round(changes.pop("epochs", self.reward_epochs) * prompts / batch))
        values = _loop(self.reward_lr, steps) | {"batch_size": batch, "too_long": "leave_out"}
        return RewardTraining.model_validate(values | changes)

    def aligning(self, method: Method, changes: Mapping[str, Any]) -> Any:
        """Alignment settings of a policy, with changes to single settings; `max_steps` is for effort 1."""
        values: dict[str, Any] = {"schedule": "constant", "max_new_tokens": self.max_new_tokens}
        if method == "ppo":
            values |= PPO | self.ppo | dict(changes)
        else:
            values |= {"lr": 0.0001, "batch_size": 32} | self.dpo | dict(changes)
        steps = values.get("max_steps", self.ppo_steps if method == "ppo" else self.dpo_steps)
        kind = PPOTraining if method == "ppo" else DPOTraining
        return kind.model_validate(values | {"max_steps": self.steps(steps)})

    @model_validator(mode="after")
    def _can_be_made(self) -> Self:
        checked(GPTConfig, self.network(), "network")
        self.aligning("ppo", {})
        self.aligning("dpo", {})
        if self.max_new_tokens >= self.context:
            raise ValueError(f"max_new_tokens={self.max_new_tokens} leaves no room in a context of {self.context}")
        return self


def _loop(lr: float, steps: int) -> dict[str, object]:
    values: dict[str, object] = {"optimizer": "adamw", "betas": [0.9, 0.98], "weight_decay": 0.01, "clip_norm": 1.0}
    return values | {"lr": lr, "max_steps": steps, "warmup_steps": steps // 10}
