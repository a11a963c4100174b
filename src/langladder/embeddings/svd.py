"""Truncated SVD of a matrix of counts: few dense dimensions that keep the most of it.

    M ≈ U_k S_k V_kᵀ,    W = U_k S_k^p,    C = V_k S_k^p

Latent semantic analysis (Deerwester et al. 1990) is p = 1 on a term–document matrix. Levy, Goldberg and Dagan (2015,
section 3.3) found p = 0.5 or 0 better on PPMI, and W + C sometimes better than W. The decomposition is scikit-learn's
randomised one (Halko et al. 2011): a few products of the sparse matrix with k + 10 dense columns; no (V, V) table.

Signs and rotations inside equal singular values are free, so single dimensions mean nothing.
"""

from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from scipy.sparse import csr_matrix

from langladder.counts.stored import Counting
from langladder.embeddings.base import WordVectors
from langladder.embeddings.counted import (
    PPMI,
    CountedVectors,
    PPMIConfig,
    TermDocument,
    TermDocumentConfig,
    TermTerm,
    TermTermConfig,
)
from langladder.embeddings.method import EmbeddingMethod, Progress, TrainedVectors
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.text.words.vocabulary import WordCorpus

SOURCES: dict[str, type[CountedVectors[Any]]] = {"term_term": TermTerm, "term_document": TermDocument, "ppmi": PPMI}


class SVDConfig(Config):
    """Settings of the matrix and its decomposition."""

    matrix: Annotated[TermTermConfig | TermDocumentConfig | PPMIConfig, Field(discriminator="kind")]
    dim: int = Field(ge=1)
    eigenvalue_weighting: float = Field(default=0.5, ge=0.0, le=1.0)  # p: 1 as in LSA, 0 leaves the values out
    vectors: Literal["word", "sum"] = "word"  # W, or W + C
    iterations: int = Field(default=5, ge=0)  # power iterations: more, closer to the exact decomposition

    @model_validator(mode="after")
    def contexts_are_words(self) -> Self:
        """W + C needs contexts that are words."""
        if self.vectors == "sum" and self.matrix.kind == "term_document":
            raise ValueError(
                "vectors: sum adds word and context vectors, but with matrix.kind: term_document the contexts are "
                "documents; allowed: vectors: word, or another matrix.kind"
            )
        return self

    def counting(self) -> Counting:
        """What is counted for its matrix."""
        return self.matrix.counting()


class SVD(EmbeddingMethod[SVDConfig]):
    """Dense vectors (V, dim) by truncated SVD."""

    approach = "counts"
    Config = SVDConfig

    def make(self, corpus: WordCorpus, *, seed: int, progress: Progress = print) -> TrainedVectors:
        """Count, weigh, decompose; the seed draws the first random columns.

        Raises:
            InputError: the matrix has fewer rows or columns than `dim`.
        """
        config = self.config
        matrix = SOURCES[config.matrix.kind](config.matrix).matrix(corpus)
        size = f"{matrix.shape[0]:,} × {matrix.shape[1]:,} matrix with {matrix.nnz:,} entries"
        progress(f"{size}: finding its {config.dim} largest singular values")
        U, S, Vt = truncated_svd(matrix.astype(np.float32), config.dim, seed=seed, iterations=config.iterations)
        weights = S**config.eigenvalue_weighting  # (k,)
        vectors = U * weights  # (V, k)
        if config.vectors == "sum":
            vectors += Vt.T * weights
        # Σ s² of all singular values is ‖M‖²; the rest is the squared error of the best rank-k matrix (Eckart, Young).
        kept = np.cumsum(S**2) / (matrix.data**2).sum()
        figures = {
            "singular_values": [round(float(s), 6) for s in S],
            "kept": [round(float(share), 6) for share in kept],
        }
        vocabulary = corpus.vocabulary
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        return TrainedVectors(WordVectors(vocabulary.words, vectors, vocabulary.counts, self.about(seed) | figures))


def truncated_svd(
    matrix: csr_matrix, dim: int, *, seed: int, iterations: int = 5
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U (V, k), S (k,) falling, Vᵀ (k, C) of the k = `dim` largest singular values.

    Raises:
        InputError: the matrix has fewer rows or columns than `dim`.
    """
    from sklearn.utils.extmath import randomized_svd  # scikit-learn takes a second to import

    if dim > min(matrix.shape):
        raise InputError(
            f"dim: {dim}, but the matrix has {matrix.shape[0]} rows (words) and {matrix.shape[1]} columns; "
            f"allowed: 1 … {min(matrix.shape)} (conf/embedding, or size.embedding_dim)"
        )
    U, S, Vt = randomized_svd(matrix, n_components=dim, n_iter=iterations, random_state=seed)
    return U, S, Vt
