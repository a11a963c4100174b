"""What the report reads beside the pages of evaluation: titles, costs, the graph, the choices."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from langladder.evaluation.language_model_page import LanguageModelPage
from langladder.evaluation.translator_page import TranslatorPage
from langladder.evaluation.word_vectors_page import WordVectorsPage


class Part(BaseModel):
    """Base of everything read: frozen; keys that it does not know are left out."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Rung(Part):
    """What every rung has: its file's name, a title for people (the name, where it has none), its class's approach."""

    name: str
    title: str
    approach: str = ""

    @model_validator(mode="before")
    @classmethod
    def _title(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and not value.get("title"):
            return {**value, "title": value.get("name")}
        return value


class EmbeddingRung(WordVectorsPage, Rung):
    """A page of word vectors with its title."""


class LanguageModelRung(LanguageModelPage, Rung):
    """A page of a language model with its title."""

    vectors: EmbeddingRung | None = None

    @model_validator(mode="before")
    @classmethod
    def _vectors_title(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and isinstance(vectors := value.get("vectors"), Mapping):
            title = f"{value.get('title') or value.get('name')}, input embedding"
            return {**value, "vectors": {**vectors, "title": title}}
        return value


class TranslatorRung(TranslatorPage, Rung):
    """A page of a translator with its title."""


class Caption(Part):
    """A scene with what the captioner says of it, and every sentence that is right."""

    facts: list[str]
    output: str
    allowed: list[str]
    right: bool


class Transcript(Part):
    """An utterance: probabilities of the blank and of the letters that come up, frame by frame.

    `sounding`: for each frame the place in the text of the letter that really sounded, −1 in silence.
    """

    text: str
    greedy: str
    beam: str
    blank: list[float]
    labels: dict[str, list[float]]
    sounding: list[int]


class SequenceRung(Rung):
    """`reports/rungs/sequence/<rung>.json`; scores: greedy and beam → measure → value, shares in 0..1, BLEU to 100."""

    kind: Literal["captions", "transcripts"]
    parameters: int | None = None
    scores: dict[str, Any] = Field(default_factory=dict)
    by_question: dict[str, dict[str, float]] = Field(default_factory=dict)
    examples: list[Caption | Transcript] = Field(default_factory=list)


class Timing(Part):
    """What training cost on this machine; nothing of it is deterministic, so it never goes to tracked files."""

    seconds: float | None = None
    tokens_per_second: float | None = None
    peak_memory_bytes: int | None = None
    run: str | None = None  # MLflow run id or address


class Stage(Part):
    """One job of the pipeline; `stage` is `train_lm@lstm` for the job of a matrix."""

    stage: str
    desc: str = ""
    depends: list[str] = []


class Meta(Part):
    """What was chosen in params.yaml; `text` and `pairs` are the names of the corpora themselves, of own files too."""

    text: str | None = None
    pairs: str | None = None
    size: str | None = None
    seed: int | None = None
    corpus: str | None = None
    parallel: str | None = None
    tokenizer: str | None = None
