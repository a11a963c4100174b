"""Counts made once and read by many: the same bits, in the same order, and none of another text."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_matrix

from langladder.counts.cooccurrence import AnyCounting, CooccurrenceConfig, DocumentCounting, store_counts
from langladder.counts.stored import COLUMNS, counts_of, file_name, read_counts, write_counts
from langladder.embeddings.counted import PPMI, TermDocument, TermTerm
from langladder.embeddings.glove import GloVe
from langladder.embeddings.method import EmbeddingMethod, counting_of
from langladder.embeddings.one_hot import OneHot
from langladder.embeddings.svd import SVD
from langladder.ground.errors import InputError
from langladder.text.storage.token_streams import TokenStream
from langladder.text.words.vocabulary import Vocabulary, WordCorpus

COUNTINGS: list[AnyCounting] = [
    CooccurrenceConfig(),
    CooccurrenceConfig(window=10, weighting="inverse_distance"),
    CooccurrenceConfig(window=2, sides="left"),
    CooccurrenceConfig(window=2, sides="right"),
    DocumentCounting(),
    DocumentCounting(documents="lines"),
]
RUNGS: list[EmbeddingMethod] = [
    PPMI(PPMI.Config()),
    TermTerm(TermTerm.Config()),
    TermDocument(TermDocument.Config(documents="lines", weighting="tfidf")),
    SVD(SVD.Config(matrix={"kind": "ppmi"}, dim=4)),
    GloVe(GloVe.Config(dim=4, epochs=2)),
]


def corpus(vocab_size: int = 40) -> WordCorpus:
    """Sixty lines in six documents."""
    ids = (vocab_size * np.random.default_rng(0).random(720) ** 2).astype(np.int32)
    vocabulary = Vocabulary([f"w{word}" for word in range(vocab_size)], np.bincount(ids, minlength=vocab_size))
    return WordCorpus(TokenStream(ids, np.arange(0, 721, 12)), vocabulary, np.arange(0, 721, 120))


def with_counts(folder: Path) -> WordCorpus:
    text = corpus()
    return WordCorpus(text.stream, text.vocabulary, text.documents, folder)


def test_stored_counts_equal_new_counts(tmp_path: Path) -> None:
    figures = store_counts(tmp_path, corpus(), COUNTINGS)
    assert figures["words"] == len(corpus().vocabulary) and figures["documents"] == len(corpus().document_bounds) - 1
    assert len({file_name(counting) for counting in COUNTINGS} & {file.name for file in tmp_path.iterdir()}) == 6
    for counting in COUNTINGS:
        counted, read = counting.count(corpus()), counts_of(with_counts(tmp_path), counting)
        assert figures[f"{counting.key}_nonzeros"] == counted.nnz
        assert figures[f"{counting.key}_density"] == pytest.approx((counted.toarray() > 0).mean(), abs=1e-6)
        assert counted.shape == read.shape
        for part in ("indptr", "indices", "data"):
            item, other = getattr(counted, part), getattr(read, part)
            assert item.dtype == other.dtype and np.array_equal(item, other)


def test_keys_golden() -> None:
    assert CooccurrenceConfig(window=10, weighting="inverse_distance").key == "window10-inverse_distance-symmetric"
    assert DocumentCounting(documents="lines").key == "term_document-lines"


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: type(rung).__name__)
def test_stored_counts_are_reused(rung: EmbeddingMethod, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = rung.make(corpus(), seed=1, progress=str)
    counting = counting_of(rung.config)
    assert isinstance(counting, AnyCounting)
    store_counts(tmp_path, corpus(), [counting])

    def counted_again(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(type(counting), "count", counted_again)
    counted = rung.make(with_counts(tmp_path), seed=1, progress=str)
    assert (counted.vectors.matrix != alone.vectors.matrix).sum() == 0 and counted.curve == alone.curve
    with pytest.raises(AssertionError):
        rung.make(with_counts(tmp_path / "nothing"), seed=1, progress=str)


def test_rungs_that_count_nothing_say_so() -> None:
    assert counting_of(OneHot.Config()) is None


def test_counts_of_another_text_are_refused(tmp_path: Path) -> None:
    store_counts(tmp_path, corpus(30), [CooccurrenceConfig()])
    with pytest.raises(InputError, match=r"counts of 30 words, but the vocabulary has 40.*cooccur"):
        counts_of(with_counts(tmp_path), CooccurrenceConfig())


def test_counts_come_back_to_the_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langladder.counts.stored.PIECE", 7)
    counts = csr_matrix(np.array([[0, 0.1, 1 / 3], [0, 0, 0], [2**40, 0, 1e-300]]))
    none = csr_matrix((0, 4))
    for matrix in (counts, none):
        write_counts(tmp_path / "counts.parquet", matrix)
        read = read_counts(tmp_path / "counts.parquet")
        assert read.shape == matrix.shape and read.toarray().tobytes() == matrix.toarray().tobytes()


def test_damaged_tables_of_counts_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "counts.parquet"
    for content in (b"", b"PAR1"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="parquet: not a table of counts"):
            read_counts(path)
    schema = pa.schema(COLUMNS, metadata={"shape": "2 2"})
    for word, context in (([0], [2]), ([2], [0]), ([-1], [0]), ([1, 0], [0, 0]), ([None], [0])):
        pq.write_table(pa.table([word, context, [1.0] * len(word)], schema=schema), path)
        with pytest.raises(InputError, match="not a table of counts"):
            read_counts(path)
    pq.write_table(pa.table({"word": [1]}), path)
    with pytest.raises(InputError, match="its columns are"):
        read_counts(path)
