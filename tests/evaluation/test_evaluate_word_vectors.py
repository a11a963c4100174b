"""The page of one set of word vectors: every part, sparse as dense, and nothing where a corpus brings nothing."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from langladder.embeddings.base import WordVectors
from langladder.evaluation.word_vectors import QuestionSets, WordVectorsPage, WordVectorsScores, evaluate_word_vectors

NAMES = {"name": "x", "approach": "counts"}
SETS = {
    "analogies": ": capital-country\nrome italy paris france\nparis france rome italy\n: plural\ncat cats dog dogs\n",
    "similarity": "cat dog 8\ncat paris 1\nrome paris 9\ncats rome 0\n",
    "groups": ": animal\ncat cats dog dogs\n: city\nrome paris berlin\n: country\nitaly france\n",
}


def vectors(*, sparse: bool) -> WordVectors:
    words = ["cat", "cats", "dog", "dogs", "rome", "italy", "paris", "france", "berlin"]
    axes = {"cat": 0, "dog": 1, "rome": 2, "italy": 2, "paris": 3, "france": 3, "berlin": 7, "cats": 0, "dogs": 1}
    matrix = np.zeros((9, 8), dtype=np.float32)
    for row, word in enumerate(words):
        matrix[row, axes[word]] = 1
        if word in ("cats", "dogs"):
            matrix[row, 4] = 1
        matrix[row, 5 if word in ("italy", "france") else 6] = 0.8 if word[0] not in "cd" else 0
    return WordVectors(words, csr_matrix(matrix) if sparse else matrix)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    for name, text in SETS.items():
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    return {name: tmp_path / f"{name}.txt" for name in SETS}


@pytest.mark.parametrize("sparse", [False, True])
def test_every_part(files: dict[str, Path], sparse: bool) -> None:
    page = evaluate_word_vectors(
        vectors(sparse=sparse), QuestionSets(**files), **NAMES, restrict_vocabulary=None, neighbours=3
    )
    analogy = page.scores.analogy
    assert analogy is not None and analogy.semantic is not None and analogy.cosmul is not None
    assert (
        analogy.overall.accuracy == 1 and analogy.overall.interval == (0.438503, 1) and analogy.overall.questions == 3
    )
    assert analogy.semantic.answered == 2 and analogy.syntactic.answered == 1
    assert [section.questions for section in analogy.sections] == [2, 1]
    assert analogy.cosmul.overall.accuracy == 1 and analogy.cosmul.syntactic.correct == 1
    (similarity,) = page.scores.similarity
    assert similarity.covered == 4 and similarity.interval is not None
    assert (
        page.scores.clusters is not None and page.scores.clusters.coverage == 1 and 0 < page.scores.clusters.purity <= 1
    )
    assert len(page.neighbours) == 3
    assert {entry.group for entry in page.map} == {"capital-country"}  # one pair is too few to show
    written = json.dumps(page.model_dump(mode="json"), allow_nan=False)
    assert WordVectorsPage.model_validate(json.loads(written)) == page
    assert {"analogy": 1, "purity": page.scores.clusters.purity}.items() <= page.figures().items()


def test_sparse_and_dense_give_the_same_page(files: dict[str, Path]) -> None:
    sets = QuestionSets(**files)
    pages = [
        evaluate_word_vectors(vectors(sparse=sparse), sets, **NAMES, restrict_vocabulary=8, neighbours=3)
        for sparse in (False, True)
    ]
    dense, sparse = (page.model_dump(exclude={"map", "neighbours", "bytes_per_word"}) for page in pages)  # but rounding
    assert dense == sparse


def test_missing_parts_are_none(tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.touch()
    blank = tmp_path / "blank.txt"
    blank.write_text("\n")
    for nothing in (None, empty, blank):
        sets = QuestionSets(nothing, nothing, nothing)
        page = evaluate_word_vectors(vectors(sparse=False), sets, **NAMES, restrict_vocabulary=None, neighbours=2)
        assert page.scores == WordVectorsScores()
        assert page.figures() == {"analogy": None, "analogy_coverage": None}
        assert {entry.group for entry in page.map} == {"frequent words"}
