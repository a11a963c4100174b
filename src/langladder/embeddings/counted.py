"""Word vectors from the rows of a count matrix, with or without weighting.

Term–term counts: a word's vector says how often it co-occurs with each word.

The distributional hypothesis (Firth 1957) taken at its word: row w of X holds how often each word of the vocabulary
stands within the window around w (`langladder.counts.cooccurrence`). Raw counts are ruled by frequent words; the
logarithm damps that.

Term–document counts: a word's vector is the list of documents that it occurs in (Salton et al. 1975).

Columns are documents; with tf-idf, words that are in every document weigh least. Rows are words, and two words are
alike that occur in the same documents: topics rather than parts of speech.

PMI and PPMI: a word's vector says how much more often it co-occurs with each word than by chance.

Levy, Goldberg and Dagan 2015, sections 2.1 and 3; the formulas are in `langladder.counts.weighting`.
"""

from abc import abstractmethod
from typing import Literal

import numpy as np
from pydantic import Field
from scipy.sparse import csr_matrix

from langladder.counts.cooccurrence import CooccurrenceConfig, DocumentCounting
from langladder.counts.stored import counts_of
from langladder.counts.weighting import pmi, ppmi, tfidf
from langladder.embeddings.base import WordVectors
from langladder.embeddings.method import EmbeddingMethod, Progress, Settings, TrainedVectors
from langladder.ground.schema import Config
from langladder.text.words.vocabulary import WordCorpus


class CountedVectors(EmbeddingMethod[Settings]):
    """Rows of a sparse matrix (V, contexts)."""

    approach = "counts"

    @abstractmethod
    def matrix(self, corpus: WordCorpus) -> csr_matrix:
        """(V, contexts) CSR, float64."""

    def make(self, corpus: WordCorpus, *, seed: int, progress: Progress = print) -> TrainedVectors:
        """Count and weight; nothing is random."""
        matrix, vocabulary = self.matrix(corpus).astype(np.float32), corpus.vocabulary
        progress(f"{matrix.shape[0]:,} words × {matrix.shape[1]:,}: {matrix.nnz:,} entries")
        return TrainedVectors(WordVectors(vocabulary.words, matrix, vocabulary.counts, self.about(seed)))


class TermTermConfig(Config):
    """Which counts, and whether their logarithm."""

    kind: Literal["term_term"] = "term_term"
    cooccurrence: CooccurrenceConfig = CooccurrenceConfig()
    log: bool = False  # log(1 + X) instead of X

    def counting(self) -> CooccurrenceConfig:
        """The counts that it needs."""
        return self.cooccurrence


class TermTerm(CountedVectors[TermTermConfig]):
    """Rows of the term–term matrix, (V, V) sparse."""

    Config = TermTermConfig

    def matrix(self, corpus: WordCorpus) -> csr_matrix:
        """(V, V) CSR, float64."""
        counts = counts_of(corpus, self.config.cooccurrence)
        if self.config.log:
            counts.data = np.log1p(counts.data)
        return counts


class TermDocumentConfig(Config):
    """Counts or tf-idf."""

    kind: Literal["term_document"] = "term_document"
    weighting: Literal["counts", "tfidf"] = "counts"
    documents: Literal["documents", "lines"] = "documents"  # the meaning of a column
    sublinear: bool = False  # tf = 1 + ln count; tf-idf only
    unit_documents: bool = True  # documents scaled to length 1; tf-idf only

    def counting(self) -> DocumentCounting:
        """The counts that it needs."""
        return DocumentCounting(documents=self.documents)


class TermDocument(CountedVectors[TermDocumentConfig]):
    """Rows of the term–document matrix, (V, D) sparse."""

    Config = TermDocumentConfig

    def matrix(self, corpus: WordCorpus) -> csr_matrix:
        """(V, D) CSR, float64."""
        config = self.config
        counts = counts_of(corpus, config.counting())
        if config.weighting == "counts":
            return counts
        return tfidf(counts, sublinear=config.sublinear, unit_documents=config.unit_documents)


class PPMIConfig(Config):
    """Which counts, and how PMI treats rare contexts and negative values."""

    kind: Literal["ppmi"] = "ppmi"
    cooccurrence: CooccurrenceConfig = CooccurrenceConfig(window=2)
    positive: bool = True  # false: PMI of all pairs seen, negative ones too, and no shift
    shift: float = Field(default=1.0, ge=1.0)  # k: max(PMI − log k, 0)
    smoothing: float = Field(default=0.75, gt=0.0, le=1.0)  # exponent of the contexts' distribution

    def counting(self) -> CooccurrenceConfig:
        """The counts that it needs."""
        return self.cooccurrence


class PPMI(CountedVectors[PPMIConfig]):
    """Rows of the PPMI matrix, (V, V) sparse."""

    Config = PPMIConfig

    def matrix(self, corpus: WordCorpus) -> csr_matrix:
        """(V, V) CSR, float64."""
        config = self.config
        counts = counts_of(corpus, config.cooccurrence)
        if not config.positive:
            return pmi(counts, smoothing=config.smoothing)
        return ppmi(counts, shift=config.shift, smoothing=config.smoothing)
