"""When an answer is right: SQuAD's rules by hand and against torchmetrics; the best threshold against all."""

import numpy as np
import pytest
from torchmetrics.functional.text import squad

from langladder.text.labelled.questions import best_threshold, exact_match, normalised, not_blank, word_f1

PAIRS = [
    ("The cat!", ["a cat", "the dog"]),
    ("in the old garden", ["the garden", "old gardens"]),
    ("red red apple", ["red apple red pear"]),
    ("paris", ["berlin"]),
    ("Anna's  house.", ["annas house"]),
]


def test_golden_normalisation_of_squad() -> None:
    assert normalised("  The FRANC, of a  country. ") == "franc of country"
    assert normalised("an answer: the-a") == "answer thea" and normalised("theatre") == "theatre"
    assert normalised("a, the!") == ""


def test_golden_f1_of_words() -> None:
    """'old garden' of 'in the old garden': 3 words said, 2 right, both shared: 2 · 2 / 5."""
    assert word_f1("in the old garden", ["the old garden"]) == pytest.approx(0.8)
    assert word_f1("red red apple", ["red apple red pear"]) == pytest.approx(6 / 7)  # each as often as both have it
    assert word_f1("paris", ["berlin", "the paris"]) == 1 and exact_match("paris", ["berlin", "the paris"]) == 1
    assert exact_match("old garden", ["the garden", "old"]) == 0


def test_golden_questions_without_an_answer() -> None:
    for score in (exact_match, word_f1):
        assert score("", [""]) == 1 and score("paris", [""]) == 0 and score("", ["paris"]) == 0
        assert score("the", ["paris"]) == 0 and score("the", [""]) == 1  # nothing is left of it
    assert not_blank(["the", "a cat"]) == ["a cat"] and not_blank(["the"]) == [""]


def test_parity_with_torchmetrics() -> None:
    for number, (predicted, gold) in enumerate(PAIRS):
        preds = [{"prediction_text": predicted, "id": str(number)}]
        target = [{"answers": {"answer_start": [0] * len(gold), "text": gold}, "id": str(number)}]
        result = squad(preds, target)
        assert exact_match(predicted, gold) == pytest.approx(float(result["exact_match"]) / 100)
        assert word_f1(predicted, gold) == pytest.approx(float(result["f1"]) / 100)


def test_the_best_threshold_is_that_of_all() -> None:
    random = np.random.default_rng(5)
    for _ in range(30):
        scores, answered = random.integers(0, 4, 9).astype(float), random.random(9)
        silent = (random.random(9) < 0.5).astype(float)
        result = best_threshold(scores, answered, silent)
        gain = float(np.where(scores > result, answered, silent).sum())
        assert gain == pytest.approx(max(np.where(scores > t, answered, silent).sum() for t in np.arange(-1, 5) + 0.5))
    assert best_threshold(np.zeros(0), np.zeros(0), np.zeros(0)) == 0.0
    assert best_threshold(np.array([1.0, 3.0]), np.array([0.0, 1.0]), np.array([1.0, 0.0])) == 2.0
