"""Mixture of experts: the router's weights, the dense mixture, the balance, gradients, what is counted."""

import pytest
import torch
from torch.testing import assert_close

from langladder.models.language.gpt import GPT
from langladder.nn.experts import Experts
from langladder.nn.products import matrix_entries

N, D = 40, 8


def experts(active: int, number: int = 4, **settings: bool) -> Experts:
    torch.manual_seed(2)
    return Experts(width=D, inner=12, experts=number, active=active, **{"gated": False, "bias": True} | settings)


@pytest.mark.parametrize("active", [1, 2, 4])
def test_weights_of_the_router_sum_to_one_over_the_chosen(active: int) -> None:
    p, gates = experts(active).weights(torch.randn(N, D))
    assert_close(p.sum(dim=1), torch.ones(N))
    assert ((gates > 0).sum(dim=1) == active).all()
    assert_close(gates.sum(dim=1), p.amax(dim=1) if active == 1 else torch.ones(N))  # Switch: g = p
    chosen = gates > 0
    assert (p.masked_fill(~chosen, 2.0).amin(dim=1) >= p.masked_fill(chosen, -1.0).amax(dim=1)).all()


@pytest.mark.parametrize("gated", [False, True])
def test_all_experts_are_the_dense_mixture(gated: bool) -> None:
    """k = n: y = Σ p_i E_i(x); with equal weights, the mean of the experts."""
    layer, x = experts(4, gated=gated).eval(), torch.randn(3, N, D)
    every = torch.stack([expert(x) for expert in layer.experts], dim=-1)  # (3, N, D, n)
    p = torch.softmax(layer.router(x), dim=-1)
    assert_close(layer(x), (every * p[..., None, :]).sum(dim=-1))
    torch.nn.init.zeros_(layer.router.weight)
    assert_close(layer(x), every.mean(dim=-1))


def test_a_token_goes_through_its_two_experts_alone() -> None:
    layer, x = experts(2).eval(), torch.randn(N, D)
    scores = layer.router(x).detach()
    for token in range(N):
        best, chosen = scores[token].topk(2)
        g = torch.softmax(best, dim=0)  # of the top scores: the same as p over their sum
        expected = sum(g[k] * layer.experts[int(item)](x[token : token + 1])[0] for k, item in enumerate(chosen))
        assert_close(layer(x[token : token + 1])[0], expected)
        assert_close(layer(x)[token], expected)


@pytest.mark.parametrize("active", [1, 2])
def test_every_expert_and_the_router_get_a_gradient(active: int) -> None:
    layer = experts(active).train()
    layer(torch.randn(200, D)).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in layer.parameters())


def test_golden_balance_is_one_where_all_get_the_same_and_n_where_one_gets_all() -> None:
    layer = experts(1).train()
    with torch.no_grad():
        layer.router.weight.copy_(100 * torch.eye(4, D))
    layer(torch.eye(4, D).repeat(5, 1))
    assert float(layer.take_balance()) == pytest.approx(1.0)
    assert layer.take_balance() == 0.0  # once
    layer(torch.eye(1, D).repeat(20, 1))
    assert float(layer.take_balance()) == pytest.approx(4.0)
    layer.eval()(torch.eye(4, D))
    assert layer.take_balance() == 0.0
    both = experts(2).train()
    torch.nn.init.zeros_(both.router.weight)  # p = 1/n everywhere: Σ f = 1, whichever two are chosen
    both(torch.randn(N, D))
    assert float(both.take_balance()) == pytest.approx(1.0)


@pytest.mark.parametrize("active", [1, 2])
def test_the_balance_moves_the_router_by_the_mean_weights_alone(active: int) -> None:
    """∂/∂W_r of n Σ f P with f a constant; each expert's own weights get nothing."""
    layer, x = experts(active).train(), torch.randn(N, D)
    layer(x)
    layer.take_balance().backward()
    f = torch.zeros(4)
    for row in layer.router(x).topk(active, dim=1).indices:
        f[row] += 1 / (N * active)
    expected = 4 * (f * torch.softmax(x @ layer.router.weight.T, dim=1).mean(dim=0)).sum()
    (gradient,) = torch.autograd.grad(expected, layer.router.weight)
    assert gradient.abs().max() > 1e-3
    assert_close(layer.router.weight.grad, gradient)
    assert all(p.grad is None or not p.grad.any() for p in layer.experts.parameters())


def test_a_gated_network_is_swiglu_and_another_one_gelu() -> None:
    """W₂ (SiLU(W₃ x) ⊙ W₁ x), SiLU(z) = z σ(z); W₂ GELU(W₁ x) (tanh form)."""
    x = torch.randn(N, D)
    expert = experts(1, gated=True).experts[0]
    z = expert.gate(x)
    assert_close(expert(x), expert.contract(z * torch.sigmoid(z) * expert.expand(x)))
    expert = experts(1).experts[0]
    z = expert.expand(x)
    gelu = z / 2 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (z + 0.044715 * z**3)))
    assert_close(expert(x), expert.contract(gelu), atol=1e-6, rtol=1e-5)


def test_the_balance_is_part_of_the_training_loss_only() -> None:
    torch.manual_seed(1)
    settings = {"context": 8, "width": 8, "layers": 2, "heads": 2, "experts": 3, "balance": 0.5}
    model, tokens = GPT(GPT.Config.model_validate(settings), 20), torch.randint(4, 20, (4, 9))
    losses = {}
    for training in (False, True):
        model.train(training)
        losses[training] = model.loss(model(tokens[:, :-1])[0], tokens[:, 1:])
    model(tokens[:, :-1])
    balances = [block.experts.take_balance() for block in model.blocks]
    assert_close(losses[True] - losses[False], 0.5 * sum(balances))
    assert all(0.5 < float(balance) < 3 for balance in balances)


def test_multiplications_are_those_of_the_experts_in_use() -> None:
    assert matrix_entries(experts(2)) == D * 4 + 2 * (2 * D * 12)
    assert matrix_entries(experts(1, gated=True)) == D * 4 + 3 * D * 12


def test_more_active_experts_than_there_are_is_an_error() -> None:
    with pytest.raises(ValueError, match="active_experts=3 of experts=2: at most all of them"):
        GPT.Config.model_validate({"experts": 2, "active_experts": 3})
