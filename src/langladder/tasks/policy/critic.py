"""What a state is worth: the reward that is still to come, read from the state before each token of a response.

The values come from a network of the critic's own, which begins as a copy of the policy's or of the reward model (so in
Ouyang et al. 2022, section C.4), or from the policy's own states, so that one body learns both.

Shape legend: B responses, T positions, R tokens of the longest response, D width.
"""

import copy
from typing import Any, cast

import torch
from torch import nn

from langladder.models.growing import start_linear
from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.reward import RewardModel
from langladder.tasks.policy.responses import response_states


class Critic(nn.Module):
    """V(s) = w · h + b.

    Args:
        body: a network from tokens (B, T) to states (B, T, D) and something else; None: the policy's states are read.
        head: from D to 1.
    """

    def __init__(self, body: nn.Module | None, head: nn.Linear) -> None:
        super().__init__()
        self.body, self.head = body, head

    def forward(
        self, tokens: torch.Tensor, starts: torch.Tensor, longest: int, states: torch.Tensor | None
    ) -> torch.Tensor:
        """Values (B, R) before each token of the responses; states (B, R, D) are the policy's."""
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
    """A critic that begins from the policy; only its last layer is new, drawn from torch's random state."""
    head = start_linear(nn.Linear(policy.head.width, 1))
    if shared:
        return Critic(None, head)
    return Critic(_states_of(policy), head)


def critic_from(reward: RewardModel) -> Critic:
    """A critic that begins as the reward model, its last layer included; nothing is shared with it."""
    head = nn.Linear(reward.head.in_features, 1)
    with torch.no_grad():
        head.weight.copy_(reward.head.weight)
        head.bias.copy_(reward.bias)
    return Critic(_states_of(reward.gpt), head)


def _states_of(network: nn.Module) -> nn.Module:
    """A copy without its output layer, which nothing reads."""
    body: Any = copy.deepcopy(network)
    body._modules.pop("head", None)
    return cast("nn.Module", body)
