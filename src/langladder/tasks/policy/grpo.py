"""Group relative policy optimisation: PPO without a critic (Shao et al. 2024, DeepSeekMath, section 4.1).

    L = (1/B) Σ_i (1/|y_i|) Σ_t [ −min(ρ_t Â_i, clip(ρ_t, 1 − ε, 1 + ε) Â_i) + β k3_t ]

Each of the G responses to a prompt is compared with the others, see `equations.group_advantages`. The KL to the
reference is in the loss, not in the reward. With mean=token, all tokens of a minibatch have the same weight. A long bad
answer then does not cost less than a short one (Yu et al. 2025, DAPO, section 3.3).
"""

import torch

from langladder.decoding.rollouts import Rollouts
from langladder.tasks.policy.equations import (
    clipped_share,
    clipped_surrogate,
    group_advantages,
    kl_estimate,
    response_mean,
    token_mean,
)
from langladder.tasks.policy.policy_task import OnPolicy
from langladder.tasks.policy.responses import Experience, response_log_probs, response_states
from langladder.tasks.policy.settings import GRPOTraining


class GRPO(OnPolicy):
    """The clipped surrogate loss on advantages within each group of responses."""

    settings: GRPOTraining

    def assess(self, rollouts: Rollouts, rewards: torch.Tensor, reference: torch.Tensor) -> Experience:
        """See `OnPolicy.assess`."""
        config = self.settings
        advantages = group_advantages(rewards, config.samples, scale=config.scale_by_deviation)  # (B,)
        return Experience.of(rollouts, reference, advantages)

    def objective(self, part: Experience) -> torch.Tensor:
        """See `OnPolicy.objective`."""
        config, mask = self.settings, part.mask
        states = response_states(self.model, part.tokens, part.starts, mask.shape[1])  # (M, R, D)
        log_probs, _ = response_log_probs(self.model, states, part.tokens, part.starts, mask)
        terms = (log_probs, part.log_probs, part.advantages)
        kl = kl_estimate(log_probs, part.reference, "k3")  # (M, R)
        self.note(clipped=token_mean(clipped_share(*terms, clip=config.clip), mask), k3=token_mean(kl, mask))
        mean = response_mean if config.mean == "response" else token_mean
        return mean(clipped_surrogate(*terms, clip=config.clip) + config.beta * kl, mask)
