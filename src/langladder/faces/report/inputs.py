"""What the report is made of: rungs with their pages, what they cost, what was chosen, the stages; read and checked.

Files that every run leaves must exist; curves may be missing (counted rungs have none), and so may any timing.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from langladder.evaluation.page import Page
from langladder.evaluation.predictions import Prediction, read_predictions
from langladder.experiments.findings import Shown
from langladder.families.family import AnyFamily
from langladder.families.sides import SIDES
from langladder.ground.artefacts import read_array_facts, read_json
from langladder.ground.errors import InputError
from langladder.text.words.segmentation import TEXT

P = TypeVar("P", bound=Page)
P_co = TypeVar("P_co", bound=Page, covariant=True)
Checked = TypeVar("Checked")


ROWS = 20_000
"""Rows of a rung's predictions among which the page's are found."""

MARK = "†"
"""Behind the title of a rung that is given more than others."""


class Part(BaseModel):
    """Base of what is read beside the pages: frozen; keys that it does not know are left out."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class RungMetadata(Part):
    """Title and year of a rung, its claim, and the rung (`family/name`) that it starts from.

    Only the report reads this: no rung is trained or evaluated again for it.

    Attributes:
        paper: where the claim comes from.
        reads: the folder that it reads beside its base: `models/reward/reward`, or data.
        also_given: what it has that others of its table have not (`Family.also_given`).
        idea: what its file says above its first key. module: that of its class, whose docstring has its equations.
        trains: of a claim, the networks that it trains: `lstm`.
        optimizer: by which its network is trained: `adamw`; "": it has none, or none was chosen.
    """

    title: str = ""
    year: int | None = None
    claim: str | None = None
    paper: str | None = None
    base: str | None = None
    reads: str | None = None
    also_given: str = ""
    idea: str = ""
    module: str | None = None
    trains: list[str] = Field(default_factory=list)
    optimizer: str = ""


class Timing(Part):
    """What a rung cost on this machine; nothing of it is deterministic, so it never goes to tracked files."""

    model_config = ConfigDict(allow_inf_nan=False)

    seconds: float | None = None
    processor_seconds: float | None = None  # of all threads; None: trained on a GPU
    tokens_per_second: float | None = None
    peak_memory_bytes: int | None = None
    run: str | None = None  # MLflow run id or address
    timed: Shown | None = None  # of a claim: what the machine's speed decides

    @property
    def tokens(self) -> float | None:
        """What training has read, repeats counted: tokens, or what else the family counts."""
        if self.seconds is None or self.tokens_per_second is None:
            return None
        return self.seconds * self.tokens_per_second


@dataclass(frozen=True)
class CurvePoint:
    """One row of a learning curve; None where nothing was measured.

    Losses and KL in nats, BLEU from 0 to 100, F₁ from 0 to 1; reward by what is learnt from, gold by the gold judge
    beside it.
    """

    step: int
    train_loss: float | None = None
    validation_loss: float | None = None
    lr: float | None = None
    validation_bleu: float | None = None
    validation_entity_f1: float | None = None
    validation_reward: float | None = None
    validation_gold: float | None = None
    validation_kl: float | None = None


MEASURED = [column.name for column in fields(CurvePoint) if column.name != "step"]


@dataclass(frozen=True)
class Entry(Generic[P_co]):
    """A rung as the report tells of it: its page, and what is beside it.

    Attributes:
        alias: its name among others, where one of another family has the same; family: its own, among these.
        predictions: what it said of the first test items, where its family has such a table.
        settings: of its class, by name, and arrays: shapes of its weights, by name, where its model is at hand.
        inside: whether it is a part of another rung: its input embedding.
    """

    page: P_co
    metadata: RungMetadata = field(default_factory=RungMetadata)
    timing: Timing = field(default_factory=Timing)
    curve: tuple[CurvePoint, ...] = ()
    alias: str = ""
    family: str = ""
    predictions: Sequence[Prediction] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    arrays: Mapping[str, Sequence[int]] = field(default_factory=dict)
    inside: bool = False

    @property
    def name(self) -> str:
        """Of its file; or its alias."""
        return self.alias or self.page.name

    @property
    def title(self) -> str:
        """For people; the name, where it has none."""
        return self.metadata.title or self.name

    @property
    def marked(self) -> str:
        """The title, with a mark where a column elsewhere says what else it is given."""
        return f"{self.title} {MARK}" if self.metadata.also_given else self.title

    @property
    def title_with_given(self) -> str:
        """The title, and what else it is given: where rungs are compared and no column says so."""
        return f"{self.title} (also given {also})" if (also := self.metadata.also_given) else self.title

    @property
    def grew_from(self) -> str | None:
        """The rung (`family/name`) whose weights it starts from; None of one that takes the sizes of its base alone."""
        return None if self.settings.get("pretrained") is False else self.metadata.base

    @property
    def approach(self) -> str:
        """Under which it stands in tables."""
        return self.page.approach


def in_history(rungs: Iterable[Entry[P]]) -> list[Entry[P]]:
    """By year, those of one year in the order of the ladder; where the year is not known, as they stand, at the end."""
    return sorted(rungs, key=lambda rung: (rung.metadata.year is None, rung.metadata.year or 0))


def with_unique_names(families: Mapping[str, Sequence[Entry[P]]]) -> list[Entry[P]]:
    """The rungs of all families, each under a name of its own."""
    entries: dict[str, Entry[P]] = {}
    for family, rungs in families.items():
        for rung in rungs:
            name = f"{family}_{rung.name}" if rung.name in entries else rung.name
            entries[name] = replace(rung, alias=name if name != rung.page.name else "", family=family)
    return list(entries.values())


class Stage(Part):
    """One job of the pipeline; `stage` is `train_lm@lstm` for the job of a matrix."""

    stage: str
    desc: str = ""
    depends: list[str] = Field(default_factory=list)


class Meta(Part):
    """What was chosen in params.yaml; `text`, `pairs`, `labels` and `tags` name the corpora themselves."""

    text: str | None = None
    pairs: str | None = None
    labels: str | None = None
    tags: str | None = None
    size: str | None = None
    seed: int | None = None
    corpus: str | None = None
    parallel: str | None = None
    tokenizer: str | None = None


Key = tuple[str, str]  # (family, rung)


@dataclass(frozen=True)
class ReportInputs:
    """Everything on the page.

    Attributes:
        families: in the order of the page.
        rungs: family's name → its rungs in the order of the ladder.
        data, tokenizers: side → report of the stage clean, tokenize.
        languages: text, source and target (of pairs), labels, tags, questions, instructions → BCP 47 tag, where known.
        code, guides: addresses of the folders of the code and of the guides, seen from the page; "": they are not
            beside it.
    """

    meta: Meta
    families: Sequence[AnyFamily] = ()
    rungs: Mapping[str, Sequence[Entry[Any]]] = field(default_factory=dict)
    dag: Sequence[Stage] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    tokenizers: Mapping[str, Any] = field(default_factory=dict)
    languages: Mapping[str, str | None] = field(default_factory=dict)
    code: str = ""
    guides: str = ""

    def of(self, family: str) -> Sequence[Entry[Any]]:
        """The rungs of a family."""
        return self.rungs.get(family, ())

    @property
    def kinds(self) -> list[tuple[AnyFamily, list[Entry[Any]]]]:
        """What stands in one table: rungs that start from others, and those that do not.

        A family, the first of its group, with the rungs of all families of the group, in order of history.
        """
        kinds: dict[str, list[AnyFamily]] = {}
        for family in self.families:
            kinds.setdefault(family.group, []).append(family)
        rungs = {
            group: {family.name: self.of(family.name) for family in some if self.of(family.name)}
            for group, some in kinds.items()
        }
        return [
            (kinds[group][0], with_unique_names(own) if len(own) < 2 else in_history(with_unique_names(own)))
            for group, own in rungs.items()
            if own
        ]

    def rungs_with(self, family: str, page: type[P]) -> list[Entry[P]]:
        """The rungs of all families whose pages are of a kind, for the first family that has any; none for the others.

        So families that are judged alike (claims; language models, and those that grew from them) share a section, and
        stand in order of history in it.
        """
        results = {
            family.name: [rung for rung in self.of(family.name) if isinstance(rung.page, page)]
            for family in self.families
        }
        having = [name for name, rungs in results.items() if rungs]
        return in_history(with_unique_names(results)) if having[:1] == [family] else []


def load_report(
    root: Path,
    families: Sequence[AnyFamily],
    metadata: Mapping[str, Mapping[str, object]],
    timings: Mapping[Key, Mapping[str, object]],
    dag: Iterable[Mapping[str, object]],
    meta: Mapping[str, object],
) -> ReportInputs:
    """Read and check everything below `root`, the folder that the pipeline ran in.

    Args:
        metadata: the ladder: family → rung, in order → fields of `RungMetadata`.
        timings: (family, rung) → fields of `Timing`; any of it may be missing.
        dag: jobs of the pipeline, each with the fields of `Stage`.
        meta: fields of `Meta`.

    Raises:
        InputError: a file is missing or holds something else (names the file, the key and the stage that makes it).
    """
    pages = {
        (family.name, name): checked_page(family, _read(root / path, stage_of(family, name)), path)
        for family in families
        for name in metadata.get(family.name, ())
        for path in [f"reports/rungs/{family.name}/{name}.json"]
    }
    entries = {
        (family, name): Entry(
            page,
            _check(RungMetadata, metadata[family][name], f"rungs.{family}.{name}"),
            _check(Timing, timings.get((family, name), {}), f"timings {family} {name}"),
            _curve(root / "curves" / family / f"{name}.csv"),
            predictions=_predictions(root / "reports" / "rungs" / family / f"{name}.parquet"),
            settings=_settings(root / "models" / family / name, family),
            arrays=_arrays(root / "models" / family / name),
        )
        for (family, name), page in pages.items()
    }
    cleaned = {side: _of_side(root, "clean", side) for side in _sides(root)}
    data = {
        side: _files_read(root, side) | _filtered(root, side) | report for side, report in cleaned.items() if report
    }
    tokenizers = {side.name: _of_side(root, "tokenize", side.name) for side in SIDES.values() if side.tokenized}
    return ReportInputs(
        meta=_check(Meta, meta, "meta"),
        families=families,
        rungs=rungs_by_family(families, entries),
        dag=[_check(Stage, stage, "dag") for stage in dag],
        data=data,
        tokenizers={side: report for side, report in tokenizers.items() if report},
        languages=_languages(data),
    )


def _languages(data: Mapping[str, Mapping[str, Any]]) -> dict[str, str | None]:
    """See `ReportInputs.languages`: of the data reports."""
    return {
        side if name == TEXT else name: convention.get("language")
        for side, report in data.items()
        for name, convention in report.get("conventions", {}).items()
    }


def rungs_by_family(families: Sequence[AnyFamily], entries: Mapping[Key, Entry[Page]]) -> dict[str, list[Entry[Page]]]:
    """The rungs of each family; those that a page of another family holds (an input embedding) come last."""
    own = {family.name: [entry for (name, _), entry in entries.items() if name == family.name] for family in families}
    results = {name: {name: rungs} for name, rungs in own.items()}
    for family in families:
        for entry in own[family.name]:
            for other, (page, what) in family.inside(entry.page).items():
                held = Entry(page, RungMetadata(title=f"{entry.title}, {what}"), inside=True)
                results[other][family.name] = [*results[other].get(family.name, []), held]
    return {name: with_unique_names(rungs) for name, rungs in results.items()}


def stage_of(family: AnyFamily, rung: str) -> str:
    """The job that writes a rung's page."""
    return f"{f'evaluate_{family.name}' if family.trained else family.name}@{rung}"


def _sides(root: Path) -> list[str]:
    """Those whose cleaning is reported: what tokenizers are trained on always, others where they have been cleaned."""
    reported = [side for side in SIDES.values() if side.report]
    cleaned = root / "metrics" / "clean"
    return [side.name for side in reported if side.tokenized or (cleaned / f"{side.name}.json").is_file()]


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


def _predictions(path: Path) -> list[Prediction]:
    return read_predictions(path, ROWS) if path.is_file() else []


def _settings(model: Path, family: str) -> dict[str, object]:
    """Of the class of a model, as its provenance has them; {} where it is not here."""
    file = model / "provenance.json"
    settings: dict[str, Any] = read_json(file) if file.is_file() else {}
    own = (settings.get("settings") or {}).get(family) or {}
    return {"_target_": own.get("_target_"), **(own.get("model") or {})} if own else {}


def _arrays(model: Path) -> dict[str, Sequence[int]]:
    """Shapes of a model's weights by name; {} where it is not here."""
    return {
        name: facts.shape
        for file in sorted(model.glob("*.safetensors"))
        for name, facts in read_array_facts(file).items()
    }


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


def checked_page(family: AnyFamily, value: object, where: str) -> Page:
    """A page of the family.

    Raises:
        InputError: it is none (names `where` and the keys).
    """
    return _check(family.page(), value, where)


def _check(model: type[Checked], value: object, where: str) -> Checked:
    """The value as `model` (a class, or one of several) has it."""
    try:
        return TypeAdapter(model).validate_python(dict(value) if isinstance(value, Mapping) else value)
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, item['loc'])) or 'value'}: {item['msg']}" for item in error.errors())
        raise InputError(f"{where}: {'; '.join(problems)}") from error
