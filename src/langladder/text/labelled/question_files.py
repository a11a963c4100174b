"""Readers of questions about texts: SQuAD's JSON, or JSON lines of a question each.

    .json    {"data": [{"paragraphs": [{"context": …, "qas": [{"question": …, "answers": [{"text": …,
             "answer_start": …}], "id": …, "options": […]}]}]}]}
    .jsonl   {"context": …, "question": …, "answers": [{"text": …, "start": …}], "id": …, "options": […]}

`start` and `answer_start` are one thing, and {"text": […], "start": […]} is read as well. Without answers (`[]`, or
`is_impossible`) a question has none in its paragraph. Errors name file and line, in SQuAD's JSON the path to the
question. A paragraph is in one split only: a corpus without splits is cut by the hash of the paragraph, and training
questions about a held-out paragraph are left out.
"""

import shutil
from collections.abc import Iterator
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from langladder.ground.atomic import atomic_folder
from langladder.ground.errors import InputError
from langladder.ground.remote import File, located
from langladder.text.clean.rows import Cleaned, CleanedRows, CleanRowsConfig, Row, RowType, cut_by_place
from langladder.text.clean.splitting import SplitConfig
from langladder.text.clean.steps import Book
from langladder.text.labelled.questions import (
    QUESTION_TABLES,
    QUESTIONS,
    Answer,
    Question,
    count_questions,
    write_questions,
)
from langladder.text.read.lines import FileFacts, text_field
from langladder.text.read.readers import json_rows, whole_json
from langladder.text.read.sources import FileSource, ending, files_of, skipped
from langladder.text.storage.shards import SPLITS

LONGEST = 2**31 - 1  # bytes of a line: SQuAD is one


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


def read_question_files(source: QuestionSource, out_folder: Path) -> dict[str, Any]:
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
            if not write_questions(tables[-1][1], (one for file in files for one in _read(file, source, facts))):
                raise InputError(f"{source.path}: split {split!r} holds no question{facts.no_text()}")
        rows = CleanedRows(tables, folder, QUESTION, config, source.seed)
        rows.drop_duplicates()
        rows.cut(partial(cut_by_place, unit="paragraphs"))
        rows.drop_held_out("questions: every training paragraph is in validation or test, too")
        rows.write()
        shutil.rmtree(raw)
        counts = {split: count_questions(folder / f"{split}.parquet") for split in SPLITS}
    dropped = rows.book.dropped["context_is_held_out"]
    report = {"splits": counts, "held_out_paragraphs_dropped": dropped, **facts.report()}
    return report | skipped(located(source.path), facts, source.endings)


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
    value = whole_json(file, source, facts)
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
        have = ", ".join(map(str, value)) if isinstance(value, dict) else f"a {type(value).__name__}"
        raise InputError(f"{where}: has no list {key!r} (SQuAD's form: data, paragraphs, qas); it has {have[:100]}")
    found: list[Any] = value[key]
    return found


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
    if not isinstance(options, list) or not all(isinstance(one, str) for one in options):
        raise InputError(f"{where}: options is not a list of texts")
    name = row.get("id", "")
    found = Question(context, question, answers, tuple(options), name if isinstance(name, str) else str(name))
    if why := found.wrong():
        raise InputError(f"{where}: {why}")
    return found


def _answers(value: Any, where: str) -> Iterator[Answer]:
    if isinstance(value, dict):  # {"text": […], "start": […]}
        starts = value.get("start", value.get("answer_start"))
        if not isinstance(value.get("text"), list) or not isinstance(starts, list) or len(starts) != len(value["text"]):
            raise InputError(f"{where}: answers: `text` and `start` are two lists of one length")
        value = [{"text": text, "start": start} for text, start in zip(value["text"], starts, strict=True)]
    if not isinstance(value, list):
        raise InputError(f"{where}: answers is not a list")
    for one in value:
        text = text_field(one, "text", f"{where}: answers")
        start = one.get("start", one.get("answer_start"))
        if type(start) is not int:
            raise InputError(f"{where}: the answer {text[:60]!r} has no whole number `start`, its first character")
        yield Answer(text, start)
