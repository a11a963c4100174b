"""What the report is made of, read from the files that the stages leave and checked.

Files that every run leaves must exist; curves may be missing (counted rungs have none), and so may any timing.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from langladder.faces.report.entries import MEASURED, CurvePoint, Entry, Meta, P, Stage, Timing, Told, told_apart
from langladder.families.family import Family
from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from langladder.text.words.segmentation import TEXT

Key = tuple[str, str]  # (family, rung)
SIDES = ("text", "parallel")
LABELLED = ("labels", "tags")  # where they have been cleaned


@dataclass(frozen=True)
class ReportInputs:
    """Everything on the page.

    Attributes:
        families: in the order of the page.
        rungs: family's name → its rungs in the order of the ladder.
        data, tokenizers: side → report of the stage clean, tokenize.
        languages: text, source and target (of pairs), labels, tags, questions, instructions → BCP 47 tag, where known.
    """

    meta: Meta
    families: Sequence[Family] = ()
    rungs: Mapping[str, Sequence[Entry[Any]]] = field(default_factory=dict)
    dag: Sequence[Stage] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    tokenizers: Mapping[str, Any] = field(default_factory=dict)
    languages: Mapping[str, str | None] = field(default_factory=dict)

    def of(self, family: str) -> Sequence[Entry[Any]]:
        """The rungs of a family."""
        return self.rungs.get(family, ())

    def judged_alike(self, family: str, page: type[P]) -> list[Entry[P]]:
        """The rungs of all families whose pages are of a kind, for the first family that has any; none for the others.

        So families that are judged alike (claims; language models, and those that grew from them) share a section.
        """
        found = {one.name: [rung for rung in self.of(one.name) if isinstance(rung.page, page)] for one in self.families}
        having = [name for name, rungs in found.items() if rungs]
        return told_apart(found) if having[:1] == [family] else []


def load_report(
    root: Path,
    families: Sequence[Family],
    told: Mapping[str, Mapping[str, Any]],
    timings: Mapping[Key, Mapping[str, Any]],
    dag: Iterable[Mapping[str, Any]],
    meta: Mapping[str, Any],
) -> ReportInputs:
    """Read and check everything below `root`, the folder that the pipeline ran in.

    Args:
        told: the ladder: family → rung, in order → fields of `Told`.
        timings: (family, rung) → fields of `Timing`; any of it may be missing.
        dag: jobs of the pipeline, each with the fields of `Stage`.
        meta: fields of `Meta`.

    Raises:
        InputError: a file is missing or holds something else (names the file, the key and the stage that makes it).
    """
    pages = {
        (family.name, name): checked_page(family, _read(root / path, stage_of(family, name)), path)
        for family in families
        for name in told.get(family.name, ())
        for path in [f"reports/rungs/{family.name}/{name}.json"]
    }
    entries = {
        (family, name): Entry(
            page,
            _check(Told, told[family][name], f"rungs.{family}.{name}"),
            _check(Timing, timings.get((family, name), {}), f"timings {family} {name}"),
            _curve(root / "curves" / family / f"{name}.csv"),
        )
        for (family, name), page in pages.items()
    }
    data = {
        side: _files_read(root, side) | _filtered(root, side) | _of_side(root, "clean", side) for side in _sides(root)
    }
    return ReportInputs(
        meta=_check(Meta, meta, "meta"),
        families=families,
        rungs=together(families, entries),
        dag=[_check(Stage, stage, "dag") for stage in dag],
        data=data,
        tokenizers={side: _of_side(root, "tokenize", side) for side in SIDES},
        languages=_languages(data),
    )


def _languages(data: Mapping[str, Mapping[str, Any]]) -> dict[str, str | None]:
    """See `ReportInputs.languages`: of the data reports."""
    return {
        side if name == TEXT else name: one.get("language")
        for side, report in data.items()
        for name, one in report.get("conventions", {}).items()
    }


def together(families: Sequence[Family], entries: Mapping[Key, Entry[Any]]) -> dict[str, list[Entry[Any]]]:
    """The rungs of each family; those that a page of another family holds (an input embedding) come last."""
    own = {family.name: [entry for (name, _), entry in entries.items() if name == family.name] for family in families}
    found = {name: {name: rungs} for name, rungs in own.items()}
    for family in families:
        for entry in own[family.name]:
            for other, (page, what) in family.inside(entry.page).items():
                held = Entry(page, Told(title=f"{entry.title}, {what}"))
                found[other][family.name] = [*found[other].get(family.name, []), held]
    return {name: told_apart(rungs) for name, rungs in found.items()}


def stage_of(family: Family, rung: str) -> str:
    """The job that writes a rung's page."""
    return f"{f'evaluate_{family.name}' if family.trained else family.name}@{rung}"


def _sides(root: Path) -> list[str]:
    return [*SIDES, *(side for side in LABELLED if (root / "metrics" / "clean" / f"{side}.json").is_file())]


def _of_side(root: Path, stage: str, side: str) -> dict[str, Any]:
    return dict(_read(root / "metrics" / stage / f"{side}.json", f"{stage}@{side}"))


def _files_read(root: Path, side: str) -> dict[str, Any]:
    """How many files were read and which were not, of a corpus in files; {} of others."""
    path = root / "metrics" / "corpus" / f"{side}.json"
    return {key: value for key, value in read_json(path).items() if key != "splits"} if path.is_file() else {}


def _filtered(root: Path, side: str) -> dict[str, Any]:
    """What became of the raw text before it was cleaned; {} where it stayed as it was."""
    path = root / "metrics" / "filter.json"
    report = read_json(path) if side == "text" and path.is_file() else {}
    return {"filter": {key: value for key, value in report.items() if key != "filtered"}} if len(report) > 1 else {}


def _curve(path: Path) -> tuple[CurvePoint, ...]:
    return tuple(read_curve(path)) if path.is_file() else ()


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


def _read(path: Path, stage: str) -> Any:
    if not path.is_file():
        raise InputError(f"{path}: no such file; it is made by the stage {stage} (run `dvc repro {stage}`)")
    return read_json(path)


def checked_page(family: Family, value: Any, where: str) -> Any:
    """A page of the family.

    Raises:
        InputError: it is none (names `where` and the keys).
    """
    return _check(family.page(), value, where)


def _check(model: Any, value: Any, where: str) -> Any:
    """The value as `model` (a class, or one of several) has it."""
    try:
        return TypeAdapter(model).validate_python(dict(value) if isinstance(value, Mapping) else value)
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, item['loc'])) or 'value'}: {item['msg']}" for item in error.errors())
        raise InputError(f"{where}: {'; '.join(problems)}") from error
