"""The same numbers through the functions of `trl`, where it is installed.

Its classic PPO (until 0.11) has them one by one; later ones have DPO and GRPO as whole losses of a trainer, which is
stood in for here by what the loss reads of it.
"""

from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from langladder.tasks.policy.equations import (
    adapted,
    clipped_share,
    clipped_surrogate,
    clipped_value_loss,
    dpo_loss,
    entropy,
    gae,
    group_advantages,
    kl_estimate,
    response_mean,
    token_mean,
    token_rewards,
    whiten,
)

B, R, V = 6, 5, 11
MASK = torch.arange(R) < torch.tensor([5, 3, 1, 4, 5, 2])[:, None]  # (B, R)


def numbers(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


OLD, REFERENCE, NEW = (-numbers(B, R, seed=seed).abs() * MASK for seed in (1, 2, 3))
VALUES, RETURNS, ADVANTAGES = (numbers(B, R, seed=seed) * MASK for seed in (4, 5, 6))
SCORES = numbers(B, seed=7)


def classic_ppo() -> Any:
    """The trainer class whose methods are the functions."""
    result = pytest.importorskip("trl.trainer.ppo_trainer").PPOTrainer
    if not hasattr(result, "compute_advantages"):
        pytest.skip("a later trl, which has no functions of PPO")
    return result


def trainer(name: str) -> Any:
    """A trainer class of trl 1."""
    trl = pytest.importorskip("trl")
    if int(trl.__version__.partition(".")[0]) < 1:
        pytest.skip("an earlier trl")
    return getattr(pytest.importorskip(f"trl.trainer.{name.lower()}_trainer"), f"{name}Trainer")


def stand_in(**parts: Any) -> Any:
    """What a loss reads of its trainer, on one processor."""
    same = {name: lambda x, **_: x for name in ("gather", "gather_for_metrics", "reduce")}
    metrics: Any = {mode: defaultdict(list) for mode in ("train", "eval")}
    model = SimpleNamespace(training=False)
    return SimpleNamespace(
        accelerator=SimpleNamespace(device="cpu", **same),
        _metrics=metrics,
        model=model,
        aux_loss_enabled=False,
        **parts,
    )


@pytest.mark.parametrize("whitens", [False, True])
def test_parity_of_advantages(whitens: bool) -> None:
    """Whitened rewards of full rows only: trl lets those of padding flow back into the response, here they are 0."""
    mask = torch.ones_like(MASK) if whitens else MASK
    theirs = stand_in(config=SimpleNamespace(whiten_rewards=whitens, gamma=0.95, lam=0.9))
    rewards = numbers(B, R, seed=8) * mask
    values, advantages, returns = classic_ppo().compute_advantages(theirs, VALUES, rewards, mask.float())
    if whitens:
        rewards = whiten(rewards, mask, centre=False)
    ours, our_returns = gae(rewards, VALUES, mask, gamma=0.95, lam=0.9)
    torch.testing.assert_close(whiten(ours, mask)[mask], advantages[mask])
    torch.testing.assert_close(our_returns[mask], returns[mask])
    torch.testing.assert_close(VALUES, values)


@pytest.mark.parametrize("centre", [False, True])
def test_parity_of_whitening(centre: bool) -> None:
    classic_ppo()
    theirs = pytest.importorskip("trl.core").masked_whiten(RETURNS, MASK.float(), shift_mean=centre)
    torch.testing.assert_close(whiten(RETURNS, MASK, centre=centre)[MASK], theirs[MASK])


@pytest.mark.parametrize(("estimator", "penalty"), [("k1", "kl"), ("k2", "mse")])
def test_parity_of_token_rewards_and_kl(estimator: Any, penalty: str) -> None:
    kind = classic_ppo()
    theirs = stand_in(config=SimpleNamespace(kl_penalty=penalty), kl_ctl=SimpleNamespace(value=0.3))
    theirs._kl_penalty = lambda *inputs: kind._kl_penalty(theirs, *inputs)
    rewards, _, kls = kind.compute_rewards(theirs, SCORES, OLD, REFERENCE, MASK.long())
    kl = kl_estimate(OLD, REFERENCE, estimator)
    torch.testing.assert_close(kl, kls)
    torch.testing.assert_close(token_rewards(kl, SCORES, MASK, 0.3)[MASK], rewards[MASK])


def test_parity_of_the_losses_of_ppo() -> None:
    settings = SimpleNamespace(cliprange=0.2, cliprange_value=0.3, vf_coef=0.5, ratio_threshold=1e6)
    logits, values = numbers(B, R, V, seed=9), numbers(B, R, seed=10)
    policy, value, stats = classic_ppo().loss(
        stand_in(config=settings), OLD, VALUES, logits, values, NEW, MASK.float(), ADVANTAGES, RETURNS
    )
    ours = clipped_surrogate(NEW, OLD, ADVANTAGES, clip=0.2)
    torch.testing.assert_close(token_mean(ours, MASK), policy)
    torch.testing.assert_close(0.5 * token_mean(clipped_value_loss(values, VALUES, RETURNS, clip=0.3), MASK), value)
    torch.testing.assert_close(token_mean(entropy(logits.log_softmax(-1)), MASK), stats["policy/entropy"])
    share = token_mean(clipped_share(NEW, OLD, ADVANTAGES, clip=0.2), MASK)
    torch.testing.assert_close(share, stats["policy/clipfrac"])
    torch.testing.assert_close(token_mean(kl_estimate(OLD, NEW, "k2"), MASK), stats["policy/approxkl"])


@pytest.mark.parametrize("kl", [0.5, 5.5, 6.4, 60.0])
def test_parity_of_the_adaptive_beta(kl: float) -> None:
    classic_ppo()
    controller = pytest.importorskip("trl.trainer.utils").AdaptiveKLController(0.2, 6.0, 10_000)
    controller.update(kl, 500)
    assert adapted(0.2, kl, target=6.0, gain=500 / 10_000) == pytest.approx(controller.value)


@pytest.mark.parametrize("kind", ["grpo", "bnpo"])
def test_parity_of_grpo(kind: str) -> None:
    """Means of responses, and of tokens."""
    theirs = stand_in(
        _get_per_token_logps_and_entropies=lambda *_, **__: (NEW, torch.zeros(B, R), None),
        args=SimpleNamespace(use_bias_correction_kl=False, delta=None),
        top_entropy_quantile=1.0,
        off_policy_mask_threshold=None,
        importance_sampling_level="token",
        beta=0.4,
        loss_type=kind,
        epsilon_low=0.2,
        epsilon_high=0.2,
        use_vllm=False,
        _entropy_bonus_enabled=False,
        current_gradient_accumulation_steps=1,
    )
    advantages = numbers(B, seed=11)
    ids = torch.zeros(B, R, dtype=torch.long)
    inputs = {
        "prompt_ids": ids,
        "prompt_mask": MASK.long(),
        "completion_ids": ids,
        "completion_mask": MASK.long(),
        "advantages": advantages,
        "old_per_token_logps": OLD,
        "ref_per_token_logps": REFERENCE,
    }
    wanted = trainer("GRPO")._compute_loss(theirs, None, inputs)
    by_token = clipped_surrogate(NEW, OLD, advantages[:, None] * MASK, clip=0.2)
    mean = response_mean if kind == "grpo" else token_mean
    torch.testing.assert_close(mean(by_token + 0.4 * kl_estimate(NEW, REFERENCE, "k3"), MASK), wanted)


def test_parity_of_the_deviation_in_a_group() -> None:
    """It is the unbiased one."""
    trainer("GRPO")
    nanstd = pytest.importorskip("trl.trainer.utils").nanstd
    groups = SCORES.view(2, 3)
    wanted = (groups - groups.mean(dim=1, keepdim=True)) / (nanstd(groups, dim=1)[:, None] + 1e-4)
    torch.testing.assert_close(group_advantages(SCORES, 3), wanted.flatten())


def test_parity_of_dpo() -> None:
    theirs = stand_in(
        ld_alpha=None,
        precompute_ref_logps=True,
        f_divergence_type="reverse_kl",
        beta=0.3,
        loss_types=["sigmoid"],
        loss_weights=[1.0],
        use_weighting=False,
        _total_train_tokens=0,
    )
    log_probs = torch.nn.functional.pad(NEW, (1, 0))  # the first token is given
    completion = torch.nn.functional.pad(MASK.long(), (1, 0))
    reference = REFERENCE.sum(dim=1)
    outputs = SimpleNamespace(log_probs=log_probs, entropy=log_probs, mean_logits=log_probs, is_top1=completion.bool())
    inputs = {
        "input_ids": torch.zeros_like(completion),
        "completion_mask": completion,
        "ref_chosen_logps": reference[:3],
        "ref_rejected_logps": reference[3:],
    }
    wanted = trainer("DPO")._compute_loss(theirs, lambda **_: outputs, inputs, False)
    ours = dpo_loss(*NEW.sum(dim=1).chunk(2), *reference.chunk(2), beta=0.3)[0].mean()
    torch.testing.assert_close(ours, wanted)
