"""word2vec: CBOW and skip-gram, each with four output layers, trained by Numba kernels.

Words that occur with the same neighbours get similar vectors, learnt by prediction instead of from a table of counts.
Mikolov et al. 2013, "Efficient Estimation of Word Representations in Vector Space" (CBOW, skip-gram) and "Distributed
Representations of Words and Phrases and their Compositionality" (negative sampling, subsampling of frequent words).

What differs from the original code: pairs of a stretch of text share their noise words (same expected loss, see
`noise`); CBOW's gradient is the true one, divided by the number of context words where their mean is
taken, so that it wants a larger learning rate (İrsoy et al. 2021), unless `context_step=whole` gives each of them the
whole step as the original code does; NCE and full softmax are there too.

With one thread the same seed gives the same bytes. More threads change the same tables without locks (Recht et al.
2011, "Hogwild"): faster, as good, not reproducible.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from langladder.embeddings.base import WordVectors
from langladder.embeddings.method import EmbeddingMethod, Progress, TrainedVectors
from langladder.embeddings.word2vec.outputs import OUTPUTS, Output
from langladder.embeddings.word2vec.sampling import keep_probabilities
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.kernels.word2vec.drawing import subsample
from langladder.models.making import Row
from langladder.text.storage.token_streams import TokenStream
from langladder.text.words.vocabulary import WordCorpus

CHUNK = 16384  # words of text that a thread takes at a time
POINTS = 50  # of the learning curve


class Word2VecConfig(Config):
    """Settings of word2vec."""

    architecture: Literal["skipgram", "cbow"] = "skipgram"
    output: Literal["negative_sampling", "nce", "hierarchical", "softmax"] = "negative_sampling"
    dim: int = Field(default=100, ge=1)
    window: int = Field(default=5, ge=1, le=100)  # M, words on each side
    dynamic_window: bool = True  # each word draws its own window from 1 … M, so near words count more
    context: Literal["mean", "sum"] = "mean"  # what CBOW makes of its context words
    context_step: Literal["share", "whole"] = "share"  # of the step of their mean, each word gets 1/C (∂J/∂v), or all
    negatives: int = Field(default=5, ge=1)  # K, noise words a pair
    noise_exponent: float = Field(default=0.75, ge=0)  # 1: as in the text, 0: uniform
    subsample: float = Field(default=1e-3, ge=0, le=1)  # t; 0 keeps every word
    epochs: int = Field(default=5, ge=1)
    vectors: Literal["input", "sum"] = "input"  # a word's vector: v, or v + u (Levy et al. 2015, section 3.3)
    lr: float = Field(default=0.025, gt=0)  # falls linearly …
    min_lr: float = Field(default=1e-4, ge=0)  # … to this
    threads: int = Field(default=1, ge=1)  # more than 1: lock-free, not reproducible
    block: int = Field(default=32, ge=8, multiple_of=8)  # L, words that learn together and share noise
    shared_negatives: int = Field(default=16, ge=8, multiple_of=8)  # S, noise words of a block, weighing K/S each

    @model_validator(mode="after")
    def _words_have_output_vectors(self) -> Self:
        if self.vectors == "sum" and self.output == "hierarchical":
            raise ValueError(
                "vectors=sum, output=hierarchical: the tree's vectors belong to its nodes, not to words; use input"
            )
        return self

    @model_validator(mode="after")
    def _falling(self) -> Self:
        if self.min_lr > self.lr:
            raise ValueError(f"min_lr={self.min_lr} is above lr={self.lr}; it must not be")
        return self


class Word2Vec(EmbeddingMethod[Word2VecConfig]):
    """Skip-gram or CBOW; see the module."""

    approach = "prediction"
    by_gradient = True
    Config: ClassVar[type[Config]] = Word2VecConfig

    def make(self, corpus: WordCorpus, *, seed: int, progress: Progress = print) -> TrainedVectors:
        """See `EmbeddingMethod.make`. The corpus is read where it lies, chunk by chunk."""
        config: Word2VecConfig = self.config
        if len(corpus.vocabulary) < 2:
            raise InputError("word2vec needs a vocabulary of at least 2 words; there is 1")
        output = OUTPUTS[config.output](config, corpus.vocabulary.counts, seed)
        run = _Run(config, output, corpus.stream, keep_probabilities(corpus.vocabulary.counts, config.subsample), seed)
        curve = []
        with threadpool_limits(limits=config.threads), np.errstate(over="ignore"):
            for row in run.points():
                curve.append(row)
                progress(
                    f"{config.architecture}, {config.output}: {row['step']} of {run.steps} chunks, "
                    f"loss {row['train_loss']:.4f}, learning rate {row['lr']:.4g}"
                )
        matrix = output.input[:, : config.dim]
        if config.vectors == "sum":
            matrix = matrix + output.output[:, : config.dim]
        if not np.isfinite(matrix).all():
            raise InputError(
                f"word2vec: training diverged; lower lr ({config.lr}) in the rung's file in conf/embedding"
            )
        vocabulary = corpus.vocabulary
        return TrainedVectors(WordVectors(vocabulary.words, matrix.copy(), vocabulary.counts, self.about(seed)), curve)


@dataclass
class _Run:
    """One training: the chunks of all epochs in order, each with its own random numbers and learning rate."""

    config: Word2VecConfig
    output: Output
    stream: TokenStream
    keep: np.ndarray
    seed: int
    bounds: np.ndarray = field(init=False)  # (chunks + 1,) places in `stream.ids`

    def __post_init__(self) -> None:
        self.bounds = chunk_bounds(self.stream.offsets)

    @property
    def steps(self) -> int:
        """Chunks of all epochs."""
        return self.config.epochs * (len(self.bounds) - 1)

    def points(self) -> Iterator[Row]:
        """Train; rows of the learning curve as they come, at most POINTS of them."""
        loss, terms = 0.0, 0.0
        with ThreadPoolExecutor(self.config.threads) as pool:
            results = (
                pool.map(self.learn, range(self.steps))
                if self.config.threads > 1
                else map(self.learn, range(self.steps))
            )
            for step, (part, count) in enumerate(results, start=1):
                loss, terms = loss + part, terms + count
                if step * POINTS // self.steps > (step - 1) * POINTS // self.steps:
                    yield {
                        "step": step,
                        "train_loss": round(loss / max(1.0, terms), 6),
                        "validation_loss": None,
                        "lr": self.rate(step - 1),
                    }
                    loss, terms = 0.0, 0.0

    def rate(self, step: int) -> float:
        """Learning rate of a chunk: lr (1 − share of the text that is done), not below min_lr."""
        epoch, position = divmod(step, len(self.bounds) - 1)
        done = (epoch + self.bounds[position] / self.bounds[-1]) / self.config.epochs
        return float(max(self.config.min_lr, self.config.lr * (1 - done)))

    def learn(self, step: int) -> tuple[float, float]:
        """Subsample one chunk and learn from it."""
        epoch, position = divmod(step, len(self.bounds) - 1)
        first, last = self.bounds[position], self.bounds[position + 1]
        ids = self.stream.ids[first:last]
        ids.flags.writeable = False  # one type for the kernels, whether the text is mapped or in memory
        offsets = self.stream.offsets
        ends = offsets[np.searchsorted(offsets, first, side="right") : np.searchsorted(offsets, last, side="left")]
        ends = np.append(ends - first, last - first)
        state = np.random.SeedSequence((self.seed, epoch, position)).generate_state(1, np.uint64) | np.uint64(1)
        chunk = subsample(ids, ends, self.keep, self.config.window, self.config.dynamic_window, state)
        return self.output.learn(chunk, self.rate(step), state)


def chunk_bounds(offsets: np.ndarray) -> np.ndarray:
    """Cut the text about every CHUNK words, at a nearby end of a line if there is one; (chunks + 1,) positions."""
    total = int(offsets[-1])
    targets = np.arange(CHUNK, total, CHUNK)
    ends = offsets[np.searchsorted(offsets, targets)]
    cuts = np.where(ends - targets < CHUNK // 2, ends, targets)
    return np.unique(np.concatenate([[0], cuts, [total]]))
