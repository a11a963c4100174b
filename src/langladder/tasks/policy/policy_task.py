"""Base classes of policy tasks: a policy, its reference (a copy of the policy at the start), validation and rollouts.

On-policy methods (`OnPolicy`) learn from rollouts: some updates on the responses of one rollout, then the next rollout
from the new weights. A rollout is a function of (seed, its number, the weights at its step). It is drawn inside the
loss of its first minibatch, and checkpoints hold it until its last minibatch. So a run that is killed in between
continues with the same bits.

Each method defines the advantages of a rollout (`assess`) and the loss on a minibatch of it (`objective`). Training can
include plain text (PPO-ptx, Ouyang et al. 2022, equation 2): L = L_method + γ · mean −log P(w_t | w_<t)

Shape legend: P prompts, S samples of each, B = P·S responses, R tokens of the longest, M responses of a minibatch.
"""

import copy
from abc import abstractmethod
from collections.abc import Iterable
from typing import Self, TypedDict

import numpy as np
import torch

from langladder.data.prompts import RolloutPart
from langladder.decoding.rollouts import Prompts, Rollouts, Value, roll_out
from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.making import LAST, Row
from langladder.tasks.policy.responses import REWARD, Experience, checked_scores, measure, reference_log_probs, rewarded
from langladder.tasks.policy.settings import OnPolicyTraining, PolicyTraining
from langladder.tasks.task import MONITOR, Task


class PolicyTask(Task):
    """A policy, which is trained, and its reference: a copy of the policy when the task is created, never trained.

    There is no dropout, because the losses compare the two networks, and the policy before and after an update, token
    by token.
    """

    unit = "responses"

    def __init__(self, policy: NeuralLanguageModel, config: PolicyTraining, held_out: Prompts | None) -> None:
        super().__init__(config)
        self.model, self.settings, self.held_out = policy, config, held_out
        # In a tuple, so that it is neither trained nor written to checkpoints.
        self._reference = (copy.deepcopy(policy).requires_grad_(False).eval(),)
        self._measured: dict[str, float] = {}
        if config.keep != MONITOR:
            self.monitor, self.mode = (LAST if config.keep == "last" else REWARD), "max"

    @property
    def reference(self) -> NeuralLanguageModel:
        """The network that the policy is kept close to."""
        return self._reference[0]

    def train(self, mode: bool = True) -> Self:  # noqa: ARG002 - torch's
        """Keep all networks in evaluation mode."""
        return super().train(False)

    def on_fit_start(self) -> None:
        """Move the reference to the policy's device, and set all networks to evaluation mode."""
        super().on_fit_start()
        self.reference.to(self.device)
        self.eval()  # Lightning does not change the mode

    def measure(self, rows: np.ndarray) -> dict[str, float]:
        """Measure the policy on the validation prompts `rows`; see `responses`."""
        assert self.held_out is not None
        self._measured = measure(self.model, self.reference, self.held_out, rows, self.settings, self.seed)
        return self._measured

    def measured_at_start(self, seed: int) -> list[Row]:
        """The curve's row at step 0, where the policy equals the reference; none without validation prompts.

        A run that continues from a checkpoint measures it again, with the weights that the run started from.
        """
        if self.held_out is None or not len(self.held_out.ids):
            return []
        self.seed = seed
        rows = np.arange(min(len(self.held_out.ids), self.settings.validation_prompts))
        return [{"step": 0, "train_loss": None, "validation_loss": None, "lr": None} | self.measure(rows)]

    def measures(self) -> dict[str, float]:
        """The measures of the last validation."""
        return self._measured | {LAST: float(self.steps_done)}


def without_step(curve: list[Row]) -> list[Row]:
    """The rows of the curve, without the measure that only serves to keep the last weights."""
    return [{name: value for name, value in row.items() if name != LAST} for row in curve]


def copied(parts: Iterable[torch.Tensor], device: torch.device) -> list[torch.Tensor]:
    """Copies of a file's tensors. In the file they may be unaligned, which can change the last bit of products."""
    return [part.to(device, copy=True) for part in parts]


class Carried(TypedDict):
    """The content of a checkpoint besides the weights."""

    experience: tuple[torch.Tensor, ...] | None
    beta: float
    history: list[dict[str, float]]


class OnPolicy(PolicyTask):
    """Rollouts, minibatches, and the state between them.

    Attributes:
        history: a row for each rollout: rollout, step, reward (mean), kl (mean of Σ_t log π − log π_ref), beta, length,
            finished, one column for each judge of the prompts, and the means of the method's measures over its
            minibatches.
        beta: the KL coefficient at the next rollout.
    """

    settings: OnPolicyTraining

    def __init__(
        self, policy: NeuralLanguageModel, config: OnPolicyTraining, prompts: Prompts, held_out: Prompts | None
    ) -> None:
        super().__init__(policy, config, held_out)
        self.prompts, self.beta = prompts, config.beta
        self.experience: Experience | None = None
        self.history: list[dict[str, float]] = []

    def value(self) -> Value | None:
        """The value head that reads the policy's own states during sampling, for `assess`; None: there is none."""
        return None

    @abstractmethod
    def assess(self, rollouts: Rollouts, rewards: torch.Tensor, reference: torch.Tensor) -> Experience:
        """The training data of a rollout: rewards (B,), reference (B, R) log π_ref; S responses side by side."""

    @abstractmethod
    def objective(self, part: Experience) -> torch.Tensor:
        """The loss on a minibatch."""

    def loss(self, batch: RolloutPart) -> torch.Tensor:
        """The method's loss on a minibatch plus that of plain text. The first minibatch of a rollout draws the
        rollout."""
        if batch.position == 0:
            self.experience = self._draw(batch)
        assert self.experience is not None
        loss = self.objective(self.experience.take(torch.from_numpy(batch.rows).to(self.device)))
        if batch.text is None:
            return loss
        hidden, _ = self.model(batch.text[:, :-1])  # (W, L, D)
        # L = L_method + γ · mean −log P(w_t | w_<t)
        return loss + self.settings.pretraining.weight * self.model.loss(hidden, batch.text[:, 1:])

    def evaluate(self, batch: np.ndarray) -> tuple[float, int]:
        """The negative objective, −(reward − β KL), summed over the responses to the validation prompts."""
        figures = self.measure(batch)
        return -(figures[REWARD] - self.beta * figures["validation_kl"]) * len(batch), len(batch)

    def note(self, **measured: torch.Tensor) -> None:
        """Add a minibatch's measures to the row of its rollout. All minibatches have the same weight."""
        row, share = self.history[-1], 1 / self.settings.batches_per_rollout
        for name, value in measured.items():
            row[name] = row.get(name, 0.0) + share * float(value.detach())

    def carried(self) -> Carried:
        """The current rollout, β and the history."""
        experience = None if self.experience is None else tuple(self.experience)
        return {"experience": experience, "beta": self.beta, "history": self.history}

    def set_carried(self, carried: Carried) -> None:
        """Restore the state of `carried`."""
        kept = carried["experience"]
        self.experience = None if kept is None else Experience(*copied(kept, self.device))
        self.beta, self.history = carried["beta"], carried["history"]

    @torch.no_grad()
    def _draw(self, batch: RolloutPart) -> Experience:
        """Draw responses, score them, compute log π_ref, and call `assess`."""
        config = self.settings
        rows = np.repeat(batch.prompts, config.samples)  # (B,)
        rollouts = roll_out(
            self.model,
            [self.prompts.ids[row] for row in rows],
            max_new_tokens=config.max_new_tokens,
            seed=self.seed,
            step=batch.rollout,
            value=self.value(),
        )
        responses = rollouts.responses(rows)
        rewards = rewarded(self.prompts, responses, config.unfinished_reward).to(self.device)  # (B,)
        reference = reference_log_probs(self.reference, rollouts)  # (B, R)
        statistics = {
            "reward": rewards,
            "kl": (rollouts.log_probs - reference).sum(dim=1),
            "length": rollouts.lengths,
            "finished": rollouts.finished,
        } | {name: checked_scores(judge, responses, name) for name, judge in self.prompts.judges.items()}
        row = {"rollout": float(batch.rollout), "step": float(self.steps_done), "beta": self.beta}
        self.history.append(row | {name: float(values.double().mean()) for name, values in statistics.items()})
        return self.assess(rollouts, rewards, reference)
