"""Questions by words: what is asked of the vectors themselves, and what the commands answer, are one."""

from dataclasses import replace

import numpy as np
import pytest

from langladder.answers.words import RARE, analogy, check, compare, nearest, odd_one_out, rare_note
from langladder.embeddings.base import WordVectors
from langladder.evaluation.clusters import outlier_position
from langladder.ground.errors import InputError

TABLE = {
    "cat": [1, 0.1, 0],
    "dog": [1, 0, 0.1],
    "cow": [0.9, 0.1, 0.1],
    "Paris": [0, 1, 0],
    "rome": [0.1, 1, 0.1],
}
VECTORS = WordVectors([*TABLE], np.array([*TABLE.values()], dtype=np.float32))


def test_answers_are_the_vectors_own() -> None:
    result = nearest(VECTORS, "cat", 2)
    assert [(item["word"], item["score"]) for item in result] == [
        (word, round(score, 6)) for word, score in VECTORS.nearest("cat", 2)
    ]
    assert nearest(VECTORS, "cat", 1, "euclidean")[0]["score"] == compare(VECTORS, "cat", "cow")["euclidean"]
    best = analogy(VECTORS, ("cat", "dog", "Paris"), 1, "3cosmul")
    assert [item["word"] for item in best] == [VECTORS.analogy("cat", "dog", "Paris", method="3cosmul")[0][0]]
    assert analogy(VECTORS, ("cat", "dog", "Paris"), 5, "3cosadd", restrict=3) == [
        {"word": "cow", "score": pytest.approx(0.14, abs=0.1)}
    ]


def test_the_odd_one_out_is_the_one_without_which_the_others_are_most_alike() -> None:
    words = ["cat", "Paris", "dog", "cow"]
    result = odd_one_out(VECTORS, [*words, "cat"])
    assert result[0]["word"] == "Paris"
    assert outlier_position(VECTORS, np.array([VECTORS.row(word) for word in ("cat", "dog", "cow", "Paris")])) == 3
    others = [("cat", "dog"), ("cat", "cow"), ("dog", "cow")]
    assert result[0]["compactness"] == pytest.approx(np.mean([VECTORS.similarity(*pair) for pair in others]), abs=1e-5)


def test_unknown_words_are_refused_with_what_may_be_meant() -> None:
    with pytest.raises(InputError, match="did you mean Paris"):
        check(VECTORS, "paris")
    with pytest.raises(InputError, match="did you mean cat"):
        nearest(VECTORS, "catt", 3)
    with pytest.raises(InputError, match=r"that have a vector$"):  # no word that is spelled nearly so
        nearest(VECTORS, "coat-rack", 3)
    with pytest.raises(InputError, match="2 different"):
        odd_one_out(VECTORS, ["cat", "dog", "cat"])


def test_rare_words_of_a_question_are_named() -> None:
    counted = replace(VECTORS, counts=np.array([5000, RARE, RARE - 1, 200, 1]))
    assert rare_note(counted, ["cat", "dog", "Paris"]) is None
    note = rare_note(counted, ["cat", "cow", "rome", "cow", "unknown"])
    assert note is not None and f"cow ({RARE - 1}), rome (1);" in note
    assert rare_note(VECTORS, ["cow"]) is None  # the counts are unknown
