"""Answer: what a paragraph says to a question, or which of some options it speaks for."""

from collections.abc import Sequence

from langladder.answers.requests import AnswerRequest
from langladder.models.reading.reader import Found, Reader
from langladder.text.labelled.questions import Question


def answer(reader: Reader, questions: Sequence[Question], request: AnswerRequest) -> list[list[Found]]:
    """The best answers to each question about its paragraph, best first; none to a blank one.

    Args:
        questions: of a reader that chooses (`reader.chooses`), each with two or more options; of others, with none.

    Raises:
        InputError: a question cannot be read, or is too long.
    """
    filled = [one for one in questions if one.question.strip()]
    found = iter(reader.answers(filled, request.best) if filled else [])
    return [next(found) if one.question.strip() else [] for one in questions]
