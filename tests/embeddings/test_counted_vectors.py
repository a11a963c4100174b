"""Term–term, term–document, PPMI and SVD vectors: the worked matrices, dense references, determinism."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix, issparse

from langladder.embeddings.counted import PPMI, TermDocument, TermTerm
from langladder.embeddings.method import EmbeddingMethod
from langladder.embeddings.svd import SVD, truncated_svd
from langladder.ground.errors import InputError
from langladder.text.storage.token_streams import TokenStream
from langladder.text.words.vocabulary import Vocabulary, WordCorpus

LINES = ["I like deep learning .", "I like NLP .", "I enjoy flying ."]
WORDS = ["I", "like", "enjoy", "deep", "learning", "NLP", "flying", "."]
PETS = np.array([[0, 5, 8, 1, 0], [5, 0, 7, 0, 1], [8, 7, 0, 2, 1], [1, 0, 2, 0, 6], [0, 1, 1, 6, 0]], dtype=float)


def corpus_of(lines: list[list[int]], words: list[str], documents: list[int] | None = None) -> WordCorpus:
    ids = np.array([word for line in lines for word in line], dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(line) for line in lines])])
    counts = np.bincount(ids, minlength=len(words))
    bounds = None if documents is None else np.array(documents)
    return WordCorpus(TokenStream(ids, offsets), Vocabulary(words, counts), bounds)


def sentences() -> WordCorpus:
    return corpus_of([[WORDS.index(word) for word in line.split()] for line in LINES], WORDS)


def random_corpus(seed: int = 0, vocab_size: int = 60) -> WordCorpus:
    rng = np.random.default_rng(seed)
    lines = [(vocab_size * rng.random(12) ** 2).astype(int).tolist() for _ in range(300)]
    bounds = np.arange(0, 3601, 120).tolist()
    return corpus_of(lines, [f"w{number}" for number in range(vocab_size)], bounds)


def rung(kind: type[EmbeddingMethod], **settings: Any) -> EmbeddingMethod:
    return kind(kind.Config(**settings))


def test_rows_of_the_worked_matrix_golden() -> None:
    vectors = rung(TermTerm, cooccurrence={"window": 2}).make(sentences(), seed=1, progress=str).vectors
    like, enjoy = vectors["like"], vectors["enjoy"]
    assert like.tolist() == [2, 0, 0, 1, 1, 1, 0, 1]
    assert enjoy.tolist() == [1, 0, 0, 0, 0, 0, 1, 1]
    assert float(like @ enjoy) == 3
    assert vectors.similarity("like", "enjoy") == pytest.approx(0.612372, abs=1e-6)
    logs = rung(TermTerm, cooccurrence={"window": 2}, log=True).make(sentences(), seed=1, progress=str).vectors
    np.testing.assert_allclose(logs["like"], np.log1p(like), rtol=1e-6)


def test_term_document_rows_golden() -> None:
    vectors = rung(TermDocument).make(sentences(), seed=1, progress=str).vectors
    assert vectors["I"].tolist() == [1, 1, 1] and vectors["like"].tolist() == [1, 1, 0]
    weighted = (
        rung(TermDocument, weighting="tfidf", unit_documents=False).make(sentences(), seed=1, progress=str).vectors
    )
    # in all of 3 documents: ln(4/4) + 1; in 1 of them: ln(4/2) + 1
    assert weighted["I"].tolist() == [1, 1, 1]
    assert weighted["deep"] == pytest.approx(np.array([np.log(2) + 1, 0, 0]))


def test_documents_or_lines_are_columns() -> None:
    corpus = random_corpus()
    assert rung(TermDocument).make(corpus, seed=1, progress=str).vectors.matrix.shape == (60, 30)
    assert rung(TermDocument, documents="lines").make(corpus, seed=1, progress=str).vectors.matrix.shape == (60, 300)


@pytest.mark.parametrize("kind", [TermTerm, TermDocument, PPMI])
def test_counted_vectors_stay_sparse_and_are_reproducible(kind: type[EmbeddingMethod]) -> None:
    corpus = random_corpus()
    item, two = (rung(kind).make(corpus, seed=seed, progress=str) for seed in (1, 2))
    assert all(issparse(part.vectors.matrix) for part in (item, two)) and item.vectors.matrix.dtype == np.float32
    assert item.vectors.matrix.data.tobytes() == two.vectors.matrix.data.tobytes()


def test_pmi_keeps_negative_values() -> None:
    corpus = random_corpus()
    assert (rung(PPMI, positive=False).make(corpus, seed=1, progress=str).vectors.matrix.data < 0).any()
    assert (rung(PPMI).make(corpus, seed=1, progress=str).vectors.matrix.data > 0).all()


def test_svd_of_the_pets_golden() -> None:
    """Singular values, U, orthonormality and the Eckart–Young error. (The clusters one may hope for do not appear.)"""
    U, S, Vt = truncated_svd(csr_matrix(PETS), 2, seed=0)
    assert S.tolist() == pytest.approx([13.975544, 8.628201], abs=1e-6)
    expected = [[0.5467, 0.4961], [0.5129, 0.3484], [0.6099, 0.7740], [0.1972, 0.1697], [0.1650, 0.0687]]
    np.testing.assert_allclose(np.abs(U), expected, atol=1e-4)
    np.testing.assert_allclose(U.T @ U, np.eye(2), atol=1e-10)
    assert np.linalg.norm(PETS - U * S @ Vt) == pytest.approx(9.604079, abs=1e-6)
    rows = U * S
    cosine = rows[0] @ rows[3] / np.linalg.norm(rows[0]) / np.linalg.norm(rows[3])
    assert cosine == pytest.approx(0.9997, abs=1e-4)  # cat and car
    everything = truncated_svd(csr_matrix(PETS), 5, seed=0)[1]
    assert everything.tolist() == pytest.approx([13.975544, 8.628201, 6.603511, 5.519044, 4.262877], abs=1e-6)


@pytest.mark.parametrize(
    "matrix",
    [
        {"kind": "term_term", "cooccurrence": {"window": 3}, "log": True},
        {"kind": "ppmi", "shift": 2.0},
        {"kind": "term_document", "weighting": "tfidf"},
    ],
)
@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_svd_parity_with_a_dense_decomposition(matrix: dict[str, Any], power: float) -> None:
    corpus = random_corpus()
    method = rung(SVD, matrix=matrix, dim=20, eigenvalue_weighting=power, iterations=20)
    fitted = method.make(corpus, seed=1, progress=str)
    kind = {"term_term": TermTerm, "ppmi": PPMI, "term_document": TermDocument}[matrix["kind"]]
    U, S, _ = np.linalg.svd(kind(kind.Config(**matrix)).matrix(corpus).toarray(), full_matrices=False)  # type: ignore[attr-defined, abstract]
    # Signs are free: compare inner products of the vectors.
    expected = U[:, :20] * S[:20] ** power
    np.testing.assert_allclose(
        fitted.vectors.matrix @ fitted.vectors.matrix.T, expected @ expected.T, atol=2e-2 * S[0] ** (2 * power)
    )
    assert fitted.vectors.about["singular_values"] == pytest.approx(S[:20].tolist(), rel=1e-3)
    assert fitted.vectors.about["kept"][-1] == pytest.approx((S[:20] ** 2).sum() / (S**2).sum(), rel=1e-3)


def test_svd_word_plus_context() -> None:
    corpus = random_corpus()
    settings: dict[str, Any] = {"matrix": {"kind": "ppmi"}, "dim": 10, "eigenvalue_weighting": 0.5}
    summed = rung(SVD, **settings, vectors="sum").make(corpus, seed=1, progress=str).vectors.matrix
    matrix = rung(PPMI).matrix(corpus).astype(np.float32)  # type: ignore[attr-defined]
    U, S, Vt = truncated_svd(matrix, 10, seed=1)
    np.testing.assert_allclose(summed, (U + Vt.T) * np.sqrt(S), rtol=1e-5, atol=1e-6)
    again = rung(SVD, **settings, vectors="sum").make(corpus, seed=1, progress=str).vectors.matrix
    assert summed.tobytes() == again.tobytes() and summed.dtype == np.float32


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="contexts are documents"):
        rung(SVD, matrix={"kind": "term_document"}, dim=2, vectors="sum")
    with pytest.raises(InputError, match="dim: 61, but the matrix has 60 rows"):
        rung(SVD, matrix={"kind": "ppmi"}, dim=61).make(random_corpus(), seed=1, progress=str)
