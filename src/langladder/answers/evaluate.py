"""Evaluate: a saved model on any file of texts with correct answers, with the metrics of the report.

Texts are normalised like the model's training text; none is removed.
"""

from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from pydantic import ValidationError

from langladder.answers.classify import normalised
from langladder.answers.kinds import kind_of
from langladder.answers.loading import read_classifier, read_model, read_reader, read_tagger, read_translator
from langladder.answers.requests import EvaluateRequest
from langladder.answers.score import score_file
from langladder.decoding.beam_search import BeamConfig
from langladder.evaluation.classifier import evaluate_classifier
from langladder.evaluation.language_model import line_row
from langladder.evaluation.page import figures, titles
from langladder.evaluation.predictions import Prediction
from langladder.evaluation.reader import evaluate_reader
from langladder.evaluation.tagger import evaluate_tagger
from langladder.evaluation.translation import Sentence, evaluate_translator
from langladder.families import families, kinds
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.text.labelled.label_files import LabelledSource, read_labels
from langladder.text.labelled.labelled import read_labelled, read_tagged
from langladder.text.labelled.questions import QuestionSource, questions_in
from langladder.text.labelled.tag_files import TagColumns, TaggedSource, read_tags
from langladder.text.read.pairs import ParallelSource, read_parallel
from langladder.text.storage.tables import PAIRS, read_table
from langladder.text.tokenize.encoding import framed

Judge = Callable[[Path, Path, EvaluateRequest, list[Prediction]], Any]
"""Evaluates the model of a folder on a file: (folder, file, request, table) → page; it adds the items to the table."""
S = TypeVar("S", bound=Config)
T = TypeVar("T")
NEEDS_TRAINING = ("unknown_words", "unknown_accuracy")
"""Figures that need the training text."""


class JudgedFile(NamedTuple):
    """A model's figures on a file, by their titles in the report, and one row per item."""

    kind: str
    figures: dict[str, float]
    table: list[Prediction]


def evaluate_file(folder: Path, file: Path, request: EvaluateRequest) -> JudgedFile:
    """Evaluate a model on a file: labelled texts, tagged sentences, questions, sentence pairs, or plain text.

    Raises:
        InputError: no such model or file, the file does not fit the model, or has a label that it does not know.
    """
    kind = kind_of(folder)
    judge = "" if kind is None else families()[kind].judge
    if kind is None or not judge:
        judged = ", ".join(family.name for family in kinds().values() if family.judge)
        raise InputError(f"{folder}: {'no saved model' if kind is None else f'a model of {kind}'}; supported: {judged}")
    table: list[Prediction] = []
    page = cast(Judge, resolve_name(judge))(folder, file, request, table)
    named = titles(type(page))
    values = {named.get(key, key): value for key, value in figures(page).items() if key not in NEEDS_TRAINING}
    return JudgedFile(kind, {key: value for key, value in values.items() if isinstance(value, int | float)}, table)


def judge_classifier(folder: Path, file: Path, request: EvaluateRequest, table: list[Prediction]) -> Any:
    """Labelled texts."""
    names: dict[str, object] = {"text": _column(request.text, "text"), "label": _column(request.label, "label")}
    second = None if request.second is None else _column(request.second, "second")
    model = read_classifier(folder)
    if model.multi_label != (request.multi_label is not None):
        mismatch = f"multi_label: {request.multi_label!r}, but it gives each text one label: leave multi_label out"
        lacking = 'it gives a text several labels: say how the file has them, multi_label "list" or a separator (";")'
        raise InputError(f"{folder}: {lacking if model.multi_label else mismatch}")
    names |= {"second": second, "delimiter": request.delimiter, "multi_label": request.multi_label}
    names |= {"id": None if request.id is None else _column(request.id, "id")}
    source = _source(LabelledSource, file, request, **names)
    examples = _read(read_labels, source, read_labelled)
    written = [
        normalised(model, example)._replace(label=example.label, labels=example.labels, id=example.id)
        for example in examples
    ]
    return evaluate_classifier(model, written, name=folder.name, table=table)


def judge_tagger(folder: Path, file: Path, request: EvaluateRequest, table: list[Prediction]) -> Any:
    """Tagged sentences."""
    form, tag = (_number(value, default) for value, default in ((request.text, 0), (request.label, 1)))
    source = _source(TaggedSource, file, request, columns=TagColumns(form=form, tag=tag))
    model = read_tagger(folder)
    test = [
        sentence._replace(words=tuple(map(model.normalisation.word, sentence.words)))
        for sentence in _read(read_tags, source, read_tagged)
    ]
    return evaluate_tagger(
        model, test, known={word for sentence in test for word in sentence.words}, name=folder.name, table=table
    )


def judge_reader(folder: Path, file: Path, request: EvaluateRequest, table: list[Prediction]) -> Any:
    """Questions with their paragraphs."""
    return evaluate_reader(
        read_reader(folder), questions_in(_source(QuestionSource, file, request)), name=folder.name, table=table
    )


def judge_translator(folder: Path, file: Path, request: EvaluateRequest, table: list[Prediction]) -> Any:
    """Pairs of sentences."""
    columns = [_number(value, default) for value, default in ((request.text, 0), (request.label, 1))]
    source = _source(ParallelSource, file, request, layout="auto", columns=columns)
    pairs = _read(read_parallel, source, lambda path: read_table(path, PAIRS).to_pylist())
    loaded = read_translator(folder)
    sources, targets = ([pair[side] for pair in pairs] for side in PAIRS.names)
    ids = zip(loaded.source.encode_lines(sources), loaded.target.encode_lines(targets), strict=True)
    sentences = [
        Sentence(np.asarray(framed(row)[1:]), framed(other), *texts)
        for (row, other), texts in zip(ids, zip(sources, targets, strict=True), strict=True)
    ]
    tokenizers = (loaded.source, loaded.target)
    return evaluate_translator(loaded.model, sentences, tokenizers, BeamConfig(), name=folder.name, table=table)


def judge_language_model(folder: Path, file: Path, request: EvaluateRequest, table: list[Prediction]) -> Any:
    """Plain text, which has no columns."""
    del request
    loaded = read_model(folder)
    scores = score_file(loaded, file)
    table += [line_row(number, line, loaded.tokenizer) for number, line in enumerate(scores.lines)]
    return scores.figures


def _source(kind: type[S], file: Path, request: EvaluateRequest, **settings: object) -> S:
    try:
        return kind(path=str(file), encoding=request.encoding, **settings)  # type: ignore[call-arg]
    except ValidationError as error:
        raise InputError("; ".join(str(part["msg"]) for part in error.errors())) from error


def _read(read: Callable[[Any, Path], object], source: Config, opened: Callable[[Path], T]) -> T:
    """The rows that a reader of the pipeline finds in one file."""
    with TemporaryDirectory() as folder:
        read(source, Path(folder) / "raw")
        return opened(Path(folder) / "raw" / "all.parquet")


def _column(value: str | None, default: str) -> int | str:
    """A column by its name, or by its number from 0."""
    if value is None:
        return default
    return int(value) if value.isdecimal() else value


def _number(value: str | None, default: int) -> int:
    if value is None:
        return default
    if not value.isdecimal():
        raise InputError(f"column {value!r}: such files have no column names; give a number from 0")
    return int(value)
