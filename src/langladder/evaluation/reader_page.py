"""The page of a reader: how many questions it answers right, which kinds of question, examples."""

from typing import Any, ClassVar

from pydantic import Field

from langladder.evaluation.page import Interval, Measured, Page, Work


class ReaderScores(Measured):
    """Of test questions, as SQuAD counts them (`text.labelled.questions`); shares in 0..1.

    Attributes:
        exact: share whose answer is one of the right ones; f1: mean F₁ of its words. Both with intervals by the
            bootstrap over questions.
        answerable: questions that have an answer; answered_exact, answered_f1: of these alone.
        no_answer: share of the others that get none.
    """

    questions: int
    exact: float
    exact_interval: Interval | None
    f1: float
    f1_interval: Interval | None
    answerable: int
    answered_exact: float | None
    answered_f1: float | None
    no_answer: float | None


class KindOfQuestion(Measured):
    """Questions that begin with one word."""

    word: str
    questions: int
    exact: float
    f1: float


class AnsweredQuestion(Measured):
    """A test question: the paragraph around what was said, and what is right ("" for no answer)."""

    before: str
    said: str
    after: str
    question: str
    gold: list[str]
    exact: bool
    f1: float


class ReaderPage(Page):
    """Of one reader.

    Attributes:
        options: of the questions on average, where it chooses among them: such a rung has an easier task.
        right: F₁ of each test question; rungs are compared by it.
    """

    detail: ClassVar[dict[str, Any]] = {"right": True, "shown": True}

    parameters: int
    work: Work | None = None
    options: float | None = None
    threshold: float | None = None
    scores: ReaderScores
    kinds: list[KindOfQuestion]
    right: list[float] = Field(default_factory=list)
    shown: list[AnsweredQuestion] = Field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """See `Page.figures`."""
        found = self.scores.model_dump(exclude={"exact_interval", "f1_interval"}, exclude_none=True)
        return found | {"parameters": self.parameters}
