"""Softmax output layer and its cross-entropy, computed in slices so that B·T × V logits never exist at once.

For logits z = W h + b and target y (natural logarithm):

    loss     L = log Σ_v exp z_v − z_y
    gradient ∂L/∂z = softmax(z) − onehot(y),   ∂L/∂h = Wᵀ ∂L/∂z,   ∂L/∂W = ∂L/∂z hᵀ

With label smoothing ε (Szegedy et al. 2016, section 7) the target distribution is (1 − ε)·onehot(y) + ε/V.
Because the gradient needs nothing but the slice's own softmax, it is made in the forward pass and each slice of logits
is thrown away at once: the memory is one slice, however large the vocabulary, and no product is computed twice.

Shape legend: N positions, D width, V vocabulary, n positions of one slice.
"""

import math
from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import nn

SLICE_BYTES = 128 * 2**20
"""Bytes of float32 logits alive at a time; smaller slices cost time, since each adds to the whole ∂L/∂W."""


class OutputLayer(nn.Module, ABC):
    """From hidden states to P(v | h): the contract of the full softmax and of everything that spares its cost.

    `width` is D, `vocab_size` V. `loss` is what trains; the other two are exact and normalised, whatever trains.
    """

    width: int
    vocab_size: int

    @abstractmethod
    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """(…, D) → scores (…, V), whose log-softmax is log P (log P itself is its own log-softmax)."""

    @abstractmethod
    def loss(self, hidden: torch.Tensor, targets: torch.Tensor, smoothing: float = 0.0) -> torch.Tensor:
        """Summed training loss in nats: (N, D), (N,) → scalar; differentiable.

        Raises:
            InputError: label smoothing is asked of a layer whose loss does not see every word.
        """

    @abstractmethod
    def target_log_probs(self, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """log P(target | h) for each position: (N, D), (N,) → (N,) float32; no gradient."""

    def set_counts(self, counts: torch.Tensor) -> None:
        """How often each word occurs in the training text, (V,): for the layers that are built on it."""


class SoftmaxOutput(OutputLayer):
    """P(v | h) = softmax(W h + b)_v.

    Args:
        width: D.
        vocab_size: V.
        tied: an embedding's weight (V, D) to share (Press & Wolf 2017); None makes an own one.
        bias: whether there is a b.
    """

    def __init__(self, *, width: int, vocab_size: int, tied: torch.Tensor | None = None, bias: bool = True) -> None:
        super().__init__()
        if tied is not None and not isinstance(tied, nn.Parameter):
            raise TypeError(f"tied: an embedding's weight is a Parameter, got {type(tied)}")
        self.width, self.vocab_size = width, vocab_size
        self.weight = nn.Parameter(torch.empty(vocab_size, width)) if tied is None else tied
        self.bias = nn.Parameter(torch.zeros(vocab_size)) if bias else None
        if tied is None:
            nn.init.normal_(self.weight, std=1 / math.sqrt(width))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """(…, D) → logits (…, V)."""
        return nn.functional.linear(hidden, self.weight, self.bias)

    def loss(self, hidden: torch.Tensor, targets: torch.Tensor, smoothing: float = 0.0) -> torch.Tensor:
        """Sum of the cross-entropies in nats: (N, D), (N,) → scalar; differentiable."""
        loss: torch.Tensor = _SlicedCrossEntropy.apply(  # type: ignore[no-untyped-call]
            hidden, self.weight, self.bias, targets, smoothing
        )
        return loss

    @torch.no_grad()
    def target_log_probs(self, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """log P(target | h) for each position: (N, D), (N,) → (N,) float32."""
        rows = _rows(self.weight)
        scores = [
            torch.log_softmax(self(h).float(), dim=-1).gather(1, y[:, None])[:, 0]  # (n, V) → (n,)
            for h, y in zip(torch.split(hidden, rows), torch.split(targets, rows), strict=True)
        ]
        return torch.cat(scores) if scores else hidden.new_zeros(0, dtype=torch.float32)


def _rows(weight: torch.Tensor) -> int:
    """Positions a slice, so that the float32 logits take at most SLICE_BYTES."""
    return max(1, SLICE_BYTES // (4 * weight.shape[0]))


class _SlicedCrossEntropy(torch.autograd.Function):
    """Cross-entropy of a linear softmax layer; see the module's equations."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: torch.Tensor,  # (N, D)
        weight: torch.Tensor,  # (V, D)
        bias: torch.Tensor | None,  # (V,)
        targets: torch.Tensor,  # (N,)
        smoothing: float,
    ) -> torch.Tensor:
        device = hidden.device.type
        compute = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else torch.float32
        rows, W = _rows(weight), weight.to(compute)
        grad_hidden, grad_weight = torch.empty_like(hidden), torch.zeros_like(weight)
        grad_bias = None if bias is None else torch.zeros_like(bias)
        total = torch.zeros((), device=hidden.device)
        with torch.autocast(device, enabled=False):
            for start in range(0, len(targets), rows):
                h, y = hidden[start : start + rows].to(compute), targets[start : start + rows, None]
                z = (h @ W.T).float()  # (n, V)
                if bias is not None:
                    z += bias
                loss, gradient = _loss_and_gradient(z, y, smoothing)
                total += loss
                if grad_bias is not None:
                    grad_bias += gradient.sum(0)
                g = gradient.to(compute)
                grad_hidden[start : start + rows] = g @ W  # (n, D)
                if compute == weight.dtype:
                    grad_weight.addmm_(g.T, h)  # (V, D)
                else:
                    grad_weight += g.T @ h
        ctx.save_for_backward(grad_hidden, grad_weight, grad_bias)
        return total

    @staticmethod
    def backward(ctx: Any, *grad_outputs: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        scale = grad_outputs[0]
        grad_hidden, grad_weight, grad_bias = ctx.saved_tensors
        if grad_bias is not None:
            grad_bias = grad_bias * scale
        return grad_hidden.mul_(scale), grad_weight.mul_(scale), grad_bias, None, None


def _loss_and_gradient(z: torch.Tensor, y: torch.Tensor, smoothing: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Summed loss and ∂L/∂z of logits z (n, V), which are overwritten, for targets y (n, 1)."""
    peak, z_target = z.amax(dim=1, keepdim=True), z.gather(1, y)  # (n, 1)
    z_mean = z.mean(dim=1, keepdim=True) if smoothing else 0.0
    exponentials = z.sub_(peak).exp_()  # (n, V); less the largest logit, so that nothing overflows
    normaliser = exponentials.sum(dim=1, keepdim=True)  # (n, 1)
    # L = log Σ exp z − (1 − ε) z_y − ε mean(z)
    loss = (normaliser.log() + peak - (1 - smoothing) * z_target - smoothing * z_mean).sum()
    # ∂L/∂z = softmax(z) − (1 − ε) onehot(y) − ε/V
    gradient = exponentials.div_(normaliser)
    gradient.scatter_add_(1, y, torch.full_like(peak, smoothing - 1))
    if smoothing:
        gradient -= smoothing / z.shape[1]
    return loss, gradient
