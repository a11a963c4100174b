"""Expert iteration: sample responses, keep the best, train on them, repeat.

(Anthony et al. 2017; for language models RAFT, Dong et al. 2023, and ReST, Gulcehre et al. 2023.) The expert is
best-of-n sampling from the current policy; the policy then imitates it. Unlike these papers, each round draws new
responses from the latest policy, and the loss has a KL term to the reference:

    L = −mean log π(a_t | s_t) + β mean k3_t      over the tokens of the S' best of S responses to each prompt
"""

import torch

from langladder.decoding.rollouts import Rollouts
from langladder.tasks.policy.equations import kl_estimate, token_mean
from langladder.tasks.policy.policy_task import OnPolicy
from langladder.tasks.policy.responses import Experience, response_log_probs, response_states
from langladder.tasks.policy.settings import ExpertIterationTraining


class ExpertIteration(OnPolicy):
    """Cross-entropy on the best responses of each prompt."""

    settings: ExpertIterationTraining

    def assess(self, rollouts: Rollouts, rewards: torch.Tensor, reference: torch.Tensor) -> Experience:
        """See `OnPolicy.assess`. Keeps only the best responses to each prompt; of equal rewards, the earlier sample."""
        config = self.settings
        order = rewards.view(-1, config.samples).argsort(dim=1, descending=True, stable=True)  # (P, S)
        first = torch.arange(0, len(rewards), config.samples, device=rewards.device)[:, None]  # (P, 1)
        best = (first + order[:, : config.best]).flatten()  # (P · S',)
        self.history[-1]["best_reward"] = float(rewards[best].double().mean())
        return Experience.of(rollouts, reference, rewards).take(best)

    def objective(self, part: Experience) -> torch.Tensor:
        """See `OnPolicy.objective`."""
        states = response_states(self.model, part.tokens, part.starts, part.mask.shape[1])  # (M, R, D)
        log_probs, _ = response_log_probs(self.model, states, part.tokens, part.starts, part.mask)
        kl = kl_estimate(log_probs, part.reference, "k3")  # (M, R)
        self.note(k3=token_mean(kl, part.mask))
        # L = −log π(a) + β k3
        return token_mean(self.settings.beta * kl - log_probs, part.mask)
