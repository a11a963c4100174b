"""What the report is made of, read from the files that the stages leave and checked.

Files that every run leaves must exist; curves may be missing (counted rungs have none), and so may any timing.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from langladder.artefacts import read_json
from langladder.errors import InputError
from langladder.reporting.claims import Claim
from langladder.reporting.rungs import (
    EmbeddingRung,
    LanguageModelRung,
    Meta,
    Rung,
    SequenceRung,
    Stage,
    Timing,
    TranslatorRung,
)

Task = Literal["embedding", "lm", "translator", "sequence"]
Key = tuple[str, str]  # (task, rung)
SIDES = ("text", "parallel")
CLAIMS = ("experiment", "probe")


@dataclass(frozen=True)
class CurvePoint:
    """One row of a learning curve; losses in nats, BLEU from 0 to 100; None where nothing was measured."""

    step: int
    train_loss: float | None = None
    validation_loss: float | None = None
    lr: float | None = None
    validation_bleu: float | None = None


MEASURED = [column.name for column in fields(CurvePoint) if column.name != "step"]


@dataclass(frozen=True)
class ReportInputs:
    """Everything on the page. Rungs stand in the order of the ladder."""

    meta: Meta
    lms: list[LanguageModelRung]
    embeddings: list[EmbeddingRung]
    translators: list[TranslatorRung]
    curves: dict[Key, list[CurvePoint]] = field(default_factory=dict)
    timings: dict[Key, Timing] = field(default_factory=dict)
    years: dict[Key, int] = field(default_factory=dict)
    sequences: list[SequenceRung] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    dag: list[Stage] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)  # side → data report
    tokenizers: dict[str, Any] = field(default_factory=dict)  # side → tokenizer report

    def rungs(self, task: Task) -> Sequence[Rung]:
        """The rungs of one task."""
        by_task: dict[Task, Sequence[Rung]] = {
            "lm": self.lms,
            "embedding": self.embeddings,
            "translator": self.translators,
            "sequence": self.sequences,
        }
        return by_task[task]

    def timing(self, task: Task, rung: str) -> Timing:
        """What a rung's training cost; all `None` where nobody measured it."""
        return self.timings.get((task, rung), Timing())

    @property
    def floor(self) -> float | None:
        """The perplexity a word that no model can beat, where the corpus knows it."""
        floors = (rung.scores.floor_perplexity_per_word for rung in self.lms)
        return next((floor for floor in floors if floor is not None), None)


P = TypeVar("P", bound=BaseModel)


def load_report(
    root: Path,
    rungs: Mapping[str, Sequence[str]],
    timings: Mapping[Key, Mapping[str, Any] | None],
    dag: Iterable[Mapping[str, Any]],
    meta: Mapping[str, Any],
    years: Mapping[str, Mapping[str, int]] | None = None,
    titles: Mapping[str, Mapping[str, str]] | None = None,
) -> ReportInputs:
    """Read and check everything below `root`, the folder that the pipeline ran in.

    Args:
        rungs: the ladder: task (embedding, lm, translator, sequence, experiment, probe) → names in order.
        timings: (task, rung) → fields of `Timing`; any of it may be missing.
        dag: jobs of the pipeline, each with the fields of `Stage`.
        meta: fields of `Meta`.
        years: task → rung → when it came into the world.
        titles: task → rung → what people call it; a rung without one is called by its name.

    Raises:
        InputError: a file is missing or holds something else (names the file, the key and the stage that makes it).
    """
    reports = root / "reports" / "rungs"
    curves = {
        (task, name): read_curve(path)
        for task, names in rungs.items()
        for name in names
        if (path := root / "curves" / task / f"{name}.csv").is_file()
    }

    def pages(model: type[P], task: str) -> list[P]:
        named = (titles or {}).get(task, {})
        return [_load(model, reports, task, name, named.get(name)) for name in rungs.get(task, ())]

    lms = pages(LanguageModelRung, "lm")
    return ReportInputs(
        meta=_check(Meta, meta, "meta"),
        lms=lms,
        embeddings=pages(EmbeddingRung, "embedding") + [rung.vectors for rung in lms if rung.vectors is not None],
        translators=pages(TranslatorRung, "translator"),
        sequences=pages(SequenceRung, "sequence"),
        claims=[
            _check(Claim, _read(reports / ladder / f"{name}.json", f"{ladder}@{name}"), f"{ladder} {name}")
            for ladder in CLAIMS
            for name in rungs.get(ladder, ())
        ],
        curves=curves,
        timings={key: _check(Timing, value or {}, f"timings {key}") for key, value in timings.items()},
        years={(task, name): year for task, dated in (years or {}).items() for name, year in dated.items()},
        dag=[_check(Stage, stage, "dag") for stage in dag],
        data={side: _files_read(root, side) | _clean_report(root, side) for side in SIDES},
        tokenizers={side: _read(root / "metrics" / "tokenize" / f"{side}.json", f"tokenize@{side}") for side in SIDES},
    )


def _clean_report(root: Path, side: str) -> dict[str, Any]:
    return dict(_read(root / "metrics" / "clean" / f"{side}.json", f"clean@{side}"))


def _files_read(root: Path, side: str) -> dict[str, Any]:
    """How many files were read and which were not, of a corpus in files; {} of others."""
    path = root / "metrics" / "corpus" / f"{side}.json"
    return {key: value for key, value in read_json(path).items() if key != "splits"} if path.is_file() else {}


def read_curve(path: Path) -> list[CurvePoint]:
    """Read a learning curve: `step` and any of `MEASURED`; an empty cell is not measured.

    Raises:
        InputError: a cell is no number (names file, line and column).
    """
    points = []
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        for row in reader:
            numbers: dict[str, float | None] = {}
            for column in ("step", *MEASURED):
                try:
                    numbers[column] = float(row[column]) if row.get(column) else None
                except ValueError as error:
                    raise InputError(f"{path}:{reader.line_num}: {column} is {row[column]!r}, not a number") from error
            if (step := numbers.pop("step")) is None:
                raise InputError(f"{path}:{reader.line_num}: no step; a curve's columns are step, train_loss, …")
            points.append(CurvePoint(int(step), **numbers))
    return points


def _load(model: type[P], folder: Path, task: str, name: str, title: str | None) -> P:
    path = folder / task / f"{name}.json"
    page = _read(path, f"evaluate_{task}@{name}")
    return _check(model, {**page, "title": title} if title and isinstance(page, Mapping) else page, str(path))


def _read(path: Path, stage: str) -> Any:
    if not path.is_file():
        raise InputError(f"{path}: no such file; it is made by the stage {stage} (run `dvc repro {stage}`)")
    return read_json(path)


def _check(model: type[P], value: Any, where: str) -> P:
    try:
        return model.model_validate(dict(value) if isinstance(value, Mapping) else value)
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, item['loc'])) or 'value'}: {item['msg']}" for item in error.errors())
        raise InputError(f"{where}: {'; '.join(problems)}") from error
