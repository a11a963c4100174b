"""The gated convolutional network: its reach, its gate, against a plain loop."""

import pytest
import torch
from torch.testing import assert_close

from langladder.models.language.convolutional import ConvolutionalLM
from langladder.text.tokenize.specials import BOS


def build(**settings: object) -> ConvolutionalLM:
    torch.manual_seed(0)
    config = ConvolutionalLM.Config(**({"width": 6, "embedding_dim": 6, "layers": 3, "kernel": 3} | settings))
    return ConvolutionalLM(config, 20)


@pytest.mark.parametrize(("layers", "kernel"), [(1, 2), (3, 3), (2, 5)])
def test_reach_is_exact(layers, kernel):
    model = build(layers=layers, kernel=kernel).eval()
    assert model.reach == layers * (kernel - 1) + 1
    tokens = torch.randint(4, 20, (1, 20))
    x = model.embedding(tokens).detach().requires_grad_()
    model.embedding.forward = lambda _: x
    hidden, _ = model(tokens)
    hidden[0, 15].square().sum().backward()
    seen = x.grad[0].abs().sum(dim=1).nonzero()[:, 0].tolist()
    assert seen == list(range(15 - model.reach + 1, 16))


def test_parity_of_the_gated_convolution_with_its_equation():
    model = build(layers=1)
    block, x = model.blocks[0], torch.randn(2, 6, 7)
    past = torch.zeros(2, 6, 2)
    out, last = block.read_on(x, past)
    W, V = block.convolution.weight.chunk(2)  # (C, C, k) each
    b, c = block.convolution.bias.chunk(2)
    padded = torch.cat([past, x], dim=2)
    for t in range(7):
        window = padded[:, :, t : t + 3]  # (B, C, k)
        linear, gate = (torch.einsum("bik,oik->bo", window, M) + a for M, a in ((W, b), (V, c)))
        assert_close(out[..., t], x[..., t] + linear * torch.sigmoid(gate), atol=1e-5, rtol=1e-5)
    assert_close(last, x[..., -2:])


@pytest.mark.parametrize("weight_norm", [False, True])
def test_a_text_in_pieces_is_the_text(weight_norm):
    model = build(weight_norm=weight_norm).eval()
    tokens = torch.cat([torch.tensor([[BOS]]), torch.randint(4, 20, (1, 11))], dim=1)
    whole, _ = model(tokens)
    state, parts = None, []
    for piece in tokens.split([1, 1, 4, 6], dim=1):  # pieces shorter than k − 1 too
        hidden, state = model(piece, state)
        parts.append(hidden)
    assert_close(torch.cat(parts, dim=1), whole)
