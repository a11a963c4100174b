"""Subword vectors in the manner of fastText: a word is the mean of its own vector and its character n-grams' vectors.

Bojanowski, Grave, Joulin & Mikolov 2017, "Enriching Word Vectors with Subword Information", section 3:

    v(w) = 1/|P(w)| Σ_{p ∈ P(w)} z_p,      P(w): the word itself and its n-grams, each n-gram hashed to one of B buckets

trained by skip-gram (or CBOW) with negative sampling. Words that share a stem or an ending share vectors, so that rare
inflections learn from frequent ones, and words never seen have vectors too.

What differs: buckets that no word of the vocabulary falls into have no vector, in training as on disk; noise words are
drawn by count^¾ as in word2vec (the tool's exponent is ½; a setting), frequent words subsampled as in its paper.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from scipy.sparse import csr_matrix

from langladder.embeddings.method import EmbeddingMethod, Progress, TrainedVectors
from langladder.embeddings.subword_vectors import NgramBuckets, SubwordVectors
from langladder.embeddings.word2vec.sampling import keep_probabilities, noise_distribution
from langladder.ground.schema import Config
from langladder.kernels.subword import Drawing, PartTables, train_lines
from langladder.kernels.word2vec.drawing import alias_table
from langladder.models.making import Row
from langladder.text.storage.token_streams import TokenStream
from langladder.text.words.vocabulary import WordCorpus

CHUNK = 10_000  # words that one thread takes at a time, and between two falls of the learning rate


class SubwordConfig(Config):
    """Settings of subword vectors."""

    architecture: Literal["skipgram", "cbow"] = "skipgram"
    min_n: int = Field(default=3, ge=1)  # characters of the shortest n-gram …
    max_n: int = Field(default=6, ge=1)  # … and of the longest
    buckets: int = Field(default=2_000_000, ge=1, lt=2**31)  # B; n-grams that share one share a vector
    dim: int = Field(default=100, ge=1)
    window: int = Field(default=5, ge=1, le=1000)  # words on each side
    dynamic_window: bool = True  # each centre draws its own window from 1 … window
    negatives: int = Field(default=5, ge=1)  # K, noise words a pair
    noise_exponent: float = Field(default=0.75, ge=0)
    subsample: float = Field(default=1e-3, ge=0, le=1)  # t; 0 keeps every word
    epochs: int = Field(default=5, ge=1)
    lr: float = Field(default=0.05, gt=0)  # at the start; falls linearly to 0
    vectors: Literal["input", "sum"] = "input"  # v as in the paper, or v + u (a word never seen has no u: v alone)
    threads: int = Field(default=1, ge=1, le=256)  # more than 1: lock-free (Recht et al. 2011), not reproducible

    @model_validator(mode="after")
    def _lengths_in_order(self) -> Self:
        if self.min_n > self.max_n:
            raise ValueError(f"min_n={self.min_n} exceeds max_n={self.max_n}: n-grams have min_n to max_n characters")
        return self


@dataclass(frozen=True)
class Parts:
    """The parts of each word as rows of one table: the V words themselves, then the N buckets in use.

    Attributes:
        rows: int32; word w has `rows[bounds[w] : bounds[w + 1]]`, itself first.
        bounds: (V + 1,) int64.
        buckets: (N,) int64, which bucket row V + i is; those of frequent words first, so that they lie close together.
    """

    rows: np.ndarray
    bounds: np.ndarray
    buckets: np.ndarray

    @classmethod
    def of(cls, words: list[str], cut: NgramBuckets) -> Self:
        """Cut up a vocabulary."""
        numbers, ends = cut.of(words)
        used, first, position = np.unique(numbers, return_index=True, return_inverse=True)
        by_use = np.argsort(first)
        row = np.empty(len(used), dtype=np.int64)
        row[by_use] = np.arange(len(words), len(words) + len(used))
        own = np.arange(len(words))
        rows = np.insert(row[position], ends[:-1], own).astype(np.int32)
        return cls(rows, ends + np.arange(len(ends)), used[by_use])

    def means(self, table: np.ndarray) -> np.ndarray:
        """(V + N, D) → (V, D): v of every word."""
        sizes = np.diff(self.bounds)
        weights = np.repeat((1 / sizes).astype(np.float32), sizes)
        mean: np.ndarray = csr_matrix((weights, self.rows, self.bounds), shape=(len(sizes), len(table))) @ table
        return mean


Train = Callable[[np.ndarray, np.ndarray, float, int], tuple[float, int]]
"""Learn from a chunk: its ids, the ends of its lines, the learning rate, a seed → summed loss, number of targets."""


class Subword(EmbeddingMethod[SubwordConfig]):
    """The training loop around the kernel."""

    approach = "prediction"
    by_gradient = True
    Config: ClassVar[type[Config]] = SubwordConfig

    def make(self, corpus: WordCorpus, *, seed: int, progress: Progress = print) -> TrainedVectors:
        """Train on the whole text `epochs` times."""
        config = self.config
        words, counts = corpus.vocabulary.words, corpus.vocabulary.counts
        cut = NgramBuckets(config.min_n, config.max_n, config.buckets)
        parts = Parts.of(words, cut)
        shape = (len(words) + len(parts.buckets), config.dim)
        rng = np.random.default_rng(seed)
        table = rng.uniform(-1 / config.dim, 1 / config.dim, shape).astype(np.float32)  # z
        output = np.zeros((len(words), config.dim), dtype=np.float32)  # u
        keep = keep_probabilities(counts, config.subsample).astype(np.float32)
        noise = alias_table(noise_distribution(counts, config.noise_exponent))
        drawing = Drawing(keep, noise, config.window, config.dynamic_window, config.negatives)
        tables = PartTables(parts.rows, parts.bounds, table, output)

        def train(ids: np.ndarray, ends: np.ndarray, rate: float, chunk_seed: int) -> tuple[float, int]:
            counts: tuple[float, int] = train_lines(
                ids, ends, tables, drawing, config.architecture == "cbow", rate, chunk_seed
            )
            return counts

        curve = self._epochs(corpus.stream, train, rng, progress)
        matrix = parts.means(table) + (output if config.vectors == "sum" else 0)
        ascending = np.argsort(parts.buckets)
        ngrams = np.ascontiguousarray(table[len(words) :][ascending])
        own = (words, matrix.astype(np.float32), counts, self.about(seed))
        return TrainedVectors(SubwordVectors(*own, cut, parts.buckets[ascending], ngrams), curve)

    def _epochs(self, stream: TokenStream, train: Train, rng: np.random.Generator, progress: Progress) -> list[Row]:
        """Every epoch, chunk by chunk; the learning curve, losses in nats a target."""
        config = self.config
        bounds = chunks(stream.offsets)
        total = config.epochs * len(stream.ids)
        curve: list[Row] = []
        for epoch in range(config.epochs):
            seeds = rng.integers(1, 2**63, len(bounds) - 1).tolist()

            def jobs(
                epoch: int = epoch, seeds: list[int] = seeds
            ) -> Iterator[tuple[np.ndarray, np.ndarray, float, int]]:
                for first, last, seed in zip(bounds[:-1], bounds[1:], seeds, strict=True):
                    begin, end = stream.offsets[first], stream.offsets[last]
                    # lr = lr₀ (1 − words done / words in all)
                    rate = config.lr * max(1e-4, 1 - (epoch * len(stream.ids) + int(begin)) / total)
                    yield stream.ids[begin:end], stream.offsets[first + 1 : last + 1] - begin, rate, seed

            if config.threads == 1:
                results = [train(*job) for job in jobs()]
            else:
                with ThreadPoolExecutor(config.threads) as pool:
                    results = list(pool.map(lambda job: train(*job), jobs()))
            targets = sum(count for _, count in results)
            loss = sum(part for part, _ in results) / max(1, targets)
            rate = config.lr * (1 - (epoch + 1) / config.epochs)
            curve.append({"step": epoch + 1, "train_loss": round(loss, 6), "lr": rate})
            progress(f"epoch {epoch + 1} of {config.epochs}: loss {loss:.4f}")
        return curve


def chunks(offsets: np.ndarray) -> np.ndarray:
    """Line numbers that cut the text into runs of whole lines, about CHUNK words; a longer line is one by itself."""
    marks = np.searchsorted(offsets, np.arange(0, offsets[-1], CHUNK))
    return np.unique(np.append(marks, len(offsets) - 1))
