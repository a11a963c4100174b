"""Convolution over texts: the notes' numbers, lengths with padding, parity with torch's convolution, short texts."""

import pytest
import torch
from torch import nn

from langladder.nn.text_convolution import Padding, TextConvolution, positions

X = [[0.2, -0.1, 0.5, 0.3, 0.8], [0.5, 0.8, -0.2, 0.1, 0.3], [-0.1, 0.3, 0.7, 0.4, -0.2], [0.4, 0.2, -0.3, 0.6, 0.5]]
W = [[0.1, 0.2, -0.1, 0.3, 0.2], [-0.2, 0.1, 0.3, -0.1, 0.4]]


def test_golden_convolution_of_the_notes() -> None:
    """Their c_2 and c_3 (.85, .62) are wrong: .96 and .55."""
    convolution = TextConvolution([2], filters=1, input_width=5, padding="valid")
    with torch.no_grad():
        convolution.weights[0].copy_(torch.tensor([W]))
        convolution.biases[0].fill_(0.5)
    ((c, there),) = convolution(torch.tensor([X]), torch.ones(1, 4, dtype=torch.bool))
    assert torch.relu(c)[0, :, 0].tolist() == pytest.approx([0.73, 0.96, 0.55], abs=1e-6)
    assert there.all()


@pytest.mark.parametrize(
    ("padding", "n", "h", "length"),
    [
        *(("valid", 4, 2, 3), ("valid", 6, 3, 4), ("valid", 6, 4, 3), ("valid", 6, 5, 2), ("valid", 3, 3, 1)),
        *(("valid", 3, 5, 1), ("same", 3, 3, 3), ("same", 7, 4, 7), ("wide", 3, 3, 5), ("wide", 2, 5, 6)),
    ],
)
def test_golden_lengths(padding: Padding, n: int, h: int, length: int) -> None:
    """n − h + 1, n, n + h − 1; one place where a text is shorter than a filter."""
    convolution = TextConvolution([h], filters=2, input_width=3, padding=padding)
    ((c, there),) = convolution(torch.randn(1, n, 3), torch.ones(1, n, dtype=torch.bool))
    assert c.shape == (1, length, 2) and there.sum() == length
    assert positions(torch.tensor([n]), h, padding).item() == length


def test_golden_parameters_of_the_notes_network() -> None:
    """d = 50: 60,902 with the output layer of two labels; d = 300: 360,902."""
    for width, wanted in ((50, 60_902), (300, 360_902)):
        convolution = TextConvolution([3, 4, 5], filters=100, input_width=width, padding="valid")
        head = nn.Linear(300, 2)
        assert sum(p.numel() for part in (convolution, head) for p in part.parameters()) == wanted


@pytest.mark.parametrize("padding", ["valid", "same", "wide"])
def test_parity_with_torch(padding: Padding) -> None:
    """Its own padding, not ours: "same" puts the odd zero of an even filter behind the text, as torch does."""
    torch.manual_seed(0)
    convolution, x = TextConvolution([1, 3, 4], filters=6, input_width=5, padding=padding), torch.randn(2, 7, 5)
    x.requires_grad_(True)
    for (c, _), width, weight, bias in zip(
        convolution(x, torch.ones(2, 7, dtype=torch.bool)),
        convolution.widths,
        convolution.weights,
        convolution.biases,
        strict=True,
    ):
        zeros = width - 1 if padding == "wide" else padding
        reference = nn.functional.conv1d(x.transpose(1, 2), weight.transpose(1, 2), bias, padding=zeros).transpose(1, 2)
        torch.testing.assert_close(c, reference)
        gradient = torch.randn_like(c)
        for own, other in zip(
            torch.autograd.grad(c, (x, weight), gradient, retain_graph=True),
            torch.autograd.grad(reference, (x, weight), gradient),
            strict=True,
        ):
            torch.testing.assert_close(own, other)


@pytest.mark.parametrize("padding", ["valid", "same", "wide"])
def test_padding_changes_nothing(padding: Padding) -> None:
    torch.manual_seed(0)
    convolution, x = TextConvolution([2, 5], filters=3, input_width=4, padding=padding), torch.randn(2, 8, 4)
    mask = torch.arange(8) < torch.tensor([[3], [8]])
    alone = convolution(x[:1, :3], mask[:1, :3])
    for (c, there), (own, own_there) in zip(convolution(x, mask), alone, strict=True):
        assert own_there.all() and there[0].sum() == own.shape[1]
        torch.testing.assert_close(c[0, : own.shape[1]], own[0])
