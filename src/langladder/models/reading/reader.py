"""The interface of every reader: a paragraph and a question → the answer in the paragraph, or no answer.

A span reader returns characters of the paragraph; a multiple-choice reader returns one of the question's options. An
answer is given if its score exceeds that of no answer by at least `threshold` (Devlin et al. 2019, section 4.3). The
threshold is fitted on validation questions. It is null if every training question has an answer; then the reader always
gives an answer.
"""

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from langladder.models.base import Model
from langladder.models.saving import READING
from langladder.text.labelled.questions import Question, best_threshold, word_f1


class Found(NamedTuple):
    """An answer: characters start … of the paragraph, "" for none.

    Attributes:
        start: −1 if the answer is not a span: no answer, or an option.
        score: the difference to the score of no answer, in the reader's own unit.
        probability: if the reader computes one.
    """

    text: str
    start: int
    score: float
    probability: float | None = None


class Reader(Model):
    """Everything that answers questions about paragraphs."""

    SIZES: ClassVar[tuple[str, ...]] = ()
    WHAT: ClassVar[str] = "reader"
    threshold: float | None = None
    knows_none: ClassVar[bool] = False
    """Whether "" can be among its candidates; otherwise `threshold` decides if there is no answer."""

    @property
    def chooses(self) -> bool:
        """Whether it selects one of the options; otherwise it finds a span."""
        return False

    @abstractmethod
    def candidates(self, questions: Sequence[Question], count: int) -> list[list[Found]]:
        """At most `count` best answers of each question, best first; "" only if it `knows_none`.

        Args:
            questions: their answers are ignored.

        Raises:
            InputError: a question has no options, but the reader chooses among options.
        """

    def answers(self, questions: Sequence[Question], best: int = 1) -> list[list[Found]]:
        """The best answers of each question, at least one and at most `best`, with "no answer" at its rank."""
        candidates = self.candidates(questions, best)
        if self.threshold is None:
            return [some or [Found("", -1, 0.0)] for some in candidates]
        return [_with_none(some, self.threshold)[:best] for some in candidates]

    def fit_threshold(self, questions: Sequence[Question], *, needed: bool) -> None:
        """Select the threshold with the highest F₁ on these questions; not `needed` if all have an answer."""
        self.threshold = None
        if not needed or self.knows_none or not questions:
            return
        first = [(some or [Found("", -1, -1e9)])[0] for some in self.candidates(questions, 1)]
        answered = np.array([word_f1(answer.text, own.gold()) for answer, own in zip(first, questions, strict=True)])
        silent = np.array([word_f1("", own.gold()) for own in questions])
        self.threshold = best_threshold(np.array([answer.score for answer in first]), answered, silent)

    def reading(self) -> dict[str, object]:
        """The content of reading.json."""
        return {"threshold": self.threshold}


def _with_none(answers: list[Found], threshold: float) -> list[Found]:
    better = [answer for answer in answers if answer.score > threshold]
    return [*better, Found("", -1, threshold), *answers[len(better) :]]


def read_threshold(folder: Path) -> float | None:
    """The threshold in reading.json.

    Raises:
        InputError: the file is missing or has other content.
    """
    path = Path(folder) / READING
    value = read_json(path)
    if not isinstance(value, dict) or set(value) != {"threshold"}:
        raise InputError(f"{path}: is not {{threshold}} of a reader")
    threshold = value["threshold"]
    if threshold is None:
        return None
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not np.isfinite(threshold):
        raise InputError(f"{path}: threshold: {str(threshold)[:60]!r} is no finite number")
    return float(threshold)
