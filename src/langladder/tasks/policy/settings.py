"""Settings of policy optimisation, apart from the tasks so that checking settings loads no Lightning."""

from typing import Literal, Protocol, Self

from pydantic import Field, model_validator

from langladder.ground.schema import Config
from langladder.models.making import TrainingSettings
from langladder.tasks.optimisation import TrainingConfig
from langladder.tasks.settings import PretrainingMix


class PolicyTraining(TrainingConfig):
    """What every policy is validated by: sampled responses to validation prompts, their reward, and KL to the base."""

    max_new_tokens: int = Field(default=32, ge=1, le=4096)
    """A response ends with EOS or after this many tokens."""
    unfinished_reward: float | None = None
    """The reward of responses without EOS, whatever the judge says of them; null: the judge's."""
    validation_prompts: int = Field(default=64, ge=1)
    """Validate on at most so many, the first ones."""
    keep: Literal["last", "validation_reward", "validation_loss"] = "last"
    """Which weights training ends with. The reward is that of the model of it: its best may be over-optimised."""

    @model_validator(mode="after")
    def _can_be_stopped(self) -> Self:
        if self.patience is not None and self.keep == "last":
            raise ValueError(
                f"patience={self.patience} with keep=last: patience needs the measure that selects the weights; set "
                "keep to validation_reward or validation_loss, or patience to null"
            )
        if self.devices * self.nodes > 1:
            raise ValueError(
                f"devices={self.devices}, nodes={self.nodes}: a policy is trained in one process; set both to 1"
            )
        if self.precision != "fp32":
            raise ValueError(f"precision={self.precision}: ratios of probabilities need full precision; set it to fp32")
        return self


class OnPolicyTraining(PolicyTraining):
    """Training on the policy's own samples: a rollout, some updates on it, the next rollout."""

    prompts: int = Field(default=16, ge=1)
    """Prompts of a rollout."""
    samples: int = Field(default=1, ge=1, le=1024)
    """Responses to each of them."""
    inner_epochs: int = Field(default=1, ge=1, le=100)
    """Passes over a rollout."""
    minibatches: int = Field(default=1, ge=1)
    """Updates a pass."""
    beta: float = Field(default=0.05, ge=0, le=1e6)
    """The price of KL to the base, in reward per nat; 0: no leash."""
    pretraining: PretrainingMix = PretrainingMix()

    @property
    def kept(self) -> int:
        """Responses of a rollout that are learnt from."""
        return self.prompts * self.samples

    @property
    def batches_per_rollout(self) -> int:
        """Minibatches between a rollout and the next one."""
        return self.inner_epochs * self.minibatches

    @model_validator(mode="after")
    def _divides(self) -> Self:
        if self.minibatches > self.kept:
            raise ValueError(f"minibatches={self.minibatches} exceeds the {self.kept} responses for training")
        if self.batches_per_rollout % self.accumulate:
            raise ValueError(
                f"accumulate={self.accumulate} does not divide inner_epochs × minibatches = {self.batches_per_rollout}:"
                " an update would learn from two rollouts"
            )
        return self


class AdaptiveBeta(Config):
    """β that follows the KL (Ziegler et al. 2019, section 2.2)."""

    target: float = Field(default=6.0, gt=0)
    """Nats per response."""
    gain: float = Field(default=0.1, gt=0, le=5)
    """K: β changes by at most 0.2 K a rollout."""


class PPOTraining(OnPolicyTraining):
    """Settings of PPO; values as in Ouyang et al. 2022 where they say them."""

    clip: float = Field(default=0.2, gt=0, lt=1)
    """ε of the ratio."""
    value_clip: float | None = Field(default=0.2, gt=0)
    """c of the values; null: not clipped."""
    value_weight: float = Field(default=0.1, ge=0, le=100)
    critic: Literal["own", "reward", "shared"] = "own"
    """Values are read by a copy of the policy, by a copy of the reward model, or from the policy's own states."""
    gamma: float = Field(default=1.0, ge=0, le=1)
    lam: float = Field(default=0.95, ge=0, le=1)
    """λ of the advantages: 1 compares whole returns, 0 one step."""
    estimator: Literal["k1", "k2", "k3"] = "k1"
    """Of the KL that a token pays for."""
    adaptive: AdaptiveBeta | None = None
    """null: β stays."""
    entropy_weight: float = Field(default=0.0, ge=0, le=100)
    whiten_rewards: bool = False
    """Scale the token rewards of a rollout to variance 1."""
    whiten_advantages: bool = True


class GRPOTraining(OnPolicyTraining):
    """Settings of GRPO."""

    samples: int = Field(default=8, ge=2, le=1024)
    """G."""
    clip: float = Field(default=0.2, gt=0, lt=1)
    scale_by_deviation: bool = True
    """false: Dr. GRPO's advantages."""
    mean: Literal["response", "token"] = "response"
    """Whether each response weighs the same, or each token."""


class ExpertIterationTraining(OnPolicyTraining):
    """Settings of expert iteration."""

    samples: int = Field(default=8, ge=2, le=1024)
    best: int = Field(default=1, ge=1)
    """So many of a prompt's responses are learnt from."""

    @property
    def kept(self) -> int:
        """See `OnPolicyTraining.kept`."""
        return self.prompts * self.best

    @model_validator(mode="after")
    def _chooses(self) -> Self:
        if self.best >= self.samples:
            raise ValueError(f"best={self.best} of samples={self.samples}: best must be smaller than samples")
        return self


class DPOTraining(PolicyTraining):
    """Settings of DPO."""

    batch_size: int = Field(default=16, ge=1)
    """Pairs a step."""
    beta: float = Field(default=0.1, gt=0, le=1e6)
    label_smoothing: float = Field(default=0.0, ge=0, lt=0.5)
    """The share of labels that are taken to be wrong."""


class AlignSettings(TrainingSettings[PolicyTraining], Protocol):
    """Settings of a rung that is aligned; `training` where its method trains."""

    @property
    def name(self) -> str:
        """What it is called, for messages."""

    @property
    def method(self) -> str:
        """ppo, grpo, expert_iteration, dpo or best_of_n."""
