"""PMI and PPMI: a word's vector says how much more often it co-occurs with each word than by chance.

Levy, Goldberg and Dagan 2015, sections 2.1 and 3; the formulas are in `langladder.counts.weighting`.
"""

from typing import Literal

from pydantic import Field
from scipy.sparse import csr_matrix

from langladder.counts.cooccurrence import CooccurrenceConfig
from langladder.counts.stored import counts_of
from langladder.counts.weighting import pmi, ppmi
from langladder.embeddings.counted import CountedVectors
from langladder.ground.schema import Config
from langladder.text.words.word_corpus import WordCorpus


class PPMIConfig(Config):
    """Which counts, and how PMI treats rare contexts and negative values."""

    kind: Literal["ppmi"] = "ppmi"
    cooccurrence: CooccurrenceConfig = CooccurrenceConfig(window=2)
    positive: bool = True  # false: PMI of all pairs seen, negative ones too, and no shift
    shift: float = Field(default=1.0, ge=1.0)  # k: max(PMI − log k, 0)
    smoothing: float = Field(default=0.75, gt=0.0, le=1.0)  # exponent of the contexts' distribution

    def counting(self) -> CooccurrenceConfig:
        """What is counted for it."""
        return self.cooccurrence


class PPMI(CountedVectors):
    """Rows of the PPMI matrix, (V, V) sparse."""

    Config = PPMIConfig

    def matrix(self, corpus: WordCorpus) -> csr_matrix:
        """(V, V) CSR, float64."""
        config = self.config
        counts = counts_of(corpus, config.cooccurrence)
        if not config.positive:
            return pmi(counts, smoothing=config.smoothing)
        return ppmi(counts, shift=config.shift, smoothing=config.smoothing)
