"""tf-idf against scikit-learn; PMI and PPMI against the formula on dense tables."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfTransformer

from langladder.counts.weighting import pmi, ppmi, tfidf
from langladder.ground.errors import InputError


def random_counts(seed: int, rows: int = 30, columns: int = 12) -> csr_matrix:
    """Counts with an empty row and an empty column."""
    rng = np.random.default_rng(seed)
    table = rng.poisson(0.7, (rows, columns)).astype(float)
    table[3], table[:, 5] = 0, 0
    return csr_matrix(table)


def dense_pmi(table: np.ndarray, smoothing: float) -> np.ndarray:
    """log( P(w, c) / (P(w) P_α(c)) ) cell by cell; 0 where nothing was seen."""
    result = np.zeros_like(table)
    contexts = table.sum(axis=0) ** smoothing
    for w, c in zip(*np.nonzero(table), strict=True):
        joint = table[w, c] / table.sum()
        result[w, c] = np.log(joint / (table[w].sum() / table.sum() * contexts[c] / contexts.sum()))
    return result


@pytest.mark.parametrize("sublinear", [False, True])
@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("unit_documents", [False, True])
def test_tfidf_parity_with_scikit_learn(sublinear: bool, smooth: bool, unit_documents: bool) -> None:
    counts = random_counts(0)
    counts = csr_matrix(counts[counts.getnnz(axis=1) > 0])  # theirs divides by df without smoothing
    norm = "l2" if unit_documents else None
    theirs = TfidfTransformer(norm=norm, smooth_idf=smooth, sublinear_tf=sublinear).fit_transform(counts.T).T
    ours = tfidf(counts, sublinear=sublinear, smooth=smooth, unit_documents=unit_documents)
    np.testing.assert_allclose(ours.toarray(), theirs.toarray(), rtol=1e-12)
    assert ours.nnz == counts.nnz


@pytest.mark.parametrize("smoothing", [1.0, 0.75])
@pytest.mark.parametrize("shift", [1.0, 5.0])
def test_pmi_parity_with_a_dense_table(smoothing: float, shift: float) -> None:
    counts = random_counts(1)
    expected = dense_pmi(counts.toarray(), smoothing)
    np.testing.assert_allclose(pmi(counts, smoothing=smoothing).toarray(), expected, atol=1e-12)
    positive = ppmi(counts, shift=shift, smoothing=smoothing)
    np.testing.assert_allclose(
        positive.toarray(), np.maximum(expected - np.log(shift), 0) * (expected != 0), atol=1e-12
    )
    assert (positive.data > 0).all() and positive.has_canonical_format


def test_pmi_golden() -> None:
    """Two words that only meet each other: P(w, c) = 1/2, P(w) = P(c) = 1/2, so PMI = ln 2."""
    counts = csr_matrix(np.array([[0.0, 3.0], [3.0, 0.0]]))
    assert pmi(counts, smoothing=1.0).toarray() == pytest.approx(np.array([[0, np.log(2)], [np.log(2), 0]]))
    assert ppmi(counts, shift=2.0, smoothing=1.0).nnz == 0


def test_smoothing_lowers_rare_contexts() -> None:
    counts = csr_matrix(np.array([[90.0, 1.0], [9.0, 1.0]]))
    plain, smoothed = pmi(counts, smoothing=1.0).toarray(), pmi(counts, smoothing=0.75).toarray()
    assert (smoothed[:, 1] < plain[:, 1]).all() and (smoothed[:, 0] > plain[:, 0]).all()


def test_counts_stay_as_they_were() -> None:
    counts = random_counts(2)
    before = counts.toarray()
    for weigh in (tfidf, pmi, ppmi):
        weigh(counts)
    assert np.array_equal(counts.toarray(), before)
    assert tfidf(csr_matrix((3, 0))).shape == (3, 0)
    with pytest.raises(InputError, match="shift"):
        ppmi(counts, shift=0.5)
