"""word2vec's output layers, one class each, over the same two tables of vectors.

An output layer learns from chunks of subsampled text (see `drawing.subsample`) and says the loss of a sample.

Shape legend: V words, D dimensions (a multiple of 8; columns beyond the vectors' dimension stay 0), N a chunk's words.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from langladder.embeddings.word2vec.sampling import noise_distribution
from langladder.kernels.word2vec.cbow import cbow_negative
from langladder.kernels.word2vec.drawing import Chunk, alias_table
from langladder.kernels.word2vec.noise import Blocks, Tables
from langladder.kernels.word2vec.skipgram import skipgram_negative
from langladder.kernels.word2vec.tree import Tree, learn_tree
from langladder.nn.huffman import HuffmanTree

SOFTMAX_BLOCK = 64  # centres whose scores over all words are one product


class Output(ABC):
    """The two tables, and how they learn."""

    def __init__(self, config: Any, counts: np.ndarray, seed: int) -> None:
        self.config = config
        self.cbow, self.mean = config.architecture == "cbow", config.context == "mean"
        self.whole = config.context_step == "whole"
        self.input = np.zeros((len(counts), -(-config.dim // 8) * 8), dtype=np.float32)
        # as in the original code: v uniform in ±1/(2 dim), u = 0
        draws = np.random.default_rng(seed).random((len(counts), config.dim), dtype=np.float32)
        self.input[:, : config.dim] = (draws - np.float32(0.5)) / np.float32(config.dim)
        self.output = np.zeros((self.rows(len(counts)), self.input.shape[1]), dtype=np.float32)

    def rows(self, vocabulary: int) -> int:
        """Rows of the output table."""
        return vocabulary

    @abstractmethod
    def learn(self, chunk: Chunk, lr: float, state: np.ndarray) -> tuple[float, float]:
        """Change the tables; summed loss and number of the terms that were measured. `state`: of the random numbers."""


class NoiseOutput(Output):
    """Negative sampling, and NCE with b_w = log P(w) to begin with, so that the model begins as the unigram one."""

    def __init__(self, config: Any, counts: np.ndarray, seed: int) -> None:
        super().__init__(config, counts, seed)
        noise = noise_distribution(counts, config.noise_exponent)
        self.shift = np.zeros(len(counts), dtype=np.float32)
        if config.output == "nce":
            # b_w − log(K P_noise(w))
            unigram = noise_distribution(np.maximum(counts, 1), 1)
            self.shift = (np.log(unigram) - np.log(config.negatives * np.maximum(noise, 1e-30))).astype(np.float32)
        self.blocks = Blocks(config.block, config.window, config.negatives, config.shared_negatives, alias_table(noise))

    def learn(self, chunk: Chunk, lr: float, state: np.ndarray) -> tuple[float, float]:
        tables = Tables(self.input, self.output, self.shift, self.config.output == "nce")
        losses: tuple[float, float] = (
            cbow_negative(chunk, tables, self.blocks, state, lr, self.mean, self.whole)
            if self.cbow
            else skipgram_negative(chunk, tables, self.blocks, state, lr)
        )
        return losses


class TreeOutput(Output):
    """Hierarchical softmax on the Huffman tree of the counts."""

    def __init__(self, config: Any, counts: np.ndarray, seed: int) -> None:
        super().__init__(config, counts, seed)
        tree = HuffmanTree.from_counts(counts)
        self.tree = Tree(tree.offsets, tree.nodes, tree.bits)

    def rows(self, vocabulary: int) -> int:
        """Inner nodes: V − 1."""
        return vocabulary - 1

    def learn(self, chunk: Chunk, lr: float, state: np.ndarray) -> tuple[float, float]:  # noqa: ARG002
        """See `Output.learn`."""
        losses: tuple[float, float] = learn_tree(
            chunk, self.input, self.output, self.tree, lr, self.config.window, self.cbow, self.mean, self.whole
        )
        return losses


class SoftmaxOutput(Output):
    """Full softmax, exact: P(w | h) = exp(u_w · h) / Σ_v exp(u_v · h). Every step touches every word: O(V)."""

    def learn(self, chunk: Chunk, lr: float, state: np.ndarray) -> tuple[float, float]:  # noqa: ARG002
        """See `Output.learn`; one update for every SOFTMAX_BLOCK centres, all of them measured."""
        loss, pairs = 0.0, 0.0
        for first in range(0, chunk.size, SOFTMAX_BLOCK):
            centres = np.arange(first, min(first + SOFTMAX_BLOCK, chunk.size))
            positions, rows = _contexts(chunk.before[centres], chunk.after[centres], centres)
            if len(positions):
                part = self._learn_cbow if self.cbow else self._learn_skipgram
                loss += part(chunk.words[centres], chunk.words[positions], rows, lr)
                pairs += len(np.unique(rows)) if self.cbow else len(rows)
        return loss, pairs

    def _learn_skipgram(self, centres: np.ndarray, contexts: np.ndarray, rows: np.ndarray, lr: float) -> float:
        """Centres (L,), their contexts (P,) and whose each is (P,)."""
        H = self.input[centres]  # (L, D)
        weights = np.bincount(rows, minlength=len(centres)).astype(np.float32)
        loss, dH = self._softmax(H, rows, contexts, weights, lr)
        np.add.at(self.input, centres, dH)
        return loss

    def _learn_cbow(self, centres: np.ndarray, contexts: np.ndarray, rows: np.ndarray, lr: float) -> float:
        sizes = np.bincount(rows, minlength=len(centres))
        alone = sizes == 0
        scales = (1 / np.maximum(sizes, 1) if self.mean else np.ones(len(sizes))).astype(np.float32)
        H = np.zeros((len(centres), self.input.shape[1]), dtype=np.float32)
        np.add.at(H, rows, self.input[contexts])
        H *= scales[:, None]
        present = np.flatnonzero(~alone)
        loss, dH = self._softmax(H, present, centres[present], (~alone).astype(np.float32), lr)
        np.add.at(self.input, contexts, (dH if self.whole else dH * scales[:, None])[rows])
        return loss

    def _softmax(
        self, H: np.ndarray, rows: np.ndarray, targets: np.ndarray, weights: np.ndarray, lr: float
    ) -> tuple[float, np.ndarray]:
        """−Σ log P(targets | H[rows]); changes the output table; the step of H, −lr ∂J/∂H (L, D)."""
        scores = H @ self.output.T  # (L, V)
        chosen = scores[rows, targets].astype(np.float64)
        peak = scores.max(axis=1, keepdims=True)
        scores -= peak  # so that nothing overflows
        np.exp(scores, out=scores)
        normaliser = scores.sum(axis=1, keepdims=True)
        loss = float(((np.log(normaliser) + peak)[rows, 0] - chosen).sum())
        # ∂J/∂score_iw = (number of i's targets) p_iw − (how often w is one)
        scores *= weights[:, None] / normaliser
        np.subtract.at(scores, (rows, targets), np.float32(1))
        dH: np.ndarray = scores @ self.output
        scores *= np.float32(-lr)
        self.output += scores.T @ H
        return loss, np.float32(-lr) * dH


def _contexts(before: np.ndarray, after: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places of all context words of these centres (P,), and the number of the centre that each belongs to (P,)."""
    widths = before + after + 1
    rows = np.repeat(np.arange(len(centres)), widths)
    ends = np.cumsum(widths)
    positions = np.arange(len(rows)) + np.repeat(centres - before - (ends - widths), widths)
    others = positions != centres[rows]
    return positions[others], rows[others]


OUTPUTS: dict[str, type[Output]] = {
    "negative_sampling": NoiseOutput,
    "nce": NoiseOutput,
    "hierarchical": TreeOutput,
    "softmax": SoftmaxOutput,
}
