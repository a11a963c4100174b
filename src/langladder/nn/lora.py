"""LoRA: fine-tuning by low-rank changes of frozen matrices (Hu et al. 2021, section 4.1).

    W = W₀ + (α/r) B A        W₀ (O, I) frozen, A (r, I) and B (O, r) trained

A begins as N(0, 1/I) and B at zero, so that the network begins as its base. Every linear layer that comes from the base
gets its A and B (the paper adapts the attention's W_q and W_v); its biases, norms and embeddings stay as they are. What
the base lacks is trained as usual: a new head, a layer that begins anew, the embeddings of new tokens. The product B A
is added to W₀ before the layer is applied, not to its output; the function is the same. After training it stays there,
so that the network is saved, exported and read like any other.

Shape legend: O outputs and I inputs of a linear layer, r rank, V tokens, D width.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from langladder.ground.errors import InputError


class LowRank(nn.Module):
    """W₀ → W₀ + (α/r) B A."""

    def __init__(self, weight: Tensor, rank: int, alpha: float, generator: torch.Generator) -> None:
        super().__init__()
        outputs, inputs = weight.shape
        self.scale = alpha / rank
        start = torch.randn(rank, inputs, generator=generator) / math.sqrt(inputs)
        self.A = nn.Parameter(start.to(weight.device))  # (r, I)
        self.B = nn.Parameter(torch.zeros(outputs, rank, device=weight.device))  # (O, r)

    def forward(self, weight: Tensor) -> Tensor:
        """(O, I) → (O, I)."""
        return weight + self.scale * (self.B @ self.A)


class NewRows(nn.Module):
    """An embedding (V, D) whose first rows are frozen and whose others, which its base lacks, are trained."""

    def __init__(self, weight: Tensor, known: int) -> None:
        super().__init__()
        self.known, self.rows = known, nn.Parameter(weight.detach()[known:].clone())

    def forward(self, weight: Tensor) -> Tensor:
        """(V, D) → (V, D)."""
        return torch.cat([weight[: self.known], self.rows])


@contextmanager
def adapted(
    network: nn.Module, from_base: dict[str, int] | None, *, rank: int, alpha: float, seed: int
) -> Iterator[None]:
    """Inside, only A, B and what the base lacks are trained; afterwards B A is part of W.

    Args:
        network: changed in place.
        from_base: the parameters that come from the base, with their number of rows there; None: all do.
        seed: of the first A.

    Raises:
        InputError: no linear layer that is trained comes from the base.
    """
    before = {name: parameter.requires_grad for name, parameter in network.named_parameters()}
    parts = dict(network.named_modules())
    generator, changed = torch.Generator().manual_seed(seed), []
    for name, parameter in list(network.named_parameters()):
        known = len(parameter) if from_base is None else from_base.get(name, 0)
        if not known or not parameter.requires_grad:
            continue
        parent, _, own = name.rpartition(".")
        part = parts[parent]
        change: nn.Module | None = None
        if known < len(parameter):
            change = NewRows(parameter, known)
        elif isinstance(part, nn.Linear) and own == "weight":
            change = LowRank(parameter, rank, alpha, generator)
        parameter.requires_grad_(False)
        if change is not None:
            tied = (other for other in parts.values() if other is not part and getattr(other, own, None) is parameter)
            for module in (part, *tied):  # the output layer's matrix may be the embedding's
                parametrize.register_parametrization(module, own, change)
                changed.append((module, own, change))
    try:
        if not any(isinstance(change, LowRank) for _, _, change in changed):
            raise InputError(
                f"training.lora: a {type(network).__name__} has no linear layer from its base that is trained, as GPT "
                "and BERT have; set lora to null, or choose another base (not frozen, pretrained: true)"
            )
        yield
    finally:
        for part, own, _ in changed:
            parametrize.remove_parametrizations(part, own)
        for name, parameter in network.named_parameters():
            parameter.requires_grad_(before[name])
