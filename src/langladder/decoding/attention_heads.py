"""Attention weights of every head of every layer of a translator, for one sentence and one translation of it.

The network processes the whole translation once, as in training. Hooks record the inputs of each attention and compute
it again with the equation, because the fused kernel does not return the weights. This module does not repeat the
network's code.

Shape legend: S source positions, T target positions, h heads.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import nn

from langladder.models.translation.convolutional_seq2seq import DecoderBlock
from langladder.models.translation.translator import Translator
from langladder.nn.multi_head_attention import MultiHeadAttention, banded
from langladder.text.tokenize.specials import BOS

Kind = Literal["source", "encoder", "decoder"]
KINDS: tuple[Kind, ...] = ("source", "encoder", "decoder")


class Heads(NamedTuple):
    """The weights of one layer.

    Attributes:
        kind: decoder to source, encoder self-attention, or decoder self-attention.
        layer: from 1.
        weights: (h, T, S), (h, S, S) or (h, T, T) float32; each row sums to 1. T includes EOS. Row t has the weights
            for output token t; column t of decoder self-attention is the previous token (the first is BOS).
    """

    kind: Kind
    layer: int
    weights: np.ndarray


@torch.no_grad()
def heads(model: Translator, source: Sequence[int], target: Sequence[int]) -> list[Heads]:
    """All layers, the lowest first; none for a network without attention layers or heads.

    Args:
        source: ids … EOS. target: ids, without BOS and EOS.
    """
    device = next(model.parameters()).device
    result: list[Heads] = []
    with _watched(model, result), torch.autocast(device.type, enabled=False):
        model.hidden(torch.tensor([[*source]], device=device), torch.tensor([[BOS, *target]], device=device))
    return sorted(result, key=lambda head: (KINDS.index(head.kind), head.layer))


@torch.no_grad()
def read_by_step(model: Translator, source: Sequence[int], target: Sequence[int]) -> np.ndarray | None:
    """The attention weights of the search, (T, S) float32; None for a network without attention.

    Args:
        source: ids … EOS. target: ids, without BOS and EOS.
    """
    device = next(model.parameters()).device
    ids = torch.tensor([[*source]], device=device)
    state, rows = model.encode(ids, torch.ones_like(ids, dtype=torch.bool)), []
    prefix = torch.tensor([[BOS, *target]], device=device)
    for t in range(prefix.shape[1]):
        _, state, weights = model.step(prefix[:, : t + 1], state)
        if weights is None:
            return None
        rows.append(weights[0].float())
    return torch.stack(rows).cpu().numpy()


@contextmanager
def _watched(model: Translator, results: list[Heads]) -> Iterator[None]:
    """Context in which each attention that runs records its weights."""
    hooks = []
    training = model.training
    model.eval()

    def equation(module: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any], _: Any) -> None:
        assert isinstance(module, MultiHeadAttention)
        x, memory = (tensor[None] for tensor in inputs[:2])  # (1, T, D), (1, S, D): one row has no padding
        mask = banded(x.shape[1], memory.shape[1], None, x.device) if named.get("causal") else None
        _, weights = module.forward_equation(x, *module.keys_values(memory), mask)  # (1, h, T, S)
        results.append(Heads(*positions[module], weights[0].float().cpu().numpy()))

    def block(module: nn.Module, _: tuple[Any, ...], out: tuple[Any, ...]) -> None:
        results.append(Heads(*positions[module], out[2].float().cpu().numpy()))  # (1, T, S)

    positions: dict[nn.Module, tuple[Kind, int]] = {}
    for name, module in model.named_modules():
        side, _, rest = name.partition(".")
        number = rest.partition(".")[0]
        if isinstance(module, MultiHeadAttention):
            kind: Kind = "source" if name.endswith(".cross") else "encoder" if side == "encoder" else "decoder"
            positions[module] = kind, int(number) + 1
            hooks.append(module.register_forward_hook(equation, with_kwargs=True))
        elif isinstance(module, DecoderBlock):
            positions[module] = "source", int(number) + 1
            hooks.append(module.register_forward_hook(block))
    try:
        yield
    finally:
        model.train(training)
        for hook in hooks:
            hook.remove()
