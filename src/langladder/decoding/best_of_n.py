"""Best-of-n: sample n responses, keep the one with the highest reward (Stiennon et al. 2020; Nakano et al. 2021).

No weight changes. How far its answers are from the policy's is known, if no two samples have the same reward:

    KL(best-of-n ‖ π) = log n − (n − 1)/n          (an upper bound otherwise; Beirami et al. 2024, theorem 1)

What best-of-n earns for every n ≤ N is estimated from the same N samples (Nakano et al. 2021, appendix I): sorted by
reward, the i-th is the best of a random n of them with probability

    C(i − 1, n − 1) / C(N, n)                      i = 1 … N, lowest reward first

so that the gold reward of the answers that a proxy chooses is their mean with these weights.

Shape legend: P prompts, N samples of each.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from langladder.decoding.rollouts import Response, Score, roll_out
from langladder.ground.errors import InputError
from langladder.models.language.neural import NeuralLanguageModel


class Sampled(NamedTuple):
    """N samples for each of P prompts, grouped by prompt, and their rewards (P, N)."""

    responses: list[Response]
    rewards: np.ndarray

    def best(self) -> list[Response]:
        """The best response to each prompt; of equal ones the first."""
        P, N = self.rewards.shape
        return [self.responses[prompt * N + int(self.rewards[prompt].argmax())] for prompt in range(P)]


def sample_many(
    policy: NeuralLanguageModel,
    prompts: Sequence[Sequence[int]],
    score: Score,
    *,
    n: int,
    max_new_tokens: int,
    seed: int,
    temperature: float = 1.0,
) -> Sampled:
    """Draw n responses to each prompt and score them.

    Raises:
        InputError: n is less than 1, the judge does not say a number for each; see also `roll_out`.
    """
    if n < 1:
        raise InputError(f"n={n}: best-of-n chooses from 1 or more")
    rows = np.repeat(np.arange(len(prompts)), n)
    rollouts = roll_out(
        policy,
        [prompts[row] for row in rows.tolist()],
        max_new_tokens=max_new_tokens,
        seed=seed,
        temperature=temperature,
    )
    responses = rollouts.responses(rows)
    rewards = torch.as_tensor(score(responses)).detach().cpu().numpy().astype(np.float64)
    if rewards.shape != (len(responses),) or not np.isfinite(rewards).all():
        raise InputError(f"score: gave {rewards.shape} for {len(responses)} responses; expected one finite number each")
    return Sampled(responses, rewards.reshape(len(prompts), n))


def best_of_n_kl(n: int) -> float:
    """KL of best-of-n to the policy, in nats a response: log n − (n − 1)/n."""
    return math.log(n) - (n - 1) / n


def best_of_n_values(by: np.ndarray, values: npt.ArrayLike, n: int) -> np.ndarray:
    """The expected value of the best of n, for each prompt, from N ≥ n samples.

    Args:
        by: (P, N) rewards for the choice; values: (P, N) values of the chosen sample (the same rewards, or gold).

    Returns:
        (P,) float64. Of equal rewards, the earlier sample counts as better.

    Raises:
        InputError: there are fewer samples than n.
    """
    N = by.shape[1]
    if not 1 <= n <= N:
        raise InputError(f"n={n}: {N} samples only give the value of the best of 1 to {N}")
    order = np.argsort(-by, axis=1, kind="stable")[:, ::-1]  # lowest first
    # P(i is the best of n) = C(i − 1, n − 1) / C(N, n)
    weights = np.array([math.comb(i, n - 1) / math.comb(N, n) for i in range(N)])  # (N,)
    weighted: np.ndarray = np.take_along_axis(np.asarray(values, dtype=np.float64), order, axis=1) @ weights
    return weighted
