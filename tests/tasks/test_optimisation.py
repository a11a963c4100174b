"""Schedules against hand-computed values, optimisers against their equations, settings that are refused."""

import math

import pytest
import torch
from torch import nn

from langladder.ground.errors import InputError
from langladder.models.language.recurrent import RecurrentLM
from langladder.tasks import optimisation
from langladder.tasks.optimisation import (
    TrainingConfig,
    clip_gradients,
    clip_update,
    learning_rate,
    make_optimizer,
    resolve_precision,
    set_learning_rate,
    train_by_rows,
)


def rates(*steps: int, **settings) -> list[float]:
    config = TrainingConfig(**({"max_steps": 20_000} | settings))
    return [learning_rate(config, step) for step in steps]


def test_golden_exponential_schedule():
    """η_t = 0.01 · 0.9^(t/1000)."""
    assert rates(0, 500, 1000, 10_000, lr=0.01, schedule="exponential") == pytest.approx(
        [0.01, 0.01 * math.sqrt(0.9), 0.009, 0.003486784401]
    )
    assert rates(999, 1000, 2500, lr=0.01, schedule="step") == pytest.approx([0.01, 0.009, 0.0081])


def test_golden_noam_schedule():
    """d = 512, warm-up 4000: updates 1, 4000 (the peak) and 10000."""
    peak = (512 * 4000) ** -0.5
    values = rates(0, 3999, 9999, lr=peak, schedule="noam", warmup_steps=4000)
    assert values == pytest.approx([1.74693e-7, 6.98771e-4, 4.41942e-4], rel=1e-5)


def test_golden_warmup_and_cosine():
    values = rates(0, 9, 10, 60, 110, lr=1.0, min_lr=0.1, schedule="warmup_cosine", warmup_steps=10, max_steps=110)
    assert values == pytest.approx([0.1, 1.0, 1.0, 0.55, 0.1])
    assert rates(0, 4, 9, 10, 500, lr=1.0, schedule="constant", warmup_steps=10) == pytest.approx([0.1, 0.5, 1, 1, 1])


def test_golden_clipping():
    """‖(3, 4)‖ = 5 over both parameters together: (0.6, 0.8) at a largest norm of 1, as they are at 5.1."""
    for largest, expected in ((1.0, [0.6, 0.8]), (5.1, [3.0, 4.0])):
        module = nn.Module()
        for name, value in (("a", 3.0), ("b", 4.0)):
            parameter = nn.Parameter(torch.zeros(1))
            parameter.grad = torch.tensor([value])
            module.register_parameter(name, parameter)
        clip_gradients(module, largest)
        clipped = torch.cat([parameter.grad for parameter in module.parameters()])
        torch.testing.assert_close(clipped, torch.tensor(expected))


@pytest.mark.parametrize(
    ("optimizer", "expected"),
    [
        # g = 2θ at θ = 1, η = 0.1, two updates by hand.
        ("sgd", 1 - 0.2 - 0.16),
        ("momentum", 1 - 0.2 - (0.9 * 2 + 1.6) * 0.1),
        ("adagrad", 1 - 0.1 - 0.1 * 1.8 / math.sqrt(4 + 1.8**2)),
        ("adam", 0.8000),
        # ρ = 0.999: s = 0.004, then 0.999 · 0.004 + 0.001 · g²
        ("rmsprop", 1 - 0.1 * 2 / math.sqrt(0.004) + 0.1 * 4.324555 / math.sqrt(0.003996 + 0.001 * 4.324555**2)),
    ],
)
def test_golden_two_updates(optimizer, expected):
    module = nn.Linear(1, 1, bias=False)
    nn.init.ones_(module.weight)
    rule = make_optimizer(module, TrainingConfig(optimizer=optimizer, lr=0.1))
    for _ in range(2):
        rule.zero_grad()
        module.weight.square().sum().backward()
        rule.step()
    assert module.weight.item() == pytest.approx(expected, abs=5e-4)


def notes_adam(g: torch.Tensor, m: torch.Tensor, s: torch.Tensor, lr: float) -> torch.Tensor:
    """Adam's step as lecture notes print it, without bias correction; m and s are updated in place."""
    # m ← β₁m + (1 − β₁)g,   s ← β₂s + (1 − β₂)g²,   Δθ = −η m / (√s + ε)
    m.mul_(0.9).add_(0.1 * g)
    s.mul_(0.999).add_(0.001 * g * g)
    return -lr * m / (s.sqrt() + 1e-8)


def first_step(optimizer, g: torch.Tensor, **settings) -> torch.Tensor:
    """What the first update adds to weights of any value, at η = 0.01."""
    module = nn.Linear(len(g), 1, bias=False)
    before = module.weight.detach().clone()
    rule = make_optimizer(module, TrainingConfig(optimizer=optimizer, lr=0.01, **settings))
    module.weight.grad = g[None].clone()
    rule.step()
    return (module.weight.detach() - before)[0]


def test_golden_adam_without_bias_correction_begins_three_times_too_far():
    """η (1 − β₁) / √(1 − β₂) = √10 η = 3.1623 η whatever the gradient's size; with the correction η."""
    g = torch.tensor([5.0, -0.02])
    plain = notes_adam(g, torch.zeros(2), torch.zeros(2), 0.01)
    torch.testing.assert_close(plain, -0.01 * math.sqrt(10) * g.sign(), rtol=1e-4, atol=0)
    torch.testing.assert_close(first_step("adam", g), -0.01 * g.sign(), rtol=1e-4, atol=0)
    # 100 steps of the same gradient: m → g (1 − 0.9^100), s → g² (1 − 0.999^100)
    m, s = torch.zeros(2), torch.zeros(2)
    for _ in range(100):
        late = notes_adam(g, m, s, 0.01)
    expected = (1 - 0.9**100) / math.sqrt(1 - 0.999**100)
    assert expected == pytest.approx(3.2408, abs=1e-4)
    torch.testing.assert_close(late, -0.01 * expected * g.sign(), rtol=1e-4, atol=0)


def test_golden_rmsprop_begins_with_a_long_step():
    """η / √(1 − ρ): √10 η with Hinton's ρ = 0.9, √50 η with this project's 0.98."""
    g = torch.tensor([5.0, -0.02])
    for rho in (0.9, 0.98):
        result = first_step("rmsprop", g, betas=[0.9, rho])
        torch.testing.assert_close(result, -0.01 / math.sqrt(1 - rho) * g.sign(), rtol=1e-4, atol=0)


def test_parity_of_rmsprop_with_torch():
    """The table's equations, with decay of matrices, as torch's own class computes them."""
    torch.manual_seed(0)
    ours, theirs = nn.Linear(4, 3), nn.Linear(4, 3)
    theirs.load_state_dict(ours.state_dict())
    rule = make_optimizer(ours, TrainingConfig(optimizer="rmsprop", lr=0.02, betas=[0.0, 0.95], weight_decay=0.1))
    groups = [{"params": [theirs.weight], "weight_decay": 0.1}, {"params": [theirs.bias]}]
    reference = torch.optim.RMSprop(groups, lr=0.02, alpha=0.95)
    for step in range(5):
        x = torch.randn(6, 4, generator=torch.Generator().manual_seed(step))
        for module, optimizer in ((ours, rule), (theirs, reference)):
            optimizer.zero_grad()
            module(x).square().sum().backward()
            optimizer.step()
    torch.testing.assert_close(ours.weight, theirs.weight, rtol=0, atol=0)
    torch.testing.assert_close(ours.bias, theirs.bias, rtol=0, atol=0)


def test_a_warm_up_longer_than_training_is_cut_to_a_tenth_of_it():
    steps = [TrainingConfig(warmup_steps=w, max_steps=n).warmup for w, n in ((10, 10), (11, 10), (500, 200))]
    assert steps == [10, 1, 20]
    assert TrainingConfig(schedule="noam", warmup_steps=4000, max_steps=5).warmup == 1  # 0 would divide by it


def test_only_matrices_decay():
    groups = make_optimizer(nn.Linear(3, 4), TrainingConfig(weight_decay=0.1)).param_groups
    assert [(group["weight_decay"], [p.dim() for p in group["params"]]) for group in groups] == [(0.1, [2]), (0.0, [1])]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_lr": 0.1, "lr": 0.01}, "min_lr=0.1 exceeds lr=0.01"),
        ({"schedule": "noam"}, "warmup_steps must be 1 or more"),
        ({"betas": [0.9, 1.0]}, "each must be in"),
        ({"precision": "fp16"}, "use bf16, fp32 or auto"),
        ({"lr": "fast"}, "valid number"),
        ({"learning_rate": 0.1}, "Extra inputs"),
    ],
)
def test_impossible_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        TrainingConfig(**settings)


def test_precision_follows_the_machine(monkeypatch):
    config = TrainingConfig(accelerator="cpu", precision="auto")
    for capabilities, expected in (({"avx512_bf16": True}, "bf16"), ({"amx_bf16": True}, "bf16"), ({}, "fp32")):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda result=capabilities: result)
        assert resolve_precision(config) == expected
        assert resolve_precision(config, one_shape=False) == "fp32"  # where each shape is compiled for
        assert resolve_precision(TrainingConfig(accelerator="cpu")) == "fp32"  # unless it is asked to, it does not
    with pytest.raises(InputError, match="only emulates it"):
        resolve_precision(TrainingConfig(precision="bf16", accelerator="cpu"))
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True})
    assert resolve_precision(TrainingConfig(precision="bf16", accelerator="cpu"), one_shape=False) == "bf16"
    assert resolve_precision(TrainingConfig(precision="fp32")) == "fp32"


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "adamw", "momentum"])
def test_parity_of_gradients_by_rows(optimizer, tied, monkeypatch):
    """Large embeddings train to the same weights, whether their gradient is all rows or those of the batch."""
    config = TrainingConfig(optimizer=optimizer, lr=0.3, clip_norm=0.05)
    weights, by_rows = [], []
    for least in (1, 10**9):
        monkeypatch.setattr(optimisation, "LARGE_VOCABULARY", least)
        torch.manual_seed(0)
        model = RecurrentLM(RecurrentLM.Config(width=6, embedding_dim=6, tie_weights=tied), 40)
        train_by_rows(model, config)
        by_rows.append(model.embedding.sparse)
        rule = make_optimizer(model, config)
        for step in range(4):
            tokens = torch.randint(4, 12, (3, 6), generator=torch.Generator().manual_seed(step))
            hidden, _ = model(tokens[:, :-1])
            model.loss(hidden, tokens[:, 1:]).backward()
            clip_gradients(model, 0.05)
            rule.step()
            rule.zero_grad()
        weights.append(torch.cat([parameter.detach().flatten() for parameter in model.parameters()]))
    assert by_rows == [tied or optimizer in ("sgd", "adagrad"), False]
    torch.testing.assert_close(*weights)


@pytest.mark.parametrize("largest", [0.1, 1e3])
def test_parity_of_clipping_with_torch(largest):
    sides = [nn.Sequential(nn.Embedding(7, 3, sparse=sparse), nn.Linear(3, 5)) for sparse in (True, False)]
    sides[1].load_state_dict(sides[0].state_dict())
    for module in sides:
        module(torch.tensor([1, 1, 4])).square().sum().backward()
    clip_gradients(sides[0], largest)
    nn.utils.clip_grad_norm_(sides[1].parameters(), largest)
    for ours, theirs in zip(sides[0].parameters(), sides[1].parameters(), strict=True):
        torch.testing.assert_close(ours.grad.to_dense(), theirs.grad)
    clip_gradients(nn.Linear(2, 2), 1.0)  # nothing to clip


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adamw"])
@pytest.mark.parametrize("largest", [0.1, 1e3])
def test_parity_of_a_clipped_update_with_clipped_gradients(optimizer, largest):
    """Plain SGD takes the factor into its rate, which changes the update in its last bit at most."""
    config = TrainingConfig(optimizer=optimizer, lr=0.1)
    sides = [nn.Linear(3, 5) for _ in range(2)]
    sides[1].load_state_dict(sides[0].state_dict())
    rules = [make_optimizer(module, config) for module in sides]
    for step in range(3):
        for module, rule, clip in zip(sides, rules, (True, False), strict=True):
            set_learning_rate(rule, config, step)
            rule.zero_grad()
            module(torch.tensor([[1.0, 2.0, -1.0]])).square().sum().backward()
            if clip:
                clip_update(module, rule, largest)
            else:
                clip_gradients(module, largest)
            rule.step()
    for ours, theirs in zip(sides[0].parameters(), sides[1].parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-7)
