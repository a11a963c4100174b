"""Readers judged: exact match and F₁ of their answers to test questions, the best over what is right."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from langladder.evaluation.bootstrap import ratio_interval, share_interval
from langladder.evaluation.reader_page import AnsweredQuestion, KindOfQuestion, ReaderPage, ReaderScores
from langladder.ground.errors import InputError
from langladder.models.reading.reader import Found, Reader
from langladder.text.labelled.questions import Question, exact_match, word_f1

SHOWN = 8  # questions, half of them with mistakes where there are so many
KINDS = 8  # first words of questions that are told apart; the rest is "other"
AROUND = 400  # characters of a paragraph that are shown before and after an answer


def evaluate_reader(model: Reader, test: Sequence[Question], *, name: str) -> ReaderPage:
    """Answer the test questions; deterministic.

    Args:
        name: of the rung.

    Raises:
        InputError: there is none.
    """
    if not test:
        raise InputError("reading: no test question; see the report of the stage `corpus`")
    found = [some[0] for some in model.answers(test)]
    exact = np.array([exact_match(one.text, own.gold()) for one, own in zip(found, test, strict=True)])  # (N,)
    f1 = np.array([word_f1(one.text, own.gold()) for one, own in zip(found, test, strict=True)])  # (N,)
    return ReaderPage(
        name=name,
        approach=model.approach,
        parameters=model.number_of_parameters(),
        options=float(np.mean([len(one.options) for one in test])) if model.chooses else None,
        threshold=model.threshold,
        scores=scores_of(exact, f1, np.array([bool(one.answers) for one in test])),
        kinds=_kinds(test, exact, f1),
        right=[round(float(value), 6) for value in f1],
        shown=_shown(test, found, exact, f1),
    )


def scores_of(exact: np.ndarray, f1: np.ndarray, answerable: np.ndarray) -> ReaderScores:
    """From each question's exact match and F₁, (N,) each, and whether it has an answer, (N,) bool."""
    asked = int(answerable.sum())
    return ReaderScores(
        questions=len(exact),
        exact=float(exact.mean()),
        exact_interval=share_interval(int(exact.sum()), len(exact)),
        f1=float(f1.mean()),
        f1_interval=ratio_interval(f1, np.ones_like(f1)),
        answerable=asked,
        answered_exact=float(exact[answerable].mean()) if asked else None,
        answered_f1=float(f1[answerable].mean()) if asked else None,
        no_answer=float(exact[~answerable].mean()) if asked < len(exact) else None,
    )


def _kinds(test: Sequence[Question], exact: np.ndarray, f1: np.ndarray) -> list[KindOfQuestion]:
    """By the first word of the question, the most frequent first."""
    words = [(one.question.split() or [""])[0].lower() for one in test]
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


def _shown(
    test: Sequence[Question], found: Sequence[Found], exact: np.ndarray, f1: np.ndarray
) -> list[AnsweredQuestion]:
    """The first mistakes, up to half, then the first that are right, in the order of the test."""
    wrong = np.flatnonzero(exact == 0)[: SHOWN // 2].tolist()
    chosen = wrong + np.flatnonzero(exact == 1)[: SHOWN - len(wrong)].tolist()
    return [_answered(test[i], found[i], bool(exact[i]), float(f1[i])) for i in sorted(chosen)]


def _answered(one: Question, found: Found, exact: bool, f1: float) -> AnsweredQuestion:
    start = max(found.start, 0)
    end = start + (len(found.text) if found.start >= 0 else 0)
    return AnsweredQuestion(
        before=one.context[max(0, start - AROUND) : start],
        said=found.text,
        after=one.context[end : end + AROUND],
        question=one.question,
        gold=list(dict.fromkeys(one.gold())),
        exact=exact,
        f1=f1,
    )
