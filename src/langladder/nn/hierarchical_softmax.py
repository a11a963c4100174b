"""Hierarchical softmax: a word is a path in a binary tree, so a prediction takes about log V decisions, not V scores.

Morin & Bengio 2005 on a Huffman tree as in Mikolov et al. 2013 (see `nn.huffman`). Each inner node n has one vector v_n
and one bias b_n; s_j = ±1 is the j-th decision of the word's code:

    P(w | h) = ∏_j σ(s_j (v_{n_j} · h + b_{n_j}))

The two children of a node divide its probability, so the V probabilities sum to 1 without normalisation. The vectors of
inner nodes do not belong to words, so they cannot be tied to the embedding.

Shape legend: N positions, D width, V words, M = V − 1 inner nodes, L longest code, P entries of all codes.
"""

import math

import torch
from torch import nn
from torch.nn import functional

from langladder.nn.huffman import HuffmanTree
from langladder.nn.output import CountedOutput, refuse_smoothing

GATHERED_BYTES = 256 * 2**20
"""Bytes of node vectors (n, L, D) in memory at a time."""


class HierarchicalSoftmax(CountedOutput):
    """P(v | h) as a product of decisions on a Huffman tree. width: D; vocab_size: V ≥ 2."""

    nodes: torch.Tensor  # (V, L) int64: inner nodes from the root down; 0 beyond the end
    signs: torch.Tensor  # (V, L) float32: +1 or −1; 0 beyond the end

    def __init__(self, *, width: int, vocab_size: int) -> None:
        super().__init__()
        self.width, self.vocab_size = width, vocab_size
        self.weight = nn.Parameter(torch.empty(vocab_size - 1, width))  # (M, D)
        self.bias = nn.Parameter(torch.zeros(vocab_size - 1))  # (M,)
        nn.init.normal_(self.weight, std=1 / math.sqrt(width))
        self._register_counts(vocab_size)

    def _derive(self) -> None:
        nodes, bits, mask = HuffmanTree.from_counts(self.counts.cpu().numpy()).padded
        # bit 0 is σ(+score), bit 1 is σ(−score)
        signs = torch.from_numpy(mask * (1.0 - 2.0 * bits)).float()
        self.keep("nodes", torch.from_numpy(nodes).long().to(self.counts.device))
        self.keep("signs", signs.to(self.counts.device))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """(…, D) → log P (…, V) of all words: each node is computed once, and each word sums the nodes of its path."""
        self.refresh()
        score = functional.linear(hidden, self.weight, self.bias).float().flatten(0, -2)  # (N, M)
        ways = torch.cat([functional.logsigmoid(score), functional.logsigmoid(-score)], dim=1)  # (N, 2M)
        words, steps = self.signs.nonzero(as_tuple=True)  # (P,) each
        columns = self.nodes[words, steps] + (self.signs[words, steps] < 0) * score.shape[1]  # (P,)
        codes = torch.sparse_coo_tensor(
            torch.stack([words, columns]),
            torch.ones_like(columns, dtype=ways.dtype),
            (self.vocab_size, ways.shape[1]),
            check_invariants=False,
        )
        log_probs: torch.Tensor = torch.sparse.mm(codes, ways.T).T  # (N, V)
        return log_probs.reshape(*hidden.shape[:-1], self.vocab_size)

    def loss(self, hidden: torch.Tensor, targets: torch.Tensor, smoothing: float = 0.0) -> torch.Tensor:
        """See `OutputLayer.loss`: the exact cross-entropy."""
        refuse_smoothing(smoothing, "hierarchical")
        return -self._log_probs(hidden, targets).sum()

    def products(self) -> float:
        """See `OutputLayer.products`: the number of decisions of a word is the length of its code."""
        self.refresh()
        lengths = (self.signs != 0).sum(dim=1).double()  # (V,)
        return float((lengths * self.counts).sum() / self.counts.sum()) * self.width

    @torch.no_grad()
    def target_log_probs(self, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return self._log_probs(hidden, targets)

    def _log_probs(self, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        self.refresh()
        rows = max(1, GATHERED_BYTES // (4 * self.nodes.shape[1] * self.width))
        parts = [
            self._path_log_probs(h, y)
            for h, y in zip(torch.split(hidden, rows), torch.split(targets, rows), strict=True)
        ]
        return torch.cat(parts) if parts else hidden.new_zeros(0, dtype=torch.float32)

    def _path_log_probs(self, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """log P(w | h) = Σ_j log σ(s_j (v_{n_j} · h + b_{n_j})): (n, D), (n,) → (n,)."""
        signs = self.signs[targets]  # (n, L)
        longest = int((signs != 0).sum(dim=1).max()) if len(targets) else 0
        signs, nodes = signs[:, :longest], self.nodes[targets, :longest]
        vectors = functional.embedding(nodes, self.weight)  # (n, L, D)
        biases = functional.embedding(nodes, self.bias[:, None])[..., 0]  # (n, L)
        score = torch.bmm(vectors, hidden.to(vectors.dtype)[..., None])[..., 0].float() + biases  # (n, L)
        return torch.where(signs != 0, functional.logsigmoid(signs * score), 0.0).sum(dim=1)
