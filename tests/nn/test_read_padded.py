"""Recurrent layers over padded rows without packing: parity with packed rows, in states, last states and gradients."""

from typing import Any

import pytest
import torch
from torch import nn

from langladder.nn.recurrent import read_padded, read_rows


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("both", [False, True], ids=["forward", "both directions"])
@pytest.mark.parametrize("layers", [1, 2])
def test_parity_with_packed_rows_and_padding_changes_nothing(kind: Any, both: bool, layers: int) -> None:
    torch.manual_seed(0)
    rnn = kind(3, 4, layers, batch_first=True, bidirectional=both)
    x, lengths = torch.randn(3, 6, 3, requires_grad=True), torch.tensor([2, 6, 5])
    mask = (torch.arange(6) < lengths[:, None])[..., None]
    packed, final = read_rows(rnn, x, lengths)
    last = final[0][-2 if both else -1 :].transpose(0, 1).flatten(1)
    states, ends = read_padded(rnn, x, lengths)
    torch.testing.assert_close(states * mask, packed)
    torch.testing.assert_close(ends, last)
    weights = torch.randn_like(packed)
    result = []
    for h, end in ((packed, last), (states * mask, ends)):
        loss = (h * weights).sum() + (end**2).sum()
        result.append(torch.autograd.grad(loss, [x, *rnn.parameters()]))
    for own, other in zip(*result, strict=True):
        torch.testing.assert_close(own, other)
    assert (result[1][0][0, 2:] == 0).all()
