"""The page of a classifier: how often it is right, how sure it is of what, what it takes for what, and why."""

from typing import Any, ClassVar

from pydantic import Field

from langladder.evaluation.calibration import Bin
from langladder.evaluation.confusion import LabelScores
from langladder.evaluation.page import Interval, Measured, Page, Work


class ClassifierScores(Measured):
    """accuracy and its interval; macro_f1: mean over labels; cross_entropy: nats per text; calibration_error: ECE."""

    accuracy: float
    accuracy_interval: Interval | None
    macro_f1: float
    cross_entropy: float
    calibration_error: float


class Node(Measured):
    """A node of a tree: those below it, its word, its label in the corpus, what was said of it and how surely."""

    children: list[int]
    word: int | None
    label: str | None
    said: str
    probability: float


class Decision(Measured):
    """A test text, its label, what was said and with which probability.

    Attributes:
        weights: of each piece for what was said; above 0 speaks for it.
        attention: how much of each piece is in what the label was read from; empty without attention.
        tree: its nodes, children first; empty where the classifier reads no trees.
    """

    text: str
    second: str | None
    label: str
    said: str
    probability: float
    pieces: list[str] = Field(default_factory=list)
    weights: list[float] = Field(default_factory=list)
    attention: list[float] = Field(default_factory=list)
    tree: list[Node] = Field(default_factory=list)


class Filter(Measured):
    """A filter over some words in a row: the n-grams of the test with its highest values, and what it speaks for."""

    width: int
    label: str
    ngrams: list[str]
    values: list[float]


class ClassifierPage(Page):
    """Of one classifier.

    Attributes:
        work: of a network, as it is trained, at the mean length of the test texts.
        texts: of the test. labels: in the order of their ids.
        bayes_accuracy, bayes_cross_entropy: what the best guess reaches under the grammar that drew the texts.
        confusion: row the right label, column what was said.
        right: of each test text, in order, 1 or 0: rungs are compared by it.
        mistakes: the most confident ones. shown: a few test texts as they come.
        filters: a few of a network that has any.
    """

    detail: ClassVar[dict[str, Any]] = dict.fromkeys(
        ("confusion", "reliability", "right", "mistakes", "shown", "filters"), True
    )

    parameters: int
    work: Work | None = None
    texts: int
    labels: list[str]
    scores: ClassifierScores
    bayes_accuracy: float | None = None
    bayes_cross_entropy: float | None = None
    per_label: list[LabelScores]
    confusion: list[list[int]] = Field(default_factory=list)
    reliability: list[Bin] = Field(default_factory=list)
    right: str = ""
    mistakes: list[Decision] = Field(default_factory=list)
    shown: list[Decision] = Field(default_factory=list)
    filters: list[Filter] = Field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """See `Page.figures`."""
        found = self.scores.model_dump(exclude={"accuracy_interval"})
        return found | ({} if self.bayes_accuracy is None else {"bayes_accuracy": self.bayes_accuracy})
