"""Muon (Jordan et al. 2024): momentum SGD that makes all directions of a matrix update equally long.

For a hidden matrix W with gradient G, momentum B, rate η and decay λ:

    B ← μB + G,   U = G + μB (Nesterov),   W ← (1 − ηλ) W − η · orthogonal(U)

where orthogonal(U) = P Qᵀ for the singular value decomposition U = P S Qᵀ: all singular values become about 1, so that
a few large directions of the gradient do not dominate the many small ones. A few steps of a Newton–Schulz iteration are
accurate enough, and only use matrix products:

    X₀ = U / ‖U‖_F,   X ← a X + (b A + c A²) X   with A = X Xᵀ

Embeddings, output layers over the vocabulary, biases and gains are not hidden matrices; AdamW trains them. One matrix
can hold several projections (Q, K and V, or the gates of an LSTM). So that each has its own directions, a matrix whose
longer side is a small multiple of the shorter one is treated as that many square matrices.

`torch.optim.Muon` has the same rule, but iterates in bfloat16. On a processor that only emulates bfloat16, a step of 40
matrices of 256 × 256 took 6.9 s with it and 0.2 s here. It does not split a matrix into squares, and does not train
other parameters.

Shape legend: m × n a matrix, K squares of s × s.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from langladder.nn.output import OutputLayer
from langladder.nn.token_embedding import TokenEmbedding

MOMENTUM = 0.95
COEFFICIENTS = 3.4445, -4.7750, 2.0315
"""a, b, c: steep at 0, and between 0.7 and 1.2 from there on (Jordan et al. 2024)."""
MOST_SQUARES = 8
ITERATIONS = 3
"""Jordan et al. use 5. With 3 steps, the update costs 40 % less; the experiments in docs/LOG.md used 3."""


class Muon(torch.optim.AdamW):
    """Muon for the groups marked `hidden`, AdamW for the others: one optimiser, one checkpoint."""

    def __init__(
        self, groups: Iterable[dict[str, object]], *, lr: float, betas: tuple[float, float], eps: float, fused: bool
    ) -> None:
        super().__init__([{"hidden": False} | group for group in groups], lr=lr, betas=betas, eps=eps, fused=fused)

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]  # overloads
        """One update. Muon removes the gradients of its parameters, so AdamW skips them."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            if group["hidden"]:
                self._move([p for p in group["params"] if p.grad is not None], group["lr"], group["weight_decay"])
        super().step()
        return loss

    @torch.no_grad()
    def _move(self, matrices: list[Tensor], rate: float, decay: float) -> None:
        updates = []
        for matrix in matrices:
            assert matrix.grad is not None
            state = self.state[matrix]
            if not state:
                state |= {"step": torch.tensor(0.0), "momentum": torch.zeros_like(matrix)}
            state["step"] += 1
            state["momentum"].mul_(MOMENTUM).add_(matrix.grad)
            updates.append(matrix.grad + MOMENTUM * state["momentum"])
            matrix.grad = None
        for matrix, update in zip(matrices, orthogonal(updates), strict=True):
            matrix.mul_(1 - rate * decay).add_(update, alpha=-rate)


def orthogonal(matrices: list[Tensor]) -> list[Tensor]:
    """The nearest matrices with all singular values about 1; squares of the same size are processed together."""
    pieces = [_squares(matrix) for matrix in matrices]
    by_shape: dict[torch.Size, list[int]] = defaultdict(list)
    for position, piece in enumerate(pieces):
        by_shape[piece.shape[1:]].append(position)
    for positions in by_shape.values():
        done = newton_schulz(torch.cat([pieces[position] for position in positions]))
        counts = [len(pieces[position]) for position in positions]
        for position, piece in zip(positions, torch.split(done, counts), strict=True):
            pieces[position] = piece
    return [_whole(piece, matrix.shape) for piece, matrix in zip(pieces, matrices, strict=True)]


def newton_schulz(x: Tensor, iterations: int = ITERATIONS) -> Tensor:
    """(K, m, n) with m ≤ n → the same with singular values near 1, in float32."""
    a, b, c = COEFFICIENTS
    x = x.float()
    x = x / (torch.linalg.matrix_norm(x, keepdim=True) + 1e-7)  # X₀ = U / ‖U‖_F
    for _ in range(iterations):
        gram = x @ x.mT  # A = X Xᵀ
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)  # X ← aX + (bA + cA²)X
    return x


def _squares(matrix: Tensor) -> Tensor:
    """(m, n) → (K, s, s) with s the shorter side, if the longer side is K · s; else (1, s, longer side)."""
    oriented = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T  # (s, Ks)
    s, longer = oriented.shape
    count = longer // s if longer % s == 0 and longer // s <= MOST_SQUARES else 1
    return torch.stack(oriented.tensor_split(count, dim=1))


def _whole(pieces: Tensor, shape: torch.Size) -> Tensor:
    """The inverse of `_squares`."""
    oriented = pieces.movedim(0, 1).flatten(1)  # (s, Ks)
    return oriented if shape[0] <= shape[1] else oriented.T


def hidden_matrices(module: nn.Module) -> list[nn.Parameter]:
    """The trainable matrices, except embeddings and output layers, because those are tables of words or positions."""
    tables = {
        id(parameter)
        for part in module.modules()
        if isinstance(part, nn.Embedding | TokenEmbedding | OutputLayer)
        for parameter in part.parameters()
    }
    tables |= {id(getattr(part, name)) for part in module.modules() for name in getattr(part, "tables", ())}
    return [p for p in module.parameters() if p.requires_grad and p.dim() == 2 and id(p) not in tables]
