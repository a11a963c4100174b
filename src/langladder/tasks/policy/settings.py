"""Settings of policy optimisation, in a separate module so that checking settings does not load Lightning."""

from typing import Literal, Protocol, Self

from pydantic import Field, model_validator

from langladder.ground.schema import Config
from langladder.models.making import TrainingSettings
from langladder.tasks.optimisation import TrainingConfig
from langladder.tasks.settings import PretrainingMix


class PolicyTraining(TrainingConfig):
    """Validation of every policy: sampled responses to validation prompts, their reward, and their KL to the base."""

    max_new_tokens: int = Field(default=32, ge=1, le=4096)
    """A response ends with EOS or after this many tokens."""
    unfinished_reward: float | None = None
    """The reward of responses without EOS, instead of the judge's; null: the judge's."""
    validation_prompts: int = Field(default=64, ge=1)
    """Validate on at most this many prompts, the first ones."""
    keep: Literal["last", "validation_reward", "validation_loss"] = "last"
    """Which weights training ends with. With a reward model, the weights of the highest reward may be
    over-optimised."""

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
    """Prompts per rollout."""
    samples: int = Field(default=1, ge=1, le=1024)
    """Responses to each prompt."""
    inner_epochs: int = Field(default=1, ge=1, le=100)
    """Passes over each rollout."""
    minibatches: int = Field(default=1, ge=1)
    """Updates per pass."""
    beta: float = Field(default=0.05, ge=0, le=1e6)
    """β, the penalty of the KL to the base, in reward per nat; 0: no penalty."""
    pretraining: PretrainingMix = PretrainingMix()

    @property
    def kept(self) -> int:
        """Number of responses of a rollout that training uses."""
        return self.prompts * self.samples

    @property
    def batches_per_rollout(self) -> int:
        """Minibatches from one rollout to the next."""
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
    """K: β changes by at most a factor of 1 ± 0.2 K per rollout."""


class PPOTraining(OnPolicyTraining):
    """Settings of PPO. Defaults are those of Ouyang et al. 2022 where the paper states them."""

    clip: float = Field(default=0.2, gt=0, lt=1)
    """ε, the clipping range of the ratio."""
    value_clip: float | None = Field(default=0.2, gt=0)
    """c, the clipping range of the values; null: not clipped."""
    value_weight: float = Field(default=0.1, ge=0, le=100)
    critic: Literal["own", "reward", "shared"] = "own"
    """The critic: own is a copy of the policy, reward a copy of the reward model, shared reads the policy's own
    states."""
    gamma: float = Field(default=1.0, ge=0, le=1)
    lam: float = Field(default=0.95, ge=0, le=1)
    """λ of the advantages: 1 compares whole returns, 0 one step."""
    estimator: Literal["k1", "k2", "k3"] = "k1"
    """The estimator of the KL penalty of a token."""
    adaptive: AdaptiveBeta | None = None
    """How β adapts to the KL; null: β is constant."""
    entropy_weight: float = Field(default=0.0, ge=0, le=100)
    whiten_rewards: bool = False
    """Scale the token rewards of a rollout to variance 1."""
    whiten_advantages: bool = True


class GRPOTraining(OnPolicyTraining):
    """Settings of GRPO."""

    samples: int = Field(default=8, ge=2, le=1024)
    """G, the responses per prompt."""
    clip: float = Field(default=0.2, gt=0, lt=1)
    scale_by_deviation: bool = True
    """Whether advantages are divided by the group's standard deviation; false: Dr. GRPO."""
    mean: Literal["response", "token"] = "response"
    """What has equal weight in the loss: each response, or each token."""


class ExpertIterationTraining(OnPolicyTraining):
    """Settings of expert iteration."""

    samples: int = Field(default=8, ge=2, le=1024)
    best: int = Field(default=1, ge=1)
    """Number of responses per prompt that training uses."""

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
    """Pairs per step."""
    beta: float = Field(default=0.1, gt=0, le=1e6)
    label_smoothing: float = Field(default=0.0, ge=0, lt=0.5)
    """The assumed share of wrong labels."""


class AlignSettings(TrainingSettings[PolicyTraining], Protocol):
    """Settings of an aligned rung, with `training` if its method trains."""

    @property
    def name(self) -> str:
        """The rung's name, for messages."""

    @property
    def method(self) -> str:
        """ppo, grpo, expert_iteration, dpo or best_of_n."""
