"""Analogy evaluation: figures by hand, parity with gensim, real question files, malformed ones."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors

from langladder.embeddings.base import WordVectors
from langladder.errors import InputError
from langladder.evaluation.analogy import evaluate_analogies, is_syntactic, read_analogies

REAL = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "analogy"


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
    assert figures["overall"] == {
        "accuracy": 0.8,
        "correct": 4,
        "answered": 5,
        "questions": 6,
        "coverage": pytest.approx(5 / 6, abs=1e-6),
    }
    assert figures["semantic"]["accuracy"] == 1 and figures["semantic"]["coverage"] == pytest.approx(2 / 3, abs=1e-6)
    assert figures["syntactic"]["accuracy"] == pytest.approx(2 / 3, abs=1e-6)
    assert [section["name"] for section in figures["sections"]] == ["capital-common-countries", "gram8-plural"]
    json.dumps(figures)

    cased = evaluate_analogies(exact_vectors(), path, ignore_case=False)
    assert cased["overall"]["answered"] == 4
    restricted = evaluate_analogies(exact_vectors(), path, restrict_vocabulary=4)
    assert restricted["overall"] | {"coverage": None} == {
        "accuracy": 1.0,
        "correct": 2,
        "answered": 2,
        "questions": 6,
        "coverage": None,
    }
    assert restricted["semantic"]["accuracy"] is None


def test_folder_gzip_and_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbf" + QUESTIONS.replace("\n", "\r\n").encode())
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b": other\n\ncat cats dog dogs\n"))
    (tmp_path / "README").write_text("about these files\n", encoding="utf-8")
    figures = evaluate_analogies(exact_vectors(), tmp_path)
    assert figures["overall"]["questions"] == 7
    assert figures["skipped_files"] == ["README"]
    assert is_syntactic("past-tense") and not is_syntactic("country-nationality")
    only_other = evaluate_analogies(exact_vectors(), tmp_path / "b.txt.gz")
    assert only_other["syntactic"] is None and only_other["semantic"] is None


@pytest.mark.real
def test_google_set_parity_with_gensim(tmp_path: Path) -> None:
    if not REAL.is_dir():
        pytest.skip("needs shared/data/analogy")
    sections = read_analogies(REAL / "questions-words.txt.gz")
    assert len(sections) == 14 and sum(len(section.questions) for section in sections) == 19_544
    asked = sorted({word for section in sections for question in section.questions for word in question})
    rng = np.random.default_rng(0)
    words = [word if rng.random() < 0.5 else word.lower() for word in asked][::2]
    vectors = WordVectors(words, rng.normal(size=(len(words), 5)).astype(np.float32))
    peer = KeyedVectors(5)
    peer.add_vectors(words, vectors.matrix)
    plain = tmp_path / "questions.txt"
    plain.write_bytes(gzip.decompress((REAL / "questions-words.txt.gz").read_bytes()))
    for restrict in (len(words), 300):
        theirs, by_section = peer.evaluate_word_analogies(str(plain), restrict_vocab=restrict)
        ours = evaluate_analogies(vectors, plain, restrict_vocabulary=restrict)
        assert ours["overall"]["accuracy"] == pytest.approx(theirs, abs=1e-6)
        assert ours["overall"]["correct"] == len(by_section[-1]["correct"])
        assert ours["overall"]["answered"] == len(by_section[-1]["correct"]) + len(by_section[-1]["incorrect"])
    assert evaluate_analogies(vectors, REAL)["overall"]["questions"] == 19_544 + 3_218


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a b c d\n", ":1: 'a b c d' stands before"),
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
