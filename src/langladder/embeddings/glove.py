"""GloVe (Pennington, Socher and Manning 2014): word vectors whose products are logarithms of co-occurrence counts.

    J = Σ_ij f(X_ij) (w_i · w̃_j + b_i + b̃_j − log X_ij)²    over X_ij > 0        (equation 8)
    f(x) = min(1, (x / x_max)^α)                                                    (equation 9)

It learns from the counts of the whole text, where word2vec passes over the text word by word. Trained by AdaGrad as in
the authors' C program: each step goes down ½ J (so the gradient of one pair is f · error · w̃), the sums of squares
start at 1, hold (η · gradient)², and are used before the step's own square is added. The learning curve's cost is the
program's too: ½ J a pair, summed up during the epoch.

What differs: the order of the pairs. The program visits them in one random order. Here an epoch is ROUNDS rounds, and
each pair has one of them, drawn at random; in a round, pairs with neighbouring contexts come together
(`kernels.glove.ordered_pairs`), so that these stay in the processor's cache. The cost reached is
the same to 0.2 %. Without biases, J is the form Σ f(X) (w · w̃ − log X)²; without f as well, the factorisation
‖W W̃ᵀ − log X‖². `objective` is J, which `kernels.glove` takes down pair by pair.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
from pydantic import Field
from scipy.sparse import csr_matrix

from langladder.counts.cooccurrence import CooccurrenceConfig
from langladder.counts.stored import counts_of
from langladder.embeddings.base import WordVectors
from langladder.embeddings.method import EmbeddingMethod, Progress, TrainedVectors
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.kernels import glove as kernels
from langladder.kernels.glove import Pairs, Parameters
from langladder.models.making import Row
from langladder.text.words.vocabulary import WordCorpus

ROUNDS = 16  # at most 256; with fewer, the last pairs of an epoch weigh on the vectors


class GloVeConfig(Config):
    """Settings, with the paper's values."""

    dim: int = Field(ge=1)
    epochs: int = Field(default=25, ge=1)
    x_max: float = Field(default=100.0, gt=0.0)
    alpha: float = Field(default=0.75, ge=0.0)
    learning_rate: float = Field(default=0.05, gt=0.0)
    biases: bool = True
    vectors: Literal["sum", "word"] = "sum"  # W + W̃ or W
    threads: int = Field(default=1, ge=1)  # > 1: lock-free updates of shared vectors, not reproducible
    cooccurrence: CooccurrenceConfig = CooccurrenceConfig(window=10, weighting="inverse_distance")

    def counting(self) -> CooccurrenceConfig:
        """The counts that it needs."""
        return self.cooccurrence


def initial_parameters(vocab_size: int, dim: int, *, biases: bool, seed: int) -> Parameters:
    """Uniform values in ±½ / (D + 1), sums 1, like the C program; biases are 0 if there are none."""
    generator = np.random.default_rng(seed)

    def drawn(*shape: int) -> np.ndarray:
        values = np.ones((shape[0], 2, *(kernels.filled(size) for size in shape[1:])), dtype=np.float32)
        values[:, 0] = 0
        values[:, 0, ...][..., : shape[-1]] = (generator.random(shape, dtype=np.float32) - 0.5) / (dim + 1)
        return values

    words, contexts = drawn(vocab_size, dim), drawn(vocab_size, dim)
    both = drawn(vocab_size), drawn(vocab_size)
    if not biases:
        for side in both:
            side[:, 0] = 0
    return Parameters(words, contexts, *both)


def training_pairs(counts: csr_matrix, *, x_max: float, alpha: float, seed: int, rounds: int = ROUNDS) -> Pairs:
    """The entries of X, a random order for each seed."""
    strips = np.random.default_rng(seed).permutation(-(-counts.shape[1] // kernels.STRIP))
    rows, columns, values = kernels.ordered_pairs(counts.indptr, counts.indices, counts.data, strips, rounds, seed)
    return Pairs(rows, columns, *kernels.targets(values, x_max, alpha))


def train_epoch(parameters: Parameters, pairs: Pairs, *, learning_rate: float, biases: bool, threads: int = 1) -> float:
    """One AdaGrad step for every pair; `parameters` change in place. Returns ½ J a pair, summed up on the way."""
    cuts = np.linspace(0, len(pairs.rows), threads + 1).astype(np.int64)

    def share(number: int) -> float:
        part = cuts[number], cuts[number + 1]
        return float(kernels.train_pairs(parameters, pairs, np.float32(learning_rate), biases, *part))

    if threads == 1:
        total = share(0)
    else:
        with ThreadPoolExecutor(threads) as pool:
            total = sum(pool.map(share, range(threads)))
    return total / 2 / len(pairs.rows)


def cost(parameters: Parameters, pairs: Pairs) -> float:
    """J, without the factor ½, of fixed parameters."""
    return float(kernels.total_cost(parameters, pairs))


class GloVe(EmbeddingMethod[GloVeConfig]):
    """Dense vectors (V, D)."""

    approach = "fitted to counts"
    by_gradient = True
    Config = GloVeConfig

    def make(self, corpus: WordCorpus, *, seed: int, progress: Progress = print) -> TrainedVectors:
        """Count, then train; reproducible with one thread.

        Raises:
            InputError: no two words co-occur, or training diverged.
        """
        config = self.config
        vocabulary = corpus.vocabulary
        counts = counts_of(corpus, config.cooccurrence)
        if counts.nnz == 0:
            raise InputError("GloVe: no line of the training text has two words within the window")
        pairs = training_pairs(counts, x_max=config.x_max, alpha=config.alpha, seed=seed)
        del counts
        parameters = initial_parameters(len(vocabulary), config.dim, biases=config.biases, seed=seed)
        curve: list[Row] = []
        for epoch in range(1, config.epochs + 1):
            rate, biases = config.learning_rate, config.biases
            mean = train_epoch(parameters, pairs, learning_rate=rate, biases=biases, threads=config.threads)
            if not np.isfinite(mean):
                raise InputError(
                    f"GloVe diverged: lower learning_rate (now {config.learning_rate}; the paper's is 0.05)"
                )
            progress(f"epoch {epoch} of {config.epochs}: cost {mean:.6f} a pair, {len(pairs.rows):,} pairs")
            curve.append({"step": epoch, "train_loss": round(mean, 6)})
        vectors = parameters.words[:, 0, : config.dim].copy()
        if config.vectors == "sum":
            vectors += parameters.contexts[:, 0, : config.dim]
        return TrainedVectors(WordVectors(vocabulary.words, vectors, vocabulary.counts, self.about(seed)), curve)
