"""Questions about a text (SQuAD): their tables, and when an answer is right.

| column | what |
| --- | --- |
| id | of the question, where it has one |
| context, question | the paragraph, and the question about it |
| answers, starts | the right answers, and the character at which each begins; none: no answer in the paragraph |
| options | the answers to choose from, if the corpus has them; "": there is no answer |

An answer is right as SQuAD's own script counts it, by exact match or by the F₁ of its words:

    normalised   lower case; without !"#$… ; without the words a, an, the; single spaces
    exact        1 where the normalised texts are equal, else 0
    F₁           2 P R / (P + R) of the words in common, each as often as both texts have it; where one of the texts has
                 no word, 1 if neither has, else 0

Of several right answers the best one counts (Rajpurkar et al. 2016, section 6.1; 2018 for questions without an answer,
whose one right answer is ""). Each measure takes its own maximum.

Files are SQuAD's JSON, or JSON lines of a question each:

    .json    {"data": [{"paragraphs": [{"context": …, "qas": [{"question": …, "answers": [{"text": …,
             "answer_start": …}], "id": …, "options": […]}]}]}]}
    .jsonl   {"context": …, "question": …, "answers": [{"text": …, "start": …}], "id": …, "options": […]}

`start` and `answer_start` are the same, and {"text": […], "start": […]} is read as well. Without answers (`[]`, or
`is_impossible`) a question has none in its paragraph. Errors name file and line, in SQuAD's JSON the path to the
question. A paragraph is in one split only: a corpus without splits is cut by the hash of the paragraph, and training
questions about a held-out paragraph are left out.
"""

import hashlib
import re
import shutil
import string
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from langladder.ground.atomic import atomic_folder
from langladder.ground.errors import InputError
from langladder.ground.remote import File, located
from langladder.text.clean.cleaning import Cleaned, CleanedRows, CleanRowsConfig, RowType, cut_by_documents
from langladder.text.clean.splitting import SplitConfig
from langladder.text.clean.steps import Book
from langladder.text.read.files import FileSource, ending, files_of, json_rows, skipped
from langladder.text.read.lines import FileFacts, ReadReport, text_field, whole_json
from langladder.text.storage.shards import SPLITS, owner_of
from langladder.text.storage.tables import Row, read_batches, read_table, write_rows

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
    def of_row(cls, row: Row, where: str) -> Self:
        """A row of a table.

        Raises:
            InputError: it is no question, or an answer is not at its offset (names `where`).
        """
        answers = tuple(Answer(*pair) for pair in zip(row["answers"] or [], row["starts"] or [], strict=False))
        question = cls(row["context"], row["question"], answers, tuple(row["options"] or ()), row["id"] or "")
        if why := question.wrong():
            raise InputError(f"{where}: {why}")
        return question

    def row(self) -> Row:
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
        """The right answers; "" if there is none."""
        return [answer.text for answer in self.answers] or [""]

    def wrong(self) -> str | None:
        """The error in this question; None if it is valid."""
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
            return f"options: {list(self.options)!r}; two or more different ones are needed"
        right = [option for option in self.options if option in self.gold()]
        if len(right) != 1:
            return (
                f'options: {len(right)} of {list(self.options)!r} are answers, one is needed ("" for a question '
                "without an answer)"
            )
        return None


def _misplaced(context: str, text: str, start: int) -> str:
    found_text = context[start : start + len(text)] if start >= 0 else ""
    result = context.find(text)
    hint = f"the first such text begins at {result}" if result >= 0 else "the context does not have it"
    return (
        f"the answer {text[:60]!r} is not at character {start} of its context, where the text is {found_text[:60]!r}; "
        f"{hint}"
    )


def write_questions(path: Path, questions: Iterable[Question]) -> int:
    """Write a split, atomically; returns how many questions there are."""
    return write_rows(path, QUESTIONS, (question.row() for question in questions), _size)


def _size(row: Row) -> int:
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
    return float(normalised(answer) in {normalised(answer) for answer in not_blank(gold)})


def word_f1(answer: str, gold: Sequence[str]) -> float:
    """From 0 to 1; the best over the right answers."""
    return max(_f1(normalised(answer).split(), normalised(entry).split()) for entry in not_blank(gold))


def not_blank(gold: Sequence[str]) -> list[str]:
    """The right answers that have a word after normalisation; [""] where none has."""
    return [answer for answer in gold if normalised(answer)] or [""]


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


LONGEST = 2**31 - 1  # bytes of a line: SQuAD is a single line


# ---- files


class QuestionSource(FileSource):
    """Files of questions, with the corpus' own splits or without."""

    endings: ClassVar[tuple[str, ...]] = ("json", "jsonl", "ndjson")

    max_line_bytes: int = Field(default=LONGEST, ge=1)
    validation: float = Field(default=0.1, gt=0, lt=0.5)  # share of the paragraphs, where the files are no splits
    test: float = Field(default=0.1, gt=0, lt=0.5)
    seed: int = Field(default=1, ge=0)  # of the splits

    @model_validator(mode="after")
    def _is_json(self) -> Self:
        if self.format not in ("auto", "jsonl"):
            raise ValueError(f"format: {self.format!r}; questions are read from .json and .jsonl: auto, or jsonl")
        return self


def read_question_files(source: QuestionSource, out_folder: Path) -> ReadReport:
    """Read a corpus of questions into `out_folder`: train, validation, test.parquet.

    Returns:
        Counts by split, what was left out, files read.

    Raises:
        InputError: missing path, empty glob, too few paragraphs to split; a file that is not JSON, an empty context or
            question, an answer that is not at its offset (names file and line).
    """
    facts = FileFacts()
    config = CleanRowsConfig(split=SplitConfig(validation=source.validation, test=source.test))
    with atomic_folder(out_folder, QUESTION_TABLES) as folder:
        (raw := folder / "raw").mkdir()
        tables = []
        for split, files in files_of(source, source.files).items():
            tables.append((split, raw / f"{split}.parquet"))
            if not write_questions(
                tables[-1][1], (question for file in files for question in _read(file, source, facts))
            ):
                raise InputError(f"{source.path}: split {split!r} holds no question{facts.no_text()}")
        rows = CleanedRows(tables, folder, QUESTION, config, source.seed)
        rows.drop_duplicates()
        rows.cut(partial(cut_by_documents, unit="paragraphs"))
        rows.drop_held_out("questions: every training paragraph is in validation or test, too")
        rows.write()
        shutil.rmtree(raw)
        counts = {split: count_questions(folder / f"{split}.parquet") for split in SPLITS}
    dropped = rows.book.dropped["context_is_held_out"]
    report: ReadReport = {"splits": counts, "held_out_paragraphs_dropped": dropped, **facts.report()}
    return {**report, **skipped(located(source.path), facts, source.endings)}


def questions_in(source: QuestionSource) -> list[Question]:
    """All questions of the files, uncut. Raises InputError as `read_question_files` does."""
    facts, results = FileFacts(), files_of(source, source.files)
    return [question for files in results.values() for file in files for question in _read(file, source, facts)]


def unchanged_questions(rows: list[Row], _config: CleanRowsConfig, _book: Book) -> Iterator[Cleaned]:
    """Questions as they are; a training question must not share its paragraph with a held-out one."""
    for row in rows:
        context = row["context"]
        yield Cleaned(row, None, key=list(row.values()), unshared=(context,), split_by=context)


QUESTION = RowType(QUESTIONS, ("context",), unchanged_questions, itemgetter("question"))


def _read(file: File, source: QuestionSource, facts: FileFacts) -> Iterator[Question]:
    if source.format == "jsonl" or ending(file) != "json":
        for where, row in json_rows(file, source, facts):
            yield question_of(row, where)
        return
    value = whole_json(file, facts, source.max_line_bytes, source.encoding)
    if file not in facts.empty:
        yield from _squad(file, value)


def _squad(file: File, value: Any) -> Iterator[Question]:
    """The questions of SQuAD's JSON."""
    for a, article in enumerate(_list(value, "data", f"{file}")):
        above = f"{file}: data[{a}]"
        for p, paragraph in enumerate(_list(article, "paragraphs", above)):
            where = f"{above}.paragraphs[{p}]"
            context = text_field(paragraph, "context", where)
            for q, entry in enumerate(_list(paragraph, "qas", where)):
                there = f"{where}.qas[{q}]"
                if not isinstance(entry, dict):
                    raise InputError(f"{there}: not an object")
                yield question_of(entry | {"context": context}, there)


def _list(value: Any, key: str, where: str) -> list[Any]:
    if not isinstance(value, dict) or not isinstance(value.get(key), list):
        have = ", ".join(map(str, value)) if isinstance(value, dict) else f"type {type(value).__name__}"
        raise InputError(f"{where}: has no list {key!r} (SQuAD's form: data, paragraphs, qas); it has {have[:100]}")
    entries: list[Any] = value[key]
    return entries


def question_of(row: Any, where: str) -> Question:
    """A question from an object with context, question and answers.

    Raises:
        InputError: a field is missing or of another kind, empty, or an answer is not where it says (names `where`).
    """
    context, question = text_field(row, "context", where), text_field(row, "question", where)
    if row.get("is_impossible") is True:  # SQuAD 2: `answers` is empty, the plausible ones are wrong
        answers: tuple[Answer, ...] = ()
    elif "answers" not in row:
        raise InputError(f"{where}: has no field 'answers'; [] says that the context has no answer")
    else:
        answers = tuple(dict.fromkeys(_answers(row["answers"], where)))
    options = row.get("options") or []
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise InputError(f"{where}: options is not a list of texts")
    name = row.get("id", "")
    result = Question(context, question, answers, tuple(options), name if isinstance(name, str) else str(name))
    if why := result.wrong():
        raise InputError(f"{where}: {why}")
    return result


def _answers(value: Any, where: str) -> Iterator[Answer]:
    if isinstance(value, dict):  # {"text": […], "start": […]}
        starts = value.get("start", value.get("answer_start"))
        if not isinstance(value.get("text"), list) or not isinstance(starts, list) or len(starts) != len(value["text"]):
            raise InputError(f"{where}: answers: `text` and `start` are two lists of one length")
        value = [{"text": text, "start": start} for text, start in zip(value["text"], starts, strict=True)]
    if not isinstance(value, list):
        raise InputError(f"{where}: answers is not a list")
    for answer in value:
        text = text_field(answer, "text", f"{where}: answers")
        start = answer.get("start", answer.get("answer_start"))
        if type(start) is not int:
            raise InputError(f"{where}: the answer {text[:60]!r} has no whole number `start`, its first character")
        yield Answer(text, start)
