"""The schema of every stage's settings. A rung's part comes from its class (`_target_`), so a new rung adds nothing."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, create_model, field_validator, model_validator

from langladder.corpora.microworld import MicroworldConfig
from langladder.counts.cooccurrence import CooccurrenceConfig
from langladder.counts.term_document import DocumentCounting
from langladder.decoding.scores import LengthForm
from langladder.embeddings.postprocess import PostprocessConfig
from langladder.errors import InputError
from langladder.evaluation.bleu_tokenizers import BleuChoice, check
from langladder.schema import Config, locate
from langladder.text.clean_pairs import CleanPairsConfig
from langladder.text.cleaning import CleanConfig
from langladder.text.hub import HubParallelSource, HubSource
from langladder.text.sources import ParallelSource, TextSource
from langladder.text.tokenizers import TokenizerConfig
from langladder.text.vocabulary import VocabularyConfig
from pipeline.support.choices import EvaluationSets

SOURCES: dict[tuple[str, str], type[Config]] = {
    ("text", "microworld"): MicroworldConfig,
    ("text", "files"): TextSource,
    ("text", "hub"): HubSource,
    ("parallel", "microworld"): MicroworldConfig,
    ("parallel", "files"): ParallelSource,
    ("parallel", "hub"): HubParallelSource,
}
TRAINING = {
    "embedding": "langladder.tasks.settings.TrainingConfig",
    "lm": "langladder.tasks.settings.LMTrainingConfig",
    "translator": "langladder.tasks.settings.TranslationTraining",
}
SEQUENCES = ("sequence",)
EXPERIMENTS = ("experiment", "probe")
BEGINNINGS = {"lm": "langladder.tasks.settings.InputVectors"}  # what the input embedding may start from


class Evaluation(Config):
    """How rungs are judged and shown."""

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
            check(tokenizer)
        except InputError as error:
            raise ValueError(str(error)) from error
        return tokenizer


FIELDS: dict[str, Any] = {
    "side": Literal["text", "parallel"],
    "seed": int,
    "threads": Annotated[int, Field(ge=1, le=256)],
    "tokenizer": TokenizerConfig,
    "shared_tokenizer": bool,
    "words": VocabularyConfig,
    "countings": list[CooccurrenceConfig | DocumentCounting],
    "evaluation": Evaluation,
    "paths": EvaluationSets,
    "lms": list[str],
    "agreement": str,
    "beam": Annotated[int, Field(ge=1)],
    "bleu_tokenize": BleuChoice | None,  # None: the stage scores nothing
    "years": dict[str, dict[str, int]],
    "code": str,
}


class Dated(Config):
    """When it came into the world. Every file of a ladder says it, for the report: no job's settings hold it."""

    year: int = Field(ge=1900, le=2100)


class Listed(Config):
    """What else every file of a ladder says."""

    name: str
    title: str
    target: str = Field(alias="_target_")


class Claim(Listed):
    """What every experiment's file says."""

    claim: str
    settings: Config


class Rung(Listed):
    """What every rung's file says."""

    model: Config

    @model_validator(mode="after")
    def _window_fits_context(self) -> Self:
        context = getattr(self.model, "context", None)
        length = getattr(getattr(self, "training", None), "sequence_length", None)
        if context is not None and length is not None and length > context:
            raise ValueError(f"training.sequence_length={length} exceeds model.context={context}")
        return self


def schema(stage: str, values: dict[str, Any]) -> type[Config]:
    """Schema of a stage's settings; the values say which corpus kind or rung class checks its own part."""
    parts: dict[str, Any] = {key: (FIELDS[key], ...) for key in values if key in FIELDS}
    if "corpus" in values:
        parts["corpus"] = (_corpus(values["side"], values["corpus"]), ...)
    if "clean" in values:
        parts["clean"] = (CleanConfig if values["side"] == "text" else CleanPairsConfig, ...)
    for key in TRAINING:
        if key in values:
            parts[key] = (_rung(key, values[key]), ...)
    for key in SEQUENCES:
        if key in values:
            parts[key] = (_sequence(key, values[key]), ...)
    for key in EXPERIMENTS:
        if key in values:
            experiment = _class(key, values[key])
            parts[key] = (create_model(key, __base__=Claim, settings=(experiment.Config, ...)), ...)
    return create_model(f"{stage}_job", __base__=Config, **parts)


def _corpus(side: str, value: dict[str, Any]) -> type[Config]:
    kinds = [kind for where, kind in SOURCES if where == side]
    if value.get("kind") not in kinds:
        raise InputError(f"kind: {value.get('kind')!r} is not allowed: one of {', '.join(kinds)}; see conf/{side}/")
    source = SOURCES[side, value["kind"]]
    return create_model("corpus", __base__=Config, kind=(str, ...), iid=(bool, ...), source=(source, ...))


def _class(group: str, value: dict[str, Any]) -> Any:
    if "_target_" not in value:
        raise InputError(f"{group}._target_: missing; name the rung's class in conf/{group}/{value.get('name')}.yaml")
    return locate(value["_target_"])


def _sequence(group: str, value: dict[str, Any]) -> type[Config]:
    task = _class(group, value)
    parts: dict[str, Any] = {"data": (task.Data, ...), "model": (task.Config, ...), "training": (task.Training, ...)}
    return create_model(f"{group}_rung", __base__=Rung, **parts)


def _rung(group: str, value: dict[str, Any]) -> type[Config]:
    from torch import nn

    rung = _class(group, value)
    parts: dict[str, Any] = {"model": (rung.Config, ...)}
    if issubclass(rung, nn.Module):  # trained by gradient
        parts["training"] = (locate(TRAINING[group]), ...)
    if group == "embedding":
        parts["after"] = (PostprocessConfig, PostprocessConfig(steps=[]))
    if group in BEGINNINGS and issubclass(rung, nn.Module):
        beginning = locate(BEGINNINGS[group])
        parts["input"] = (beginning, beginning())
    return create_model(f"{group}_rung", __base__=Rung, **parts)
