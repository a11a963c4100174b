"""Word groups: purity and outliers by hand, groups files, vectors that know nothing."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from langladder.embeddings.base import WordVectors
from langladder.evaluation.clusters import compactness_scores, evaluate_clusters, outlier_position, purity, read_groups
from langladder.ground.errors import InputError

GROUPS = "# kinds\n: fruit\napple pear\nplum\n: city\nRome Paris Berlin\n: tool\nsaw axe file\n"


def written(folder: Path, text: str = GROUPS) -> Path:
    path = folder / "groups.txt"
    path.write_text(text, encoding="utf-8")
    return path


def blobs(sparse: bool = False) -> WordVectors:
    """Fruit, cities and tools about an axis each; `file` lies among the fruit."""
    words = ["apple", "pear", "plum", "rome", "paris", "berlin", "saw", "axe", "file", "the"]
    matrix = np.repeat(np.eye(3), 3, axis=0) + np.random.default_rng(0).normal(0, 0.05, (9, 3))
    matrix[8] = [2.1, 0, 0.1]
    matrix = np.vstack([matrix, np.ones(3)]).astype(np.float32)
    return WordVectors(words, csr_matrix(matrix) if sparse else matrix)


@pytest.mark.parametrize("sparse", [False, True])
def test_figures_by_hand_golden(tmp_path: Path, sparse: bool) -> None:
    figures = evaluate_clusters(blobs(sparse), written(tmp_path))
    assert figures.purity == pytest.approx(8 / 9, abs=1e-6)  # apple pear plum file | 3 cities | saw axe
    assert (figures.groups, figures.words, figures.covered, figures.coverage) == (3, 9, 9, 1.0)
    by_name = {section.name: section for section in figures.sections}
    assert by_name["city"].accuracy == 1 and by_name["city"].cases == 4 * 6
    assert by_name["fruit"].accuracy == pytest.approx(5 / 6, abs=1e-6)  # five of six; `file` is no outlier to them
    assert by_name["tool"].accuracy < 1  # `file` stands out as much as a fruit does
    low, high = figures.outliers.interval
    assert low < figures.outliers.accuracy < high and figures.outliers.cases == 72
    assert figures.outliers.opp > figures.outliers.accuracy
    assert figures == evaluate_clusters(blobs(sparse), written(tmp_path))
    json.dumps(figures.model_dump(mode="json"))


def test_compactness_golden() -> None:
    # cosines: ab .8, ao 0, bo .6; left out in turn (n = 2: the mean of both directions of the pair that stays)
    vectors = WordVectors(["a", "b", "o"], np.array([[1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32))
    assert compactness_scores(vectors, np.arange(3)).tolist() == pytest.approx([0.6, 0.0, 0.8])
    assert outlier_position(vectors, np.array([0, 1, 2])) == 2
    assert outlier_position(vectors, np.array([1, 2, 0])) == 1
    assert outlier_position(vectors, np.array([0, 2, 1])) == 0


@pytest.mark.parametrize("sparse", [False, True])
def test_compactness_equals_the_double_sum(sparse: bool) -> None:
    matrix = np.random.default_rng(1).normal(size=(9, 5)).astype(np.float32)
    vectors = WordVectors(list("abcdefghi"), csr_matrix(matrix) if sparse else matrix)
    cosines = [[vectors.similarity(u, v) for v in vectors.words] for u in vectors.words]
    for w, score in enumerate(compactness_scores(vectors, np.arange(9))):
        rest = [u for u in range(9) if u != w]
        total = sum(cosines[u][v] for u in rest for v in rest if u != v)
        assert score == pytest.approx(total / (8 * 7), abs=1e-6)


def test_vectors_that_know_nothing_are_at_chance(tmp_path: Path) -> None:
    words = [f"{group}{number}" for group in "abcdefghij" for number in range(12)]
    path = written(
        tmp_path, "".join(f": {group}\n{' '.join(w for w in words if w[0] == group)}\n" for group in "abcdefghij")
    )
    vectors = WordVectors(words, np.random.default_rng(0).normal(size=(120, 50)).astype(np.float32))
    figures = evaluate_clusters(vectors, path)
    assert figures.outliers.accuracy == pytest.approx(1 / 9, abs=0.06)  # one of nine
    assert figures.outliers.opp == pytest.approx(0.5, abs=0.06)
    assert figures.purity < 0.4
    one_hot = WordVectors(words, csr_matrix(np.eye(120, dtype=np.float32)))
    assert evaluate_clusters(one_hot, path).outliers.accuracy == 0  # all alike: nobody stands out


def test_missing_words_are_counted_and_little_is_null(tmp_path: Path) -> None:
    path = written(tmp_path, ": fruit\napple pear quince\n: city\nRome\n: empty\n")
    figures = evaluate_clusters(blobs(), path)
    assert figures.coverage == 0.75 and figures.groups == 2 and figures.purity == 1
    assert figures.outliers.model_dump() == {"accuracy": None, "opp": None, "cases": 0, "interval": None}
    nothing = evaluate_clusters(WordVectors(["x"], np.ones((1, 2), dtype=np.float32)), path)
    assert nothing.purity is None and nothing.coverage == 0
    assert evaluate_clusters(blobs(), path, ignore_case=False).covered == 2
    assert purity(blobs(), [np.array([0, 1])]) is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("apple\n", ":1: 'apple' comes before"),
        (": a\nx\n: a\ny\n", ":3: a group needs a name of its own"),
        (":\nx\n", ":1: a group needs a name"),
        (": a\nx y\n: b\nz x\n", ":4: 'x' is in the group 'a' already"),
        (": a\nx y\n", "needs at least two groups"),
        ("", "needs at least two groups"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_groups(written(tmp_path, content))
