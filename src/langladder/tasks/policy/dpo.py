"""Direct preference optimisation (Rafailov et al. 2023): preferences without a reward model and without sampling.

PPO would end with the policy π ∝ π_ref exp(R / β). DPO solves this for R and inserts it into the reward model's
pairwise loss. The result is a loss on pairs of responses, see `equations`. The log-probabilities under the reference
are computed once.

Shape legend: N pairs of a batch, R tokens of the longest response.
"""

from collections.abc import Sequence

import numpy as np
import torch

from langladder.data.preference_pairs import Answers, TokenPair, answers
from langladder.decoding.rollouts import Prompts
from langladder.models.language.neural import NeuralLanguageModel, scoring
from langladder.tasks.policy.equations import dpo_loss
from langladder.tasks.policy.policy_task import PolicyTask
from langladder.tasks.policy.responses import response_log_probs, response_states
from langladder.tasks.policy.settings import DPOTraining

ACCURACY = "validation_accuracy"
PART = 32
"""Number of pairs that the networks read at a time."""


class DPO(PolicyTask):
    """The loss on pairs. Validation also measures how many unseen pairs are ordered correctly."""

    unit = "pairs"
    settings: DPOTraining

    def __init__(self, policy: NeuralLanguageModel, config: DPOTraining, held_out: Prompts | None = None) -> None:
        super().__init__(policy, config, held_out)

    def loss(self, batch: Answers) -> torch.Tensor:
        """Mean loss of the pairs."""
        return self._compared(batch, self.settings.label_smoothing)[0].mean()

    def evaluate(self, batch: Answers) -> tuple[float, int]:
        """Summed loss without smoothing, and the number of pairs. On the first batch, the policy also answers
        validation prompts."""
        if not self.tally["total"] and self.held_out is not None:
            self.measure(np.arange(min(len(self.held_out.ids), self.settings.validation_prompts)))
        losses, margins = self._compared(batch, 0.0)
        self.tally["right"] += int((margins > 0).sum())
        self.tally["total"] += len(margins)
        return float(losses.sum(dtype=torch.float64)), len(losses)

    def measures(self) -> dict[str, float]:
        """See `PolicyTask.measures`; also the share of pairs with a positive margin β Δ."""
        return super().measures() | {ACCURACY: self.tally["right"] / max(1, self.tally["total"])}

    def _compared(self, batch: Answers, smoothing: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Losses and margins, (N,) each."""
        ours, theirs = summed_log_probs(self.model, batch).chunk(2), batch.reference.chunk(2)
        return dpo_loss(*ours, *theirs, beta=self.settings.beta, smoothing=smoothing)


def summed_log_probs(policy: NeuralLanguageModel, batch: Answers) -> torch.Tensor:
    """log π of each response, Σ_t log π(a_t | s_t): (2N,)."""
    states = response_states(policy, batch.tokens, batch.starts, batch.mask.shape[1])  # (2N, R, D)
    return response_log_probs(policy, states, batch.tokens, batch.starts, batch.mask)[0].sum(dim=1)


@torch.no_grad()
def references(policy: NeuralLanguageModel, pairs: Sequence[TokenPair]) -> np.ndarray:
    """Log-probabilities of both responses of each pair under a network, (P, 2) float32."""
    rows = [np.zeros((0, 2), dtype=np.float32)]
    device = next(policy.parameters()).device
    with scoring(policy, device.type):
        for first in range(0, len(pairs), PART):
            part = pairs[first : first + PART]
            batch = answers(part, np.zeros((len(part), 2)))
            batch = Answers(*(tensor.to(device) for tensor in batch))
            rows.append(summed_log_probs(policy, batch).view(2, -1).T.cpu().numpy())
    return np.concatenate(rows)
