"""Term–document counts: a word's vector is the list of documents that it occurs in (Salton et al. 1975).

Columns are documents; with tf-idf, words that are in every document weigh least. Rows are words, and two words are
alike that occur in the same documents: topics rather than parts of speech.
"""

from typing import Literal

from scipy.sparse import csr_matrix

from langladder.counts.cooccurrence import DocumentCounting
from langladder.counts.stored import counts_of
from langladder.counts.weighting import tfidf
from langladder.embeddings.counted import CountedVectors
from langladder.ground.schema import Config
from langladder.text.words.word_corpus import WordCorpus


class TermDocumentConfig(Config):
    """Counts or tf-idf."""

    kind: Literal["term_document"] = "term_document"
    weighting: Literal["counts", "tfidf"] = "counts"
    documents: Literal["documents", "lines"] = "documents"  # what a column stands for
    sublinear: bool = False  # tf = 1 + ln count; tf-idf only
    unit_documents: bool = True  # documents scaled to length 1; tf-idf only

    def counting(self) -> DocumentCounting:
        """What is counted for it."""
        return DocumentCounting(documents=self.documents)


class TermDocument(CountedVectors):
    """Rows of the term–document matrix, (V, D) sparse."""

    Config = TermDocumentConfig

    def matrix(self, corpus: WordCorpus) -> csr_matrix:
        """(V, D) CSR, float64."""
        config = self.config
        counts = counts_of(corpus, config.counting())
        if config.weighting == "counts":
            return counts
        return tfidf(counts, sublinear=config.sublinear, unit_documents=config.unit_documents)
