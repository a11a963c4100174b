"""Word vectors that are the rows of a matrix of counts, weighed or not."""

from abc import abstractmethod

import numpy as np
from scipy.sparse import csr_matrix

from langladder.embeddings.base import WordVectors
from langladder.embeddings.method import EmbeddingMethod, Made, Progress
from langladder.text.words.word_corpus import WordCorpus


class CountedVectors(EmbeddingMethod):
    """Rows of a sparse matrix (V, contexts)."""

    approach = "counts"

    @abstractmethod
    def matrix(self, corpus: WordCorpus) -> csr_matrix:
        """(V, contexts) CSR, float64."""

    def make(self, corpus: WordCorpus, *, seed: int, progress: Progress = print) -> Made:
        """Count and weigh; nothing is drawn at random."""
        matrix, vocabulary = self.matrix(corpus).astype(np.float32), corpus.vocabulary
        progress(f"{matrix.shape[0]:,} words × {matrix.shape[1]:,}: {matrix.nnz:,} entries")
        return Made(WordVectors(vocabulary.words, matrix, vocabulary.counts, self.about(seed)))
