"""Post-processing: parity with scikit-learn's PCA, by hand, settings, errors."""

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.sparse import csr_matrix
from sklearn.decomposition import PCA

from langladder.embeddings.base import WordVectors
from langladder.embeddings.postprocess import PostprocessConfig, all_but_the_top, centre, postprocess, unit_length
from langladder.ground.errors import InputError


def vectors() -> WordVectors:
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(200, 12)) * np.linspace(3, 0.3, 12) + rng.normal(size=12)
    return WordVectors([f"w{row}" for row in range(200)], matrix.astype(np.float32), np.arange(200)[::-1], {"dim": 12})


def test_centre_golden() -> None:
    result = centre(WordVectors(["a", "b"], np.array([[1, 2], [3, 6]], dtype=np.float32)))
    assert result.matrix.tolist() == [[-1, -2], [1, 2]] and result.matrix.dtype == np.float32


def test_all_but_the_top_golden() -> None:
    # centred: (±2, ±1 in turn); the first component is the x axis, so that y alone is left
    matrix = np.array([[3, 2], [3, 0], [-1, 2], [-1, 0]], dtype=np.float32)
    result = all_but_the_top(WordVectors(list("abcd"), matrix), 1)
    assert result.matrix == pytest.approx(np.array([[0, 1], [0, -1], [0, 1], [0, -1]]), abs=1e-6)


@pytest.mark.parametrize("components", [1, 3, 11])
def test_all_but_the_top_parity_with_scikit_learn(components: int) -> None:
    before = vectors()
    pca = PCA(components, svd_solver="full").fit(before.matrix.astype(np.float64))
    centred = before.matrix - pca.mean_
    expected = centred - centred @ pca.components_.T @ pca.components_
    result = all_but_the_top(before, components)
    assert result.matrix == pytest.approx(expected, abs=1e-5)
    assert np.abs(result.matrix @ pca.components_.T).max() < 1e-5
    assert result.words == before.words and result.counts is before.counts
    assert result.about == {"dim": 12, "postprocess": [{"step": "all_but_the_top", "components": components}]}


def test_steps_follow_one_another() -> None:
    config = PostprocessConfig.model_validate(
        {"steps": [{"step": "centre"}, {"step": "all_but_the_top", "components": 2}, {"step": "unit_length"}]}
    )
    before = vectors()
    original = before.matrix.copy()
    result = postprocess(before, config.steps)
    assert result.matrix == pytest.approx(unit_length(all_but_the_top(before, 2)).matrix, abs=1e-5)
    assert np.linalg.norm(result.matrix, axis=1) == pytest.approx(np.ones(200), abs=1e-6)
    assert [done["step"] for done in result.about["postprocess"]] == ["centre", "all_but_the_top", "unit_length"]
    assert np.array_equal(before.matrix, original) and "postprocess" not in before.about
    assert postprocess(before, []) is before


def test_default_components_are_a_hundredth_of_the_dimension() -> None:
    rng = np.random.default_rng(0)
    large = WordVectors([str(row) for row in range(400)], rng.normal(size=(400, 300)).astype(np.float32))
    assert all_but_the_top(large).about["postprocess"] == [{"step": "all_but_the_top", "components": 3}]
    assert all_but_the_top(vectors()).about["postprocess"][0]["components"] == 1


def test_zero_and_sparse_vectors() -> None:
    matrix = np.array([[3, 4], [0, 0]], dtype=np.float32)
    for values in (matrix, csr_matrix(matrix)):
        result = unit_length(WordVectors(["a", "b"], values))
        assert result["a"].tolist() == pytest.approx([0.6, 0.8]) and result["b"].tolist() == [0, 0]
    sparse = WordVectors(["a", "b"], csr_matrix(matrix))
    for step in (centre, all_but_the_top):
        with pytest.raises(InputError, match="sparse"):
            step(sparse)


def test_bad_settings_are_refused() -> None:
    with pytest.raises(InputError, match="components: 12; allowed for vectors of 12: 1 … 11"):
        all_but_the_top(vectors(), 12)
    for steps in ([{"step": "whiten"}], [{"step": "all_but_the_top", "components": 0}], [{"step": "centre", "of": 1}]):
        with pytest.raises(ValidationError):
            PostprocessConfig.model_validate({"steps": steps})
