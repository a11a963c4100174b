"""minGRU and Mamba: the scan against the recurrence, each mixer against its equations, Mamba against transformers."""

from itertools import pairwise

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch.testing import assert_close

from langladder.models.language.linear_time import LinearTimeLM
from langladder.nn import linear_time
from langladder.nn.linear_time import MinGRU, SelectiveScan, linear_scan
from tests.gradient_check import exact


def loop(a: Tensor, b: Tensor, first: Tensor) -> Tensor:
    h, states = first, []
    for t in range(a.shape[1]):
        h = a[:, t] * h + b[:, t]
        states.append(h)
    return torch.stack(states, dim=1)


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 16, 37])
def test_scan_is_the_recurrence_with_its_gradients(steps):
    torch.manual_seed(steps)
    shapes = [(2, steps, 3), (2, steps, 3), (2, 3)]
    a, b, first = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes)
    weights = torch.randn(2, steps, 3, dtype=torch.float64)
    with exact():  # in 64 bits
        ours = linear_scan(a, b, first)
    theirs = loop(a, b, first)
    assert_close(ours, theirs)
    for item, other in zip(
        torch.autograd.grad((weights * ours).sum(), (a, b, first)),
        torch.autograd.grad((weights * theirs).sum(), (a, b, first)),
        strict=True,
    ):
        assert_close(item, other)


def test_scan_is_stable_over_thousands_of_steps():
    """Where a state forgets at once, or never, logarithms and quotients of products are not finite in fp32."""
    a = torch.zeros(1, 4096, 3)
    a[..., 1], a[..., 2] = 1.0, 0.1
    b, first = torch.randn(1, 4096, 3, generator=torch.Generator().manual_seed(0)), torch.ones(1, 3)
    assert_close(linear_scan(a, b, first), loop(a.double(), b.double(), first.double()).float(), atol=2e-4, rtol=1e-5)


def test_parity_of_min_gru_with_its_equation():
    torch.manual_seed(0)
    mixer = MinGRU(width=6, channels=5, kernel=3, longest=20)
    x, past, h = torch.randn(2, 9, 6), torch.randn(2, 2, 6), torch.randn(2, 5)
    ours, (kept, last) = mixer(x, (past, h))
    whole, w = torch.cat([past, x], dim=1), mixer.convolve.convolution
    for t in range(9):
        u = sum(w.weight[:, 0, i] * whole[:, t + i] for i in range(3)) + w.bias
        z = torch.sigmoid(mixer.gate(u))
        h = (1 - z) * h + z * mixer.candidate(u)
        assert_close(ours[:, t], mixer.output(h), atol=1e-5, rtol=1e-5)
    assert_close(last, h, atol=1e-5, rtol=1e-5)
    assert_close(kept, x[:, -2:])


def test_at_the_start_min_gru_remembers_for_2_to_21_steps():
    """z = 1 / (1 + u), u from U(1, 20): as far back as 1/z = 1 + u steps."""
    torch.manual_seed(0)
    remembered = 1 / torch.sigmoid(MinGRU(width=2, channels=4000, kernel=2, longest=20).gate.bias.detach())
    assert 2 <= float(remembered.min()) < 2.1 and 20.9 < float(remembered.max()) <= 21.001
    assert float(remembered.mean()) == pytest.approx(11.5, abs=0.3)
    assert not MinGRU(width=2, channels=4, kernel=2, longest=1).gate.bias.any()  # the paper's


def test_at_the_start_mambas_steps_are_between_a_thousandth_and_a_tenth():
    """Δ = softplus(b_Δ) where nothing is read, its logarithm uniform."""
    torch.manual_seed(0)
    delta = torch.log1p(SelectiveScan(width=2, channels=4000, kernel=2, states=2).step.bias.detach().double().exp())
    assert 0.00099 < float(delta.min()) < 0.00102 and 0.098 < float(delta.max()) < 0.1001
    assert float(delta.log10().mean()) == pytest.approx(-2, abs=0.05)


def test_parity_of_the_selective_scan_with_its_equation():
    torch.manual_seed(0)
    mixer, steps = SelectiveScan(width=4, channels=6, kernel=3, states=2), linear_time.PIECE + 5
    torch.nn.init.normal_(mixer.D)
    x, past, h = torch.randn(2, steps, 4), torch.randn(2, 2, 6), torch.randn(2, 6, 2)
    ours, (_, last) = mixer(x, (past, h))
    inner, gate = mixer.input(x).chunk(2, dim=-1)
    whole, w = torch.cat([past, inner], dim=1), mixer.convolve.convolution
    A = torch.arange(-1.0, -3.0, -1.0).expand(6, 2)
    for t in range(steps):
        u = functional.silu(sum(w.weight[:, 0, i] * whole[:, t + i] for i in range(3)) + w.bias)
        delta, B, C = mixer.select(u).split([1, 2, 2], dim=1)
        delta = torch.log1p(mixer.step(delta).exp())
        h = torch.exp(torch.einsum("bh,hn->bhn", delta, A)) * h + torch.einsum("bh,bh,bn->bhn", delta, u, B)
        y = torch.einsum("bhn,bn->bh", h, C) + mixer.D * u
        assert_close(ours[:, t], mixer.output(y * functional.silu(gate[:, t])), atol=1e-5, rtol=1e-5)
    assert_close(last, h, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("mixer", ["min_gru", "mamba"])
def test_a_text_in_pieces_is_the_text_and_its_state_keeps_its_size(mixer):
    torch.manual_seed(0)
    model = LinearTimeLM(LinearTimeLM.Config(mixer=mixer, width=8, layers=2, feed_forward=2), 20).eval()
    tokens = torch.randint(4, 20, (2, 40))
    whole, _ = model(tokens)
    state, parts, sizes = None, [], []
    for piece in tokens.split([1, 1, 2, 19, 1, 16], dim=1):
        hidden, state = model(piece, state)
        parts.append(hidden)
        sizes.append([tuple(part.shape) for part in state])
    assert_close(torch.cat(parts, dim=1), whole, atol=1e-5, rtol=1e-5)
    assert all(item == other for item, other in pairwise(sizes))


def test_parity_of_mamba_with_transformers():
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.MambaConfig(
        vocab_size=30, hidden_size=32, state_size=4, num_hidden_layers=3, use_mambapy=False, pad_token_id=0
    )
    theirs = transformers.MambaForCausalLM(config).eval()
    ours = LinearTimeLM(LinearTimeLM.Config(mixer="mamba", width=32, layers=3, states=4), 30).eval()
    names = {
        "in_proj": "input",
        "conv1d": "convolve.convolution",
        "x_proj": "select",
        "dt_proj": "step",
        "out_proj": "output",
    }
    source_of = {"embedding.weight": "backbone.embeddings.weight", "norm.weight": "backbone.norm_f.weight"}
    for layer in range(3):
        block, mixer = f"blocks.{layer}", f"backbone.layers.{layer}.mixer"
        source_of |= {f"{block}.norm.weight": f"backbone.layers.{layer}.norm.weight"}
        source_of |= {f"{block}.mixer.log_A": f"{mixer}.A_log", f"{block}.mixer.D": f"{mixer}.D"}
        for entry, other in names.items():
            for part in ("weight", "bias"):
                if f"{mixer}.{entry}.{part}" in theirs.state_dict():
                    source_of[f"{block}.mixer.{other}.{part}"] = f"{mixer}.{entry}.{part}"
    assert set(source_of) == set(dict(ours.named_parameters()))
    weights = theirs.state_dict()
    with torch.no_grad():
        for name, source in source_of.items():
            weights[source].add_(0.1 * torch.randn_like(weights[source]))  # no weight at its start
            ours.get_parameter(name).copy_(weights[source].view_as(ours.get_parameter(name)))
    tokens = torch.randint(4, 30, (2, 50))
    with torch.no_grad():
        hidden, _ = ours(tokens)
        assert_close(ours.head(hidden), theirs(tokens).logits, atol=2e-4, rtol=1e-4)
