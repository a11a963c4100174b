"""How a policy is watched: it answers validation prompts, always with the same random numbers, and is judged.

    validation_reward     mean reward, by the judge that is learnt from (the proxy)
    validation_<judge>    mean of what another judge says (the gold reward)
    validation_kl         KL(π ‖ π_ref) of whole responses, nats: Σ_t KL(π(·|s_t) ‖ π_ref(·|s_t)), mean over responses
    validation_length     tokens of a response, its EOS included
    validation_finished   share of the responses that end with EOS

The KL is summed exactly over the vocabulary at every state that was reached; the states are drawn. That has the same
mean as Σ_t log π(a_t)/π_ref(a_t) and a smaller variance.

Shape legend: B responses, T positions, R tokens of the longest response, N tokens in all, V vocabulary.
"""

from collections.abc import Sequence

import numpy as np
import torch

from langladder.decoding.rollouts import GROUP, Prompts, Response, Rollouts, Score, log_policy, roll_out
from langladder.ground.errors import InputError
from langladder.models.neural import NeuralLanguageModel, scoring
from langladder.tasks.policy.advantages import exact_kl
from langladder.tasks.policy.reading import response_states
from langladder.tasks.policy.settings import WatchedTraining

REWARD = "validation_reward"
WATCHED = 2**31
"""The step of the random numbers: no rollout's."""


def judged(score: Score, responses: Sequence[Response], what: str = "score") -> torch.Tensor:
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
    rewards = judged(prompts.score, responses)
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


def watch(
    policy: NeuralLanguageModel,
    reference: NeuralLanguageModel,
    prompts: Prompts,
    rows: np.ndarray,
    config: WatchedTraining,
    seed: int,
) -> dict[str, float]:
    """The measures of this module, of one response to each of the prompts `rows` (B,)."""
    asked = [prompts.ids[row] for row in rows]
    rollouts = roll_out(policy, asked, max_new_tokens=config.max_new_tokens, seed=seed, step=WATCHED)
    responses = rollouts.responses(rows)
    found = {
        REWARD: rewarded(prompts, responses, config.unfinished_reward),
        "validation_kl": sequence_kl(policy, reference, rollouts),
        "validation_length": rollouts.lengths,
        "validation_finished": rollouts.finished,
    } | {f"validation_{name}": judged(judge, responses, name) for name, judge in prompts.judges.items()}
    return {name: float(values.double().mean()) for name, values in found.items()}
