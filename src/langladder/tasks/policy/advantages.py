"""From rewards to advantages: what each token of a response is to be made likelier for.

PPO for language models (Ziegler et al. 2019, section 2.2; Stiennon et al. 2020; Ouyang et al. 2022, section 3.5): a
response is an episode, its tokens the actions. The reward model judges it at its end; every token pays for how far it
leads away from the reference:

    r_t = −β kl_t + [t last] R,     kl_t an estimate from log π(a_t | s_t) and log π_ref(a_t | s_t)

Generalised advantage estimation (Schulman et al. 2016, equations 11 and 16), V = 0 behind the end:

    δ_t = r_t + γ V(s_{t+1}) − V(s_t),   Â_t = δ_t + γλ Â_{t+1},   return_t = Â_t + V(s_t)

GRPO (Shao et al. 2024, section 4.1.2) has no values: G responses to one prompt are compared with one another.

    Â_i = (R_i − mean(R_1 … R_G)) / std(R_1 … R_G)      for all tokens of response i

Shape legend: B responses, R tokens of the longest, P prompts, G responses of each.
"""

from typing import Literal

import torch

Estimator = Literal["k1", "k2", "k3"]
SMALL = 1e-8
GROUP_SMALL = 1e-4
"""Added to a group's standard deviation, so that equal rewards give advantages of 0."""


def kl_estimate(log_probs: torch.Tensor, reference: torch.Tensor, estimator: Estimator = "k1") -> torch.Tensor:
    """Estimates of KL(π ‖ π_ref) from tokens drawn from π (Schulman 2020, "Approximating KL divergence").

    Args:
        log_probs: log π(a); reference: log π_ref(a). Of one shape, that of the result.
        estimator: k1 has the right mean and may be negative; k2 is biased and varies less; k3 has the right mean and
            is never negative.
    """
    difference = log_probs - reference
    if estimator == "k1":
        # k1 = −log r,   r = π_ref(a) / π(a)
        return difference
    if estimator == "k2":
        # k2 = ½ (log r)²
        return difference.square() / 2
    # k3 = (r − 1) − log r
    return torch.expm1(-difference) + difference


def exact_kl(log_policy: torch.Tensor, log_reference: torch.Tensor) -> torch.Tensor:
    """KL(π ‖ π_ref) = Σ_v π(v) (log π(v) − log π_ref(v)): (…, V) each → (…); 0 · ∞ is 0."""
    difference = (log_policy - log_reference).masked_fill(log_policy == -torch.inf, 0.0)
    return (log_policy.exp() * difference).sum(dim=-1)


def token_rewards(kl: torch.Tensor, rewards: torch.Tensor, mask: torch.Tensor, beta: float) -> torch.Tensor:
    """The reward of each token: kl (B, R), rewards (B,), mask (B, R) bool, none of its rows empty → (B, R)."""
    last = mask.sum(dim=1, keepdim=True) - 1  # (B, 1)
    # r_t = −β kl_t + [t last] R
    paid = torch.where(mask, -beta * kl, 0.0)
    return paid.scatter_add(1, last, rewards[:, None].to(paid.dtype))


def gae(
    rewards: torch.Tensor, values: torch.Tensor, mask: torch.Tensor, *, gamma: float, lam: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Advantages and returns, (B, R) each and 0 behind the response, from rewards, values and mask (B, R)."""
    rewards, values = torch.where(mask, rewards, 0.0), torch.where(mask, values, 0.0)
    advantages = torch.zeros_like(values)
    following = later = torch.zeros_like(values[:, 0])  # Â_{t+1}, V(s_{t+1})
    for t in reversed(range(values.shape[1])):
        # δ_t = r_t + γ V(s_{t+1}) − V(s_t)
        delta = rewards[:, t] + gamma * later - values[:, t]
        # Â_t = δ_t + γλ Â_{t+1}
        following = delta + gamma * lam * following
        advantages[:, t], later = following, values[:, t]
    return advantages, advantages + values


def whiten(x: torch.Tensor, mask: torch.Tensor, *, centre: bool = True) -> torch.Tensor:
    """Numbers at true places of the mask scaled to variance 1, and to mean 0 if `centre`; 0 elsewhere. (B, R)."""
    chosen = x[mask]
    mean, variance = chosen.mean(), chosen.var() if len(chosen) > 1 else chosen.new_zeros(())
    # (x − mean) / √(var + ε), and + mean where only the scale is to change
    scaled = (x - mean) * torch.rsqrt(variance + SMALL) + (0.0 if centre else mean)
    return torch.where(mask, scaled, 0.0)


def group_advantages(rewards: torch.Tensor, group: int, *, scale: bool = True) -> torch.Tensor:
    """Each response against those to the same prompt: (P·G,), a prompt's G ≥ 2 side by side → (P·G,).

    Args:
        scale: divide by the group's standard deviation; without it Dr. GRPO (Liu et al. 2025, section 3.1), which does
            not favour prompts whose answers are nearly all right or all wrong.
    """
    by_prompt = rewards.view(-1, group)  # (P, G)
    # Â_i = (R_i − mean R) / (std R + ε)
    advantages = by_prompt - by_prompt.mean(dim=1, keepdim=True)
    if scale:
        advantages = advantages / (by_prompt.std(dim=1, keepdim=True) + GROUP_SMALL)
    return advantages.flatten()


def adapted(beta: float, kl: float, *, target: float, gain: float) -> float:
    """β of the next rollout (Ziegler et al. 2019, section 2.2): e = clip(kl / target − 1, ±0.2), β ← β (1 + K e).

    Args:
        kl: mean over the rollout's responses of their summed log π − log π_ref, in nats; target: what it should be.
        gain: K, 0.1 in the paper.
    """
    # e = clip((KL − target) / target, −0.2, 0.2)
    error = min(0.2, max(-0.2, (kl - target) / target))
    # β ← β (1 + K e)
    return beta * (1 + gain * error)
