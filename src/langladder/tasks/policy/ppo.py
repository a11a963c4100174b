"""Proximal policy optimisation on the rewards of a model of human preferences.

(Schulman et al. 2017; for language models Ziegler et al. 2019, Stiennon et al. 2020, Ouyang et al. 2022, section 3.5.)

    L = L_π + c_V L_V − c_H mean H(π(·|s_t))      and, with plain text beside, + γ L_text

Rewards, advantages and β: `advantages`. L_π and L_V: `losses`. It differs from Ouyang et al. in what a small model
allows: the critic may share the policy's body, and reads the same tokenizer in any case.

Shape legend: B responses, R tokens of the longest, D width.
"""

import torch

from langladder.decoding.rollouts import Prompts, Rollouts, Value
from langladder.models.language.neural import NeuralLanguageModel, scoring
from langladder.tasks.policy.advantages import adapted, gae, kl_estimate, token_rewards, whiten
from langladder.tasks.policy.critic import Critic
from langladder.tasks.policy.losses import clipped_share, clipped_surrogate, clipped_value_loss, token_mean
from langladder.tasks.policy.on_policy import OnPolicy
from langladder.tasks.policy.responses import Experience, response_log_probs, response_states
from langladder.tasks.policy.settings import PPOTraining


class PPO(OnPolicy):
    """The clipped surrogate on generalised advantages, and a critic."""

    settings: PPOTraining

    def __init__(
        self,
        policy: NeuralLanguageModel,
        critic: Critic,
        config: PPOTraining,
        prompts: Prompts,
        held_out: Prompts | None = None,
    ) -> None:
        super().__init__(policy, config, prompts, held_out)
        self.critic = critic

    def value(self) -> Value | None:
        """See `OnPolicy.value`."""
        return self.critic.of_states if self.critic.body is None else None

    def assess(self, rollouts: Rollouts, rewards: torch.Tensor, reference: torch.Tensor) -> Experience:
        """See `OnPolicy.assess`; β is adapted for the next rollout."""
        config, mask = self.settings, rollouts.mask
        kl = kl_estimate(rollouts.log_probs, reference, config.estimator)  # (B, R)
        by_token = token_rewards(kl, rewards, mask, self.beta)
        if config.whiten_rewards:
            by_token = whiten(by_token, mask, centre=False)
        values = self._values(rollouts) if rollouts.values is None else rollouts.values
        advantages, returns = gae(by_token, values, mask, gamma=config.gamma, lam=config.lam)
        if config.whiten_advantages:
            advantages = whiten(advantages, mask)
        if config.adaptive is not None:
            spent = float((rollouts.log_probs - reference).sum(dim=1).mean())
            self.beta = adapted(self.beta, spent, target=config.adaptive.target, gain=config.adaptive.gain)
        return Experience.of(rollouts, reference, advantages, values, returns)

    def objective(self, part: Experience) -> torch.Tensor:
        """See `OnPolicy.objective`."""
        config, mask, longest = self.settings, part.mask, part.mask.shape[1]
        states = response_states(self.model, part.tokens, part.starts, longest)  # (B, R, D)
        log_probs, entropies = response_log_probs(
            self.model, states, part.tokens, part.starts, mask, entropies=bool(config.entropy_weight)
        )
        values = self.critic(part.tokens, part.starts, longest, states)
        told = (log_probs, part.log_probs, part.advantages)
        policy_loss = token_mean(clipped_surrogate(*told, clip=config.clip), mask)
        value_loss = token_mean(clipped_value_loss(values, part.values, part.returns, clip=config.value_clip), mask)
        entropy = token_mean(entropies, mask)
        self.note(
            policy_loss=policy_loss,
            value_loss=value_loss,
            entropy=entropy,
            clipped=token_mean(clipped_share(*told, clip=config.clip), mask),
            moved=token_mean(kl_estimate(part.log_probs, log_probs, "k2"), mask),
        )
        # L = L_π + c_V L_V − c_H H
        return policy_loss + config.value_weight * value_loss - config.entropy_weight * entropy

    @torch.no_grad()
    def _values(self, rollouts: Rollouts) -> torch.Tensor:
        """V of the states that the tokens were drawn from, (B, R), 0 behind."""
        tokens, starts, mask = rollouts[:3]
        with scoring(self, tokens.device.type):
            states = None
            if self.critic.body is None:
                states = response_states(self.model, tokens, starts, mask.shape[1])
            values: torch.Tensor = self.critic(tokens, starts, mask.shape[1], states)
        return torch.where(mask, values, 0.0)
