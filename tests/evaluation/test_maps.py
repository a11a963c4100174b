"""Maps: principal components by hand and against scikit-learn, t-SNE keeps clusters, no chance, UMAP's message."""

from importlib.util import find_spec

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.decomposition import PCA

from langladder.embeddings.base import WordVectors
from langladder.errors import InputError
from langladder.evaluation.maps import MapMethod, points, word_map


def blobs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    centres = 5 * rng.normal(size=(3, 10))
    return np.repeat(centres, 20, axis=0) + rng.normal(0, 0.3, (60, 10)), np.repeat(np.arange(3), 20)


def test_principal_components_golden() -> None:
    found = points(np.array([[3, 0, 1], [-3, 0, 1], [0, 1, 1], [0, -1, 1]]))
    assert np.abs(found) == pytest.approx(np.array([[3, 0], [3, 0], [0, 1], [0, 1]]), abs=1e-9)


def test_principal_components_parity_with_scikit_learn() -> None:
    matrix, _ = blobs()
    assert points(matrix) == pytest.approx(PCA(2, svd_solver="full").fit_transform(matrix))


def test_tsne_keeps_clusters_together_and_has_no_chance() -> None:
    matrix, group = blobs()
    found = points(matrix, "tsne")
    assert found.shape == (60, 2)
    distances = np.linalg.norm(found[:, None] - found[None], axis=2) + np.where(np.eye(60), np.inf, 0)
    assert (group[distances.argmin(axis=1)] == group).all()
    assert np.array_equal(found, points(matrix, "tsne"))


@pytest.mark.parametrize("sparse", [False, True])
def test_word_map(sparse: bool) -> None:
    matrix = np.array([[2, 0], [0, 5], [3, 0.1], [0.1, 1]], dtype=np.float32)
    vectors = WordVectors(["a", "b", "c", "d"], csr_matrix(matrix) if sparse else matrix)
    found = word_map(vectors, {"a": "across", "c": "across", "b": "up"})
    assert [entry["word"] for entry in found] == ["a", "c", "b"]
    assert [entry["group"] for entry in found] == ["across", "across", "up"]
    near, far = abs(found[0]["x"] - found[1]["x"]), abs(found[0]["x"] - found[2]["x"])
    assert near < 0.1 < 1 < far  # of length 1, a and c are nearly the same
    assert {entry["group"] for entry in word_map(vectors, ["d", "a"])} == {""}
    with pytest.raises(InputError, match="'e' is not among"):
        word_map(vectors, ["a", "e"])


@pytest.mark.parametrize("method", ["pca", "tsne"])
def test_few_words(method: MapMethod) -> None:
    vectors = WordVectors(["a", "b", "c"], np.array([[1, 0], [0, 1], [1, 0]], dtype=np.float32))
    assert word_map(vectors, [], method) == []
    assert word_map(vectors, ["a"], method) == [{"word": "a", "x": 0.0, "y": 0.0, "group": ""}]
    for words in (["a", "c"], ["a", "b"], ["a", "b", "c"]):
        found = word_map(vectors, words, method)
        assert np.isfinite([[entry["x"], entry["y"]] for entry in found]).all()


@pytest.mark.skipif(find_spec("umap") is not None, reason="umap-learn is installed")
def test_umap_that_is_not_installed_is_named() -> None:
    with pytest.raises(InputError, match="umap-learn, which is not installed; allowed: pca, tsne"):
        points(np.eye(5), "umap")


def test_umap_keeps_clusters_together() -> None:
    pytest.importorskip("umap")
    matrix, group = blobs()
    found = points(matrix, "umap")
    distances = np.linalg.norm(found[:, None] - found[None], axis=2) + np.where(np.eye(60), np.inf, 0)
    assert (group[distances.argmin(axis=1)] == group).all()
