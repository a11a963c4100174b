"""Training in bf16 as Lightning does it: forwards under autocast, backwards behind it."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn


def lstm_runs() -> bool:
    """Whether torch's LSTM runs in bf16 on this processor at all: it needs AVX-512."""
    return bool(torch.cpu.get_capabilities().get("avx512_bf16"))


def check_training(network: nn.Module, loss: Callable[[], Tensor]) -> None:
    """In bf16 the loss is about that in fp32, and every parameter gets a finite gradient."""
    if any(isinstance(module, nn.LSTM) for module in network.modules()) and not lstm_runs():
        pytest.skip("torch's LSTM needs AVX-512 to run in bf16 at all")
    network.eval()
    exact = loss()
    with torch.autocast("cpu", torch.bfloat16):
        network.train()
        learnt = loss()
        network.eval()
        rough = loss()
    learnt.backward()  # type: ignore[no-untyped-call] # behind autocast, as in training
    torch.testing.assert_close(rough.float(), exact, rtol=0.05, atol=0.1)
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
