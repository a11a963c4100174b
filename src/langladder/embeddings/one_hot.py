"""One-hot vectors: the baseline that knows nothing.

    e_i[j] = 1 where j = i, else 0        ⇒        e_v · e_w = 0 for any two different words

Sun is as close to star as to cat: only the list of words is used, not the text. The score of another method above this
one is what it has learnt. Rows are stored sparse, because a dense table would have V² numbers.
"""

from typing import ClassVar

import numpy as np
from scipy.sparse import csr_matrix

from langladder.embeddings.base import WordVectors
from langladder.embeddings.method import EmbeddingMethod, Progress, TrainedVectors
from langladder.ground.schema import Config
from langladder.text.words.vocabulary import WordCorpus


class OneHotConfig(Config):
    """One-hot vectors have no settings."""


class OneHot(EmbeddingMethod[OneHotConfig]):
    """The identity matrix, (V, V)."""

    approach = "without text"
    Config: ClassVar[type[Config]] = OneHotConfig

    def make(self, corpus: WordCorpus, *, seed: int, progress: Progress = print) -> TrainedVectors:  # noqa: ARG002
        """V unit vectors, orthogonal to each other. Nothing is trained, and nothing is random."""
        size = len(corpus.vocabulary)
        rows = np.arange(size, dtype=np.int32)
        identity = csr_matrix((np.ones(size, dtype=np.float32), rows, np.arange(size + 1, dtype=np.int32)))
        return TrainedVectors(
            WordVectors(corpus.vocabulary.words, identity, corpus.vocabulary.counts, self.about(seed))
        )
