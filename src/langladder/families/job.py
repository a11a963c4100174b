"""The settings that stages of families have besides those of the rung."""

from typing import Annotated, Any

from pydantic import Field, field_validator

from langladder.decoding.limits import LengthForm
from langladder.evaluation.bleu import BleuChoice, check_tokenizer
from langladder.ground.errors import InputError
from langladder.ground.schema import Config, Name

Seed = Annotated[int, Field(ge=0, lt=2**31)]
Threads = Annotated[int, Field(ge=1, le=256)]


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


class EvaluationSets(Config):
    """Files with the evaluation sets of word vectors."""

    analogies: str
    similarity: str
    groups: str


ABSENT: Any = None
"""In place of a setting that the stage does not have."""


class Job(Config):
    """What a stage of a family reads besides its rung. A stage has the settings that dvc.yaml lists for it."""

    code: str = ""
    seed: Seed = 1
    threads: Threads = 1
    evaluation: Evaluation = ABSENT
    paths: EvaluationSets = ABSENT
    beam: int = Field(default=ABSENT, ge=1)
    bleu_tokenize: BleuChoice | None = None  # None: the stage scores nothing
    lms: list[Name] = Field(default_factory=list)
    tunes: list[Name] = Field(default_factory=list)
    agreement: str = ""
