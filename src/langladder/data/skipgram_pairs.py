"""Skip-gram's training batches: subsampled text in blocks, each centre with its window, each block with its noise.

A batch is a pure function of (seed, step). Each epoch reads the lines in another order; only this order is
stored, so the text can be larger than memory. Windows are cut after subsampling frequent words and
never reach beyond their line, as in word2vec.

Shape legend: W words of a batch, B blocks, L centres a block, M window, S shared noise words.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view

from langladder.data.batches import StepBatches, generator, permutation
from langladder.embeddings.word2vec.sampling import keep_probabilities, noise_distribution
from langladder.embeddings.word2vec.skipgram import SkipGramBatch, SkipGramConfig
from langladder.ground.errors import InputError
from langladder.text.storage.token_streams import TokenStream
from langladder.text.words.vocabulary import Vocabulary

LONGEST_LINE = 1000  # longer lines are cut, so that the size of a batch does not depend on the text


class SkipGramBatches(StepBatches[SkipGramBatch]):
    """Blocks of centres that share their noise, of about `config.batch_words` words; there is no validation."""

    def __init__(self, stream: TokenStream, vocabulary: Vocabulary, config: SkipGramConfig, *, seed: int) -> None:
        """Raises InputError if the stream has no word."""
        if len(stream.ids) == 0:
            raise InputError("the word stream is empty: the vocabulary has none of the training text's words")
        self.ids, self.config, self.seed = stream.ids, config, seed
        self.starts, self.lengths = _pieces(stream.offsets)
        self.keep = keep_probabilities(vocabulary.counts, config.subsample)
        self.noise = np.cumsum(noise_distribution(vocabulary.counts, config.noise_exponent))
        self.steps_per_epoch = -(-len(stream.ids) // config.batch_words)
        self._bounds = lru_cache(maxsize=2)(self._epoch_bounds)

    def train(self, step: int) -> SkipGramBatch:
        """See `SkipGram.forward` for the batch's tensors."""
        epoch, position = divmod(step, self.steps_per_epoch)
        bounds = self._bounds(epoch)
        lines = permutation(len(self.starts), self.seed, epoch)[bounds[position] : bounds[position + 1]]
        rng = generator(self.seed, epoch, position)

        words, line_of = self._read(lines)
        kept = rng.random(len(words)) < self.keep[words]
        words, line_of = words[kept], line_of[kept]
        before, after = windows(line_of, self.config.window, rng if self.config.dynamic_window else None)
        batch = in_blocks(words, before, after, self.config)
        draws = rng.random((len(batch["centres"]), self.config.shared_negatives))
        batch["noise"] = np.searchsorted(self.noise, draws * self.noise[-1], side="right")
        return {name: torch.from_numpy(array) for name, array in batch.items()}

    def validation(self) -> Sequence[SkipGramBatch]:
        """Word vectors are evaluated on analogies and similarities, not by held-out loss."""
        return []

    def size(self, batch: SkipGramBatch) -> int:  # noqa: ARG002 - the same for every batch
        """Words of text read for one step, before subsampling (as word2vec counts its speed)."""
        return len(self.ids) // self.steps_per_epoch

    def examples(self, step: int, batch: SkipGramBatch) -> int:  # noqa: ARG002 - see `StepBatches`
        """Blocks."""
        return len(batch["centres"])

    def take(self, step: int, batch: SkipGramBatch, rows: np.ndarray) -> SkipGramBatch:  # noqa: ARG002
        """Some of the blocks."""
        return {name: values[torch.from_numpy(rows)] for name, values in batch.items()}

    def terms(self, batch: SkipGramBatch) -> tuple[int, ...]:
        """Pairs of a centre and a word near it."""
        return (int(batch["before"].sum() + batch["after"].sum()),)

    def _epoch_bounds(self, epoch: int) -> np.ndarray:
        """(steps + 1,): the lines of the epoch's order for each step, so that each gets its share of the words."""
        ends = np.cumsum(self.lengths[permutation(len(self.starts), self.seed, epoch)])
        shares = np.arange(1, self.steps_per_epoch) * len(self.ids) / self.steps_per_epoch
        return np.concatenate([[0], np.searchsorted(ends, shares), [len(ends)]])

    def _read(self, lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The words of these lines (W,) and the number of each word's line (W,)."""
        lengths = self.lengths[lines]
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if len(ends) else 0
        positions = np.arange(total) + np.repeat(self.starts[lines] - (ends - lengths), lengths)
        return self.ids[positions].astype(np.int64), np.repeat(np.arange(len(lines)), lengths)


def _pieces(offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Starts and lengths of the lines, those above LONGEST_LINE cut into pieces; empty lines left out."""
    lengths = np.diff(offsets)
    cuts = -(-lengths // LONGEST_LINE)
    first = np.cumsum(cuts) - cuts
    within = (np.arange(cuts.sum()) - np.repeat(first, cuts)) * LONGEST_LINE
    return np.repeat(offsets[:-1], cuts) + within, np.minimum(LONGEST_LINE, np.repeat(lengths, cuts) - within)


def windows(line_of: np.ndarray, window: int, rng: np.random.Generator | None) -> tuple[np.ndarray, np.ndarray]:
    """How many words of context each word has before and after it, within its line: two arrays (W,) int64.

    Args:
        line_of: (W,) the number of each word's line, ascending.
        rng: draws each word's own window from 1 … `window`; None: all have the full one.
    """
    count = len(line_of)
    radius = np.full(count, window) if rng is None else rng.integers(1, window + 1, count)
    begins = np.searchsorted(line_of, line_of, side="left")
    ends = np.searchsorted(line_of, line_of, side="right")
    positions = np.arange(count)
    return np.minimum(radius, positions - begins), np.minimum(radius, ends - 1 - positions)


def in_blocks(
    words: np.ndarray, before: np.ndarray, after: np.ndarray, config: SkipGramConfig
) -> dict[str, np.ndarray]:
    """Cut (W,) words into B blocks of L centres; the last block is filled up with centres that have no context.

    Returns:
        centres, before, after: (B, L); contexts: (B, L + 2M), reaching M words into the neighbouring blocks.
    """
    length, window = config.block, config.window
    blocks = max(1, -(-len(words) // length))
    room = blocks * length
    padded = np.zeros(room + 2 * window, dtype=np.int64)
    padded[window : window + len(words)] = words
    filled = {"contexts": sliding_window_view(padded, length + 2 * window)[::length].copy()}
    for name, values in (("centres", words), ("before", before), ("after", after)):
        row = np.zeros(room, dtype=np.int64)
        row[: len(values)] = values
        filled[name] = row.reshape(blocks, length)
    return filled
