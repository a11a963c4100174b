"""Advantages, KL estimates and losses of policy optimisation, on numbers worked out by hand."""

import math

import pytest
import torch

from langladder.tasks.policy.equations import (
    adapted,
    clipped_share,
    clipped_surrogate,
    clipped_value_loss,
    dpo_loss,
    entropy,
    exact_kl,
    gae,
    group_advantages,
    kl_estimate,
    response_mean,
    token_mean,
    token_rewards,
    whiten,
)

REWARDS, VALUES = [0.0, 0.1, 0.0, -0.1, 1.0], [0.5, 0.4, 0.3, 0.2, 0.1]
ALL = torch.ones(1, 5, dtype=torch.bool)


def close(tensor: torch.Tensor, wanted: object) -> None:
    torch.testing.assert_close(tensor, torch.as_tensor(wanted), atol=1e-6, rtol=1e-6)


def test_golden_gae_on_five_steps():
    """δ = (−0.14, −0.03, −0.12, −0.21, 0.9) with γ = 0.9; each Â adds 0.45 of the next one."""
    advantages, returns = gae(torch.tensor([REWARDS]), torch.tensor([VALUES]), ALL, gamma=0.9, lam=0.5)
    wanted = [[-0.160030625, -0.0445125, -0.03225, 0.195, 0.9]]
    close(advantages, wanted)
    close(returns, torch.tensor(wanted) + torch.tensor([VALUES]))


def test_golden_gae_at_its_ends():
    """λ = 1: what is still to come less the value; λ = 0: one step."""
    rewards, values = torch.tensor([REWARDS]), torch.tensor([VALUES])
    to_come = torch.tensor([[1.0, 1.0, 0.9, 0.9, 1.0]])
    close(gae(rewards, values, ALL, gamma=1.0, lam=1.0)[1], to_come)
    close(gae(rewards, values, ALL, gamma=0.9, lam=0.0)[0], [[-0.14, -0.03, -0.12, -0.21, 0.9]])


def test_padding_changes_no_advantage():
    """Behind a response stands whatever it be, and the value there is 0."""
    mask = torch.tensor([[True, True, True, False, False]])
    short = gae(torch.tensor([REWARDS[:3]]), torch.tensor([VALUES[:3]]), mask[:, :3], gamma=0.9, lam=0.5)
    padded = gae(torch.tensor([REWARDS]), torch.tensor([VALUES]), mask, gamma=0.9, lam=0.5)
    for ours, theirs in zip(padded, short, strict=True):
        close(ours[:, :3], theirs)
        assert not ours[:, 3:].any()
    assert not whiten(torch.randn(1, 5), mask)[:, 3:].any()
    rewards = token_rewards(torch.full((1, 5), 9.0), torch.tensor([1.0]), mask, 0.5)
    close(rewards, [[-4.5, -4.5, -3.5, 0.0, 0.0]])
    loud = torch.tensor([[1.0, 2.0, 6.0, math.inf, math.nan]])
    close(token_mean(loud, mask), 3.0)


def test_golden_token_rewards():
    """β = 0.1: every token pays for its KL, the last one of each row is given the reward."""
    kl = torch.tensor([[1.0, -2.0, 3.0], [0.5, 0.0, 7.0]])
    mask = torch.tensor([[True, True, True], [True, True, False]])
    close(token_rewards(kl, torch.tensor([5.0, -1.0]), mask, 0.1), [[-0.1, 0.2, 4.7], [-0.05, -1.0, 0.0]])


def test_golden_kl_estimators():
    """π(a) = 0.5, π_ref(a) = 0.25, so r = ½: k1 = log 2, k2 = ½ log² 2, k3 = −½ + log 2; and the other way round."""
    log_probs, reference = torch.tensor([0.5, 0.25]).log(), torch.tensor([0.25, 0.5]).log()
    two = math.log(2)
    close(kl_estimate(log_probs, reference, "k1"), [two, -two])
    close(kl_estimate(log_probs, reference, "k2"), [two**2 / 2, two**2 / 2])
    close(kl_estimate(log_probs, reference, "k3"), [-0.5 + two, 1 - two])


def test_estimators_have_the_mean_that_they_claim():
    """Weighted with π, k1 and k3 give the exact KL, k2 does not; impossible tokens count for nothing."""
    policy = torch.tensor([0.0, 0.2, 0.3, 0.5])
    other = torch.tensor([0.0, 0.3, 0.3, 0.4])
    exact = float(exact_kl(policy.log(), other.log()))
    assert exact == pytest.approx(0.2 * math.log(2 / 3) + 0.5 * math.log(5 / 4))
    means = {
        name: float((policy[1:] * kl_estimate(policy[1:].log(), other[1:].log(), name)).sum())
        for name in ("k1", "k2", "k3")
    }
    assert means["k1"] == pytest.approx(exact, rel=1e-5)
    assert means["k3"] == pytest.approx(exact, rel=1e-5)
    assert means["k2"] != pytest.approx(exact, rel=1e-2)


def test_golden_clipped_surrogate():
    """ε = 0.2. The clipped side counts where it is worse: a good token above 1.2, a bad one below 0.8."""
    ratio = torch.tensor([1.5, 0.5, 1.5, 0.5, 1.1])
    advantages = torch.tensor([2.0, 2.0, -2.0, -2.0, 1.0])
    log_probs = ratio.log().requires_grad_()
    loss = clipped_surrogate(log_probs, torch.zeros(5), advantages, clip=0.2)
    close(loss.detach(), [-2.4, -1.0, 3.0, 1.6, -1.1])
    loss.sum().backward()
    close(log_probs.grad, [0.0, -1.0, 3.0, 0.0, -1.1])  # −ρ Â, and 0 where it is clipped
    close(clipped_share(log_probs.detach(), torch.zeros(5), advantages, clip=0.2), [1.0, 0.0, 0.0, 1.0, 0.0])


def test_golden_clipped_value_loss():
    """V_old = 0, c = 0.2. Far from the old value the loss is that of the near edge, where that is the larger one."""
    values, returns = torch.tensor([1.0, 1.0, 0.1]), torch.tensor([1.0, 2.0, 1.0])
    close(clipped_value_loss(values, torch.zeros(3), returns, clip=0.2), [0.32, 1.62, 0.405])
    close(clipped_value_loss(values, torch.zeros(3), returns, clip=None), [0.0, 0.5, 0.405])


def test_golden_entropy_and_its_gradient_without_impossible_tokens():
    logits = torch.tensor([[0.0, 0.0, -math.inf, 0.0, 0.0]], requires_grad=True)
    result = entropy(torch.log_softmax(logits, dim=-1))
    close(result.detach(), [math.log(4)])
    result.sum().backward()
    assert logits.grad is not None
    assert bool(logits.grad.isfinite().all())


def test_golden_whitening():
    """1, 2, 3 and 6 have mean 3 and variance 14/3; without centring they keep their mean."""
    x, mask = torch.tensor([[1.0, 2.0, 3.0], [6.0, 50.0, 60.0]]), torch.tensor([[True] * 3, [True, False, False]])
    deviation = math.sqrt(14 / 3)
    close(whiten(x, mask)[mask], torch.tensor([-2.0, -1.0, 0.0, 3.0]) / deviation)
    close(whiten(x, mask, centre=False)[mask], torch.tensor([-2.0, -1.0, 0.0, 3.0]) / deviation + 3)
    close(whiten(x[:1, :1], mask[:1, :1]), [[0.0]])  # one number has no variance


def test_golden_group_advantages():
    """Two prompts of four: 0, 0, 1, 1 has mean ½ and standard deviation √(1/3); equal rewards teach nothing."""
    rewards = torch.tensor([0.0, 0.0, 1.0, 1.0, 7.0, 7.0, 7.0, 7.0])
    wanted = 0.5 / (math.sqrt(1 / 3) + 1e-4)
    close(group_advantages(rewards, 4), [-wanted, -wanted, wanted, wanted, 0.0, 0.0, 0.0, 0.0])
    close(group_advantages(rewards, 4, scale=False), [-0.5, -0.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0])


def test_golden_dpo_loss():
    """The chosen gained 1 nat on the reference, the other lost ½: Δ = 1.5, with β = 2 the margin is 3."""
    log_probs = [torch.tensor([x]) for x in (-4.0, -6.5, -5.0, -6.0)]
    loss, margin = dpo_loss(*log_probs, beta=2.0)
    close(margin, [3.0])
    close(loss, [math.log1p(math.exp(-3))])
    close(dpo_loss(*log_probs, beta=2.0, smoothing=0.25)[0], [0.0485873516 + 0.25 * 3])
    same = dpo_loss(*log_probs[:2], *log_probs[:2], beta=2.0)[0]
    close(same, [math.log(2)])  # a policy that is its reference


def test_golden_adaptive_beta():
    """Twice the target: the error is cut to 0.2; 10 % under it counts as it is (Ziegler et al. 2019, K = 0.1)."""
    assert adapted(0.5, 12.0, target=6.0, gain=0.1) == pytest.approx(0.5 * 1.02)
    assert adapted(0.5, 5.4, target=6.0, gain=0.1) == pytest.approx(0.5 * 0.99)
    assert adapted(0.5, -1.0, target=6.0, gain=0.1) == pytest.approx(0.5 * 0.98)


def test_golden_means():
    """Of tokens: (1 + 2 + 3 + 10)/4; of responses: (2 + 10)/2."""
    x, mask = torch.tensor([[1.0, 2.0, 3.0], [10.0, 99.0, 99.0]]), torch.tensor([[True] * 3, [True, False, False]])
    close(token_mean(x, mask), 4.0)
    close(response_mean(x, mask), 6.0)
