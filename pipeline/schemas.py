"""The schema of every stage's settings. A rung's own part comes from its class (`_target_`): a new rung adds nothing here."""

from typing import Any, Literal

from pydantic import Field, create_model

from langladder.corpora.microworld import MicroworldConfig
from langladder.counts.cooccurrence import CooccurrenceConfig
from langladder.errors import InputError
from langladder.schema import Config, locate
from langladder.text.cleaning import CleanConfig
from langladder.text.readers import HubSource, TextSource
from langladder.text.splitting import SplitConfig
from langladder.text.tokenizers import TokenizerConfig
from langladder.text.vocabulary import VocabularyConfig

SIDES = ("text", "parallel")
SOURCES: dict[str, type[Config]] = {"microworld": MicroworldConfig, "files": TextSource, "hub": HubSource}
TRAINING = {
    "embedding": "langladder.tasks.settings.TrainingConfig",
    "lm": "langladder.tasks.settings.LanguageModelTraining",
    "translator": "langladder.tasks.settings.TranslationTraining",
}


class Evaluation(Config):
    """How rungs are judged and shown."""

    batch_tokens: int = Field(ge=64)
    prompts: list[str]
    sample_tokens: int = Field(ge=1)
    temperature: float = Field(gt=0)
    beam: int = Field(ge=1)
    length_alpha: float = Field(ge=0, le=2)
    max_length: int = Field(ge=1)
    restrict_vocabulary: int | None = Field(default=None, ge=1)
    neighbours: int = Field(ge=1)


class Sizes(Config):
    """The cost dial: conf/size/."""

    name: str
    vocabulary: int
    embedding_dim: int
    embedding_epochs: int
    lm_width: int
    lm_steps: int
    gpt_width: int
    gpt_layers: int
    gpt_steps: int
    translator_width: int
    translator_steps: int
    context: int


FIELDS: dict[str, Any] = {
    "side": Literal["text", "parallel"],
    "seed": (int, Field(ge=0, lt=2**31)),
    "path": str,
    "clean": CleanConfig,
    "split": SplitConfig,
    "tokenizer": TokenizerConfig,
    "words": VocabularyConfig,
    "cooccurrence": CooccurrenceConfig,
    "evaluation": Evaluation,
    "size": Sizes,
    "code": str,
}


def schema(stage: str, values: dict[str, Any]) -> type[Config]:
    """Schema of a stage's settings; the values say which corpus kind or rung class checks its own part."""
    parts: dict[str, Any] = {}
    for key, value in values.items():
        if key == "corpus":
            parts[key] = (_corpus(value), ...)
        elif key in TRAINING:
            parts[key] = (_rung(key, value), ...)
        elif key in FIELDS:
            parts[key] = FIELDS[key] if isinstance(FIELDS[key], tuple) else (FIELDS[key], ...)
    return create_model(f"{stage}_job", __base__=Config, **parts)


def _corpus(value: dict[str, Any]) -> type[Config]:
    kind = value.get("kind")
    if kind not in SOURCES:
        raise InputError(f"corpus.kind: {kind!r} is not allowed: one of {', '.join(SOURCES)}; change it in conf/corpus/")
    return create_model("corpus", __base__=Config, kind=(str, ...), iid=(bool, ...), source=(SOURCES[kind], ...))


def _rung(group: str, value: dict[str, Any]) -> type[Config]:
    if "_target_" not in value:
        raise InputError(f"{group}._target_: missing; name the rung's class in conf/{group}/{value.get('name')}.yaml")
    rung = locate(value["_target_"])
    parts: dict[str, Any] = {"name": (str, ...), "target": (str, Field(alias="_target_")), "model": (rung.Config, ...)}
    if rung.TRAINED:  # by gradient
        parts["training"] = (locate(TRAINING[group]), ...)
    return create_model(f"{group}_rung", __base__=Config, **parts)
