"""Adaptive softmax (Grave et al. 2017): frequent words in one small softmax, rare ones in clusters of less width.

The words, sorted by falling frequency, are cut into a shortlist and K clusters. The first softmax chooses a word of
the shortlist or a cluster, a cluster's own softmax the word in it:

    P(w | h) = P_head(w | h)                             w in the shortlist
    P(w | h) = P_head(cluster k | h) · P_k(w | U_k h)    w in cluster k,   U_k (D / shrink^k, D)

Each part is a `SoftmaxOutput`, so each has its sliced cross-entropy. Only the positions whose target lies in a cluster
pay for that cluster. torch's `AdaptiveLogSoftmaxWithLoss` is the same function (the tests hold them equal); it takes
words that are sorted already, and has no bias in the clusters.

Shape legend: N positions, D width, V words, K clusters.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn

from langladder.nn.counted_output import CountedOutput, refuse_smoothing
from langladder.nn.output import SoftmaxOutput


class AdaptiveSoftmax(CountedOutput):
    """Adaptive softmax.

    Args:
        width: D.
        vocab_size: V.
        shares: rising shares of the vocabulary, within (0, 1), at which to cut: [0.1, 0.4] makes a shortlist of a tenth
            of the words and two clusters.
        shrink: by how much each cluster is narrower than the one before it (4 in the paper).
    """

    rank: torch.Tensor  # (V,) int64: the word's place in the order of frequency

    def __init__(self, *, width: int, vocab_size: int, shares: Sequence[float], shrink: int = 4) -> None:
        super().__init__()
        self.width, self.vocab_size = width, vocab_size
        cuts = sorted({min(max(1, round(share * vocab_size)), vocab_size - 1) for share in shares})
        self.bounds = [*cuts, vocab_size]
        self.head = SoftmaxOutput(width=width, vocab_size=cuts[0] + len(cuts))
        widths = [max(1, width // shrink**k) for k in range(1, len(cuts) + 1)]
        self.shrink = nn.ModuleList(nn.Linear(width, narrow, bias=False) for narrow in widths)
        self.tails = nn.ModuleList(
            SoftmaxOutput(width=narrow, vocab_size=high - low, bias=False)
            for narrow, (low, high) in zip(widths, pairwise(self.bounds), strict=True)
        )
        self._register_counts(vocab_size)

    def _derive(self) -> None:
        order = torch.argsort(self.counts, descending=True, stable=True)  # (V,)
        self.keep("rank", torch.argsort(order))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """(…, D) → log P (…, V)."""
        self.refresh()
        first = torch.log_softmax(self.head(hidden).float(), dim=-1)  # (…, shortlist + K)
        short = self.bounds[0]
        parts = [first[..., :short]]
        for k, (shrink, tail) in enumerate(zip(self.shrink, self.tails, strict=True)):
            inside = torch.log_softmax(tail(shrink(hidden)).float(), dim=-1)  # (…, words of the cluster)
            parts.append(first[..., short + k, None] + inside)
        return torch.cat(parts, dim=-1)[..., self.rank]

    def loss(self, hidden: torch.Tensor, targets: torch.Tensor, smoothing: float = 0.0) -> torch.Tensor:
        """See `OutputLayer.loss`: the exact cross-entropy."""
        refuse_smoothing(smoothing, "adaptive")
        first, clusters = self._places(targets)
        loss = self.head.loss(hidden, first)
        for shrink, tail, (rows, words) in zip(self.shrink, self.tails, clusters, strict=True):
            part: torch.Tensor = tail.loss(shrink(hidden[rows]), words)  # type: ignore[operator]
            loss = loss + part
        return loss

    @torch.no_grad()
    def target_log_probs(self, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """See `OutputLayer.target_log_probs`."""
        first, clusters = self._places(targets)
        scores = self.head.target_log_probs(hidden, first)  # (N,)
        for shrink, tail, (rows, words) in zip(self.shrink, self.tails, clusters, strict=True):
            scores[rows] += tail.target_log_probs(shrink(hidden[rows]), words)  # type: ignore[operator]
        return scores

    def _places(self, targets: torch.Tensor) -> tuple[torch.Tensor, list[tuple[torch.Tensor, torch.Tensor]]]:
        """What the first softmax is to choose, (N,), and for each cluster its rows of the batch and their words."""
        self.refresh()
        ranks = self.rank[targets]  # (N,)
        first, clusters = ranks.clone(), []
        for k, (low, high) in enumerate(pairwise(self.bounds)):
            rows = ((ranks >= low) & (ranks < high)).nonzero()[:, 0]
            first[rows] = self.bounds[0] + k
            clusters.append((rows, ranks[rows] - low))
        return first, clusters
