"""The losses of policy optimisation, on log-probabilities alone.

    PPO     L_π = −mean min(ρ_t Â_t, clip(ρ_t, 1 − ε, 1 + ε) Â_t),   ρ_t = π(a_t) / π_old(a_t)
            (Schulman et al. 2017, equation 7)
            L_V = ½ mean max((V − ret)², (V_old + clip(V − V_old, −c, c) − ret)²)
            (as in the code of Ziegler et al. 2019 and Stiennon et al. 2020)
    GRPO    the same L_π with the mean taken in each response first, and + β k3   (Shao et al. 2024, equation 3)
    DPO     −(1 − s) log σ(β Δ) − s log σ(−β Δ),   Δ = log π(y_w)/π_ref(y_w) − log π(y_l)/π_ref(y_l)
            (Rafailov et al. 2023, equation 7; s: smoothed labels, Mitchell 2023)

Means are over the tokens of all responses of a batch, unless said otherwise.

Shape legend: B responses, R tokens of the longest, V vocabulary, N pairs.
"""

import torch
from torch.nn import functional


def token_mean(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Mean over the true places: x, mask (B, R) → scalar."""
    return torch.where(mask, x, 0.0).sum() / mask.sum()


def response_mean(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Mean over responses of the mean over their tokens: x, mask (B, R), none of its rows empty → scalar."""
    return (torch.where(mask, x, 0.0).sum(dim=1) / mask.sum(dim=1)).mean()


def clipped_surrogate(
    log_probs: torch.Tensor, old: torch.Tensor, advantages: torch.Tensor, *, clip: float
) -> torch.Tensor:
    """−min(ρ Â, clip(ρ, 1 − ε, 1 + ε) Â) of every token, (B, R) each → (B, R)."""
    # ρ = π(a) / π_old(a)
    ratio = torch.exp(log_probs - old)
    return -torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages)


def clipped_share(log_probs: torch.Tensor, old: torch.Tensor, advantages: torch.Tensor, *, clip: float) -> torch.Tensor:
    """Where the clipped side is the smaller one, so that no gradient flows, (B, R) each → (B, R) of 0 and 1."""
    ratio = torch.exp(log_probs - old)
    return (ratio.clamp(1 - clip, 1 + clip) * advantages < ratio * advantages).float()


def clipped_value_loss(
    values: torch.Tensor, old: torch.Tensor, returns: torch.Tensor, *, clip: float | None
) -> torch.Tensor:
    """½ max((V − ret)², (V_clipped − ret)²) of every token, (B, R) each → (B, R); without clipping ½ (V − ret)²."""
    plain = (values - returns).square()
    if clip is None:
        return plain / 2
    # V_clipped = V_old + clip(V − V_old, −c, c)
    near = old + (values - old).clamp(-clip, clip)
    return torch.maximum(plain, (near - returns).square()) / 2


def entropy(log_policy: torch.Tensor) -> torch.Tensor:
    """H = −Σ_v π(v) log π(v) in nats: (…, V) → (…); tokens of probability 0 add nothing, to the gradient either."""
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
    """The loss of each pair, and how much likelier than the reference it makes the chosen answer than the other one.

    Args:
        chosen, rejected: log π of the answers, summed over their tokens, (N,); reference_…: log π_ref of the same.
        beta: how closely the policy is held to the reference; smoothing: s, the share of labels taken to be wrong.

    Returns:
        losses (N,), and margins β Δ (N,): the pair is ordered rightly where its margin is positive.
    """
    # Δ = log π(y_w)/π_ref(y_w) − log π(y_l)/π_ref(y_l)
    margin = beta * ((chosen - reference_chosen) - (rejected - reference_rejected))
    # L = −(1 − s) log σ(β Δ) − s log σ(−β Δ)
    loss = -(1 - smoothing) * functional.logsigmoid(margin) - smoothing * functional.logsigmoid(-margin)
    return loss, margin
