"""The page of a classifier: how often it is right, how sure it is of what, what it takes for what, and why."""

from typing import Any, ClassVar

from pydantic import Field

from langladder.evaluation.calibration import Bin
from langladder.evaluation.confusion import LabelScores
from langladder.evaluation.page import Interval, Measured, Page


class ClassifierScores(Measured):
    """accuracy and its interval; macro_f1: mean over labels; cross_entropy: nats per text; calibration_error: ECE."""

    accuracy: float
    accuracy_interval: Interval | None
    macro_f1: float
    cross_entropy: float
    calibration_error: float


class Decision(Measured):
    """A test text, its label, what was said and with which probability; weight of each piece for what was said."""

    text: str
    second: str | None
    label: str
    said: str
    probability: float
    pieces: list[str] = Field(default_factory=list)
    weights: list[float] = Field(default_factory=list)


class ClassifierPage(Page):
    """Of one classifier.

    Attributes:
        texts: of the test. labels: in the order of their ids.
        bayes_accuracy, bayes_cross_entropy: what the best guess reaches under the grammar that drew the texts.
        confusion: row the right label, column what was said.
        right: of each test text, in order, 1 or 0: rungs are compared by it.
        mistakes: the most confident ones. shown: a few test texts as they come.
    """

    detail: ClassVar[dict[str, Any]] = {"right": True, "mistakes": True, "shown": True, "reliability": True}

    parameters: int
    texts: int
    labels: list[str]
    scores: ClassifierScores
    bayes_accuracy: float | None = None
    bayes_cross_entropy: float | None = None
    per_label: list[LabelScores]
    confusion: list[list[int]]
    reliability: list[Bin]
    right: str = ""
    mistakes: list[Decision] = Field(default_factory=list)
    shown: list[Decision] = Field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """See `Page.figures`."""
        found = self.scores.model_dump(exclude={"accuracy_interval"})
        return found | ({} if self.bayes_accuracy is None else {"bayes_accuracy": self.bayes_accuracy})
