"""Term–term counts: a word's vector says how often it co-occurs with each word.

The distributional hypothesis (Firth 1957) taken at its word: row w of X holds how often each word of the vocabulary
stands within the window around w (`langladder.counts.cooccurrence`). Raw counts are ruled by frequent words; the
logarithm damps that.
"""

from typing import Literal

import numpy as np
from scipy.sparse import csr_matrix

from langladder.counts.cooccurrence import CooccurrenceConfig
from langladder.counts.stored import counts_of
from langladder.embeddings.counted import CountedVectors
from langladder.ground.schema import Config
from langladder.text.words.word_corpus import WordCorpus


class TermTermConfig(Config):
    """Which counts, and whether their logarithm."""

    kind: Literal["term_term"] = "term_term"
    cooccurrence: CooccurrenceConfig = CooccurrenceConfig()
    log: bool = False  # log(1 + X) instead of X

    def counting(self) -> CooccurrenceConfig:
        """What is counted for it."""
        return self.cooccurrence


class TermTerm(CountedVectors):
    """Rows of the term–term matrix, (V, V) sparse."""

    Config = TermTermConfig

    def matrix(self, corpus: WordCorpus) -> csr_matrix:
        """(V, V) CSR, float64."""
        counts = counts_of(corpus, self.config.cooccurrence)
        if self.config.log:
            counts.data = np.log1p(counts.data)
        return counts
