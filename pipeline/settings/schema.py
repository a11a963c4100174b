"""The schema of every stage's settings, key by key. A rung's part comes from its family, so a new one adds nothing."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Annotated, Any, Literal

from omegaconf import DictConfig
from pydantic import Field, create_model, field_validator

from langladder.decoding.scores import LengthForm
from langladder.engine.choosing import AnyEngine, Memory
from langladder.evaluation.bleu import BleuChoice, check_tokenizer
from langladder.families import families
from langladder.ground.errors import InputError
from langladder.ground.schema import Config, Name
from pipeline.settings import params
from pipeline.settings.aside import with_aside
from pipeline.settings.errors import explain

SOURCES: dict[tuple[str, str], tuple[str, str]] = {
    ("text", "microworld"): ("corpora.microworld.MicroworldConfig", "langladder.corpora.microworld.write_text"),
    ("text", "files"): ("text.read.sources.TextSource", "langladder.text.read.readers.read_text"),
    ("text", "hub"): ("text.read.hub.HubSource", "langladder.text.read.hub.read_hub"),
    ("parallel", "microworld"): ("corpora.microworld.MicroworldConfig", "langladder.corpora.microworld.write_parallel"),
    ("parallel", "files"): ("text.read.sources.ParallelSource", "langladder.text.read.readers.read_parallel"),
    ("parallel", "hub"): ("text.read.hub.HubParallelSource", "langladder.text.read.hub.read_hub_parallel"),
    ("labels", "microworld"): ("corpora.labelled.LabelledWorldConfig", "langladder.corpora.labelled.write_labels"),
    ("labels", "files"): (
        "text.labelled.label_files.LabelledSource",
        "langladder.text.labelled.label_files.read_labels",
    ),
    ("tags", "microworld"): ("corpora.labelled.TaggedWorldConfig", "langladder.corpora.labelled.write_tags"),
    ("tags", "files"): ("text.labelled.tag_files.TaggedSource", "langladder.text.labelled.tag_files.read_tags"),
    ("questions", "microworld"): (
        "corpora.paragraphs.ParagraphConfig",
        "langladder.corpora.paragraphs.write_paragraphs",
    ),
    ("questions", "files"): (
        "text.labelled.question_files.QuestionSource",
        "langladder.text.labelled.question_files.read_question_files",
    ),
    ("instructions", "microworld"): (
        "corpora.instructions.demonstrations.InstructionsConfig",
        "langladder.corpora.instructions.demonstrations.write_instructions",
    ),
    ("instructions", "files"): (
        "text.labelled.instruction_files.InstructionSource",
        "langladder.text.labelled.instruction_files.read_instructions",
    ),
    ("scenes", "microworld"): ("corpora.scenes.SceneConfig", "langladder.corpora.scenes.write_scenes"),
    ("speech", "microworld"): ("corpora.speech.SpeechConfig", "langladder.corpora.speech.write_speech"),
}
"""Corpus (side, kind) → its settings, and the function that makes or reads it: (settings, folder) → what it has.

Settings are named by their place in langladder: a job imports what it reads, and no more.
"""

LANGUAGES = {
    "text": ("language",),
    "parallel": ("source_language", "target_language"),
    "labels": ("language",),
    "tags": ("language",),
}
"""Side → the keys of its languages, which the stage `clean` notes."""

CLEANING = {
    "text": "text.clean.cleaning.CleanConfig",
    "parallel": "text.clean.clean_pairs.CleanPairsConfig",
    "labels": "text.labelled.clean_labelled.CleanLabelledConfig",
    "tags": "text.labelled.clean_labelled.CleanLabelledConfig",
    "instructions": "text.labelled.clean_instructions.CleanInstructionsConfig",
}
"""Side → how it is cleaned."""


def _found(place: Any) -> Any:
    """A settings class, or what is named by its place in langladder."""
    if not isinstance(place, str):
        return place
    module, _, name = place.rpartition(".")
    return getattr(import_module(f"langladder.{module}"), name)


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
            check_tokenizer(tokenizer)
        except InputError as error:
            raise ValueError(str(error)) from error
        return tokenizer


class Shown(Config):
    """What the report calls a rung, and when it came into the world."""

    title: str
    year: int
    claim: str | None = None
    base: str | None = None
    reads: str | None = None


class Given(Config):
    """A network that was trained elsewhere: what it is called here, and its folder."""

    name: Name
    path: str


FIELDS: dict[str, Any] = {
    "side": Literal["text", "parallel", "labels", "tags", "questions", "instructions", "scenes", "speech"],
    "seed": Annotated[int, Field(ge=0, lt=2**31)],
    "engine": AnyEngine,
    "memory": Memory | None,
    "threads": Annotated[int, Field(ge=1, le=256)],
    "tokenizer": "text.tokenize.tokenizers.TokenizerConfig",
    "shared_tokenizer": bool,
    "filter": "text.filtering.filtering.FilterConfig",
    "given": Given,
    "words": "text.words.vocabulary.VocabularyConfig",
    "countings": "counts.cooccurrence.AnyCounting",
    "evaluation": Evaluation,
    "paths": params.EvaluationSets,
    "preferences": "corpora.instructions.judge.PreferencesConfig",
    "wanted": bool,
    "lms": list[Name],
    "tunes": list[Name],
    "agreement": str,
    "beam": Annotated[int, Field(ge=1)],
    "bleu_tokenize": BleuChoice | None,  # None: the stage scores nothing
    "rungs": dict[Name, dict[Name, Shown]],
    "family": Name,
    "inputs": dict[Name, list[str]],  # rung: what it reads
    "code": str,
}


def schema(stage: str, values: Mapping[str, Any]) -> type[Config]:
    """Schema of a stage's settings; the values say which corpus kind or rung class checks its own part."""
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
        parts["clean"] = (_found(CLEANING[values["side"]]), ...)
    return create_model(f"{stage}_job", __base__=Config, **parts)


def _corpus(side: str, value: Mapping[str, Any]) -> type[Config]:
    source, _ = source_of(side, value)
    maker = (str, Field(alias="_maker_"))
    languages: dict[str, Any] = dict.fromkeys(LANGUAGES.get(side, ()), (str | None, None))
    common: Any = {"kind": (str, ...), "iid": (bool, True), "source": (source, ...), "maker": maker}
    return create_model("corpus", __base__=Config, **common, **languages)


def source_of(side: str, value: Mapping[str, Any]) -> tuple[Any, str]:
    """What `SOURCES` has for a corpus.

    Raises:
        InputError: it is of no kind that its side has.
    """
    if (side, value.get("kind")) not in SOURCES:
        kinds, group = ", ".join(kind for where, kind in SOURCES if where == side), params.group_of(side)
        raise InputError(f"kind: {value.get('kind')!r} is not allowed: one of {kinds}; see conf/{group}/")
    settings, maker = SOURCES[side, value["kind"]]
    return _found(settings), maker


def checked(stage: str, values: Mapping[str, Any], file_of: Callable[[tuple[str, ...]], str]) -> Config:
    """The plain values of a job as its settings.

    Raises:
        InputError: what is wrong with them, each with the file to edit.
    """
    whole = with_aside(values)
    kind = schema(stage, whole)
    with explain(file_of, kind=kind):
        return kind.model_validate(whole)


def file_of(config: DictConfig) -> Callable[[tuple[str, ...]], str]:
    """Function from a key's path to the file where that key is set."""

    def file(location: tuple[str, ...]) -> str:
        group = location[0]
        if group in families() and group in config:
            name = config[group].get("name")
            return f"conf/{group}/{name if name in params.conf_names(group) else '*'}.yaml or params.yaml: {group}"
        return f"conf/{group}/*.yaml" if params.conf_names(group) else "params.yaml or conf/config.yaml"

    return file
