"""The gradient check: parity with torch, all networks pass, wrong gradients are found."""

from typing import Any

import pytest
import torch
from torch import nn

from langladder.ground.schema import Config
from langladder.models.language.gpt import GPT
from langladder.models.language.recurrent import RecurrentLM
from langladder.models.network import Network
from tests import gradient_check
from tests.gradient_check import check, compare, exact, kinds, tiny_networks

KINDS = kinds()


@pytest.mark.parametrize("kind", KINDS)
def test_every_network_has_the_gradient_of_its_loss(kind: str) -> None:
    """A new network is found and checked without a new test; it says `trial_loss`."""
    ((name, network),) = tiny_networks(KINDS[kind], every_choice=False)
    result = check(name, network, entries=3)
    assert result.right, result
    assert result.entries >= len(list(network.parameters())) and result.parameters < 20_000


def test_all_kinds_of_networks_are_found() -> None:
    assert {"RecurrentLM", "GPT", "Transformer", "CTCRecognizer", "Captioner", "SkipGram"} <= set(KINDS)
    assert all(issubclass(kind, nn.Module) for kind in KINDS.values())
    assert not {"GPTBlock", "NeuralLanguageModel", "Network", "Translator"} & set(KINDS)


def test_each_choice_of_the_settings_is_made_once() -> None:
    names = [name for name, _ in tiny_networks(RecurrentLM)]
    assert {"RecurrentLM", "RecurrentLM, cell=gru", "RecurrentLM, layer_norm=true"} <= set(names)
    assert len(names) == len(set(names))
    assert not any("bidirectional=true" in name or "reset_after=false" in name for name in names)  # are refused


@pytest.mark.parametrize("choice", ["cell=gru", "output=nce", "cell=peephole"])
def test_other_choices_are_right_too(choice: str) -> None:
    network = dict(tiny_networks(RecurrentLM))[f"RecurrentLM, {choice}"]
    assert check(choice, network, entries=3).right


class Curve(nn.Module):
    """L = Σ θ³: ∂L/∂θ = 3θ²; `wrong` scales the gradient of autograd."""

    def __init__(self, wrong: float = 1.0) -> None:
        super().__init__()
        self.theta = nn.Parameter(torch.tensor([1.0, -2.0, 0.5]))
        self.unused = nn.Parameter(torch.ones(2))
        self.wrong = wrong

    def trial_loss(self, rows: int, length: int) -> torch.Tensor:
        del rows, length
        loss = (self.theta**3).sum()
        return loss * self.wrong + (loss * (1 - self.wrong)).detach()  # the value of the loss, another gradient


def test_golden_slopes_of_a_cube() -> None:
    assert check("cube", Curve()).error < 1e-8


@pytest.mark.parametrize("wrong", [0.999, 2.0, 0.0, -1.0])
def test_a_wrong_gradient_is_found(wrong: float) -> None:
    result = check("cube", Curve(wrong))
    assert not result.right and result.where == "theta"
    assert result.error == pytest.approx(abs(1 - wrong) / max(1, abs(wrong)), rel=1e-3)


def test_a_gradient_that_is_cut_off_is_found() -> None:
    """Autograd says nothing of the embedding, but the loss depends on it."""
    network: Any = dict(tiny_networks(GPT, every_choice=False))["GPT"]
    whole = network.embedding.forward
    network.embedding.forward = lambda tokens: whole(tokens).detach()
    result = check("GPT", network)
    assert not result.right and result.where == "embedding.weight"


def test_a_gradient_that_is_no_number_is_found() -> None:
    class Root(Curve):
        def trial_loss(self, rows: int, length: int) -> torch.Tensor:
            return (self.theta - self.theta.detach()).abs().sqrt().sum() + super().trial_loss(rows, length)

    assert not check("root", Root()).right


def test_parity_with_torchs_gradcheck() -> None:
    torch.manual_seed(0)
    layer = nn.Linear(4, 3).double()
    x = torch.randn(5, 4, dtype=torch.float64)

    def loss(*_: torch.Tensor) -> torch.Tensor:
        return torch.tanh(layer(x)).square().sum()

    assert torch.autograd.gradcheck(loss, tuple(layer.parameters()))
    assert compare(layer, loss, entries=20, seed=0)[0] < 1e-7


def test_exact_uses_64_bits_and_restores_the_settings() -> None:
    state = torch.get_rng_state()
    with exact():
        assert torch.ones(1, dtype=torch.float64).float().dtype == torch.float64
        assert torch.zeros(1).dtype == torch.float64
        assert torch.ones(1, dtype=torch.float16).float().dtype == torch.float32
        torch.rand(3)
    assert torch.zeros(1).dtype == torch.float32 and torch.equal(state, torch.get_rng_state())
    assert torch.ones(1, dtype=torch.float64).float().dtype == torch.float32


def test_parameters_are_put_back() -> None:
    network = dict(tiny_networks(GPT, every_choice=False))["GPT"]
    before = [p.detach().clone().double() for p in network.parameters()]
    check("GPT", network, entries=3)
    assert all(torch.equal(p, old) for p, old in zip(network.parameters(), before, strict=True))


def test_a_network_without_trial_loss_says_so() -> None:
    class Silent(Network):
        SIZES = ()

        def __init__(self) -> None:
            super().__init__(Config())
            self.weight = nn.Parameter(torch.ones(1))

    with pytest.raises(NotImplementedError, match="Silent does not define trial_loss"):
        gradient_check.check("silent", Silent())
