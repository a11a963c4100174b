"""Figures of readers by hand: exact match, F₁, questions without an answer, kinds of question."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from langladder.evaluation.reader import ReaderPage, evaluate_reader, scores_of
from langladder.evaluation.significance import share_interval
from langladder.ground.errors import InputError
from langladder.models.reading.reader import Found, Reader
from langladder.models.reading.sliding_window import SlidingWindow, make
from langladder.text.labelled.questions import Answer, Question

TEXT = "anna saw the old house . peter slept ."
TEST = [
    Question(TEXT, "what did anna see ?", (Answer("the old house", 9), Answer("house", 17)), ("the old house", "")),
    Question(TEXT, "who slept ?", (Answer("peter", 25),), ("peter", "anna", "")),
    Question(TEXT, "where did peter sleep ?", (), ("anna", "")),
    Question(TEXT, "What did peter see ?", (), ("the old house", "")),
]


class Told(Reader):
    """Returns fixed answers."""

    approach = "told"

    def __init__(self, fixed: list[Found], chooses: bool = False) -> None:
        self.fixed, self._chooses = fixed, chooses

    @property
    def chooses(self) -> bool:
        return self._chooses

    def candidates(self, questions, count):  # noqa: ARG002
        return [[item] if item.text else [] for item in self.fixed]

    def number_of_parameters(self) -> int:
        return 7

    def save(self, folder: Path) -> None:
        raise NotImplementedError


SAID = [Found("old house", 13, 1.0), Found("anna", 0, 2.0), Found("", -1, 0.0), Found("the old house", 9, 0.5)]


def test_golden_scores_of_four_questions() -> None:
    """'old house' is exact (the article goes); 'anna' is wrong; no answer is right once of twice."""
    page = evaluate_reader(Told(SAID), TEST, name="told")
    scores = page.scores
    assert (scores.exact, scores.f1, scores.questions, scores.answerable) == (0.5, 0.5, 4, 2)
    assert (scores.answered_exact, scores.answered_f1, scores.no_answer) == (0.5, 0.5, 0.5)
    assert page.right == [1.0, 0.0, 1.0, 0.0] and page.options is None
    assert [(kind.word, kind.questions, kind.f1) for kind in page.kinds] == [
        ("what", 2, 0.5),
        ("who", 1, 0.0),
        ("where", 1, 1.0),
    ]
    assert page.figures()["no_answer"] == 0.5 and ReaderPage.model_validate(page.model_dump(mode="json")) == page


def test_golden_f1_beside_exact_match() -> None:
    scores = scores_of(np.array([1.0, 0.0]), np.array([1.0, 0.8]), np.array([True, True]))
    assert (scores.exact, scores.f1, scores.no_answer) == (0.5, 0.9, None)
    assert scores.exact_interval == share_interval(1, 2) and scores.f1_interval == share_interval(1.8, 2)


def test_a_threshold_turns_answers_into_none() -> None:
    reader = Told(SAID)
    reader.fit_threshold(TEST, needed=True)
    assert reader.threshold == pytest.approx(0.75)  # between what is right of the first and wrong of the last
    assert evaluate_reader(reader, TEST, name="told").scores.exact == 0.75


def test_a_chooser_says_among_how_many_and_a_window_runs_through() -> None:
    assert evaluate_reader(Told(SAID, chooses=True), TEST, name="told").options == pytest.approx(9 / 4)
    model, _ = make(SlidingWindow, TEST, TEST, settings=SimpleNamespace(model=SlidingWindow.Config()))
    page = evaluate_reader(model, TEST, name="window")
    assert page.approach == "matching words" and page.scores.f1 > 0 and page.threshold == model.threshold
    with pytest.raises(InputError, match="no test question"):
        evaluate_reader(model, [], name="window")
