"""Analogy evaluation: figures by hand, parity with gensim, real question files, malformed ones."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors
from real_data import real
from scipy.sparse import csr_matrix

from langladder.embeddings.base import AnalogyMethod, WordVectors
from langladder.evaluation.analogy import evaluate_analogies, is_syntactic, read_analogies
from langladder.ground.errors import InputError


def exact_vectors() -> WordVectors:
    """Nouns × number and countries × capital on axes of their own, so that every analogy holds; `pear` is wrong."""
    words = ["cat", "cats", "dog", "dogs", "pear", "pears", "paris", "france", "rome", "italy"]
    matrix = np.zeros((10, 7), dtype=np.float32)
    for pair in range(3):
        matrix[2 * pair : 2 * pair + 2, pair] = 1
        matrix[2 * pair + 1, 5] = 1
    matrix[5] = [0, 0, -1, 0, 0, -1, 0.1]
    matrix[6:8, 3] = 1
    matrix[8:10, 4] = 1
    matrix[[7, 9], 6] = 1
    return WordVectors(words, matrix)


QUESTIONS = """\
: capital-common-countries
paris france rome italy
Rome Italy Paris France
rome italy berlin germany
: gram8-plural
cat cats dog dogs
dog dogs cat cats
cat cats pear pears
"""


def test_figures_by_hand_golden(tmp_path: Path) -> None:
    path = tmp_path / "questions.txt"
    path.write_text(QUESTIONS, encoding="utf-8")
    figures = evaluate_analogies(exact_vectors(), path)
    assert figures.overall.model_dump() == {
        "accuracy": 0.8,
        "interval": (
            0.375535,
            0.963776,
        ),  # (.8 + .384 ± √(.8 · .2 · .768 + .768²/4)) / 1.768, z²/n = .768
        "correct": 4,
        "answered": 5,
        "questions": 6,
        "coverage": pytest.approx(5 / 6, abs=1e-6),
    }
    assert figures.semantic is not None and figures.syntactic is not None
    assert figures.semantic.accuracy == 1 and figures.semantic.coverage == pytest.approx(2 / 3, abs=1e-6)
    assert figures.syntactic.accuracy == pytest.approx(2 / 3, abs=1e-6)
    assert [section.name for section in figures.sections] == ["capital-common-countries", "gram8-plural"]
    json.dumps(figures.model_dump(mode="json"))

    cased = evaluate_analogies(exact_vectors(), path, ignore_case=False)
    assert cased.overall.answered == 4
    restricted = evaluate_analogies(exact_vectors(), path, restrict_vocabulary=4)
    assert restricted.overall.model_dump() | {"coverage": None} == {
        "accuracy": 1.0,
        "interval": (0.34238, 1.0),  # 1 / (1 + z²/2)
        "correct": 2,
        "answered": 2,
        "questions": 6,
        "coverage": None,
    }
    assert restricted.semantic.accuracy is None


def test_multiplied_cosines_answer_the_same_sets_golden(tmp_path: Path) -> None:
    path = tmp_path / "questions.txt"
    path.write_text(QUESTIONS, encoding="utf-8")
    figures = evaluate_analogies(exact_vectors(), path, method="3cosmul")
    assert figures.method == "3cosmul" and figures.overall.correct == 4

    # shifted cosines with b, c and a: x 1, .5, .5; y .8, .8, .68; z .775, .775, .5
    words = ["a", "b", "c", "x", "y", "z"]
    matrix = np.zeros((6, 6), dtype=np.float32)
    matrix[:3, :3] = np.eye(3)
    matrix[3, 1] = 1
    matrix[4, :3] = [0.36, 0.6, 0.6]
    matrix[5, :3] = [0, 0.55, 0.55]
    matrix[4, 3] = np.sqrt(1 - (matrix[4] ** 2).sum())
    matrix[5, 4] = np.sqrt(1 - (matrix[5] ** 2).sum())
    answers = WordVectors(words, matrix).analogy("a", "b", "c", 3, method="3cosmul")
    assert [word for word, _ in answers] == ["z", "x", "y"]
    assert [score for _, score in answers] == pytest.approx(
        [0.775**2 / 0.501, 0.5 / 0.501, 0.64 / 0.681], abs=1e-5
    )  # ε = 0.001


@pytest.mark.parametrize("method", ["3cosadd", "3cosmul"])
def test_sparse_and_dense_vectors_give_the_same_figures(tmp_path: Path, method: AnalogyMethod) -> None:
    path = tmp_path / "questions.txt"
    path.write_text(QUESTIONS, encoding="utf-8")
    dense = exact_vectors()
    sparse = WordVectors(dense.words, csr_matrix(dense.matrix))
    assert evaluate_analogies(sparse, path, method=method) == evaluate_analogies(dense, path, method=method)


def test_king_minus_man_plus_woman_golden() -> None:
    """The gender axis of the classic table: 1.05 near queen's .97; the wrong sign lands at −2.95."""
    table = {  # gender, royal, age, food
        "man": [-1, 0.01, 0.03, 0.09],
        "woman": [1, 0.02, 0.02, 0.01],
        "king": [-0.95, 0.93, 0.70, 0.02],
        "queen": [0.97, 0.95, 0.69, 0.01],
        "apple": [0, -0.01, 0.03, 1],
        "orange": [0.01, 0, -0.02, 1],
    }
    vectors = WordVectors(list(table), np.array(list(table.values()), dtype=np.float32))
    right = vectors["king"] - vectors["man"] + vectors["woman"]
    assert right[0] == pytest.approx(1.05) and abs(right[0] - vectors["queen"][0]) == pytest.approx(0.08)
    wrong = vectors["man"] - vectors["woman"] + vectors["king"]
    assert wrong[0] == pytest.approx(-2.95) and abs(wrong[0] - vectors["queen"][0]) > 3
    for method in ("3cosadd", "3cosmul"):
        assert vectors.analogy("man", "woman", "king", method=method)[0][0] == "queen"
    unit = {word: vectors.dense([vectors.row(word)])[0] for word in table}
    target = unit["woman"] - unit["man"] + unit["king"]
    cosine = unit["queen"] @ target / np.linalg.norm(target)
    assert vectors.analogy("man", "woman", "king")[0][1] == pytest.approx(cosine, abs=1e-6)


def test_folder_gzip_and_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbf" + QUESTIONS.replace("\n", "\r\n").encode())
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b": other\n\ncat cats dog dogs\n"))
    (tmp_path / "README").write_text("about these files\n", encoding="utf-8")
    figures = evaluate_analogies(exact_vectors(), tmp_path)
    assert figures.overall.questions == 7
    assert figures.skipped_files == ["README"]
    assert is_syntactic("past-tense") and not is_syntactic("country-nationality")
    only_other = evaluate_analogies(exact_vectors(), tmp_path / "b.txt.gz")
    assert only_other.syntactic is None and only_other.semantic is None


@pytest.mark.real
def test_google_set_parity_with_gensim(tmp_path: Path) -> None:
    folder = real("analogy")
    sections = read_analogies(folder / "questions-words.txt.gz")
    assert len(sections) == 14 and sum(len(section.questions) for section in sections) == 19_544
    words_of_questions = sorted({word for section in sections for question in section.questions for word in question})
    rng = np.random.default_rng(0)
    words = [word if rng.random() < 0.5 else word.lower() for word in words_of_questions][::2]
    vectors = WordVectors(words, rng.normal(size=(len(words), 5)).astype(np.float32))
    peer = KeyedVectors(5)
    peer.add_vectors(words, vectors.matrix)
    plain = tmp_path / "questions.txt"
    plain.write_bytes(gzip.decompress((folder / "questions-words.txt.gz").read_bytes()))
    for restrict in (len(words), 300):
        theirs, by_section = peer.evaluate_word_analogies(str(plain), restrict_vocab=restrict)
        ours = evaluate_analogies(vectors, plain, restrict_vocabulary=restrict)
        assert ours.overall.accuracy == pytest.approx(theirs, abs=1e-6)
        assert ours.overall.correct == len(by_section[-1]["correct"])
        assert ours.overall.answered == len(by_section[-1]["correct"]) + len(by_section[-1]["incorrect"])
    assert evaluate_analogies(vectors, folder).overall.questions == 19_544 + 3_218


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a b c d\n", ":1: 'a b c d' comes before"),
        (b": s\na b c d\n\na b c\n", ":4: 3 words"),
        (b":\na b c d\n", ":1: a section needs a name"),
        (b": s\n", "has no analogy questions"),
        (b"", "has no analogy questions"),
        (b": s\na b \xff d\n", ":2: not UTF-8"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "questions.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        evaluate_analogies(exact_vectors(), path)


def test_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        evaluate_analogies(exact_vectors(), tmp_path / "none.txt")
    (tmp_path / "notes.txt").write_text("nothing\n", encoding="utf-8")
    with pytest.raises(InputError, match="none of its 1 files"):
        evaluate_analogies(exact_vectors(), tmp_path)
    with pytest.raises(InputError, match="restrict_vocabulary: 0"):
        evaluate_analogies(exact_vectors(), tmp_path, restrict_vocabulary=0)
