"""The equations of policy optimisation: advantages from rewards, and the losses. They only use log-probabilities.

PPO for language models (Ziegler et al. 2019, section 2.2; Stiennon et al. 2020; Ouyang et al. 2022, section 3.5): a
response is an episode, and its tokens are the actions. The reward model scores the whole response at its end. Each
token has a penalty for its distance from the reference:

    r_t = −β kl_t + [t last] R,     kl_t an estimate from log π(a_t | s_t) and log π_ref(a_t | s_t)

Generalised advantage estimation (Schulman et al. 2016, equations 11 and 16), with V = 0 after the end:

    δ_t = r_t + γ V(s_{t+1}) − V(s_t),   Â_t = δ_t + γλ Â_{t+1},   return_t = Â_t + V(s_t)

GRPO (Shao et al. 2024, section 4.1.2) has no value function. It compares the G responses to one prompt with each other.

    Â_i = (R_i − mean(R_1 … R_G)) / std(R_1 … R_G)      for all tokens of response i

The losses:

    PPO     L_π = −mean min(ρ_t Â_t, clip(ρ_t, 1 − ε, 1 + ε) Â_t),   ρ_t = π(a_t) / π_old(a_t)
            (Schulman et al. 2017, equation 7)
            L_V = ½ mean max((V − ret)², (V_old + clip(V − V_old, −c, c) − ret)²)
            (as in the code of Ziegler et al. 2019 and Stiennon et al. 2020)
    GRPO    the same L_π, averaged within each response first, and + β k3   (Shao et al. 2024, equation 3)
    DPO     −(1 − s) log σ(β Δ) − s log σ(−β Δ),   Δ = log π(y_w)/π_ref(y_w) − log π(y_l)/π_ref(y_l)
            (Rafailov et al. 2023, equation 7; s: smoothed labels, Mitchell 2023)

Means are over the tokens of all responses of a batch, unless stated otherwise.

Shape legend: B responses, R tokens of the longest, P prompts, G responses of each, V vocabulary, N pairs.
"""

from typing import Literal

import torch
from torch.nn import functional

Estimator = Literal["k1", "k2", "k3"]
SMALL = 1e-8
GROUP_SMALL = 1e-4
"""Added to a group's standard deviation, so that equal rewards give advantages of 0."""


def kl_estimate(log_probs: torch.Tensor, reference: torch.Tensor, estimator: Estimator = "k1") -> torch.Tensor:
    """Estimates of KL(π ‖ π_ref) from tokens drawn from π (Schulman 2020, "Approximating KL divergence").

    Args:
        log_probs: log π(a); reference: log π_ref(a). Both have the shape of the result.
        estimator: k1 is unbiased and may be negative; k2 is biased and has a lower variance; k3 is unbiased and is
            never negative.
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
    """The reward of each token: kl (B, R), rewards (B,), mask (B, R) bool without empty rows → (B, R)."""
    last = mask.sum(dim=1, keepdim=True) - 1  # (B, 1)
    # r_t = −β kl_t + [t last] R
    paid = torch.where(mask, -beta * kl, 0.0)
    return paid.scatter_add(1, last, rewards[:, None].to(paid.dtype))


def gae(
    rewards: torch.Tensor, values: torch.Tensor, mask: torch.Tensor, *, gamma: float, lam: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Advantages and returns from rewards, values and mask (B, R). Each is (B, R), 0 after the response."""
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
    """Scale the numbers where the mask is true to variance 1, and to mean 0 if `centre`; 0 elsewhere. (B, R)."""
    chosen = x[mask]
    mean, variance = chosen.mean(), chosen.var() if len(chosen) > 1 else chosen.new_zeros(())
    # (x − mean) / √(var + ε); + mean if only the scale should change
    scaled = (x - mean) * torch.rsqrt(variance + SMALL) + (0.0 if centre else mean)
    return torch.where(mask, scaled, 0.0)


def group_advantages(rewards: torch.Tensor, group: int, *, scale: bool = True) -> torch.Tensor:
    """Compare each response with the others to its prompt: (P·G,), the G ≥ 2 of a prompt side by side → (P·G,).

    Args:
        scale: divide by the group's standard deviation. False is Dr. GRPO (Liu et al. 2025, section 3.1), which does
            not give more weight to prompts with nearly all answers right or nearly all wrong.
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
        kl: mean over the rollout's responses of the summed log π − log π_ref, in nats; target: its desired value.
        gain: K, 0.1 in the paper.
    """
    # e = clip((KL − target) / target, −0.2, 0.2)
    error = min(0.2, max(-0.2, (kl - target) / target))
    # β ← β (1 + K e)
    return beta * (1 + gain * error)


def token_mean(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Mean over the positions where the mask is true: x, mask (B, R) → scalar."""
    return torch.where(mask, x, 0.0).sum() / mask.sum()


def response_mean(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Mean over responses of the mean over their tokens: x, mask (B, R) without empty rows → scalar."""
    return (torch.where(mask, x, 0.0).sum(dim=1) / mask.sum(dim=1)).mean()


def clipped_surrogate(
    log_probs: torch.Tensor, old: torch.Tensor, advantages: torch.Tensor, *, clip: float
) -> torch.Tensor:
    """−min(ρ Â, clip(ρ, 1 − ε, 1 + ε) Â) of every token, (B, R) each → (B, R)."""
    # ρ = π(a) / π_old(a)
    ratio = torch.exp(log_probs - old)
    return -torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages)


def clipped_share(log_probs: torch.Tensor, old: torch.Tensor, advantages: torch.Tensor, *, clip: float) -> torch.Tensor:
    """1 where the clipped term is the smaller one, so that the gradient is 0, else 0: (B, R) each → (B, R)."""
    ratio = torch.exp(log_probs - old)
    return (ratio.clamp(1 - clip, 1 + clip) * advantages < ratio * advantages).float()


def clipped_value_loss(
    values: torch.Tensor, old: torch.Tensor, returns: torch.Tensor, *, clip: float | None
) -> torch.Tensor:
    """½ max((V − ret)², (V_clipped − ret)²) of each token, (B, R) each → (B, R). Without clipping: ½ (V − ret)²."""
    plain = (values - returns).square()
    if clip is None:
        return plain / 2
    # V_clipped = V_old + clip(V − V_old, −c, c)
    near = old + (values - old).clamp(-clip, clip)
    return torch.maximum(plain, (near - returns).square()) / 2


def entropy(log_policy: torch.Tensor) -> torch.Tensor:
    """H = −Σ_v π(v) log π(v) in nats: (…, V) → (…). Tokens of probability 0 add nothing to it or to its gradient."""
    return -(log_policy.exp() * log_policy.masked_fill(log_policy == -torch.inf, 0.0)).sum(dim=-1)


def dpo_loss(
    chosen: torch.Tensor,
    rejected: torch.Tensor,
    reference_chosen: torch.Tensor,
    reference_rejected: torch.Tensor,
    *,
    beta: float,
    smoothing: float = 0.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The loss and the margin of each pair.

    Args:
        chosen, rejected: log π of the answers, summed over their tokens, (N,); reference_…: log π_ref of the same.
        beta: how strongly the policy is kept close to the reference; smoothing: s, the assumed share of wrong labels.

    Returns:
        losses (N,), and margins β Δ (N,). A pair is ordered correctly if its margin is positive.
    """
    # Δ = log π(y_w)/π_ref(y_w) − log π(y_l)/π_ref(y_l)
    margin = beta * ((chosen - reference_chosen) - (rejected - reference_rejected))
    # L = −(1 − s) log σ(β Δ) − s log σ(−β Δ)
    loss = -(1 - smoothing) * functional.logsigmoid(margin) - smoothing * functional.logsigmoid(-margin)
    return loss, margin
