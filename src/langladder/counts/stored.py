"""Counts of a text that are made once and read by every rung that needs the same ones.

A `Counting` says what is counted: `CooccurrenceConfig` (term–term) or `DocumentCounting` (term–document). Its `key`, of
which everything that decides the counts is part, is the name of its file, e.g. `window5-flat-symmetric.safetensors`.
What is read back is what counting anew would give, to the bit and in the same order of entries.
"""

from abc import ABC, abstractmethod
from pathlib import Path

from scipy.sparse import csr_matrix

from langladder.counts.sparse_files import read_sparse
from langladder.errors import InputError
from langladder.schema import Config
from langladder.text.words.word_corpus import WordCorpus


class Counting(Config, ABC):
    """What is counted in a text."""

    @property
    @abstractmethod
    def key(self) -> str:
        """Names the counts; other counts, another key."""

    @abstractmethod
    def count(self, corpus: WordCorpus, scratch: Path | None = None) -> csr_matrix:
        """The counts, (V, contexts) float64 CSR with columns ascending in each row.

        Args:
            scratch: a folder for what does not fit into memory while it is counted; None: the system's.
        """


def file_name(counting: Counting) -> str:
    """The file of these counts, in the folder of counts."""
    return f"{counting.key}.safetensors"


def counts_of(corpus: WordCorpus, counting: Counting) -> csr_matrix:
    """Counts (V, contexts) float64 CSR: read from `corpus.counts` where they are there, else counted now.

    Raises:
        InputError: the file is damaged, or of a text with another vocabulary.
    """
    path = corpus.counts and corpus.counts / file_name(counting)
    if path is None or not path.is_file():
        return counting.count(corpus)
    counts = read_sparse(path)
    if counts.shape[0] != len(corpus.vocabulary):
        raise InputError(
            f"{path}: counts of {counts.shape[0]:,} words, but the vocabulary has {len(corpus.vocabulary):,}; count "
            "again (stage `cooccur`)"
        )
    return counts
