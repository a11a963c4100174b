"""Word-similarity evaluation: Spearman by hand, coverage, ties, the real sets, malformed files."""

import json
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors
from real_data import real
from scipy.sparse import csr_matrix

from langladder.embeddings.base import WordVectors
from langladder.evaluation.similarity import evaluate_similarity, pair_scores, read_similarity, spearman
from langladder.ground.errors import InputError


def fan() -> WordVectors:
    """Words at 0°, 10°, 30°, 60°, 100° from `zero`."""
    angles = np.radians([0, 10, 30, 60, 100])
    return WordVectors(["zero", "a", "b", "c", "d"], np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32))


def test_spearman_golden() -> None:
    # ranks 1 2 3 4 5 against 2 1 4 3 5: 1 − 6 · 4 / (5 · 24)
    assert spearman(np.array([1, 2, 3, 4, 5]), np.array([20, 10, 40, 30, 50])) == pytest.approx(0.8)
    # with ties, ranks 1 2.5 2.5 4 against 1 2 3 4: Pearson of the ranks
    assert spearman(np.array([1, 5, 5, 9]), np.array([1, 2, 3, 4])) == pytest.approx(0.948683, abs=1e-6)
    assert spearman(np.array([1, 1]), np.array([1, 2])) is None
    assert spearman(np.array([1]), np.array([2])) is None


def test_figures_by_hand_golden(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text(
        "# word word score\nzero\ta\t9\nzero b 7.5\nZero\tc\t8\nzero\td\t0\nzero\tother\t5\n", encoding="utf-8"
    )
    figures = evaluate_similarity(fan(), path)
    (result,) = figures.sets
    assert result.interval is not None
    low, high = result.interval
    assert -1 <= low < 0.8 < high <= 1
    assert result.model_dump(exclude={"interval"}) == {
        "name": "pairs",
        "spearman": 0.8,
        "pairs": 5,
        "covered": 4,
        "coverage": 0.8,
    }
    assert evaluate_similarity(fan(), path, ignore_case=False).sets[0].covered == 3
    json.dumps(figures.model_dump(mode="json"))


@pytest.mark.parametrize("sparse", [False, True])
def test_measures_golden(sparse: bool) -> None:
    matrix = np.array([[3, 4], [6, 8], [0, 2]], dtype=np.float32)
    vectors = WordVectors(["v", "w", "u"], csr_matrix(matrix) if sparse else matrix)
    first, second = np.array([0, 0]), np.array([1, 2])
    assert pair_scores(vectors, first, second, "cosine").tolist() == pytest.approx([1, 0.8])
    assert pair_scores(vectors, first, second, "dot").tolist() == pytest.approx([50, 8])
    assert pair_scores(vectors, first, second, "euclidean").tolist() == pytest.approx([-5, -np.sqrt(13)])
    none = np.array([], dtype=np.int64)
    assert all(len(pair_scores(vectors, none, none, measure)) == 0 for measure in ("cosine", "dot", "euclidean"))


def test_the_measure_decides_the_ranks(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("a\tlong\t3\na\tnear\t2\na\taside\t1\n", encoding="utf-8")
    matrix = np.array([[1, 0], [9, 1], [1, 0.2], [0.4, 0.4]], dtype=np.float32)
    vectors = WordVectors(["a", "long", "near", "aside"], matrix)
    result = {
        measure: evaluate_similarity(vectors, path, measure=measure).sets[0].spearman
        for measure in ("cosine", "dot", "euclidean")
    }
    assert result == {"cosine": 1.0, "dot": 1.0, "euclidean": -0.5}  # the long vector is far, though it points alike


@pytest.mark.real
def test_real_sets_parity_with_gensim() -> None:
    folder = real("wordsim")
    files = sorted(folder.glob("EN-*.txt"))
    words = sorted({word for file in files for pair in read_similarity(file) for word in pair[:2]})[::2]
    rng = np.random.default_rng(0)
    vectors = WordVectors(words, rng.normal(size=(len(words), 5)).astype(np.float32))
    peer = KeyedVectors(5)
    peer.add_vectors(words, vectors.matrix)
    figures = evaluate_similarity(vectors, folder)
    assert {figure.name: figure.pairs for figure in figures.sets} == {
        "EN-RG-65": 65,
        "EN-SIMLEX-999": 999,
        "EN-WS-353-ALL": 353,
        "EN-WS-353-REL": 252,
        "EN-WS-353-SIM": 203,
    }
    assert set(figures.skipped_files) == {"LICENSE", "README.md", "SOURCE.txt"}
    for file, figure in zip(files, figures.sets, strict=True):
        _, theirs, unknown = peer.evaluate_word_pairs(str(file))
        assert figure.spearman == pytest.approx(float(theirs.statistic), abs=1e-5)
        assert 100 * (1 - figure.coverage) == pytest.approx(unknown, abs=1e-3)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a b\n", ":1: 'a b' is not"),
        (b"a b 1\na b high\n", ":2: 'a b high' is not"),
        (b"a b nan\n", ":1:"),
        (b"word1\tword2\tscore\n", "headings"),
        (b"a\t\t3\n", ":1:"),
        (b"\n# nothing\n", "no word pairs"),
        (b"a b 1\n\xff\n", ":2: not UTF-8"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        evaluate_similarity(fan(), path)


def test_folder_without_sets_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing\n", encoding="utf-8")
    with pytest.raises(InputError, match="none of its 1 files"):
        evaluate_similarity(fan(), tmp_path)
