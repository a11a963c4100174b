"""A softmax over the words of the text alone, where the vocabulary goes on with ids that are read and never said.

    z_v = w_v · h for the V words,   z_v = −∞ for the M ids behind them

The embedding table may be its matrix: its first V rows. Loss and gradient are those of `nn.output`, over V words.

Shape legend: N positions, D width, V words, M ids behind them.
"""

import math

import torch
from torch.nn import functional

from langladder.nn.output import SoftmaxOutput, cross_entropy, log_probs_of


class TextOutput(SoftmaxOutput):
    """P(v | h) = softmax(W h)_v over the first V of V + M ids.

    Args:
        width: D. vocab_size: V. unsaid: M.
        tied: an embedding's weight (V + M, D) to share; None makes an own one, (V, D).
    """

    def __init__(self, *, width: int, vocab_size: int, unsaid: int, tied: torch.Tensor | None = None) -> None:
        super().__init__(width=width, vocab_size=vocab_size, tied=tied, bias=False)
        self.unsaid = unsaid

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """(…, D) → scores (…, V + M), −∞ for the last M."""
        return functional.pad(functional.linear(hidden, self._words()), (0, self.unsaid), value=-math.inf)

    def loss(self, hidden: torch.Tensor, targets: torch.Tensor, smoothing: float = 0.0) -> torch.Tensor:
        """See `SoftmaxOutput.loss`; targets below V."""
        return cross_entropy(hidden, self._words(), None, targets, smoothing)

    @torch.no_grad()
    def target_log_probs(self, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """See `SoftmaxOutput.target_log_probs`; targets below V."""
        return log_probs_of(hidden, self._words(), None, targets)

    def _words(self) -> torch.Tensor:
        return self.weight[: self.vocab_size]  # (V, D)
