"""Linear-chain conditional random field (Lafferty, McCallum & Pereira 2001; over a network: Collobert et al. 2011).

    s(x, y) = a_{y_1} + Σ_t f_t(y_t) + Σ_t A_{y_{t−1} y_t} + z_{y_T}
    log P(y | x) = s(x, y) − log Z(x),   Z(x) = Σ_y exp s(x, y)

f are the network's scores of each tag at each word (emissions), A the scores of tag transitions, a those of a first tag
and z those of a last tag. Z is a sum over K^T paths, which the forward algorithm computes in T K² operations. Its
gradient is the marginals,

    ∂ log Z / ∂ f_t(j) = P(y_t = j | x),   ∂ log Z / ∂ A_ij = Σ_t P(y_{t−1} = i, y_t = j | x)

so one backward pass over the same lattice (forward–backward) replaces automatic differentiation of every step. On a
CPU, `kernels.crf` computes both in float64. On other devices, torch differentiates `log_partition`, which has the
equations.

A forbidden transition has score −∞: no path contains it, it gets no gradient, and its parameter is never read.

Shape legend: B rows, T steps, K tags.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable

from langladder.ground.errors import InputError
from langladder.kernels import crf as kernels

FORBIDDEN = -1e6
"""Replaces −∞ when torch differentiates a log-sum-exp; its exponential is exactly 0 in any precision."""


def log_partition(emissions: Tensor, lengths: Tensor, transitions: Tensor, start: Tensor, end: Tensor) -> Tensor:
    """log Z: emissions (B, T, K), lengths (B,), transitions (K, K), start (K,), end (K,) → (B,)."""
    transitions, start, end = (part.clamp(min=FORBIDDEN) for part in (transitions, start, end))
    # log α_1(j) = s_j + E_1j
    alpha = start + emissions[:, 0]  # (B, K)
    for t in range(1, emissions.shape[1]):
        # log α_t(j) = E_tj + log Σ_i exp(log α_{t−1}(i) + A_ij)
        after = emissions[:, t] + torch.logsumexp(alpha[:, :, None] + transitions, dim=1)  # (B, K)
        alpha = torch.where((t < lengths)[:, None], after, alpha)
    # log Z = log Σ_j exp(log α_T(j) + e_j)
    return torch.logsumexp(alpha + end, dim=1)


Array = Any  # a tensor, or a NumPy array


class Chain(NamedTuple):
    """Scores of a chain, −∞ where forbidden: transitions (K, K) from row to column, start (K,), end (K,)."""

    transitions: Array
    start: Array
    end: Array

    def arrays(self) -> "Chain":
        """The same as float64 arrays."""
        return Chain(*(_array(part) for part in self))


class Allowed(NamedTuple):
    """Allowed steps: transitions (K, K), start (K,), end (K,), bool."""

    transitions: np.ndarray
    start: np.ndarray
    end: np.ndarray


class CRF(nn.Module):
    """Transition scores of K tags, and the computations of the CRF. All transitions are allowed until `allow`."""

    allowed: Tensor
    allowed_start: Tensor
    allowed_end: Tensor

    def __init__(self, tags: int) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.zeros(tags, tags))
        self.start, self.end = nn.Parameter(torch.zeros(tags)), nn.Parameter(torch.zeros(tags))
        for name, shape in (("allowed", (tags, tags)), ("allowed_start", (tags,)), ("allowed_end", (tags,))):
            self.register_buffer(name, torch.ones(shape, dtype=torch.bool), persistent=False)

    def allow(self, allowed: Allowed) -> None:
        """Forbid all other transitions. This follows from the tags' names, so it is not saved with the weights."""
        for name, part in zip(("allowed", "allowed_start", "allowed_end"), allowed, strict=True):
            buffer = getattr(self, name)
            setattr(self, name, torch.from_numpy(part).to(buffer))

    def chain(self) -> Chain:
        """The scores, with −∞ for forbidden transitions."""
        return Chain(
            self.transitions.masked_fill(~self.allowed, -torch.inf),
            self.start.masked_fill(~self.allowed_start, -torch.inf),
            self.end.masked_fill(~self.allowed_end, -torch.inf),
        )

    def forward(self, emissions: Tensor, tags: Tensor, lengths: Tensor) -> Tensor:
        """−log P(y | x) in nats: emissions (B, T, K), tags (B, T) int64, lengths (B,) → (B,).

        It is infinite if `tags` contain a forbidden transition. Values at padding are ignored.

        Raises:
            InputError: a row is empty, or longer than T.
        """
        chain = self.chain()
        return self.log_partition(emissions, lengths, chain) - path_score(emissions, chain, tags, lengths)

    def log_partition(self, emissions: Tensor, lengths: Tensor, chain: Chain | None = None) -> Tensor:
        """log Z(x): (B, T, K), (B,) → (B,)."""
        _check(emissions, lengths)
        emissions, chain = emissions.float() if emissions.dtype != torch.float64 else emissions, chain or self.chain()
        if emissions.device.type != "cpu":
            return log_partition(emissions, lengths, *chain)
        log_z: Tensor = _LogPartition.apply(emissions, *chain, lengths)  # type: ignore[no-untyped-call]
        return log_z

    @torch.no_grad()
    def viterbi(self, emissions: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """The best paths (B, T) int64, 0 at padding, and their scores s(x, y) (B,) float64."""
        _check(emissions, lengths)
        paths, scores = viterbi(_array(emissions), self.chain().arrays(), _lengths(lengths))
        return torch.from_numpy(paths), torch.from_numpy(scores)

    @torch.no_grad()
    def marginals(self, emissions: Tensor, lengths: Tensor) -> Tensor:
        """P(y_t = j | x): (B, T, K), (B,) → (B, T, K) float64, 0 at padding."""
        _check(emissions, lengths)
        return torch.from_numpy(marginals(_array(emissions), self.chain().arrays(), _lengths(lengths)))


def path_score(emissions: Tensor, chain: Chain, tags: Tensor, lengths: Tensor) -> Tensor:
    """s(x, y) of given paths: emissions (B, T, K), tags (B, T), lengths (B,) → (B,)."""
    T, K = emissions.shape[1:]
    inside = torch.arange(T, device=tags.device) < lengths[:, None]  # (B, T)
    emitted = emissions.gather(2, tags[..., None])[..., 0]  # (B, T)
    # as indices of the flat matrix: the gradient of one index is much faster than that of two
    steps = chain.transitions.flatten().index_select(0, (tags[:, :-1] * K + tags[:, 1:]).flatten())
    steps = steps.view(len(tags), T - 1).masked_fill(~inside[:, 1:], 0)  # (B, T − 1)
    last = tags.gather(1, lengths[:, None] - 1)[:, 0]  # (B,)
    ends: Tensor = chain.start[tags[:, 0]] + chain.end[last]
    total: Tensor = emitted.masked_fill(~inside, 0).sum(1) + steps.sum(1) + ends
    return total


class _Context(FunctionCtx):
    """The results of the backward pass."""

    lattice: "Lattice"
    kinds: list[torch.dtype]


class _LogPartition(torch.autograd.Function):
    """log Z by the forward algorithm; its gradient by forward–backward."""

    @staticmethod
    def forward(
        ctx: _Context, emissions: Tensor, transitions: Tensor, start: Tensor, end: Tensor, lengths: Tensor
    ) -> Tensor:
        ctx.lattice = Lattice(_array(emissions), Chain(transitions, start, end).arrays(), _lengths(lengths))
        ctx.kinds = [part.dtype for part in (emissions, transitions, start, end)]
        return torch.from_numpy(ctx.lattice.log_z).to(emissions.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: _Context, *weights: Tensor) -> tuple[Tensor | None, ...]:
        parts = ctx.lattice.expected(_array(weights[0]))
        gradients = [torch.from_numpy(part).to(kind) for part, kind in zip(parts, ctx.kinds, strict=True)]
        return (*gradients, None)


class Lattice:
    """All paths of some rows: log Z (B,), and with `expected`, the expected uses of each score.

    Args:
        emissions: (B, T, K); lengths: (B,), each 1 … T.
    """

    def __init__(self, emissions: np.ndarray, chain: Chain, lengths: np.ndarray) -> None:
        B, T, _ = emissions.shape
        self.emissions, self.chain, self.lengths = emissions, chain, lengths
        self.alpha, self.log_z = np.empty_like(emissions), np.empty(B)
        self._E, self._c = np.empty_like(emissions), np.empty((B, T + 1))
        A, s, e = self._weights = [np.exp(part) for part in chain]
        narrow = all(np.abs(part[part > -np.inf]).max(initial=0.0) <= kernels.RANGE / 2 for part in chain)
        lattice = (self._E, self.alpha, self._c, self.log_z)
        self.plain = narrow and kernels.forward(emissions, lengths, A, s, e, *lattice)
        if not self.plain:
            kernels.log_forward(emissions, lengths, *chain, self.alpha, self.log_z)

    def expected(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Marginals of tags (B, T, K), 0 at padding, and the marginals of pairs, first and last tags, summed over all
        rows.

        Args:
            weights: (B,), factors of each row's marginals.
        """
        K = self.emissions.shape[2]
        unary, pairs = np.zeros_like(self.emissions), np.zeros((K, K))
        counted = (unary, pairs, np.zeros(K), np.zeros(K))
        if self.plain:
            A, _, e = self._weights
            kernels.backward(self.lengths, A, e, self._E, self.alpha, self._c, weights, *counted)
        else:
            transitions, _, end = self.chain
            kernels.log_backward(
                self.emissions, self.lengths, transitions, end, self.alpha, self.log_z, weights, *counted
            )
        return counted


def marginals(emissions: np.ndarray, chain: Chain, lengths: np.ndarray) -> np.ndarray:
    """P(y_t = j | x) of any chain: (B, T, K) float64, (B,) → (B, T, K)."""
    return Lattice(emissions, chain, lengths).expected(np.ones(len(lengths)))[0]


def viterbi(emissions: np.ndarray, chain: Chain, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Best paths of any chain: (B, T, K) float64, (B,) → (B, T) int64, 0 at padding, and their scores (B,)."""
    paths, scores = np.zeros(emissions.shape[:2], dtype=np.int64), np.empty(len(lengths))
    kernels.viterbi(emissions, lengths, *chain, paths, scores)
    return paths, scores


def _array(part: Tensor) -> np.ndarray:
    return part.detach().cpu().double().contiguous().numpy()


def _lengths(lengths: Tensor) -> np.ndarray:
    return lengths.cpu().long().numpy()


def _check(emissions: Tensor, lengths: Tensor) -> None:
    if len(lengths) and not 1 <= int(lengths.min()) <= int(lengths.max()) <= emissions.shape[1]:
        raise InputError(
            f"lengths {int(lengths.min())} … {int(lengths.max())}: a row must have 1 to {emissions.shape[1]} words"
        )
