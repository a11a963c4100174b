"""Responses read again, all tokens at once: the states before each of them, and what the policy says of them now.

The state after token t − 1 is what token t is drawn from, and what its value is read from.

Shape legend: B responses, T positions, R tokens of the longest response, D width, V vocabulary, N tokens in all.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import torch

from langladder.decoding.rollouts import GROUP, Rollouts, log_policy
from langladder.models.gpt import GPT
from langladder.models.neural import NeuralLanguageModel, scoring
from langladder.nn.packing import Layout
from langladder.tasks.policy.losses import entropy
from langladder.text.tokenize.specials import PAD


class Experience(NamedTuple):
    """What a rollout is learnt from.

    Attributes:
        tokens, starts, mask, log_probs: see `Rollouts`.
        reference: log π_ref of the response's tokens, (B, R).
        advantages, values, returns: (B, R) each, as far as the method has them, else 0.
    """

    tokens: torch.Tensor
    starts: torch.Tensor
    mask: torch.Tensor
    log_probs: torch.Tensor
    reference: torch.Tensor
    advantages: torch.Tensor
    values: torch.Tensor
    returns: torch.Tensor

    @classmethod
    def of(
        cls,
        rollouts: Rollouts,
        reference: torch.Tensor,
        advantages: torch.Tensor,
        values: torch.Tensor | None = None,
        returns: torch.Tensor | None = None,
    ) -> Self:
        """A rollout with its advantages (B, R), or (B,) where all tokens of a response have the same one."""
        if advantages.dim() == 1:
            advantages = advantages[:, None] * rollouts.mask
        nothing = torch.zeros_like(advantages)
        return cls(
            *rollouts[:4],
            reference,
            advantages,
            nothing if values is None else values,
            nothing if returns is None else returns,
        )

    def take(self, rows: torch.Tensor) -> Self:
        """Some responses (M,), without the padding that they do not need."""
        tokens, starts, *rest = (part.index_select(0, rows) for part in self)
        lengths = rest[0].sum(dim=1)  # (M,)
        T, R = int((starts + lengths).max()), int(lengths.max())
        return type(self)(tokens[:, :T], starts, *(part[:, :R] for part in rest))


def response_states(network: Callable[..., Any], tokens: torch.Tensor, starts: torch.Tensor, longest: int) -> Any:
    """The state before each token of the responses, (B, R, D): tokens (B, T), starts (B,), R = longest.

    A GPT reads the rows without their padding and last tokens, and its last layer makes no other states than these.
    What stands behind a response means nothing.
    """
    if isinstance(network, GPT):
        followed = tokens[:, 1:] != PAD  # (B, T − 1)
        asked = followed & (torch.arange(followed.shape[1], device=tokens.device) >= starts[:, None] - 1)
        packed, _ = network.packed(tokens[:, :-1].masked_fill(~followed, PAD), asked)  # (N, D)
        return Layout.of(torch.arange(longest, device=tokens.device) < asked.sum(dim=1, keepdim=True)).spread(packed)
    hidden, _ = network(tokens[:, :-1])
    places = (starts[:, None] - 1 + torch.arange(longest, device=tokens.device)).clamp(max=hidden.shape[1] - 1)
    return hidden.gather(1, places[..., None].expand(-1, -1, hidden.shape[2]))


def response_log_probs(
    policy: NeuralLanguageModel,
    states: torch.Tensor,
    tokens: torch.Tensor,
    starts: torch.Tensor,
    mask: torch.Tensor,
    *,
    entropies: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """log π of the responses' tokens (B, R), and the entropy of π before each, 0 if not asked for; both 0 behind.

    Args:
        states: (B, R, D), see `response_states`; tokens (B, T), starts (B,), mask (B, R).
    """
    log_probs = log_policy(policy, Layout.of(mask).pack(states))  # (N, V)
    places = (starts[:, None] + torch.arange(mask.shape[1], device=tokens.device)).clamp(max=tokens.shape[1] - 1)
    chosen = tokens.gather(1, places)[mask]  # (N,)
    nothing = torch.zeros(mask.shape, device=tokens.device)
    told = nothing.masked_scatter(mask, log_probs.gather(1, chosen[:, None])[:, 0])
    return told, nothing.masked_scatter(mask, entropy(log_probs)) if entropies else nothing


@torch.no_grad()
def told_by(policy: NeuralLanguageModel, rollouts: Rollouts) -> torch.Tensor:
    """log π of the responses' tokens under another network, without gradient: (B, R)."""
    parts = []
    with scoring(policy, rollouts.tokens.device.type):
        for tokens, starts, mask in zip(*(torch.split(part, GROUP) for part in rollouts[:3]), strict=True):
            states = response_states(policy, tokens, starts, mask.shape[1])
            parts.append(response_log_probs(policy, states, tokens, starts, mask)[0])
    return torch.cat(parts)
