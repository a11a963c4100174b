"""Questions about a text, as tables: a paragraph, a question, the answers that stand in it (SQuAD's form).

| column | what |
| --- | --- |
| id | of the question, where it has one |
| context, question | the paragraph, and what is asked of it |
| answers, starts | what is right, and the character of the paragraph at which each begins; none: no answer there |
| options | the answers to choose from, where the corpus offers some; "" among them: that there is none |
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Self

import pyarrow as pa

from langladder.errors import InputError
from langladder.text.storage.tables import SPLITS, owner_of, read_table, write_rows

QUESTIONS = pa.schema(
    [
        *(("id", pa.string()), ("context", pa.string()), ("question", pa.string())),
        *(("answers", pa.list_(pa.string())), ("starts", pa.list_(pa.int32())), ("options", pa.list_(pa.string()))),
    ]
)


QUESTION_TABLES = owner_of("tables of questions", (f"{split}.parquet" for split in SPLITS), QUESTIONS)


class Answer(NamedTuple):
    """Characters `start` … of a paragraph."""

    text: str
    start: int


class Question(NamedTuple):
    """A question about a paragraph. No answers: none stands there, or none is known."""

    context: str
    question: str
    answers: tuple[Answer, ...] = ()
    options: tuple[str, ...] = ()
    id: str = ""

    @classmethod
    def of_row(cls, row: dict[str, Any], where: str) -> Self:
        """A row of a table.

        Raises:
            InputError: it is no question, or an answer does not stand where it says (names `where`).
        """
        answers = tuple(Answer(*pair) for pair in zip(row["answers"] or [], row["starts"] or [], strict=False))
        found = cls(row["context"], row["question"], answers, tuple(row["options"] or ()), row["id"] or "")
        if why := found.wrong():
            raise InputError(f"{where}: {why}")
        return found

    def row(self) -> dict[str, Any]:
        """As a row of a table."""
        return {
            "id": self.id,
            "context": self.context,
            "question": self.question,
            "answers": [answer.text for answer in self.answers],
            "starts": [answer.start for answer in self.answers],
            "options": list(self.options),
        }

    def gold(self) -> list[str]:
        """What is right: the answers' texts; "" where there is none."""
        return [answer.text for answer in self.answers] or [""]

    def wrong(self) -> str | None:
        """What is wrong with it, in words; None where nothing is."""
        for name, text in (("context", self.context), ("question", self.question)):
            if not text or not text.strip():
                return f"the {name} is empty"
        for text, start in self.answers:
            if not text.strip():
                return "an answer is empty; a question without an answer has none: answers: []"
            if start < 0 or self.context[start : start + len(text)] != text:
                return _misplaced(self.context, text, start)
        return self._strange_options()

    def _strange_options(self) -> str | None:
        if not self.options:
            return None
        if len(set(self.options)) < len(self.options) or len(self.options) < 2:
            return f"options: {list(self.options)!r}; two or more different ones are wanted"
        right = [option for option in self.options if option in self.gold()]
        if len(right) != 1:
            return (
                f'options: {len(right)} of {list(self.options)!r} are answers, one is wanted ("" for a question '
                "without an answer)"
            )
        return None


def _misplaced(context: str, text: str, start: int) -> str:
    there = context[start : start + len(text)] if start >= 0 else ""
    found = context.find(text)
    said = f"the first such text begins at {found}" if found >= 0 else "the context does not have it"
    return f"the answer {text[:60]!r} is not at character {start} of its context, where {there[:60]!r} stands; {said}"


def write_questions(path: Path, questions: Iterable[Question]) -> int:
    """Write a split, atomically; returns how many questions there are."""
    return write_rows(path, QUESTIONS, (one.row() for one in questions), _size)


def _size(row: dict[str, Any]) -> int:
    return len(row["context"]) + len(row["question"])


def read_questions(path: Path) -> list[Question]:
    """The questions of a split.

    Raises:
        InputError: as `read_table`; a row is no question (names file and row).
    """
    table = read_table(path, QUESTIONS)
    try:
        rows = table.cast(QUESTIONS).to_pylist()
    except (pa.ArrowException, ValueError) as error:
        raise InputError(f"{path}: columns of questions are text ({str(error)[:100]})") from error
    return [Question.of_row(row, f"{path}, row {place}") for place, row in enumerate(rows)]


def facts_of(splits: dict[str, list[Question]]) -> dict[str, dict[str, int]]:
    """For the data report: how many questions each split has, of how many paragraphs, and how many have no answer."""
    return {
        split: {
            "questions": len(splits[split]),
            "paragraphs": len({one.context for one in splits[split]}),
            "unanswerable": sum(not one.answers for one in splits[split]),
        }
        for split in SPLITS
    }
