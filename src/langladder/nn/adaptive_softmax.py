"""Adaptive softmax (Grave et al. 2017): one small softmax for frequent words, and clusters for rare words.

The words are sorted by decreasing frequency and divided into a shortlist and K clusters. The first softmax is over the
words of the shortlist and the clusters; each cluster has its own softmax over its words:

    P(w | h) = P_head(w | h)                             w in the shortlist
    P(w | h) = P_head(cluster k | h) · P_k(w | U_k h)    w in cluster k

A cluster is only computed for the positions whose target is in it. There are two forms:

- with its own output vectors, which get narrower in each further cluster: U_k is (D / shrink^k, D). torch's
  `AdaptiveLogSoftmaxWithLoss` is the same function (the tests compare them), but needs sorted words and has no bias in
  the clusters.
- tied: in every part, the vector of a word is its row of the embedding table, U_k h = h. (Baevski & Auli 2019,
  "Adaptive Input Representations", tie narrow tables. Full rows cost little here, because few positions need a
  cluster.)

Each part is a sliced cross-entropy, see `nn.output`.

Shape legend: N positions, D width, V words, K clusters, V_k words of a part.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from langladder.nn.output import CountedOutput, SoftmaxOutput, cross_entropy, log_probs_of, refuse_smoothing


class Part(NamedTuple):
    """One of the softmaxes: logits W (U h) + b."""

    shrink: Callable[[torch.Tensor], torch.Tensor]
    weight: torch.Tensor  # (V_k, D_k)
    bias: torch.Tensor | None  # (V_k,)


class ClusteredSoftmax(CountedOutput):
    """Base of both forms: divides the words into clusters, and combines the two softmaxes.

    Args:
        width: D.
        vocab_size: V.
        shares: increasing shares of the vocabulary, within (0, 1), at which to cut: [0.1, 0.4] makes a shortlist of a
            tenth of the words, and two clusters.
    """

    rank: torch.Tensor  # (V,) int64: the word's rank by frequency
    order: torch.Tensor  # (V,) int64: the word of each rank

    def __init__(self, *, width: int, vocab_size: int, shares: Sequence[float]) -> None:
        super().__init__()
        self.width, self.vocab_size = width, vocab_size
        cuts = sorted({min(max(1, round(share * vocab_size)), vocab_size - 1) for share in shares})
        self.bounds = [*cuts, vocab_size]
        self._register_counts(vocab_size)

    @abstractmethod
    def parts(self) -> list[Part]:
        """The head, whose last K outputs are the clusters, and then the clusters."""

    def _derive(self) -> None:
        self.keep("order", torch.argsort(self.counts, descending=True, stable=True))
        self.keep("rank", torch.argsort(self.order))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """(…, D) → log P (…, V)."""
        self.refresh()
        head, *tails = (
            torch.log_softmax(functional.linear(part.shrink(hidden), part.weight, part.bias).float(), dim=-1)
            for part in self.parts()
        )
        short = self.bounds[0]
        # log P(w | h) = log P_head(k | h) + log P_k(w | U_k h)
        inside = [head[..., short + k, None] + tail for k, tail in enumerate(tails)]
        return torch.cat([head[..., :short], *inside], dim=-1)[..., self.rank]

    def loss(self, hidden: torch.Tensor, targets: torch.Tensor, smoothing: float = 0.0) -> torch.Tensor:
        """See `OutputLayer.loss`: the exact cross-entropy."""
        refuse_smoothing(smoothing, "adaptive")
        first, clusters = self._split_by_cluster(targets)
        head, *tails = self.parts()
        loss = cross_entropy(hidden, head.weight, head.bias, first)
        for part, (rows, words) in zip(tails, clusters, strict=True):
            loss = loss + cross_entropy(part.shrink(hidden[rows]), part.weight, part.bias, words)
        return loss

    def products(self) -> float:
        """See `OutputLayer.products`: always the head, and a cluster for the words in it."""
        self.refresh()
        share = self.counts[self.order].double() / self.counts.sum()  # (V,), frequent words first
        head, *tails = self.parts()
        total = float(head.weight.numel())
        for tail, (low, high) in zip(tails, pairwise(self.bounds), strict=True):
            narrow = tail.weight.shape[1]
            shrinking = self.width * narrow if narrow != self.width else 0
            total += float(share[low:high].sum()) * (shrinking + tail.weight.numel())
        return total

    @torch.no_grad()
    def target_log_probs(self, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        first, clusters = self._split_by_cluster(targets)
        head, *tails = self.parts()
        scores = log_probs_of(hidden, head.weight, head.bias, first)  # (N,)
        for part, (rows, words) in zip(tails, clusters, strict=True):
            scores[rows] += log_probs_of(part.shrink(hidden[rows]), part.weight, part.bias, words)
        return scores

    def _split_by_cluster(self, targets: torch.Tensor) -> tuple[torch.Tensor, list[tuple[torch.Tensor, torch.Tensor]]]:
        """The targets of the first softmax, (N,), and for each cluster, the rows of the batch in it and their words."""
        self.refresh()
        ranks = self.rank[targets]  # (N,)
        first, clusters = ranks.clone(), []
        for k, (low, high) in enumerate(pairwise(self.bounds)):
            rows = ((ranks >= low) & (ranks < high)).nonzero()[:, 0]
            first[rows] = self.bounds[0] + k
            clusters.append((rows, ranks[rows] - low))
        return first, clusters


class AdaptiveSoftmax(ClusteredSoftmax):
    """Adaptive softmax with its own vectors; each cluster's vectors are narrower than the previous by the factor
    `shrink`."""

    def __init__(self, *, width: int, vocab_size: int, shares: Sequence[float], shrink: int = 4) -> None:
        super().__init__(width=width, vocab_size=vocab_size, shares=shares)
        clusters = len(self.bounds) - 1
        self.head = SoftmaxOutput(width=width, vocab_size=self.bounds[0] + clusters)
        widths = [max(1, width // shrink**k) for k in range(1, clusters + 1)]
        self.shrink = nn.ModuleList(nn.Linear(width, narrow, bias=False) for narrow in widths)
        self.tails = nn.ModuleList(
            SoftmaxOutput(width=narrow, vocab_size=high - low, bias=False)
            for narrow, (low, high) in zip(widths, pairwise(self.bounds), strict=True)
        )

    def parts(self) -> list[Part]:
        tails = zip(self.shrink, self.tails, strict=True)
        return [
            Part(_unchanged, self.head.weight, self.head.bias),
            *(Part(shrink, tail.weight, None) for shrink, tail in tails),  # type: ignore[arg-type]
        ]


class TiedAdaptiveSoftmax(ClusteredSoftmax):
    """Adaptive softmax over the rows of an embedding table; `tied`: its weight (V, D)."""

    def __init__(self, *, tied: torch.Tensor, shares: Sequence[float]) -> None:
        vocab_size, width = tied.shape
        super().__init__(width=width, vocab_size=vocab_size, shares=shares)
        assert isinstance(tied, nn.Parameter)
        self.weight = tied
        self.bias = nn.Parameter(torch.zeros(vocab_size))  # sorted by frequency, so that parts are slices
        self.clusters = nn.Parameter(torch.empty(len(self.bounds) - 1, width).normal_(std=1 / math.sqrt(width)))
        self.cluster_bias = nn.Parameter(torch.zeros(len(self.bounds) - 1))

    def parts(self) -> list[Part]:
        self.refresh()
        sizes = [high - low for low, high in pairwise([0, *self.bounds])]
        W, *rows = torch.split(functional.embedding(self.order, self.weight), sizes)  # (V_k, D) each
        b, *biases = torch.split(self.bias, sizes)
        head = Part(_unchanged, torch.cat([W, self.clusters]), torch.cat([b, self.cluster_bias]))
        return [head, *(Part(_unchanged, *table) for table in zip(rows, biases, strict=True))]


def _unchanged(hidden: torch.Tensor) -> torch.Tensor:
    return hidden
