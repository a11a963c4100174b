"""The page of a tagger: how many words get their tag, which tags are taken for which, how sure it is of what."""

from typing import Any, ClassVar

from pydantic import Field

from langladder.evaluation.calibration import Bin
from langladder.evaluation.confusion import LabelScores
from langladder.evaluation.page import Interval, Measured, Page, Work


class TaggerScores(Measured):
    """Of all test words.

    Attributes:
        accuracy: share of the words that get their tag; its interval by the bootstrap over sentences.
        sentences_right: share of the sentences whose words all get theirs.
        unknown_words: words that the training text lacks; unknown_accuracy: share of them that get their tag.
        macro_f1: mean over tags. cross_entropy: nats per word. calibration_error: ECE.
        invalid_sequences: sentences whose tags break their scheme; entity_*: of whole phrases, by seqeval, and the
            interval of their F₁ by the bootstrap over sentences. None where tags bracket nothing.
    """

    accuracy: float
    accuracy_interval: Interval | None
    sentences_right: float
    unknown_words: int
    unknown_accuracy: float | None
    unknown_interval: Interval | None
    macro_f1: float
    cross_entropy: float
    calibration_error: float
    invalid_sequences: int | None = None
    entity_precision: float | None = None
    entity_recall: float | None = None
    entity_f1: float | None = None
    entity_interval: Interval | None = None


class TaggedWord(Measured):
    """A test word: its tag, what was said, and how likely the tagger finds that."""

    word: str
    tag: str
    said: str
    probability: float
    unknown: bool


class TaggerPage(Page):
    """Of one tagger.

    Attributes:
        work: of a network, as it is trained, at the mean length of the test sentences.
        labels: the tags, in the order of their ids.
        bayes_accuracy: what the best guess reaches under the grammar that drew the sentences.
        entities: precision, recall and F₁ of each kind of phrase, where tags bracket them.
        confusion: row the right tag, column what was said.
        right: how many words of each test sentence get their tag: rungs are compared by it.
        shown: a few test sentences, those with mistakes first.
    """

    detail: ClassVar[dict[str, Any]] = {"right": True, "shown": True, "reliability": True, "confusion": True}

    parameters: int
    work: Work | None = None
    sentences: int
    words: int
    labels: list[str]
    scores: TaggerScores
    bayes_accuracy: float | None = None
    per_label: list[LabelScores]
    entities: list[LabelScores] = Field(default_factory=list)
    confusion: list[list[int]] = Field(default_factory=list)
    reliability: list[Bin] = Field(default_factory=list)
    right: list[int] = Field(default_factory=list)
    shown: list[list[TaggedWord]] = Field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """See `Page.figures`."""
        found = self.scores.model_dump(
            exclude={"accuracy_interval", "unknown_interval", "entity_interval"}, exclude_none=True
        )
        return found | ({} if self.bayes_accuracy is None else {"bayes_accuracy": self.bayes_accuracy})
