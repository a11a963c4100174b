"""Which words stand in which documents: term–document counts as a sparse matrix.

X_wd = how often word w occurs in document d

The text is read once: each position puts its document into the bucket of its word, in which equal documents then stand
side by side. A text too large for the memory that the engine grants is counted part by part, as pairs of words are.
"""

from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from scipy.sparse import csr_matrix

from langladder.compiled import njit
from langladder.counts.pair_counting import Rows
from langladder.counts.pair_kernels import divide
from langladder.counts.spilled import Part, Text, as_matrix, check_ids, count_spilled
from langladder.counts.stored import Counting
from langladder.engine.base import Engine, current
from langladder.text.words.word_corpus import WordCorpus

BYTES_A_WORD = 40  # bucket, columns, values, and the last two once more when they are cut to their length


class DocumentCounting(Counting):
    """What counts as a document."""

    documents: Literal["documents", "lines"] = "documents"

    @property
    def key(self) -> str:
        """`term_document-documents` or `term_document-lines`."""
        return f"term_document-{self.documents}"

    def count(self, corpus: WordCorpus, scratch: Path | None = None) -> csr_matrix:
        """(V, D) float64 CSR."""
        bounds = corpus.document_bounds if self.documents == "documents" else corpus.stream.offsets
        return _count(Text(corpus.stream.ids, bounds, corpus.path), len(corpus.vocabulary), current(), scratch)


def count_term_document(
    ids: np.ndarray, offsets: np.ndarray, vocab_size: int, *, engine: Engine | None = None
) -> csr_matrix:
    """Term–document counts: how often each word occurs in each document.

    Args:
        ids: (T,) word ids below `vocab_size`.
        offsets: (D + 1,) bounds of the documents.
        engine: grants the memory.

    Returns:
        (V, D) float64 CSR: rows are words, columns documents.

    Raises:
        InputError: an id is not below `vocab_size`.
    """
    text = Text(np.asarray(ids, dtype=np.int32), np.asarray(offsets, dtype=np.int64))
    return _count(text, vocab_size, engine or current(), None)


def _count(text: Text, vocab_size: int, engine: Engine, scratch: Path | None) -> csr_matrix:
    check_ids(text.ids, vocab_size)
    shape = vocab_size, len(text.offsets) - 1
    at_once = max(1, engine.share // BYTES_A_WORD)
    count = partial(count_part, vocab_size, text.offsets)
    whole = Part(0, int(text.offsets[0]), int(text.offsets[-1]))
    if whole.last - whole.first > at_once:
        return count_spilled(text, count, shape, at_once, 1, engine, scratch)
    rows = count_part(vocab_size, text.offsets, text, whole)
    return as_matrix(rows.bounds, rows.columns, divide(rows.values, 1), shape)


def count_part(vocab_size: int, documents: np.ndarray, text: Text, part: Part) -> Rows:
    """The words of a part of the text; `documents` (D + 1,) bounds them, whatever the lines of the text's file."""
    return Rows(*_in_documents(text.ids, documents, vocab_size, part.first, part.last))


@njit(nogil=True)
def _in_documents(
    ids: np.ndarray, documents: np.ndarray, vocab_size: int, first: int, last: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bounds (V + 1,), columns and values of the counts of the positions `first` … `last − 1`."""
    starts = np.zeros(vocab_size + 1, dtype=np.int64)
    for t in range(first, last):
        starts[ids[t] + 1] += 1
    starts = np.cumsum(starts)
    slots, buckets = starts[:-1].copy(), np.empty(last - first, dtype=np.int32)
    document = np.searchsorted(documents, first, side="right") - 1
    for t in range(first, last):
        while t >= documents[document + 1]:
            document += 1
        buckets[slots[ids[t]]] = document
        slots[ids[t]] += 1

    bounds = np.zeros(vocab_size + 1, dtype=np.int64)
    columns, values = np.empty(last - first, dtype=np.int32), np.empty(last - first, dtype=np.int64)
    end = 0
    for word in range(vocab_size):
        begin = end
        for slot in range(starts[word], starts[word + 1]):
            if end == begin or columns[end - 1] != buckets[slot]:
                columns[end], values[end] = buckets[slot], 0
                end += 1
            values[end - 1] += 1
        bounds[word + 1] = end
    return bounds, columns[:end].copy(), values[:end].copy()
