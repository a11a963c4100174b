"""Softmax output layer and its cross-entropy, computed in slices so that B·T × V logits never exist at once.

For logits z = W h + b and target y (natural logarithm):

    loss     L = log Σ_v exp z_v − z_y
    gradient ∂L/∂z = softmax(z) − onehot(y),   ∂L/∂h = Wᵀ ∂L/∂z,   ∂L/∂W = ∂L/∂z hᵀ

With label smoothing ε (Szegedy et al. 2016, section 7) the target distribution is (1 − ε)·onehot(y) + ε/V. The gradient
only needs the slice's own softmax, so the forward pass computes it and discards each slice of logits at once. The
memory is one slice for any vocabulary size, and no product is computed twice.

A slice of positions is computed in blocks of words that fit into the processor's cache. The exponentials are computed
before the product is written to memory, which makes a softmax over 33,000 words a quarter faster. Each block has its
own maximum m, and e = exp(z − m). The softmax is e · exp(m − log Σ exp z); this factor, one number per position,
multiplies the small matrices instead of the large one. The rest of ∂L/∂z, the one-hot target and the smoothing, has
rank one or is sparse, and is added separately.

`CountedOutput` is the base of output layers that depend on word counts: a code, an order or a noise distribution.

The counts are saved with the weights. Values derived from them are computed when first needed, and again after the
counts change (`set_counts`, or loading a saved model). Before, every word has count 1.

`TextOutput` is a softmax over a part of the vocabulary, for a vocabulary with ids that are inputs but never predicted.

    z_v = w_v · h for the V words,   z_v = −∞ for the M ids after them

Its matrix can be the first V rows of the embedding table. Loss and gradient are those of the softmax over V words.

Shape legend: N positions, D width, V vocabulary, n positions of one slice, v words of one block, M
ids that are never predicted.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.autograd.function import FunctionCtx
from torch.nn import functional

from langladder.ground.errors import InputError
from langladder.nn import packing

SLICE_BYTES = 128 * 2**20
"""Bytes of float32 logits in memory at a time. Smaller slices take more time, because each adds to the whole ∂L/∂W."""

BLOCK_WORDS = 2048
"""Words v of a block on a CPU; a GPU processes all words at once."""

ALIGNED = 64
"""On a GPU, the number of words is padded to a multiple of this; tensor cores are several times slower with others."""

IGNORED = -100
"""The target of an ignored position, for layers that process all positions (`OutputLayer.takes_all`)."""

ROUNDING = 1e-6
"""A factor this close to 1 counts as 1: the difference is from rounding twice."""


class OutputLayer(nn.Module, ABC):
    """From hidden states to P(v | h): the interface of the full softmax and of its cheaper replacements.

    `width` is D, `vocab_size` V. Training uses `loss`; the other two methods are always exact and normalised.
    """

    width: int
    vocab_size: int

    @abstractmethod
    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """(…, D) → scores (…, V), whose log-softmax is log P (can be log P, which is its own log-softmax)."""

    @abstractmethod
    def loss(self, hidden: torch.Tensor, targets: torch.Tensor, smoothing: float = 0.0) -> torch.Tensor:
        """Summed training loss in nats: (N, D), (N,) → scalar; differentiable.

        Raises:
            InputError: label smoothing is requested, but the layer's loss does not use every word.
        """

    def takes_all(self, x: torch.Tensor) -> bool:  # noqa: ARG002 - used by subclasses
        """Whether `loss` should get all positions, the ignored ones with the target IGNORED, instead of a selection.

        The size of a selection depends on the data. On a GPU, the CPU would have to wait for it at every step, and
        `torch.compile` would break its graph there.

        Args:
            x: a tensor on the network's device.
        """
        return False

    @abstractmethod
    def target_log_probs(self, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """log P(target | h) for each position: (N, D), (N,) → (N,) float32; no gradient."""

    @abstractmethod
    def products(self) -> float:
        """Multiplications for the loss of one position, averaged over the words of the training text."""

    def set_counts(self, counts: torch.Tensor) -> None:
        """Set the counts of the words in the training text, (V,), for layers that depend on them."""


class SoftmaxOutput(OutputLayer):
    """P(v | h) = softmax(W h + b)_v.

    Args:
        width: D.
        vocab_size: V.
        tied: an embedding's weight (V, D) to share (Press & Wolf 2017); None: the layer has its own.
        bias: whether the layer has b.
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
        if self.takes_all(hidden):
            words, more = self._words(), -self.vocab_size % ALIGNED
            bias: torch.Tensor | None = self.bias
            if more:  # rows of zeros, whose logits are ignored
                words = functional.pad(words, (0, 0, 0, more))  # (V + more, D)
                bias = None if bias is None else functional.pad(bias, (0, more))
            logits = functional.linear(hidden, words, bias)[:, : self.vocab_size].float()  # (N, V)
            return functional.cross_entropy(
                logits, targets, ignore_index=IGNORED, reduction="sum", label_smoothing=smoothing
            )
        return cross_entropy(hidden, self._words(), self.bias, targets, smoothing)

    def takes_all(self, x: torch.Tensor) -> bool:
        """See `OutputLayer.takes_all`: true on a GPU, which then holds all N · V logits at once."""
        return packing.fixed_shapes(x)

    def products(self) -> float:
        """See `OutputLayer.products`: every word has a score, V · D."""
        return float(self.vocab_size * self.width)

    @torch.no_grad()
    def target_log_probs(self, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """log P(target | h) for each position: (N, D), (N,) → (N,) float32."""
        return log_probs_of(hidden, self._words(), self.bias, targets)

    def _words(self) -> torch.Tensor:
        """The rows of W for words that can be predicted: (V, D)."""
        return self.weight


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
    rows = _rows(weight)
    scores = []
    for h, y in zip(torch.split(hidden, rows), torch.split(targets, rows), strict=True):
        logits = _exponentials(h, weight.to(h.dtype), bias, y[:, None], keep=False)
        scores.append((logits.target - logits.log_normaliser)[:, 0])
    return torch.cat(scores) if scores else hidden.new_zeros(0, dtype=torch.float32)


def _rows(weight: torch.Tensor) -> int:
    """Positions per slice, so that the float32 logits take at most SLICE_BYTES."""
    return max(1, SLICE_BYTES // (4 * weight.shape[0]))


class _Context(FunctionCtx):
    """The results of the backward pass: the gradients of the mean, and its number of terms."""

    grads: tuple[torch.Tensor | None, ...] | None
    terms: int


class _SlicedCrossEntropy(torch.autograd.Function):
    """Cross-entropy of a linear softmax layer; see the equations in the module docstring."""

    @staticmethod
    def forward(
        ctx: _Context,
        hidden: torch.Tensor,  # (N, D)
        weight: torch.Tensor,  # (V, D)
        bias: torch.Tensor | None,  # (V,)
        targets: torch.Tensor,  # (N,)
        smoothing: float,
    ) -> torch.Tensor:
        device = hidden.device.type
        compute = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else weight.dtype
        rows, W, N = _rows(weight), weight.to(compute), max(1, len(targets))
        make = torch.empty_like if len(targets) else torch.zeros_like  # the first slice writes, later ones add
        grad_hidden, grad_weight, grad_bias = make(hidden), make(weight), None if bias is None else make(bias)
        total = torch.zeros((), device=hidden.device)
        with torch.autocast(device, enabled=False):
            for start in range(0, len(targets), rows):
                part = slice(start, start + rows)
                h, y = hidden[part].to(compute), targets[part, None]
                logits = _exponentials(h, W, bias, y, keep=True, smoothing=smoothing)
                # L = log Σ exp z − (1 − ε) z_y − ε mean(z)
                loss = logits.log_normaliser - (1 - smoothing) * logits.target - smoothing * logits.mean
                total += loss.sum()
                grads = _Sums(grad_weight, grad_bias, 0.0 if start == 0 else 1.0)
                grad_hidden[part] = _gradient(h, W, y, logits, smoothing, 1 / N, grads)
        ctx.grads, ctx.terms = (grad_hidden, grad_weight, grad_bias), N
        return total

    @staticmethod
    def backward(ctx: _Context, *grad_outputs: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        # drop our references, so that autograd uses these tensors as .grad instead of copying them
        grads, ctx.grads = ctx.grads, None
        if grads is None:
            raise RuntimeError("the gradient of the sliced cross-entropy can be computed only once")
        # these are gradients of the mean, because the training loss is nearly always a mean over the same N
        scale = grad_outputs[0] * ctx.terms
        if scale.device.type != "cpu" or abs(float(scale) - 1) > ROUNDING:
            for grad in grads:
                if grad is not None:
                    grad.mul_(scale)
        return *grads, None, None


class _Logits(NamedTuple):
    """The saved values of a slice's logits z (n, V), each (n, 1) float32; blocks: (words, e (n, v), peak m (n, 1))."""

    log_normaliser: torch.Tensor
    target: torch.Tensor
    mean: torch.Tensor
    blocks: list[tuple[slice, torch.Tensor, torch.Tensor]]


def _exponentials(
    h: torch.Tensor, W: torch.Tensor, bias: torch.Tensor | None, y: torch.Tensor, *, keep: bool, smoothing: float = 0.0
) -> _Logits:
    """All logits of h (n, D), block by block: their normaliser, the logits of y (n, 1), mean if smoothing, e if
    `keep`."""
    target = torch.zeros(len(h), 1, device=h.device)
    total, peaks, sums, blocks = torch.zeros_like(target), [], [], []
    for block in _word_blocks(h, W):
        low = block.start
        if bias is not None and W.dtype == torch.float32:
            z = torch.addmm(bias[block], h, W[block].T)  # (n, v)
        else:
            z = (h @ W[block].T).float()
            if bias is not None:
                z += bias[block]
        inside = (y >= block.start) & (y < block.stop)
        target = torch.where(inside, z.gather(1, (y - low).clamp(0, z.shape[1] - 1)), target)
        if smoothing:
            total += z.sum(dim=1, keepdim=True)
        peak = z.amax(dim=1, keepdim=True)
        e = z.sub_(peak).exp_()  # minus the block's largest logit, against overflow
        peaks.append(peak)
        sums.append(e.sum(dim=1, keepdim=True))
        if keep:
            blocks.append((block, e.to(W.dtype), peak))
    # log Σ_v exp z_v = log Σ_blocks exp(m + log Σ e)
    log_normaliser = torch.logsumexp(torch.cat(peaks, dim=1) + torch.cat(sums, dim=1).log(), dim=1, keepdim=True)
    return _Logits(log_normaliser, target, total / len(W), blocks)


def _word_blocks(h: torch.Tensor, W: torch.Tensor) -> list[slice]:
    words = BLOCK_WORDS if h.device.type == "cpu" else len(W)
    return [slice(low, min(low + words, len(W))) for low in range(0, len(W), words)]


class _Sums(NamedTuple):
    """∂L/∂W (V, D) and ∂L/∂b (V,); a slice adds to them (`keep` 1) or overwrites them (`keep` 0)."""

    weight: torch.Tensor
    bias: torch.Tensor | None
    keep: float


def _gradient(
    h: torch.Tensor,
    W: torch.Tensor,
    y: torch.Tensor,
    logits: _Logits,
    smoothing: float,
    scale: float,
    sums: _Sums,
) -> torch.Tensor:
    """∂L/∂h (n, D) float32 of ∂L/∂z = scale · (softmax(z) − (1 − ε) onehot(y) − ε/V); the other two go into `sums`."""
    single, rest = (smoothing - 1) * scale, smoothing * scale / len(W)
    grad_hidden = single * W[y[:, 0]].float()  # (n, D)
    for block, e, peak in logits.blocks:
        share = (peak - logits.log_normaliser).exp_().mul_(scale)  # (n, 1): scale · softmax(z) = e · share
        grad_hidden.addcmul_((e @ W[block]).float(), share)
        if e.dtype == sums.weight.dtype:
            sums.weight[block].addmm_(e.T, h * share, beta=sums.keep)  # (v, D)
        else:
            product = e.T @ (h * share).to(e.dtype)
            sums.weight[block] = sums.weight[block] + product if sums.keep else product
        if sums.bias is not None:
            column = (e.T @ share.to(e.dtype))[:, 0]
            sums.bias[block] = sums.bias[block] + column if sums.keep else column
    # the rest of ∂L/∂z: the one-hot targets, and the smoothing
    sums.weight.index_add_(0, y[:, 0], h.float(), alpha=single)
    if sums.bias is not None:
        sums.bias.index_add_(0, y[:, 0], torch.ones_like(y[:, 0], dtype=sums.bias.dtype), alpha=single)
    if smoothing:
        grad_hidden -= rest * W.float().sum(dim=0)
        sums.weight.sub_(rest * h.float().sum(dim=0))
        if sums.bias is not None:
            sums.bias.sub_(rest * len(h))
    return grad_hidden


class CountedOutput(OutputLayer):
    """An output layer with a buffer `counts` (V,) int64. Subclasses compute values from it in `_derive`."""

    counts: torch.Tensor

    def _register_counts(self, vocab_size: int) -> None:
        self._stale = True
        self.register_buffer("counts", torch.ones(vocab_size, dtype=torch.int64))
        self.register_load_state_dict_post_hook(_mark_stale)  # type: ignore[no-untyped-call]

    def set_counts(self, counts: torch.Tensor) -> None:
        """Set the counts of the training text, (V,); words that it lacks get count 1, so that none has probability
        0."""
        self.counts.copy_(counts.clamp(min=1))
        self._stale = True

    def refresh(self) -> None:
        """Compute derived values if needed. Every use of the layer calls this first."""
        if self._stale:
            with torch.no_grad():
                self._derive()
            self._stale = False

    @abstractmethod
    def _derive(self) -> None:
        """Compute the layer's derived values from `counts`, on the device of the counts."""

    def keep(self, name: str, value: torch.Tensor) -> None:
        """Register a derived tensor: it moves with the module and is not saved."""
        if name in self._buffers:
            self._buffers[name] = value
        else:
            self.register_buffer(name, value, persistent=False)


def _mark_stale(module: Any, _: Any) -> None:
    module._stale = True


def refuse_smoothing(smoothing: float, output: str) -> None:
    """Raise InputError unless there is no label smoothing."""
    if smoothing:
        raise InputError(
            f"training.label_smoothing={smoothing}: output={output} does not compute every word's score in training; "
            "set label_smoothing to 0, or model.output to softmax"
        )


class TextOutput(SoftmaxOutput):
    """P(v | h) = softmax(W h)_v over the first V of V + M ids.

    Args:
        width: D. vocab_size: V. unsaid: M.
        tied: an embedding's weight (V + M, D) to share; None: the layer has its own, (V, D).
    """

    def __init__(self, *, width: int, vocab_size: int, unsaid: int, tied: torch.Tensor | None = None) -> None:
        super().__init__(width=width, vocab_size=vocab_size, tied=tied, bias=False)
        self.unsaid = unsaid

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """(…, D) → scores (…, V + M), −∞ for the last M."""
        return functional.pad(functional.linear(hidden, self._words()), (0, self.unsaid), value=-math.inf)

    def _words(self) -> torch.Tensor:
        return self.weight[: self.vocab_size]  # (V, D)
