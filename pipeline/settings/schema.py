"""The schema of every stage's settings, key by key. A rung's part comes from its family."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import reduce
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from pydantic import Field, create_model, field_validator

from langladder.decoding.limits import LengthForm
from langladder.engine.settings import AnyEngine, Memory
from langladder.evaluation.bleu import BleuChoice, check_tokenizer
from langladder.families import families
from langladder.families.family import JUDGING, UNWATCHED, Job
from langladder.families.sides import SIDES, Source
from langladder.ground.errors import InputError
from langladder.ground.schema import Config, Name
from pipeline.settings import params
from pipeline.settings.errors import explain
from pipeline.settings.yaml_files import Values

if TYPE_CHECKING:
    from langladder.corpora.instructions.judge import PreferencesConfig
    from langladder.counts.cooccurrence import AnyCounting
    from langladder.text.filtering.filtering import FilterConfig
    from langladder.text.tokenize.tokenizers import TokenizerConfig
    from langladder.text.words.vocabulary import VocabularyConfig


def _found(target: Any) -> Any:
    """A settings class, or the class at a dotted path."""
    if not isinstance(target, str):
        return target
    module, _, name = target.rpartition(".")
    return getattr(import_module(module), name)


class Evaluation(Config):
    """How rungs are evaluated and shown."""

    prompts: list[str] | Annotated[int, Field(ge=0, le=100)]
    sample_tokens: int = Field(ge=1)
    temperature: float = Field(gt=0)
    beam: int = Field(ge=1)
    length_alpha: float = Field(ge=0, le=2)
    length_form: LengthForm
    coverage: float = Field(ge=0)
    n_best: int = Field(ge=1)
    search_error_widths: list[Annotated[int, Field(ge=1)]]
    search_error_sentences: int = Field(ge=1)
    bleu_tokenize: BleuChoice
    max_length: int = Field(ge=1)
    restrict_vocabulary: int | None = Field(ge=1)
    neighbours: int = Field(ge=1)

    @field_validator("bleu_tokenize")
    @classmethod
    def _is_installed(cls, tokenizer: BleuChoice) -> BleuChoice:
        try:
            check_tokenizer(tokenizer)
        except InputError as error:
            raise ValueError(str(error)) from error
        return tokenizer


class RungTitle(Config):
    """The title of a rung in the report, and its year."""

    title: str
    year: int
    claim: str | None = None
    paper: str | None = None
    base: str | None = None
    reads: str | None = None
    also_given: str = ""
    idea: str = ""
    module: str | None = None
    trains: list[str] = Field(default_factory=list)


class ImportedModel(Config):
    """An imported network: its name here, and its folder."""

    name: Name
    path: str


FIELDS: dict[str, Any] = {
    "side": Literal[tuple(SIDES)],
    "seed": Annotated[int, Field(ge=0, lt=2**31)],
    "engine": AnyEngine,
    "memory": Memory | None,
    "threads": Annotated[int, Field(ge=1, le=256)],
    "tokenizer": "langladder.text.tokenize.tokenizers.TokenizerConfig",
    "shared_tokenizer": bool,
    "filter": "langladder.text.filtering.filtering.FilterConfig",
    "given": ImportedModel,
    "words": "langladder.text.words.vocabulary.VocabularyConfig",
    "countings": "langladder.counts.cooccurrence.AnyCounting",
    "evaluation": Evaluation,
    "paths": params.EvaluationSets,
    "preferences": "langladder.corpora.instructions.judge.PreferencesConfig",
    "wanted": bool,
    "lms": list[Name],
    "tunes": list[Name],
    "agreement": str,
    "beam": Annotated[int, Field(ge=1)],
    "bleu_tokenize": BleuChoice | None,  # None: the stage scores nothing
    "rungs": dict[Name, dict[Name, RungTitle]],
    "family": Name,
    "inputs": dict[Name, list[str]],  # rung: what it reads
    "code": str,
}


def schema(stage: str, values: Values) -> type[Config]:
    """Schema of a stage's settings; the values determine the corpus kind or rung class that checks its own part."""
    parts: dict[str, Any] = {}
    for key, value in values.items():
        if key in FIELDS:
            found = _found(FIELDS[key])
            parts[key] = (list[found] if key == "countings" else found, ...)  # type: ignore[valid-type]
        elif key in families():
            parts[key] = (families()[key].settings(value), ...)
    if "corpus" in values:
        parts["corpus"] = (_corpus(values["side"], values["corpus"]), ...)
    if "clean" in values:
        parts["clean"] = (_found(SIDES[values["side"]].cleaning), ...)
    return create_model(f"{stage}_job", __base__=Config, **parts)


def _corpus(side: str, value: Values) -> type[Config]:
    source: Any = _found(source_of(side, value).settings)
    maker = (str, Field(alias="_maker_"))
    languages: dict[str, Any] = dict.fromkeys(SIDES[side].languages, (str | None, None))
    common: Any = {"kind": (str, ...), "iid": (bool, True), "source": (source, ...), "maker": maker}
    if side == "text":
        common["rows"] = (Literal["stream", "documents"], "stream")  # of language models: conf/lm
    return create_model("corpus", __base__=Config, **common, **languages)


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


def checked(stage: str, values: Values, file_of: Callable[[tuple[str, ...]], str]) -> Config:
    """The plain values of a job as its settings.

    Raises:
        InputError: all problems, each with the file to edit.
    """
    whole = with_unwatched(values)
    kind = schema(stage, whole)
    with explain(file_of, kind=kind):
        return kind.model_validate(whole)


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
            return f"conf/{group}/{name if name in params.conf_names(group) else '*'}.yaml or params.yaml: {group}"
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
        reduce(lambda found, part: found.setdefault(part, {}), parts, whole)[last] = value
    return whole


# ---- what stages read of their settings: the classes are created above, so these say it to type checkers and readers


class Named(Protocol):
    """A rung, by its name."""

    name: str


class MadeBy(Named, Protocol):
    """A rung, and the dotted path of the function that trains it."""

    maker: str


class ChosenCorpus(Protocol):
    """A corpus: the dotted path of the function that reads or draws it, and that function's settings."""

    maker: str
    source: Config


class CorpusJob(Protocol):
    """Settings of the stage `corpus`."""

    side: str
    corpus: ChosenCorpus


class CleanJob(Protocol):
    """Settings of the stage `clean`."""

    side: str
    clean: Config
    seed: int


class DemonstrateJob(CorpusJob, CleanJob, Protocol):
    """Settings of the stage `demonstrate`."""


class FilterJob(Protocol):
    """Settings of the stage `filter`."""

    filter: "FilterConfig"
    seed: int


class TokenizeJob(Protocol):
    """Settings of the stage `tokenize`."""

    side: str
    tokenizer: "TokenizerConfig"
    shared_tokenizer: bool


class VocabJob(Protocol):
    """Settings of the stage `vocab`."""

    words: "VocabularyConfig"


class CooccurJob(Protocol):
    """Settings of the stage `cooccur`."""

    countings: "list[AnyCounting]"


class ImportJob(Protocol):
    """Settings of the stage `take`."""

    given: ImportedModel


class WatchJob(Protocol):
    """Settings of the stage `watch`. inputs: rung → what it reads."""

    family: str
    inputs: dict[str, list[str]]


class TrackedSettings(Protocol):
    """Settings of a stage that has a run in MLflow: those of its rung, under the name of the family, and a seed."""

    seed: int

    def model_dump(self, *, mode: str = ..., by_alias: bool = ...) -> Values:
        """As plain values."""


class FamilySettings(TrackedSettings, Job, Protocol):
    """Settings of a stage of families: those of its rung, and those of `Job` that dvc.yaml lists for it."""


class PreferJob(TrackedSettings, Protocol):
    """Settings of the stage `prefer`."""

    instruct: Named
    preferences: "PreferencesConfig"
    wanted: bool
