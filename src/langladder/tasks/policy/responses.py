"""Responses read again, all tokens at once: the states before each of them, their log-probabilities, how good they are.

The state after token t − 1 is what token t is drawn from, and what its value is read from.

A policy is validated by its answers to validation prompts, always drawn with the same random numbers:

    validation_reward     mean reward, by the judge that is learnt from (the proxy)
    validation_<judge>    mean of what another judge says (the gold reward)
    validation_kl         KL(π ‖ π_ref) of whole responses, nats: Σ_t KL(π(·|s_t) ‖ π_ref(·|s_t)), mean over responses
    validation_length     tokens of a response, its EOS included
    validation_finished   share of the responses that end with EOS

The KL is summed exactly over the vocabulary at every state that was reached; the states are drawn. That has the same
mean as Σ_t log π(a_t)/π_ref(a_t) and a smaller variance.

Shape legend: B responses, T positions, R tokens of the longest response, D width, V vocabulary, N tokens in all.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import nn

from langladder.decoding.rollouts import GROUP, Prompts, Response, Rollouts, Score, log_policy, roll_out
from langladder.ground.errors import InputError
from langladder.models.language.gpt import GPT
from langladder.models.language.neural import NeuralLanguageModel, scoring
from langladder.nn.packing import Layout
from langladder.tasks.policy.equations import entropy, exact_kl
from langladder.tasks.policy.settings import PolicyTraining
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


def response_states(network: nn.Module, tokens: torch.Tensor, starts: torch.Tensor, longest: int) -> torch.Tensor:
    """The state before each token of the responses, (B, R, D): tokens (B, T), starts (B,), R = longest.

    A GPT reads the rows without their padding and last tokens, and its last layer makes no other states than these.
    What stands behind a response means nothing.
    """
    if isinstance(network, GPT):
        followed = tokens[:, 1:] != PAD  # (B, T − 1)
        wanted = followed & (torch.arange(followed.shape[1], device=tokens.device) >= starts[:, None] - 1)
        packed, _ = network.packed(tokens[:, :-1].masked_fill(~followed, PAD), wanted)  # (N, D)
        return Layout.of(torch.arange(longest, device=tokens.device) < wanted.sum(dim=1, keepdim=True)).spread(packed)
    hidden, _ = network(tokens[:, :-1])
    positions = (starts[:, None] - 1 + torch.arange(longest, device=tokens.device)).clamp(max=hidden.shape[1] - 1)
    states: torch.Tensor = hidden.gather(1, positions[..., None].expand(-1, -1, hidden.shape[2]))
    return states


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
    positions = (starts[:, None] + torch.arange(mask.shape[1], device=tokens.device)).clamp(max=tokens.shape[1] - 1)
    chosen = tokens.gather(1, positions)[mask]  # (N,)
    nothing = torch.zeros(mask.shape, device=tokens.device)
    chosen_log_probs = nothing.masked_scatter(mask, log_probs.gather(1, chosen[:, None])[:, 0])
    return chosen_log_probs, nothing.masked_scatter(mask, entropy(log_probs)) if entropies else nothing


@torch.no_grad()
def reference_log_probs(policy: NeuralLanguageModel, rollouts: Rollouts) -> torch.Tensor:
    """log π of the responses' tokens under another network, without gradient: (B, R)."""
    parts = []
    with scoring(policy, rollouts.tokens.device.type):
        for tokens, starts, mask in zip(*(torch.split(part, GROUP) for part in rollouts[:3]), strict=True):
            states = response_states(policy, tokens, starts, mask.shape[1])
            parts.append(response_log_probs(policy, states, tokens, starts, mask)[0])
    return torch.cat(parts)


REWARD = "validation_reward"
VALIDATION_STEP = 2**31
"""The step of the random numbers: no rollout's."""


def checked_scores(score: Score, responses: Sequence[Response], what: str = "score") -> torch.Tensor:
    """What a judge says of N responses, (N,) float32 on the CPU.

    Raises:
        InputError: it says more or less than N numbers, or one that is not finite.
    """
    rewards = torch.as_tensor(score(responses), dtype=torch.float32).detach().cpu()
    if rewards.shape != (len(responses),) or not bool(rewards.isfinite().all()):
        raise InputError(
            f"{what}: gave {tuple(rewards.shape)} for {len(responses)} responses; expected one finite number for each"
        )
    return rewards


def rewarded(prompts: Prompts, responses: Sequence[Response], unfinished: float | None) -> torch.Tensor:
    """The rewards to learn from, (N,): the judge's, or `unfinished` where a response has no EOS."""
    rewards = checked_scores(prompts.score, responses)
    if unfinished is None:
        return rewards
    return torch.where(torch.tensor([one.finished for one in responses]), rewards, unfinished)


@torch.no_grad()
def sequence_kl(policy: NeuralLanguageModel, reference: NeuralLanguageModel, rollouts: Rollouts) -> torch.Tensor:
    """Σ_t KL(π(·|s_t) ‖ π_ref(·|s_t)) of each response, (B,) float32."""
    sums = []
    device = rollouts.tokens.device.type
    with scoring(policy, device), scoring(reference, device):
        for tokens, starts, mask in zip(*(torch.split(part, GROUP) for part in rollouts[:3]), strict=True):
            ours, theirs = (
                log_policy(network, response_states(network, tokens, starts, mask.shape[1])[mask])  # (N, V)
                for network in (policy, reference)
            )
            by_token = torch.zeros(mask.shape, device=mask.device).masked_scatter(mask, exact_kl(ours, theirs))
            sums.append(by_token.sum(dim=1))
    return torch.cat(sums)


def measure(
    policy: NeuralLanguageModel,
    reference: NeuralLanguageModel,
    prompts: Prompts,
    rows: np.ndarray,
    config: PolicyTraining,
    seed: int,
) -> dict[str, float]:
    """The measures of this module, of one response to each of the prompts `rows` (B,)."""
    ids = [prompts.ids[row] for row in rows]
    rollouts = roll_out(policy, ids, max_new_tokens=config.max_new_tokens, seed=seed, step=VALIDATION_STEP)
    responses = rollouts.responses(rows)
    found = {
        REWARD: rewarded(prompts, responses, config.unfinished_reward),
        "validation_kl": sequence_kl(policy, reference, rollouts),
        "validation_length": rollouts.lengths,
        "validation_finished": rollouts.finished,
    } | {f"validation_{name}": checked_scores(judge, responses, name) for name, judge in prompts.judges.items()}
    return {name: float(values.double().mean()) for name, values in found.items()}
