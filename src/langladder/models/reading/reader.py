"""The one door of every reader: a paragraph and a question → the answer that stands there, or that there is none.

A reader of spans says which characters of the paragraph; one that chooses says which of the options that the question
brings. `threshold` is how much better than none an answer must be to be given (Devlin et al. 2019, section 4.3); it is
fitted on validation questions, and null where every training question has an answer: then one is always given.
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
        start: −1 of what is no span: no answer, an option.
        score: how much better than no answer, in the reader's own unit.
        probability: where the reader says one.
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
    """Whether "" is among its candidates; else `threshold` decides when there is no answer."""

    @property
    def chooses(self) -> bool:
        """Whether it picks one of the options; else it finds a span."""
        return False

    @abstractmethod
    def candidates(self, questions: Sequence[Question], count: int) -> list[list[Found]]:
        """The best answers of each question, at most `count`, the best first; "" only where it `knows_none`.

        Args:
            questions: whatever their answers are, these are not read.

        Raises:
            InputError: a question has nothing to choose from, where the reader chooses.
        """

    def answers(self, questions: Sequence[Question], best: int = 1) -> list[list[Found]]:
        """The best answers of each question, at most `best`, at least one; "there is none" where its turn is."""
        found = self.candidates(questions, best)
        if self.threshold is None:
            return [some or [Found("", -1, 0.0)] for some in found]
        return [_with_none(some, self.threshold)[:best] for some in found]

    def fit_threshold(self, questions: Sequence[Question], *, needed: bool) -> None:
        """Choose the threshold that makes F₁ on these questions highest; none is `needed` where all have an answer."""
        self.threshold = None
        if not needed or self.knows_none or not questions:
            return
        first = [(some or [Found("", -1, -1e9)])[0] for some in self.candidates(questions, 1)]
        answered = np.array([word_f1(one.text, own.gold()) for one, own in zip(first, questions, strict=True)])
        silent = np.array([word_f1("", own.gold()) for own in questions])
        self.threshold = best_threshold(np.array([one.score for one in first]), answered, silent)

    def reading(self) -> dict[str, object]:
        """What reading.json holds."""
        return {"threshold": self.threshold}


def _with_none(found: list[Found], threshold: float) -> list[Found]:
    better = [one for one in found if one.score > threshold]
    return [*better, Found("", -1, threshold), *found[len(better) :]]


def read_threshold(folder: Path) -> float | None:
    """The threshold in reading.json.

    Raises:
        InputError: the file is missing or has other content.
    """
    path = Path(folder) / READING
    value = read_json(path)
    if not isinstance(value, dict) or set(value) != {"threshold"}:
        raise InputError(f"{path}: is not {{threshold}} of a reader")
    found = value["threshold"]
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float) or not np.isfinite(found):
        raise InputError(f"{path}: threshold: {str(found)[:60]!r} is no finite number")
    return float(found)
