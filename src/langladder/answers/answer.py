"""Answer: the answer to a question about a paragraph, or the best of some options."""

from collections.abc import Sequence

from langladder.answers.requests import AnswerRequest
from langladder.models.reading.reader import Found, Reader
from langladder.text.labelled.questions import Question


def answer(reader: Reader, questions: Sequence[Question], request: AnswerRequest) -> list[list[Found]]:
    """The best answers to each question about its paragraph, best first; none for a blank question.

    Args:
        questions: for a reader that chooses (`reader.chooses`), each with two or more options; else without options.

    Raises:
        InputError: a question cannot be read, or is too long.
    """
    filled = [question for question in questions if question.question.strip()]
    results = iter(reader.answers(filled, request.best) if filled else [])
    return [next(results) if question.question.strip() else [] for question in questions]
