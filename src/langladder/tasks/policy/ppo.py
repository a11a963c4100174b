"""Proximal policy optimisation on the rewards of a model of human preferences.

(Schulman et al. 2017; for language models Ziegler et al. 2019, Stiennon et al. 2020, Ouyang et al. 2022, section 3.5.)

    L = L_π + c_V L_V − c_H mean H(π(·|s_t))      and, with plain text, + γ L_text

Rewards, advantages, β, L_π and L_V are defined in `equations`. Differences from Ouyang et al., for small models: the
critic can share the policy's body, and it always has the policy's tokenizer.

The critic estimates the value of a state, the expected future reward, from the state before each token of a response.
It is either a separate network, or a head on the policy's own states, so that one body learns both. A separate network
starts as a copy of the policy or of the reward model (as in Ouyang et al. 2022, section C.4).

Shape legend: B responses, T positions, R tokens of the longest response, D width.
"""

import copy

import torch
from torch import nn

from langladder.decoding.rollouts import Prompts, Rollouts, Value
from langladder.models.fine_tuned import start_linear
from langladder.models.language.neural import NeuralLanguageModel, scoring
from langladder.models.reward import RewardModel
from langladder.tasks.policy.equations import (
    adapted,
    clipped_share,
    clipped_surrogate,
    clipped_value_loss,
    gae,
    kl_estimate,
    token_mean,
    token_rewards,
    whiten,
)
from langladder.tasks.policy.policy_task import OnPolicy
from langladder.tasks.policy.responses import Experience, response_log_probs, response_states
from langladder.tasks.policy.settings import PPOTraining


class Critic(nn.Module):
    """V(s) = w · h + b.

    Args:
        body: a network from tokens (B, T) to states (B, T, D) and a second result, which is ignored; None: the critic
            reads the policy's states.
        head: from D to 1.
    """

    def __init__(self, body: nn.Module | None, head: nn.Linear) -> None:
        super().__init__()
        self.body, self.head = body, head

    def forward(
        self, tokens: torch.Tensor, starts: torch.Tensor, longest: int, states: torch.Tensor | None
    ) -> torch.Tensor:
        """Values (B, R) before each token of the responses; `states` (B, R, D) are the policy's."""
        if self.body is not None:
            states = response_states(self.body, tokens, starts, longest)
        assert states is not None
        return self.of_states(states)

    def of_states(self, states: torch.Tensor) -> torch.Tensor:
        """Values (…) of states (…, D)."""
        # V(s) = w · h + b
        values: torch.Tensor = self.head(states)[..., 0]
        return values


def make_critic(policy: NeuralLanguageModel, *, shared: bool) -> Critic:
    """A critic that starts from the policy's weights. Only its last layer is new, drawn from torch's random state."""
    head = start_linear(nn.Linear(policy.head.width, 1))
    if shared:
        return Critic(None, head)
    return Critic(_states_of(policy), head)


def critic_from(reward: RewardModel) -> Critic:
    """A critic that starts as a copy of the reward model, including its last layer. No weights are shared."""
    head = nn.Linear(reward.head.in_features, 1)
    with torch.no_grad():
        head.weight.copy_(reward.head.weight)
        head.bias.copy_(reward.bias)
    return Critic(_states_of(reward.gpt), head)


def _states_of(network: nn.Module) -> nn.Module:
    """A copy without the output layer, which is not used."""
    body = copy.deepcopy(network)
    if hasattr(body, "head"):
        del body.head
    return body


class PPO(OnPolicy):
    """The clipped surrogate loss on generalised advantages, with a critic."""

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
        """See `OnPolicy.assess`. Also adapts β for the next rollout."""
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
        terms = (log_probs, part.log_probs, part.advantages)
        policy_loss = token_mean(clipped_surrogate(*terms, clip=config.clip), mask)
        value_loss = token_mean(clipped_value_loss(values, part.values, part.returns, clip=config.value_clip), mask)
        entropy = token_mean(entropies, mask)
        self.note(
            policy_loss=policy_loss,
            value_loss=value_loss,
            entropy=entropy,
            clipped=token_mean(clipped_share(*terms, clip=config.clip), mask),
            moved=token_mean(kl_estimate(part.log_probs, log_probs, "k2"), mask),
        )
        # L = L_π + c_V L_V − c_H H
        return policy_loss + config.value_weight * value_loss - config.entropy_weight * entropy

    @torch.no_grad()
    def _values(self, rollouts: Rollouts) -> torch.Tensor:
        """V of the states that the tokens were drawn from, (B, R), 0 after the response."""
        tokens, starts, mask = rollouts[:3]
        with scoring(self, tokens.device.type):
            states = None
            if self.critic.body is None:
                states = response_states(self.model, tokens, starts, mask.shape[1])
            values: torch.Tensor = self.critic(tokens, starts, mask.shape[1], states)
        return torch.where(mask, values, 0.0)
