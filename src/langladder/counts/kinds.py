"""Every kind of counting, and many countings of one text, written as files: see `langladder.counts.stored`."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from scipy.sparse import csr_matrix

from langladder.counts.cooccurrence import CooccurrenceConfig
from langladder.counts.sparse_files import write_sparse
from langladder.counts.stored import file_name
from langladder.counts.term_document import DocumentCounting
from langladder.text.words.word_corpus import WordCorpus

AnyCounting = CooccurrenceConfig | DocumentCounting


def store_counts(
    folder: Path, corpus: WordCorpus, countings: Iterable[AnyCounting]
) -> Iterator[tuple[str, csr_matrix]]:
    """Count, and write a file for each counting; the counts with their key as they come."""
    for counting in countings:
        counts = counting.count(corpus, folder)
        write_sparse(folder / file_name(counting), counts)
        yield counting.key, counts
