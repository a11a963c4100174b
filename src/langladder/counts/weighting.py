"""Weights of counts: tf-idf, PMI and PPMI. Sparse in, sparse out: there is never a dense table.

tf-idf (Spärck Jones 1972), in scikit-learn's form (`TfidfTransformer`, where rows are documents; here columns are):

    tf-idf_wd = tf_wd · (ln((1 + D) / (1 + df_w)) + 1),    tf = count, or 1 + ln count

Pointwise mutual information (Church and Hanks 1990), with the two changes of Levy, Goldberg and Dagan (2015, "Improving
Distributional Similarity with Lessons Learned from Word Embeddings", sections 3.1 and 3.2):

    PMI(w, c) = log( P(w, c) / (P(w) P_α(c)) ),    P_α(c) = #(c)^α / Σ_c' #(c')^α
    PPMI_k(w, c) = max(PMI(w, c) − log k, 0)

Pairs that were never seen have PMI −∞. They are no entries, which reads as 0, here as in those papers.
"""

import numpy as np
from scipy.sparse import csr_matrix

from langladder.ground.errors import InputError


def tfidf(
    counts: csr_matrix, *, sublinear: bool = False, smooth: bool = True, unit_documents: bool = True
) -> csr_matrix:
    """Term–document counts (V, D) → tf-idf (V, D), float64.

    Args:
        sublinear: tf = 1 + ln count instead of the count.
        smooth: idf = ln((1 + D) / (1 + df)) + 1, as if one more document held every word; else ln(D / df) + 1.
        unit_documents: scale each document's column to length 1.
    """
    D = counts.shape[1]
    counts = _own(counts)
    df = np.diff(counts.indptr)  # (V,) in how many documents a word occurs
    extra = 1 if smooth else 0
    idf = np.log((D + extra) / np.maximum(df + extra, 1)) + 1  # (V,)
    tf = 1 + np.log(counts.data) if sublinear else counts.data
    counts.data = tf * np.repeat(idf, df)
    if unit_documents:
        lengths = np.sqrt(np.bincount(counts.indices, weights=counts.data**2, minlength=D))  # (D,)
        counts.data /= lengths[counts.indices]
    return counts


def pmi(counts: csr_matrix, *, smoothing: float = 0.75) -> csr_matrix:
    """Term–term counts (V, C) → PMI of the pairs that were seen, (V, C) float64, possibly negative.

    Args:
        smoothing: α. Below 1, rare contexts no longer get the highest values; 1: plain PMI.
    """
    counts = _own(counts)
    V, C = counts.shape
    words = np.bincount(_rows(counts), weights=counts.data, minlength=V)  # (V,) #(w)
    contexts = np.bincount(counts.indices, weights=counts.data, minlength=C) ** smoothing  # (C,) #(c)^α
    # log P(w, c) − log P(w) − log P_α(c); the size of the corpus cancels out of the first two
    log_words, log_contexts = _log(words), _log(contexts) - np.log(max(contexts.sum(), 1e-300))
    counts.data = np.log(counts.data) - np.repeat(log_words, np.diff(counts.indptr)) - log_contexts[counts.indices]
    return counts


def ppmi(counts: csr_matrix, *, shift: float = 1.0, smoothing: float = 0.75) -> csr_matrix:
    """Term–term counts (V, C) → shifted positive PMI, (V, C) float64, no stored zeros.

    Args:
        shift: k ≥ 1; with k negatives, skip-gram factorises PMI − log k (Levy and Goldberg 2014).
    """
    if shift < 1:
        raise InputError(f"shift: {shift}; allowed: 1 (none) or more")
    positive = pmi(counts, smoothing=smoothing)
    positive.data = np.maximum(positive.data - np.log(shift), 0)
    positive.eliminate_zeros()
    return positive


def _own(counts: csr_matrix) -> csr_matrix:
    """A float64 copy without stored zeros or repeated entries."""
    own = csr_matrix(counts, dtype=np.float64, copy=True)
    own.sum_duplicates()
    own.eliminate_zeros()
    return own


def _rows(matrix: csr_matrix) -> np.ndarray:
    """(E,) the row of each entry."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _log(values: np.ndarray) -> np.ndarray:
    """Logarithms; 0 for a word without co-occurrences, which has no entries either."""
    return np.log(np.where(values > 0, values, 1))
