"""Softmax output layer and its cross-entropy, computed in slices so that B·T × V logits never exist at once.

For logits z = W h + b and target y (natural logarithm):

    loss     L = log Σ_v exp z_v − z_y
    gradient ∂L/∂z = softmax(z) − onehot(y),   ∂L/∂h = Wᵀ ∂L/∂z,   ∂L/∂W = ∂L/∂z hᵀ

With label smoothing ε (Szegedy et al. 2016, section 7) the target distribution is (1 − ε)·onehot(y) + ε/V.
Because the gradient needs nothing but the slice's own softmax, it is computed in the forward pass and each slice of
logits is thrown away at once: the memory is one slice, however large the vocabulary, and no product is computed twice.

Shape legend: N positions, D width, V vocabulary, n positions of one slice.
"""

import math
from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import nn

SLICE_BYTES = 64 * 2**20
"""Bytes of float32 logits of a slice; smaller slices cost time, since each adds to the whole ∂L/∂W."""

ROUNDING = 1e-6
"""A factor this close to 1 is 1 that was rounded twice."""


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

    @abstractmethod
    def products(self) -> float:
        """Multiplications that the loss of a position takes, in the mean over the words of the training text."""

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
        return cross_entropy(hidden, self.weight, self.bias, targets, smoothing)

    def products(self) -> float:
        """See `OutputLayer.products`: every word has a score, V · D."""
        return float(self.vocab_size * self.width)

    @torch.no_grad()
    def target_log_probs(self, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """log P(target | h) for each position: (N, D), (N,) → (N,) float32."""
        return log_probs_of(hidden, self.weight, self.bias, targets)


def cross_entropy(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    targets: torch.Tensor,
    smoothing: float = 0.0,
) -> torch.Tensor:
    """Σ −log softmax(W h + b)_y in slices: (N, D), (V, D), (V,), (N,) → scalar; differentiable in h, W and b."""
    loss: torch.Tensor = _SlicedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        hidden, weight, bias, targets, smoothing
    )
    return loss


def log_probs_of(
    hidden: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, targets: torch.Tensor
) -> torch.Tensor:
    """log softmax(W h + b)_y in slices: (N, D), (V, D), (V,), (N,) → (N,) float32; no gradient."""
    W, rows = weight.to(hidden.dtype), _rows(weight)
    scores = [
        _log_softmax(h, W, bias).gather(1, y[:, None])[:, 0]  # (n,)
        for h, y in zip(torch.split(hidden, rows), torch.split(targets, rows), strict=True)
    ]
    return torch.cat(scores) if scores else hidden.new_zeros(0, dtype=torch.float32)


def _rows(weight: torch.Tensor) -> int:
    """Positions a slice, so that its float32 logits take at most SLICE_BYTES."""
    return max(1, SLICE_BYTES // (4 * weight.shape[0]))


def _log_softmax(h: torch.Tensor, W: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """log softmax(W h + b) of a slice: (n, D) → (n, V), at least float32."""
    if h.dtype == torch.float32 or h.dtype == torch.float64:
        return torch.log_softmax(nn.functional.linear(h, W, bias), dim=1)
    z = (h @ W.T).float()  # (n, V)
    return torch.log_softmax(z if bias is None else z.add_(bias), dim=1)


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
        compute = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else weight.dtype
        W, N = weight.to(compute), max(1, len(targets))
        grad_hidden, grad_weight = torch.empty_like(hidden), torch.zeros_like(weight)
        grad_bias = None if bias is None else torch.zeros_like(bias)
        total = torch.zeros((), device=hidden.device)
        rows = _rows(weight)
        with torch.autocast(device, enabled=False):
            for start in range(0, len(targets), rows):
                part = slice(start, start + rows)
                h, y = hidden[part].to(compute), targets[part, None]  # (n, D), (n, 1)
                log_p = _log_softmax(h, W, bias)  # (n, V)
                # L = −(1 − ε) log p_y − ε mean(log p)
                total -= (1 - smoothing) * log_p.gather(1, y).sum()
                if smoothing:
                    total -= smoothing * log_p.mean(dim=1).sum()
                # ∂L/∂z = softmax(z) − (1 − ε) onehot(y) − ε/V, here of the mean over all N
                dz = log_p.exp_().scatter_add_(1, y, log_p.new_full(y.shape, smoothing - 1))  # (n, V)
                if smoothing:
                    dz -= smoothing / len(W)
                dz = (dz / N).to(compute)
                grad_hidden[part] = dz @ W
                grad_weight += dz.T @ h
                if grad_bias is not None:
                    grad_bias += dz.sum(dim=0)
        ctx.grads, ctx.terms = (grad_hidden, grad_weight, grad_bias), N
        return total

    @staticmethod
    def backward(ctx: Any, *grad_outputs: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        # Let go of, so that autograd takes them over as the parameters' .grad instead of copying them.
        grads, ctx.grads = ctx.grads, None
        if grads is None:
            raise RuntimeError("the gradient of the sliced cross-entropy can be taken once")
        # They are those of the mean; the loss that trains is a mean over the same N nearly always.
        scale = grad_outputs[0] * ctx.terms
        if scale.device.type != "cpu" or abs(float(scale) - 1) > ROUNDING:
            for grad in grads:
                if grad is not None:
                    grad.mul_(scale)
        return *grads, None, None
