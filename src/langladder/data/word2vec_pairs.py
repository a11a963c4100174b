"""Training batches of `Word2VecNetwork`: pairs written out, each with what its output layer needs.

As in `skipgram_pairs`, a batch is a pure function of (seed, step).

Shape legend: W words of a batch, P pairs, C context words, M window, K noise words, J nodes of the longest path.
"""

from collections.abc import Mapping

import numpy as np
import torch

from langladder.data.skipgram_pairs import WindowBatches
from langladder.embeddings.sampling import noise_distribution
from langladder.embeddings.word2vec_network import PairBatch, Word2VecNetworkConfig
from langladder.nn.huffman import HuffmanTree
from langladder.text.corpus_ids import TokenStream
from langladder.text.vocabulary import Vocabulary


class Word2VecBatches(WindowBatches):
    """Batches of about `config.batch_words` words of text."""

    config: Word2VecNetworkConfig

    def __init__(
        self, stream: TokenStream, vocabulary: Vocabulary, config: Word2VecNetworkConfig, *, seed: int
    ) -> None:
        """Raises InputError if the stream holds no word."""
        super().__init__(stream, vocabulary, config, seed=seed)
        counts = vocabulary.counts
        self.tree = HuffmanTree.from_counts(counts) if config.output == "hierarchical" else None
        # log P_w − log(K P_noise(w)), for NCE
        noise = noise_distribution(counts, config.noise_exponent)
        self.shifts = np.log(noise_distribution(counts, 1)) - np.log(config.negatives * noise)

    def train(self, step: int) -> PairBatch:
        """See `Word2VecNetwork.forward` for the batch's tensors."""
        words, before, after, rng = self.text(step)
        batch = pairs_of(words, before, after, self.config)
        if self.config.output in ("negative_sampling", "nce"):
            batch["noise"] = self.draw(rng, len(batch["targets"]), self.config.negatives)
        return tensors(complete(batch, self.config, self.shifts, self.tree))


def pairs_of(
    words: np.ndarray, before: np.ndarray, after: np.ndarray, config: Word2VecNetworkConfig
) -> dict[str, np.ndarray]:
    """Inputs (P, C), mask (P, C) and targets (P,) of a text of W words.

    Skip-gram: one pair for each word (input) and each word in its window (target). CBOW: one for each word (target)
    that has any context (inputs).
    """
    reach = np.concatenate([np.arange(-config.window, 0), np.arange(1, config.window + 1)])  # (2M,)
    there = (reach >= -before[:, None]) & (reach <= after[:, None])  # (W, 2M)
    places = np.where(there, np.arange(len(words))[:, None] + reach, 0)
    if config.architecture == "cbow":
        some = there.any(axis=1)
        inputs = np.where(there, words[places] if len(words) else places, 0)
        return {"inputs": inputs[some], "mask": there[some], "targets": words[some]}
    centres, columns = np.nonzero(there)
    inputs = words[centres][:, None]
    return {"inputs": inputs, "mask": np.ones_like(inputs, dtype=bool), "targets": words[places[centres, columns]]}


def complete(
    batch: dict[str, np.ndarray], config: Word2VecNetworkConfig, shifts: np.ndarray, tree: HuffmanTree | None
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
