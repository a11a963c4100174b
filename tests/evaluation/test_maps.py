"""Maps: principal components by hand and against scikit-learn, t-SNE keeps clusters, no chance, UMAP's message."""

from importlib.util import find_spec

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.decomposition import PCA

from langladder.embeddings.base import WordVectors
from langladder.evaluation.maps import MapMethod, word_map
from langladder.ground.errors import InputError


def points(matrix: np.ndarray, method: MapMethod = "pca") -> np.ndarray:
    words = [f"w{row}" for row in range(len(matrix))]
    return word_map(WordVectors(words, np.asarray(matrix, dtype=np.float32)), words, method).points


def blobs() -> tuple[np.ndarray, np.ndarray]:
    """Three bundles of twenty vectors of length 1, and the number of each one's bundle."""
    rng = np.random.default_rng(0)
    matrix = np.repeat(5 * rng.normal(size=(3, 10)), 20, axis=0) + rng.normal(0, 0.3, (60, 10))
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True), np.repeat(np.arange(3), 20)


def test_principal_components_golden() -> None:
    """Vectors of length 1 around their mean (0, 0, ½): two of them wider apart than the other two."""
    matrix = np.array([[0.8, 0, 0.6], [-0.8, 0, 0.6], [0, 0.6, 0.8], [0, -0.6, 0.8]])
    words = list("abcd")
    result = word_map(WordVectors(words, matrix.astype(np.float32)), [*words, "a"])
    assert result.words == words
    assert np.abs(result.points) == pytest.approx(np.array([[0.8, 0], [0.8, 0], [0, 0.6], [0, 0.6]]), abs=1e-6)
    assert result.explained == pytest.approx(2 / 2.04, abs=1e-6)  # what is left: 0.1² in each of the four


def test_principal_components_parity_with_scikit_learn() -> None:
    matrix, _ = blobs()
    assert points(matrix) == pytest.approx(PCA(2, svd_solver="full").fit_transform(matrix), abs=1e-6)


def test_tsne_keeps_clusters_together_and_has_no_chance() -> None:
    matrix, group = blobs()
    result = points(matrix, "tsne")
    assert result.shape == (60, 2)
    distances = np.linalg.norm(result[:, None] - result[None], axis=2) + np.where(np.eye(60), np.inf, 0)
    assert (group[distances.argmin(axis=1)] == group).all()
    assert np.array_equal(result, points(matrix, "tsne"))


@pytest.mark.parametrize("sparse", [False, True])
def test_word_map(sparse: bool) -> None:
    matrix = np.array([[2, 0], [0, 5], [3, 0.1], [0.1, 1]], dtype=np.float32)
    vectors = WordVectors(["a", "b", "c", "d"], csr_matrix(matrix) if sparse else matrix)
    result = word_map(vectors, ["a", "c", "b"])
    assert result.words == ["a", "c", "b"] and result.points.shape == (3, 2)
    near, far = abs(result.points[0, 0] - result.points[1, 0]), abs(result.points[0, 0] - result.points[2, 0])
    assert near < 0.1 < 1 < far  # of length 1, a and c are nearly the same
    with pytest.raises(InputError, match="'e' is not among"):
        word_map(vectors, ["a", "e"])
    with pytest.raises(InputError, match="perplexity 5 for 4 words"):
        word_map(vectors, vectors.words, "tsne", perplexity=5)


@pytest.mark.parametrize("method", ["pca", "tsne"])
def test_few_words(method: MapMethod) -> None:
    vectors = WordVectors(["a", "b", "c"], np.array([[1, 0], [0, 1], [1, 0]], dtype=np.float32))
    assert word_map(vectors, [], method).words == []
    assert word_map(vectors, ["a"], method).points.tolist() == [[0.0, 0.0]]
    for words in (["a", "c"], ["a", "b"], ["a", "b", "c"]):
        assert np.isfinite(word_map(vectors, words, method).points).all()


@pytest.mark.skipif(find_spec("umap") is not None, reason="umap-learn is installed")
def test_umap_that_is_not_installed_is_named() -> None:
    with pytest.raises(InputError, match="umap-learn, which is not installed; allowed: pca, tsne"):
        points(np.eye(5), "umap")


def test_umap_keeps_clusters_together() -> None:
    pytest.importorskip("umap")
    matrix, group = blobs()
    result = points(matrix, "umap")
    distances = np.linalg.norm(result[:, None] - result[None], axis=2) + np.where(np.eye(60), np.inf, 0)
    assert (group[distances.argmin(axis=1)] == group).all()
