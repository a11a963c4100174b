"""WordVectors: similarity, neighbours and analogies against plain arithmetic; files, ours and word2vec's."""

from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors
from scipy.sparse import csr_matrix

from langladder.embeddings.base import WordVectors
from langladder.embeddings.saved import load_vectors
from langladder.ground.errors import InputError


def random_vectors(seed: int = 0, size: int = 50, dim: int = 8) -> WordVectors:
    rng = np.random.default_rng(seed)
    words = ["naïve", "苹果", "re-do", *(f"w{number}" for number in range(3, size))]
    counts = np.sort(rng.integers(1, 999, size))[::-1].copy()
    return WordVectors(words, rng.normal(size=(size, dim)).astype(np.float32), counts, {"dim": dim})


def royal() -> WordVectors:
    words = ["man", "woman", "king", "queen", "apple"]
    return WordVectors(words, np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [-1, 0, 0.5]], dtype=np.float32))


def test_similarity_golden() -> None:
    vectors = WordVectors(["v", "w", "o"], np.array([[3, 1, 2], [3, 0, 2], [0, 0, 0]], dtype=np.float32))
    assert vectors.similarity("v", "w") == pytest.approx(0.963624, abs=1e-6)
    assert vectors.similarity("v", "o") == 0  # a zero vector is like nothing


@pytest.mark.parametrize("scale", [1e-25, 1.0, 1e25])
@pytest.mark.parametrize("sparse", [False, True])
def test_cosines_of_vectors_of_any_size(scale: float, sparse: bool) -> None:
    matrix = (np.array([[3.0, 4.0], [0.0, 2.0], [0.0, 0.0]]) * scale).astype(np.float32)
    unit = WordVectors(["a", "b", "none"], csr_matrix(matrix) if sparse else matrix).dense([0, 1, 2])
    assert unit.dtype == np.float32 and unit == pytest.approx(np.array([[0.6, 0.8], [0, 1], [0, 0]]), abs=1e-6)


def test_analogy_answers_and_leaves_the_question_out() -> None:
    vectors = royal()
    assert vectors.analogy("man", "woman", "king")[0][0] == "queen"
    answers = vectors.analogy("man", "woman", "king", k=5)
    assert {word for word, _ in answers[:2]} == {"queen", "apple"}
    assert vectors.nearest("king", 2)[0][0] == "queen"
    assert "king" not in dict(vectors.nearest("king", 9))


def test_analogies_equal_brute_force() -> None:
    vectors = random_vectors()
    rng = np.random.default_rng(1)
    questions = rng.integers(0, 50, (700, 3))
    among = np.sort(rng.choice(50, 30, replace=False))
    unit = vectors.matrix / np.linalg.norm(vectors.matrix, axis=1, keepdims=True)
    for allowed in (None, among):
        answers, cosines = vectors.analogies(questions, k=3, among=allowed)
        for (a, b, c), answer, values in zip(questions, answers, cosines, strict=True):
            target = unit[b] - unit[a] + unit[c]
            scores = unit @ target / max(np.linalg.norm(target), 1e-12)
            scores[[a, b, c]] = -np.inf
            if allowed is not None:
                scores[np.setdiff1d(np.arange(50), allowed)] = -np.inf
            assert values.tolist() == pytest.approx(np.sort(scores)[::-1][:3].tolist(), abs=1e-5)
            assert scores[answer].tolist() == pytest.approx(values.tolist(), abs=1e-5)


@pytest.mark.parametrize("sparse", [False, True])
def test_multiplied_cosines_equal_brute_force(sparse: bool) -> None:
    vectors = random_vectors()
    unit = vectors.matrix / np.linalg.norm(vectors.matrix, axis=1, keepdims=True)
    if sparse:
        vectors = WordVectors(vectors.words, csr_matrix(vectors.matrix))
    rng = np.random.default_rng(1)
    questions = rng.integers(0, 50, (600, 3))
    among = np.sort(rng.choice(50, 30, replace=False))
    shifted = (1 + unit @ unit.T) / 2
    for allowed in (None, among):
        answers, values = vectors.analogies(questions, k=3, among=allowed, method="3cosmul")
        for (a, b, c), answer, best in zip(questions, answers, values, strict=True):
            scores = shifted[b] * shifted[c] / (shifted[a] + 0.001)
            scores[[a, b, c]] = -np.inf
            if allowed is not None:
                scores[np.setdiff1d(np.arange(50), allowed)] = -np.inf
            assert best.tolist() == pytest.approx(np.sort(scores)[::-1][:3].tolist(), rel=1e-4)
            assert scores[answer].tolist() == pytest.approx(best.tolist(), rel=1e-4)


def test_multiplied_cosines_parity_with_gensim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langladder.embeddings.base.EPSILON", 1e-6)  # gensim's; the paper has 0.001
    vectors = random_vectors()
    peer = KeyedVectors(8)
    peer.add_vectors(vectors.words, vectors.matrix)
    rng = np.random.default_rng(2)
    for a, b, c in (rng.choice(50, 3, replace=False) for _ in range(50)):
        item, two, three = (vectors.words[row] for row in (a, b, c))
        theirs = peer.most_similar_cosmul(positive=[two, three], negative=[item], topn=4)
        ours = vectors.analogy(item, two, three, 4, method="3cosmul")
        assert [word for word, _ in ours] == [word for word, _ in theirs]
        assert [score for _, score in ours] == pytest.approx([score for _, score in theirs], rel=1e-4)


def test_nearest_parity_with_gensim() -> None:
    vectors = random_vectors()
    peer = KeyedVectors(8)
    peer.add_vectors(vectors.words, vectors.matrix)
    for word in ("苹果", "w7"):
        theirs = peer.most_similar(word, topn=5)
        ours = vectors.nearest(word, 5)
        assert [w for w, _ in ours] == [w for w, _ in theirs]
        assert [s for _, s in ours] == pytest.approx([s for _, s in theirs], abs=1e-5)


def test_save_load_roundtrip(tmp_path: Path) -> None:
    vectors = random_vectors()
    vectors.save(tmp_path / "a")
    loaded = load_vectors(tmp_path / "a")
    assert loaded.words == vectors.words and loaded.about == {"dim": 8}
    assert np.array_equal(loaded.matrix, vectors.matrix)
    assert loaded.counts is not None and vectors.counts is not None and np.array_equal(loaded.counts, vectors.counts)
    loaded.save(tmp_path / "b")
    for name in ("vectors.safetensors", "words.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_bad_use_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean queen"):
        royal().nearest("quen")
    with pytest.raises(InputError, match="no such file"):
        load_vectors(tmp_path)
    with pytest.raises(InputError, match="2 words"):
        WordVectors(["a", "b"], np.ones((1, 2), dtype=np.float32))
