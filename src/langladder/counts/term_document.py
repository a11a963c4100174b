"""Which words stand in which documents: term–document counts as a sparse matrix.

X_wd = how often word w occurs in document d
"""

from typing import Literal

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix

from langladder.counts.cooccurrence import check_ids
from langladder.counts.stored import Counting
from langladder.text.word_corpus import WordCorpus


class DocumentCounting(Counting):
    """What counts as a document."""

    documents: Literal["documents", "lines"] = "documents"

    @property
    def key(self) -> str:
        """`term_document-documents` or `term_document-lines`."""
        return f"term_document-{self.documents}"

    def count(self, corpus: WordCorpus) -> csr_matrix:
        """(V, D) float64 CSR."""
        bounds = corpus.document_bounds if self.documents == "documents" else corpus.stream.offsets
        return count_term_document(corpus.stream.ids, bounds, len(corpus.vocabulary))


def count_term_document(ids: np.ndarray, offsets: np.ndarray, vocab_size: int) -> csr_matrix:
    """Term–document counts: how often each word occurs in each document.

    Args:
        ids: (T,) word ids below `vocab_size`.
        offsets: (D + 1,) bounds of the documents.

    Returns:
        (V, D) float64 CSR: rows are words, columns documents.

    Raises:
        InputError: an id is not below `vocab_size`.
    """
    check_ids(ids, vocab_size)
    own = np.array(ids)  # SciPy sorts in place, and `ids` may be a read-only mapping of a file
    counts = csc_matrix((np.ones(len(own)), own, offsets), shape=(vocab_size, len(offsets) - 1))
    counts.sum_duplicates()
    return csr_matrix(counts)
