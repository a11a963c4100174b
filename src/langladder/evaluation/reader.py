"""Evaluation of a reader: exact match and F₁ of its answers to test questions, the best over the right answers."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from langladder.evaluation.page import (
    LOGGED,
    Excluded,
    Interval,
    Measured,
    Metric,
    Metrics,
    Page,
    Work,
    parameter_count,
)
from langladder.evaluation.predictions import Prediction, rounded
from langladder.evaluation.significance import ratio_interval, share_interval
from langladder.ground.errors import InputError
from langladder.models.reading.reader import Reader
from langladder.text.labelled.questions import Question, exact_match, word_f1

SPANS, OPTIONS = "Readers that find spans", "Readers that choose among options"

KINDS = 8  # first words of questions that have separate rows; the rest is "other"


class ReaderScores(Measured):
    """Of test questions, as SQuAD counts them (`text.labelled.questions`); shares in 0..1.

    Attributes:
        exact: share whose answer is one of the right ones; f1: mean F₁ of its words. Both with intervals by the
            Wilson's, over questions.
        answerable: questions that have an answer; answered_exact, answered_f1: of these alone.
        no_answer: share of the others that get none.
    """

    questions: Annotated[int, LOGGED]
    exact: Annotated[
        float,
        Metric(
            "exact match",
            "share of the test questions whose answer equals a correct one, both normalised as in SQuAD",
            unit="points",
            digits=1,
            better="higher",
            brief=True,
            compared=True,
        ),
    ]
    exact_interval: Annotated[
        Interval | None,
        Metric(
            "±",
            "half the width of the exact match's 95 % interval; it covers the choice of the test questions (Wilson)",
            unit="points",
            digits=1,
            brief=True,
            logged=False,
        ),
    ]
    f1: Annotated[
        float,
        Metric(
            "F₁",
            "mean F₁ of the words of an answer, compared with the most similar correct answer; if a question has no "
            "answer, 1 for giving none",
            unit="points",
            digits=1,
            better="higher",
            brief=True,
            compared=True,
        ),
    ]
    f1_interval: Annotated[
        Interval | None,
        Metric("F₁ ±", "half the width of the F₁'s 95 % interval", unit="points", digits=1, logged=False),
    ]
    answerable: Annotated[int, LOGGED]
    answered_exact: Annotated[
        float | None,
        Metric(
            "answered",
            "exact match on the questions that have an answer",
            unit="share",
            better="higher",
            brief=True,
            card="exact match on questions that have an answer",
        ),
    ]
    answered_f1: Annotated[float | None, LOGGED]
    no_answer: Annotated[
        float | None,
        Metric(
            "no answer",
            "share of the questions without an answer that get none",
            unit="share",
            better="higher",
            brief=True,
            card="share of the questions without an answer that get none",
        ),
    ]


class KindOfQuestion(Measured):
    """Questions that begin with one word."""

    word: str
    questions: int
    exact: float
    f1: float


class ReaderPage(Page):
    """The page of one reader.

    Attributes:
        options: of the questions on average, where it chooses among them: such a rung has an easier task.
        right: F₁ of each test question; rungs are compared by it.
    """

    trained_on = "rows"
    sampled = "questions"
    item_figure = "f1"
    detail: ClassVar[Excluded] = {"right": True}

    parameters: Annotated[int, parameter_count("numbers of the model")]
    work: Annotated[Work | None, Metrics()] = None
    options: Annotated[
        float | None,
        Metric(
            "options",
            "mean number of options to choose from. A dash: the reader finds a span, which is harder, so the two kinds"
            " are not comparable",
            digits=1,
            brief=True,
            after="no answer",
            logged=False,
        ),
    ] = None
    threshold: float | None = None
    scores: Annotated[ReaderScores, Metrics()]
    kinds: list[KindOfQuestion]
    right: list[float] = Field(default_factory=list)

    @property
    def items(self) -> int | None:
        """Test questions."""
        return self.scores.questions

    @property
    def item_scores(self) -> Sequence[float]:
        """F₁ of each test question."""
        return self.right

    @property
    def judged_among(self) -> str:
        """Readers that find spans, and readers that choose among options."""
        return SPANS if self.options is None else OPTIONS


def evaluate_reader(
    model: Reader, test: Sequence[Question], *, name: str, table: list[Prediction] | None = None
) -> ReaderPage:
    """Answer the test questions; deterministic.

    Args:
        name: of the rung.
        table: where it is given, what was answered to each question is added to it.

    Raises:
        InputError: there is none.
    """
    if not test:
        raise InputError("reading: no test question; see the report of the stage `corpus`")
    answers = [some[0] for some in model.answers(test)]
    exact = np.array([exact_match(result.text, own.gold()) for result, own in zip(answers, test, strict=True)])  # (N,)
    f1 = np.array([word_f1(result.text, own.gold()) for result, own in zip(answers, test, strict=True)])  # (N,)
    if table is not None:
        table += [
            Prediction(
                item=row,
                text=own.question,
                truth=" | ".join(dict.fromkeys(own.gold())),
                prediction=result.text,
                right=bool(exact[row]),
                score=rounded(f1[row]),
                probability=None if result.probability is None else rounded(result.probability),
                context=own.context,
                id=own.id,
            )
            for row, (result, own) in enumerate(zip(answers, test, strict=True))
        ]
    return ReaderPage(
        name=name,
        approach=model.approach,
        parameters=model.number_of_parameters(),
        options=float(np.mean([len(question.options) for question in test])) if model.chooses else None,
        threshold=model.threshold,
        scores=scores_of(exact, f1, np.array([bool(question.answers) for question in test])),
        kinds=_kinds(test, exact, f1),
        right=[round(float(value), 6) for value in f1],
    )


def scores_of(exact: np.ndarray, f1: np.ndarray, answerable: np.ndarray) -> ReaderScores:
    """From each question's exact match and F₁, (N,) each, and whether it has an answer, (N,) bool."""
    answerable_count = int(answerable.sum())
    return ReaderScores(
        questions=len(exact),
        exact=float(exact.mean()),
        exact_interval=share_interval(int(exact.sum()), len(exact)),
        f1=float(f1.mean()),
        f1_interval=ratio_interval(f1, np.ones_like(f1)),
        answerable=answerable_count,
        answered_exact=float(exact[answerable].mean()) if answerable_count else None,
        answered_f1=float(f1[answerable].mean()) if answerable_count else None,
        no_answer=float(exact[~answerable].mean()) if answerable_count < len(exact) else None,
    )


def _kinds(test: Sequence[Question], exact: np.ndarray, f1: np.ndarray) -> list[KindOfQuestion]:
    """By the first word of the question, the most frequent first."""
    words = [(question.question.split() or [""])[0].lower() for question in test]
    common = [word for word, _ in Counter(words).most_common(KINDS)]
    kinds = np.array([word if word in common else "other" for word in words])
    return [
        KindOfQuestion(
            word=word,
            questions=int((kinds == word).sum()),
            exact=float(exact[kinds == word].mean()),
            f1=float(f1[kinds == word].mean()),
        )
        for word in dict.fromkeys([*common, *kinds.tolist()])
    ]
