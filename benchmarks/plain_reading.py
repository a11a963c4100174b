"""Networks that classify as they are mostly written in torch: what `reading_networks.py` measures ours against."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from langladder.text.labelled.labelled import Tree

State = tuple[Tensor, Tensor]


class PlainTextCNN(nn.Module):
    """Conv2d over the embedded text for each width, as in most implementations of Kim 2014."""

    def __init__(self, vocab_size: int, dim: int, labels: int, filters: int = 100) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.convolutions = nn.ModuleList(nn.Conv2d(1, filters, (h, dim)) for h in (3, 4, 5))
        self.dropout, self.head = nn.Dropout(0.5), nn.Linear(3 * filters, labels)

    def forward(self, tokens: Tensor) -> Tensor:
        """(B, T), T ≥ 5 → (B, C)."""
        x = self.embedding(tokens)[:, None]  # (B, 1, T, D)
        pooled = [functional.relu(convolution(x)).squeeze(3).amax(dim=2) for convolution in self.convolutions]
        scores: Tensor = self.head(self.dropout(torch.cat(pooled, dim=1)))
        return scores


class PlainBiLSTM(nn.Module):
    """nn.LSTM in both directions over the padded batch, max pooling."""

    def __init__(self, vocab_size: int, dim: int, labels: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.rnn = nn.LSTM(dim, width // 2, batch_first=True, bidirectional=True)
        self.dropout, self.head = nn.Dropout(0.5), nn.Linear(width, labels)

    def forward(self, tokens: Tensor) -> Tensor:
        """(B, T) → (B, C)."""
        states, _ = self.rnn(self.embedding(tokens))
        pooled = states.masked_fill((tokens == 0)[..., None], -1e9).amax(dim=1)
        scores: Tensor = self.head(self.dropout(pooled))
        return scores


class PlainTreeLSTM(nn.Module):
    """A Tree-LSTM by recursion, one node at a time; child-sum, or N-ary (two children) as in Tai et al. 2015."""

    def __init__(self, vocab_size: int, dim: int, labels: int, width: int, *, n_ary: bool) -> None:
        super().__init__()
        self.width, self.n_ary = width, n_ary
        self.embedding = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.read = nn.Linear(dim, 4 * width)  # i, o, u, f
        self.join = nn.Linear(2 * width, 5 * width) if n_ary else nn.Linear(width, 3 * width)
        self.forget = nn.Linear(width, width)
        self.dropout, self.head = nn.Dropout(0.5), nn.Linear(width, labels)

    def node(self, tree: Tree, number: int, words: Tensor, losses: list[Tensor], wanted: list[int]) -> State:
        """h and c of a node, (H,) each; its loss is added to `losses` where its label is wanted."""
        below = [self.node(tree, child, words, losses, wanted) for child in tree.children[number]]
        driven = self.read(words[tree.word[number]]) if tree.word[number] >= 0 else self.read.bias
        i, o, u, f = driven.chunk(4)
        kept: Tensor | float = 0.0
        if below and self.n_ary:
            di, do, du, *forgets = self.join(torch.cat([h for h, _ in below])).chunk(5)
            i, o, u = i + di, o + do, u + du
            kept = sum(torch.sigmoid(f + df) * c for df, (_, c) in zip(forgets, below, strict=True))
        elif below:
            di, do, du = self.join(torch.stack([h for h, _ in below]).sum(dim=0)).chunk(3)
            i, o, u = i + di, o + do, u + du
            kept = sum(torch.sigmoid(f + self.forget(h)) * c for h, c in below)
        c = torch.sigmoid(i) * torch.tanh(u) + kept
        h = torch.sigmoid(o) * torch.tanh(c)
        if wanted[number] >= 0:
            scores = self.head(self.dropout(h))
            losses.append(functional.cross_entropy(scores[None], torch.tensor([wanted[number]])))
        return h, c

    def loss(self, trees: list[tuple[Tree, Tensor, list[int]]]) -> Tensor:
        """Mean over all labelled nodes of (tree, its tokens (T,), the labels of its nodes)."""
        losses: list[Tensor] = []
        for tree, tokens, wanted in trees:
            self.node(tree, len(tree) - 1, self.embedding(tokens), losses, wanted)
        return torch.stack(losses).mean()
