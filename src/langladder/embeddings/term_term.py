"""Term–term counts: a word's vector says how often it co-occurs with each word.

The distributional hypothesis (Firth 1957) taken at its word: row w of X holds how often each word of the vocabulary
stands within the window around w (`langladder.counts.cooccurrence`). Raw counts are ruled by frequent words; the
logarithm damps that.
"""

from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix

from langladder.counts.cooccurrence import CooccurrenceConfig
from langladder.counts.stored import counts_of
from langladder.embeddings.base import WordVectors
from langladder.embeddings.method import EmbeddingMethod, Made, Progress
from langladder.schema import Config
from langladder.text.word_corpus import WordCorpus


class TermTermConfig(Config):
    """Which counts, and whether their logarithm."""

    kind: Literal["term_term"] = "term_term"
    cooccurrence: CooccurrenceConfig = CooccurrenceConfig()
    log: bool = False  # log(1 + X) instead of X

    def counting(self) -> CooccurrenceConfig:
        """What is counted for it."""
        return self.cooccurrence


class TermTerm(EmbeddingMethod):
    """Rows of the term–term matrix, (V, V) sparse."""

    approach = "counts"
    Config = TermTermConfig

    def matrix(self, corpus: WordCorpus) -> csr_matrix:
        """(V, V) CSR, float64."""
        counts = counts_of(corpus, self.config.cooccurrence)
        if self.config.log:
            counts.data = np.log1p(counts.data)
        return counts

    def make(self, corpus: WordCorpus, *, seed: int, progress: Progress = print) -> Made:
        """Count; nothing is drawn at random."""
        return sparse_vectors(self, corpus, seed, progress)


def sparse_vectors(method: Any, corpus: WordCorpus, seed: int, progress: Progress) -> Made:
    """The rows of a method's matrix as word vectors."""
    matrix = method.matrix(corpus).astype(np.float32)
    progress(f"{matrix.shape[0]:,} words × {matrix.shape[1]:,}: {matrix.nnz:,} entries")
    vocabulary = corpus.vocabulary
    vectors = WordVectors(vocabulary.words, matrix, vocabulary.counts, method.about(seed))
    return Made(vectors)
