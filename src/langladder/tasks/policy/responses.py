"""Responses in one pass over all their tokens: the state before each token, log-probabilities, and validation measures.

Token t is drawn from the state after token t − 1, and its value is computed from the same state.

Validation uses the policy's answers to validation prompts, always drawn with the same random numbers:

    validation_reward     mean reward by the judge that training uses (the proxy)
    validation_<judge>    mean reward by another judge (the gold reward)
    validation_kl         KL(π ‖ π_ref) of whole responses, nats: Σ_t KL(π(·|s_t) ‖ π_ref(·|s_t)), mean over responses
    validation_length     tokens of a response, including its EOS
    validation_finished   share of the responses that end with EOS

At each sampled state, the KL is an exact sum over the vocabulary. This has the same mean as Σ_t log π(a_t)/π_ref(a_t)
and a smaller variance.

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
    """The training data of a rollout.

    Attributes:
        tokens, starts, mask, log_probs: see `Rollouts`.
        reference: log π_ref of the response's tokens, (B, R).
        advantages, values, returns: (B, R) each; 0 if the method does not have them.
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
        """A rollout with its advantages (B, R), or (B,) if all tokens of a response have the same advantage."""
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
        """A selection of responses (M,), padded only to the longest of them."""
        tokens, starts, *rest = (part.index_select(0, rows) for part in self)
        lengths = rest[0].sum(dim=1)  # (M,)
        T, R = int((starts + lengths).max()), int(lengths.max())
        return type(self)(tokens[:, :T], starts, *(part[:, :R] for part in rest))


def response_states(network: nn.Module, tokens: torch.Tensor, starts: torch.Tensor, longest: int) -> torch.Tensor:
    """The state before each token of the responses, (B, R, D): tokens (B, T), starts (B,), R = longest.

    A GPT reads the rows without padding and last tokens, and its last layer computes only these states. Values after a
    response are meaningless.
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
    """log π of the responses' tokens (B, R), and the entropy of π before each (0 if not requested). Both are 0 after
    the response.

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
"""The step number of validation's random numbers; no rollout has it."""


def checked_scores(score: Score, responses: Sequence[Response], what: str = "score") -> torch.Tensor:
    """A judge's rewards of N responses, (N,) float32 on the CPU.

    Raises:
        InputError: the judge does not return N numbers, or one is not finite.
    """
    rewards = torch.as_tensor(score(responses), dtype=torch.float32).detach().cpu()
    if rewards.shape != (len(responses),) or not bool(rewards.isfinite().all()):
        raise InputError(
            f"{what}: gave {tuple(rewards.shape)} for {len(responses)} responses; expected one finite number each"
        )
    return rewards


def rewarded(prompts: Prompts, responses: Sequence[Response], unfinished: float | None) -> torch.Tensor:
    """The rewards for training, (N,): the judge's, or `unfinished` for a response without EOS."""
    rewards = checked_scores(prompts.score, responses)
    if unfinished is None:
        return rewards
    return torch.where(torch.tensor([response.finished for response in responses]), rewards, unfinished)


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
    """The validation measures above, on one response to each of the prompts `rows` (B,)."""
    ids = [prompts.ids[row] for row in rows]
    rollouts = roll_out(policy, ids, max_new_tokens=config.max_new_tokens, seed=seed, step=VALIDATION_STEP)
    responses = rollouts.responses(rows)
    figures = {
        REWARD: rewarded(prompts, responses, config.unfinished_reward),
        "validation_kl": sequence_kl(policy, reference, rollouts),
        "validation_length": rollouts.lengths,
        "validation_finished": rollouts.finished,
    } | {f"validation_{name}": checked_scores(judge, responses, name) for name, judge in prompts.judges.items()}
    return {name: float(values.double().mean()) for name, values in figures.items()}
