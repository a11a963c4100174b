"""The settings of stages as classes; each stage with libraries to load has its class beside its work (`JOBS`)."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import reduce
from pkgutil import resolve_name
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, Field, SerializeAsAny, ValidationInfo, model_validator

from langladder.engine.settings import AnyEngine, Memory
from langladder.families import families
from langladder.families.family import JUDGING, UNWATCHED
from langladder.families.job import Job
from langladder.families.sides import SIDES, Source
from langladder.ground.errors import InputError
from langladder.ground.schema import Config, Name
from pipeline.settings import errors, params, plan
from pipeline.settings.errors import explain
from pipeline.settings.yaml_files import Values


class StageJob(Config):
    """The settings of a stage: `dvc.yaml` lists them, `resolve` writes them.

    A part that depends on other values (a corpus on its kind) is a field of type `Part`, and `parts` says its class.
    """

    code: str
    engine: AnyEngine | None = None
    memory: Memory | None = None

    @classmethod
    def parts(cls, values: Values) -> dict[str, type[Config]]:
        """Key → the class of the part there, for these values."""
        del values
        return {}


def _part(value: object, info: ValidationInfo) -> Config:
    """A part of the class that `parts` says; the only part of a family's job is its rung."""
    kinds: Mapping[str, type[Config]] = info.context or {}
    kind = next(kind for key, kind in kinds.items() if info.field_name in ("rung", key.rpartition(".")[2]))
    return kind.model_validate(value, context=kinds)


Part = Annotated[SerializeAsAny[Config], BeforeValidator(_part)]
"""Settings whose class depends on other values, see `StageJob.parts`."""


class Corpus(Config):
    """A corpus: the dotted path of the function that reads or draws it, and that function's settings."""

    kind: str
    iid: bool = True
    source: Part
    maker: str = Field(alias="_maker_")


CorpusPart = Annotated[SerializeAsAny[Corpus], BeforeValidator(_part)]


class MonolingualCorpus(Corpus):
    """A corpus of one language."""

    language: str | None = None


class TextCorpus(MonolingualCorpus):
    """The text of language models. rows: how they read it, see conf/lm."""

    rows: Literal["stream", "documents"] = "stream"


class ParallelCorpus(Corpus):
    """A corpus of two languages."""

    source_language: str | None = None
    target_language: str | None = None


class SideJob(StageJob):
    """Settings of a stage that runs once for each kind of data."""

    side: Literal[tuple(SIDES)]  # type: ignore[valid-type]


def corpus_parts(values: Values) -> dict[str, type[Config]]:
    """The classes of a corpus and of its source."""
    side, languages = values["side"], SIDES[values["side"]].languages
    kind = ParallelCorpus if len(languages) > 1 else MonolingualCorpus if languages else Corpus
    source = resolve_name(source_of(side, values["corpus"]).settings)
    return {"corpus": TextCorpus if side == "text" else kind, "corpus.source": source}


def clean_parts(values: Values) -> dict[str, type[Config]]:
    """The class of the cleaning."""
    return {"clean": resolve_name(SIDES[values["side"]].cleaning)}


class FamilyJob(StageJob, Job):
    """Settings of a stage of families: those of its rung, under the name of the family, and those of `Job`."""

    family: str
    rung: Part = Field(validation_alias=AliasChoices(*families()))

    @model_validator(mode="before")
    @classmethod
    def _name_family(cls, values: Values) -> Values:
        return values | {"family": next(key for key in values if key in families())}

    @classmethod
    def parts(cls, values: Values) -> dict[str, type[Config]]:
        """The class of the rung, and those of its parts."""
        parts: dict[str, type[Config]] = {}
        for family, value in values.items():
            if family in families():
                parts[family] = kind = families()[family].settings(value)
                parts |= {f"{family}.{key}": part(value) for key, part in kind.PARTS.items()}
        return parts

    @property
    def name(self) -> str:
        """The name of the rung."""
        return self.rung.name  # type: ignore[attr-defined,no-any-return]  # every rung's class is a `Listed`

    def values(self) -> Values:
        """As plain values, as in the resolved file."""
        absent = type(self).model_fields.keys() - self.model_fields_set | {"family", "rung"}
        rung = self.rung.model_dump(mode="json", by_alias=True)
        return {self.family: rung} | self.model_dump(mode="json", by_alias=True, exclude=absent)


class ReportJob(StageJob):
    """Settings of the stage `report`: family → rung → what it shows of it, see `report.inputs.RungMetadata`."""

    rungs: dict[Name, dict[Name, Values]]


JOBS = {
    "corpus": "pipeline.corpus.CorpusJob",
    "filter": "pipeline.filter.FilterJob",
    "clean": "pipeline.clean.CleanJob",
    "demonstrate": "pipeline.demonstrate.DemonstrateJob",
    "tokenize": "pipeline.tokenize.TokenizeJob",
    "vocab": "pipeline.vocab.VocabJob",
    "cooccur": "pipeline.cooccur.CooccurJob",
    "watch": "pipeline.watch.WatchJob",
    "take": "pipeline.take.ImportJob",
    "prefer": "pipeline.prefer.PreferJob",
    "train": "pipeline.settings.schema.FamilyJob",
    "evaluate": "pipeline.settings.schema.FamilyJob",
    "measure": "pipeline.settings.schema.FamilyJob",
    "report": "pipeline.settings.schema.ReportJob",
}
"""Module of pipeline/ → the class of its settings, which stands beside the work where it has libraries to load."""


def job_class(stage: str) -> type[StageJob]:
    """The class of a stage's settings."""
    results: type[StageJob] = resolve_name(JOBS[plan.stages()[stage].module])
    return results


def keys(stage: str, values: Values) -> list[str]:
    """Every key of a stage's settings, for these values."""
    kind = job_class(stage)
    return [*errors.keys(kind), *_keys_of_parts(kind.parts(with_unwatched(values)))]


def _keys_of_parts(parts: Mapping[str, type[Config]]) -> list[str]:
    return [f"{key}.{inner}" for key, part in parts.items() for inner in errors.keys(part)]


def source_of(side: str, value: Values) -> Source:
    """The source of a corpus.

    Raises:
        InputError: its side has no such kind.
    """
    sources = SIDES[side].sources
    if value.get("kind") not in sources:
        kinds, group = ", ".join(sources), SIDES[side].group
        raise InputError(f"kind: {value.get('kind')!r} is not allowed: one of {kinds}; see conf/{group}/")
    return sources[value["kind"]]


def checked(stage: str, values: Values, file_of: Callable[[tuple[str, ...]], str]) -> StageJob:
    """The plain values of a job as its settings.

    Raises:
        InputError: all problems, each with the file to edit.
    """
    whole, kind = with_unwatched(values), job_class(stage)
    with explain(file_of, known=lambda: keys(stage, values)):
        return kind.model_validate(whole, context=kind.parts(whole))


def checked_rung(family: str, values: Values, file_of: Callable[[tuple[str, ...]], str]) -> Config:
    """The plain values of a rung as its settings.

    Raises:
        InputError: as `checked`.
    """
    kinds = FamilyJob.parts({family: values})
    with explain(file_of, prefix=(family,), known=lambda: [key.partition(".")[2] for key in _keys_of_parts(kinds)]):
        return kinds[family].model_validate(values)


def file_of(config: Mapping[str, Any]) -> Callable[[tuple[str, ...]], str]:
    """Function from a key's path to the file where that key is set.

    Args:
        config: a composition, of which the names of rungs and the side of the data are read.
    """

    def file(location: tuple[str, ...]) -> str:
        group = location[0]
        if location[1:2] == ("training",) and location[2:3] in (("logger",), ("callbacks",)):
            return f"params.yaml: {location[2]}"  # of every rung
        if group in families() and group in config:
            name = config[group].get("name")
            file = params.display_file(group, name if name in params.conf_names(group) else "*")
            return f"{file} or params.yaml: {group}"
        if group == "corpus":  # of whichever side
            return f"conf/{SIDES[config['side']].group}/*.yaml or params.yaml: data.{config['side']}"
        return f"conf/{group}/*.yaml" if params.conf_names(group) else "params.yaml or conf/config.yaml"

    return file


def typed_as(location: tuple[str, ...], side: str) -> list[str]:
    """Keys of the command line that set a stage's setting: of a corpus, of cleaning, and of Lightning's groups."""
    first, *rest = location
    if first in ("corpus", "clean"):
        return [".".join([SIDES[side].group if first == "corpus" else f"clean.{side}", *rest])]
    group = {"schedule": "scheduler"}.get(rest[1], rest[1]) if len(rest) > 1 and rest[0] == "training" else ""
    return [".".join([group, *rest[2:]])] if group in params.LIGHTNING else []


RungValues = Callable[[str, str], Values]  # (family, rung) → its plain settings

RESOURCES = ("engine", "memory")
"""Where a stage processes the corpus, and with how much memory; this does not change the output."""


def split_unwatched(values: Values, *, makes: bool) -> tuple[Values, Values]:
    """Split a job's values into those that change its result and those that do not, family by family.

    Args:
        makes: whether its stage makes models, as `plan.Stage.makes`.
    """
    tracked, untracked = dict(values), {}
    for key in RESOURCES:
        if key in tracked:
            untracked[key] = tracked.pop(key)
    for family in families():
        if family in values:
            tracked[family] = dict(values[family])
            for key in UNWATCHED + JUDGING if makes else UNWATCHED:
                *parts, last = key.split(".")
                source: Any = values[family]
                target = tracked[family]
                for part in parts:
                    source = source.get(part) or {}
                    if source:
                        target[part] = dict(target[part])
                        target = target[part]
                if last in source:
                    untracked[f"{family}.{key}"] = target.pop(last)
    return tracked, untracked


def with_unwatched(values: Values) -> Values:
    """The values whole again."""
    whole = deepcopy({key: value for key, value in values.items() if key != "aside"})
    for key, value in values.get("aside", {}).items():
        *parts, last = key.split(".")
        reduce(lambda result, part: result.setdefault(part, {}), parts, whole)[last] = value
    return whole
