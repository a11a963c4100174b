"""Questions about a text (SQuAD): their tables, and when an answer is right.

| column | what |
| --- | --- |
| id | of the question, where it has one |
| context, question | the paragraph, and what is asked of it |
| answers, starts | what is right, and the character of the paragraph at which each begins; none: no answer there |
| options | the answers to choose from, where the corpus offers some; "" among them: that there is none |

An answer is right as SQuAD's own script counts it, by exact match or by the F₁ of its words:

    normalised   lower case; without !"#$… ; without the words a, an, the; single spaces
    exact        1 where the normalised texts are equal, else 0
    F₁           2 P R / (P + R) of the words in common, each as often as both texts have it; where one of the texts has
                 no word, 1 if neither has, else 0

Of several right answers the best one counts (Rajpurkar et al. 2016, section 6.1; 2018 for questions without an answer,
whose one right answer is ""). Each measure takes its own maximum.
"""

import hashlib
import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa

from langladder.ground.errors import InputError
from langladder.text.storage.shards import SPLITS
from langladder.text.storage.tables import owner_of, read_batches, read_table, write_rows

QUESTIONS = pa.schema(
    [
        *(("id", pa.string()), ("context", pa.string()), ("question", pa.string())),
        *(("answers", pa.list_(pa.string())), ("starts", pa.list_(pa.int32())), ("options", pa.list_(pa.string()))),
    ]
)
QUESTION_TABLES = owner_of("tables of questions", (f"{split}.parquet" for split in SPLITS), QUESTIONS)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


class Answer(NamedTuple):
    """Characters `start` … of a paragraph."""

    text: str
    start: int


class Question(NamedTuple):
    """A question about a paragraph. No answers: the paragraph has none, or none is known."""

    context: str
    question: str
    answers: tuple[Answer, ...] = ()
    options: tuple[str, ...] = ()
    id: str = ""

    @classmethod
    def of_row(cls, row: dict[str, Any], where: str) -> Self:
        """A row of a table.

        Raises:
            InputError: it is no question, or an answer is not at its offset (names `where`).
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
    found_text = context[start : start + len(text)] if start >= 0 else ""
    found = context.find(text)
    hint = f"the first such text begins at {found}" if found >= 0 else "the context does not have it"
    return (
        f"the answer {text[:60]!r} is not at character {start} of its context, where the text is {found_text[:60]!r}; "
        f"{hint}"
    )


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
    return [Question.of_row(row, f"{path}, row {number}") for number, row in enumerate(rows)]


def count_questions(path: Path) -> dict[str, int]:
    """For the data report: how many questions a split has, of how many paragraphs, and how many have no answer."""
    contexts, questions, unanswerable = set[bytes](), 0, 0
    for batch in read_batches(path, QUESTIONS):
        for row in batch.to_pylist():
            contexts.add(hashlib.blake2b(row["context"].encode(), digest_size=8).digest())
            questions += 1
            unanswerable += not row["answers"]
    return {"questions": questions, "paragraphs": len(contexts), "unanswerable": unanswerable}


# -- when an answer is right -------------------------------------------------------------------------------------


def normalised(text: str) -> str:
    """Lower case, no punctuation, no articles, single spaces.

    >>> normalised("The Franc,  of a  country.")
    'franc of country'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, gold: Sequence[str]) -> float:
    """1 or 0; the best over the right answers."""
    return float(normalised(answer) in {normalised(one) for one in not_blank(gold)})


def word_f1(answer: str, gold: Sequence[str]) -> float:
    """From 0 to 1; the best over the right answers."""
    return max(_f1(normalised(answer).split(), normalised(one).split()) for one in not_blank(gold))


def not_blank(gold: Sequence[str]) -> list[str]:
    """The right answers that have a word after normalisation; [""] where none has."""
    return [one for one in gold if normalised(one)] or [""]


def _f1(answer: list[str], right: list[str]) -> float:
    if not answer or not right:
        return float(answer == right)
    both = sum((Counter(answer) & Counter(right)).values())
    # F₁ = 2 P R / (P + R),  P = both / |answer|,  R = both / |right|
    return 2 * both / (len(answer) + len(right))


def best_threshold(scores: np.ndarray, answered: np.ndarray, silent: np.ndarray) -> float:
    """τ that makes most of Σ (answered where score > τ, else silent), in its middle where several do.

    Args:
        scores: (N,) how sure a reader is that its answer is better than none.
        answered, silent: (N,) its score for its answer, and for the answer that there is none.
    """
    order = np.argsort(-scores, kind="stable")
    gains = np.concatenate([[0.0], np.cumsum((answered - silent)[order])])  # (N + 1,) of the n surest answered
    ranked = scores[order].astype(np.float64)
    # of equal scores all are answered, or none
    cuts = np.concatenate([[True], ranked[1:] != ranked[:-1], [True]]) if len(ranked) else np.ones(1, dtype=bool)
    number = int(np.flatnonzero(cuts)[np.argmax(gains[cuts].round(9))])
    if not len(ranked):
        return 0.0
    if number == 0:
        return float(ranked[0]) + 1.0
    return float(ranked[-1]) - 1.0 if number == len(ranked) else float(ranked[number - 1] + ranked[number]) / 2
