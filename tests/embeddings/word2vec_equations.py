"""word2vec as equations, pairs written out: what `langladder.kernels.word2vec` must equal; torch differentiates it.

Every pair is a hidden vector h that must tell a target word:

    skip-gram: h = v of one word        CBOW: h = mean (or sum) of the v of the words around the target

    softmax              J = −log exp(u_w · h) / Σ_v exp(u_v · h)                        Mikolov et al. 2013b, eq. 2
    hierarchical         J = −Σ_j log σ(±u_{n(w, j)} · h), + where bit j is 0             eq. 3
    negative sampling    J = −log σ(u_w · h) − K/S Σ_s log σ(−u_{n_s} · h)                eq. 4, S noise words for K
    NCE                  the same with score u_w · h + log P_w + b_w − log(K P_noise(w))  Mnih and Kavukcuoglu 2013

In NCE, b_w is learnt and starts at 0, so that the model starts as the unigram distribution.

Shape legend: P pairs, C context words, S noise words, J nodes of the longest path, V vocabulary, D dimensions.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from langladder.embeddings.word2vec.method import Word2VecConfig
from langladder.nn.huffman import HuffmanTree

PairBatch = dict[str, torch.Tensor]


class Word2VecEquations(nn.Module):
    """The two vector tables and the loss."""

    def __init__(self, config: Word2VecConfig, vocab_size: int) -> None:
        super().__init__()
        self.config = config
        rows = vocab_size - 1 if config.output == "hierarchical" else vocab_size
        self.input = nn.Embedding(vocab_size, config.dim)  # v
        self.output = nn.Embedding(rows, config.dim)  # u
        self.bias = nn.Embedding(vocab_size, 1) if config.output == "nce" else None  # b
        nn.init.uniform_(self.input.weight, -0.5 / config.dim, 0.5 / config.dim)
        nn.init.zeros_(self.output.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias.weight)

    def forward(self, batch: PairBatch) -> torch.Tensor:
        """Mean of J over the batch's pairs, a scalar.

        Args:
            batch: inputs (P, C), mask (P, C) bool, targets (P,); and as the output layer needs:
                noise (P, S) and shifts (P, 1 + S) log P_w − log(K P_noise(w)) of the target and the noise (NCE), or
                nodes (P, J), bits (P, J), path_mask (P, J) bool.
        """
        h = self.hidden(batch["inputs"], batch["mask"])  # (P, D)
        return self._losses(h, batch).sum() / max(1, len(h))

    def hidden(self, inputs: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """(P, C) words, True where there is one → (P, D)."""
        total: torch.Tensor = (self.input(inputs) * mask[:, :, None]).sum(dim=1)  # (P, D)
        if self.config.context == "sum":
            return total
        mean = total / mask.sum(dim=1, keepdim=True).clamp(min=1)  # by the words that are there, not by 2M
        if self.config.context_step == "whole":  # forwards the mean, backwards the sum
            return total + (mean - total).detach()
        return mean

    def _losses(self, h: torch.Tensor, batch: PairBatch) -> torch.Tensor:
        """J of each pair, (P,)."""
        if self.config.output == "softmax":
            return functional.cross_entropy(h @ self.output.weight.T, batch["targets"], reduction="none")
        if self.config.output == "hierarchical":
            scores = torch.einsum("pd,pjd->pj", h, self.output(batch["nodes"]))  # (P, J)
            signs = 1 - 2 * batch["bits"]  # + for 0, − for 1
            return -(functional.logsigmoid(signs * scores) * batch["path_mask"]).sum(dim=1)
        words = torch.cat([batch["targets"][:, None], batch["noise"]], dim=1)  # (P, 1 + S)
        scores = torch.einsum("pd,psd->ps", h, self.output(words))
        if self.bias is not None:
            scores = scores + self.bias(words)[:, :, 0] + batch["shifts"]
        noise = functional.logsigmoid(-scores[:, 1:]).mean(dim=1) * self.config.negatives  # K/S Σ_s
        return -functional.logsigmoid(scores[:, 0]) - noise


def pairs_of(words: np.ndarray, before: np.ndarray, after: np.ndarray, config: Word2VecConfig) -> dict[str, np.ndarray]:
    """Inputs (P, C), mask (P, C) and targets (P,) of a text of W words.

    Skip-gram: one pair for each word (input) and each word in its window (target). CBOW: one for each word (target)
    that has any context (inputs).
    """
    reach = np.concatenate([np.arange(-config.window, 0), np.arange(1, config.window + 1)])  # (2M,)
    there = (reach >= -before[:, None]) & (reach <= after[:, None])  # (W, 2M)
    positions = np.where(there, np.arange(len(words))[:, None] + reach, 0)
    if config.architecture == "cbow":
        some = there.any(axis=1)
        inputs = np.where(there, words[positions] if len(words) else positions, 0)
        return {"inputs": inputs[some], "mask": there[some], "targets": words[some]}
    centres, columns = np.nonzero(there)
    inputs = words[centres][:, None]
    return {"inputs": inputs, "mask": np.ones_like(inputs, dtype=bool), "targets": words[positions[centres, columns]]}


def complete(
    batch: dict[str, np.ndarray], config: Word2VecConfig, shifts: np.ndarray, tree: HuffmanTree | None
) -> dict[str, np.ndarray]:
    """Add what NCE (`shifts` of all words (V,)) or hierarchical softmax (`tree`) need to inputs, targets and noise."""
    targets = batch["targets"]
    if config.output == "nce":
        words = np.concatenate([targets[:, None], batch["noise"]], axis=1)  # (P, 1 + K)
        batch["shifts"] = shifts[words].astype(np.float32)
    if tree is not None:
        nodes, bits, mask = tree.padded
        batch |= {"nodes": nodes[targets].astype(np.int64), "bits": bits[targets], "path_mask": mask[targets]}
    return batch


def tensors(batch: Mapping[str, np.ndarray]) -> PairBatch:
    """The same as tensors."""
    return {name: torch.from_numpy(array) for name, array in batch.items()}
