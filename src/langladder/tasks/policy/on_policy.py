"""Learning from one's own samples: a rollout, some updates on its responses, the next rollout from the new weights.

A rollout is a function of (seed, its number, the weights at its step). It is drawn inside the loss of its first
minibatch and carried in the checkpoint until its last one, so that a run that is killed in between goes on with the
same bits.

Methods say what a rollout is worth (`assess`) and what is minimised on a minibatch of it (`objective`). Plain text may
be learnt beside: L = L_method + γ · mean −log P(w_t | w_<t)   (PPO-ptx, Ouyang et al. 2022, equation 2)

Shape legend: P prompts, S samples of each, B = P·S responses, R tokens of the longest, M responses of a minibatch.
"""

from abc import abstractmethod
from typing import Any

import numpy as np
import torch

from langladder.data.prompts import RolloutPart
from langladder.decoding.rollouts import Prompts, Rollouts, Value, roll_out
from langladder.models.language.neural import NeuralLanguageModel
from langladder.tasks.policy.policy_task import PolicyTask, copied
from langladder.tasks.policy.responses import REWARD, Experience, judged, reference_log_probs, rewarded
from langladder.tasks.policy.settings import OnPolicyTraining


class OnPolicy(PolicyTask):
    """Rollouts, minibatches, and what is carried between them.

    Attributes:
        history: a row for each rollout: rollout, step, reward (mean), kl (mean of Σ_t log π − log π_ref), beta,
            length, finished, one for each judge of the prompts, and what the method says of its minibatches (means).
        beta: the price of KL at the next rollout.
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
        """What reads values from the policy's own states while it draws, for `assess`; None: nothing does."""
        return None

    @abstractmethod
    def assess(self, rollouts: Rollouts, rewards: torch.Tensor, reference: torch.Tensor) -> Experience:
        """What is to be learnt from a rollout: rewards (B,), reference (B, R) log π_ref; S responses side by side."""

    @abstractmethod
    def objective(self, part: Experience) -> torch.Tensor:
        """The loss on a minibatch."""

    def loss(self, batch: RolloutPart) -> torch.Tensor:
        """The method's loss on a minibatch, and that of plain text; the first minibatch of a rollout draws it."""
        if batch.place == 0:
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
        found = self.measure(batch)
        return -(found[REWARD] - self.beta * found["validation_kl"]) * len(batch), len(batch)

    def note(self, **measured: torch.Tensor) -> None:
        """Add a minibatch's measures to the row of its rollout: each counts as much as the others."""
        row, share = self.history[-1], 1 / self.settings.batches_per_rollout
        for name, value in measured.items():
            row[name] = row.get(name, 0.0) + share * float(value.detach())

    def carried(self) -> Any:
        """The rollout that is being learnt from, β and the history."""
        experience = None if self.experience is None else tuple(self.experience)
        return {"experience": experience, "beta": self.beta, "history": self.history}

    def set_carried(self, carried: Any) -> None:
        """Put them back."""
        kept = carried["experience"]
        self.experience = None if kept is None else Experience(*copied(kept, self.device))
        self.beta, self.history = carried["beta"], carried["history"]

    @torch.no_grad()
    def _draw(self, batch: RolloutPart) -> Experience:
        """Roll out, judge, compare with the reference, assess."""
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
        told = {
            "reward": rewards,
            "kl": (rollouts.log_probs - reference).sum(dim=1),
            "length": rollouts.lengths,
            "finished": rollouts.finished,
        } | {name: judged(judge, responses, name) for name, judge in self.prompts.judges.items()}
        row = {"rollout": float(batch.rollout), "step": float(self.steps_done), "beta": self.beta}
        self.history.append(row | {name: float(values.double().mean()) for name, values in told.items()})
        return self.assess(rollouts, rewards, reference)
