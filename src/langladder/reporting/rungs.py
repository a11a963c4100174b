"""The shapes of the files that the stages leave for the report, checked when they are read.

Extra keys are left out and parts that a rung does not have are empty, so that a new kind of rung needs no change here.
Shares stand in 0..1 unless a name says per cent.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from langladder.infinity import from_plain, to_plain


class Part(BaseModel):
    """Base of everything read: frozen; keys that it does not know are left out."""

    model_config = ConfigDict(extra="ignore", frozen=True, validate_by_name=True, validate_by_alias=True)


class Rung(Part):
    """What every rung has: its file's name, a title for people (the name, where it has none), its class's family."""

    name: str
    title: str
    family: str = ""

    @model_validator(mode="before")
    @classmethod
    def _title(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and not value.get("title"):
            return {**value, "title": value.get("name")}
        return value


class Sample(Part):
    """What a language model wrote after a prompt."""

    prompt: str = ""
    text: str


class LanguageModelScores(Part):
    """The scorer's figures; `None` where it could not measure (the floor of a real corpus is unknown).

    A figure that the file calls infinite is infinite here, and so is written again (`langladder.infinity`).
    """

    tokens: int | None = None
    words: int | None = None
    bytes: int | None = None
    nll_nats: float | None = None
    perplexity_per_token: float | None = None
    perplexity_per_word: float | None = None
    bits_per_byte: float | None = None
    floor_perplexity_per_word: float | None = None
    above_floor_percent: float | None = None
    unknown_rate: float | None = None
    impossible_tokens: int = 0  # tokens of the test text that the model rules out: what makes its figures infinite

    @model_validator(mode="before")
    @classmethod
    def _infinite(cls, value: Any) -> Any:
        return from_plain(value) if isinstance(value, Mapping) else value

    @model_serializer(mode="wrap")
    def _as_json_can(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return to_plain(plain(self))


class AnalogyFigure(Part):
    """Answers to some analogy questions: `answered` are those whose words are all known, accuracy is among them."""

    correct: int
    answered: int
    total: int = Field(validation_alias=AliasChoices("total", "questions"))

    @property
    def accuracy(self) -> float | None:
        """Share of the answered questions that are right, in 0..1."""
        return self.correct / self.answered if self.answered else None


class AnalogySection(AnalogyFigure):
    """One section of the question file."""

    name: str


class Analogy(Part):
    """All questions together, their two halves where the set has them, and the sections; shares in 0..1."""

    interval: tuple[float, float] | None = None
    cosmul: float | None = Field(
        None, validation_alias=AliasChoices(AliasPath("cosmul", "overall", "accuracy"), "cosmul_accuracy")
    )
    accuracy: float | None = Field(None, validation_alias=AliasChoices("accuracy", AliasPath("overall", "accuracy")))
    coverage: float | None = Field(None, validation_alias=AliasChoices("coverage", AliasPath("overall", "coverage")))
    semantic: AnalogyFigure | None = None
    syntactic: AnalogyFigure | None = None
    sections: list[AnalogySection] = []


class Similarity(Part):
    """Spearman's ρ against human (or true) word similarity on one data set."""

    name: str
    spearman: float | None = None
    interval: tuple[float, float] | None = None
    coverage: float | None = None
    pairs: int | None = None


class Clusters(Part):
    """How well known groups of words are kept together; shares in 0..1."""

    purity: float | None = None
    outlier_accuracy: float | None = Field(
        None, validation_alias=AliasChoices("outlier_accuracy", AliasPath("outliers", "accuracy"))
    )


class EmbeddingScores(Part):
    """Intrinsic scores of word vectors."""

    clusters: Clusters | None = None
    analogy: Analogy | None = None
    similarity: list[Similarity] = Field(
        [], validation_alias=AliasChoices(AliasPath("similarity", "sets"), "similarity")
    )


class Neighbours(Part):
    """A word and its nearest words with their cosines."""

    word: str
    nearest: list[tuple[str, float]] = []


class MapPoint(Part):
    """A word's place on the 2-D map, and the group that colours it."""

    word: str
    x: float
    y: float
    group: str = ""


class EmbeddingRung(Rung):
    """`reports/rungs/embedding/<rung>.json`."""

    dimension: int | None = None
    vocabulary: int | None = None
    bytes_per_word: float | None = None
    scores: EmbeddingScores = Field(default_factory=lambda: EmbeddingScores.model_validate({}))
    neighbours: list[Neighbours] = []
    map: list[MapPoint] = []


class LanguageModelRung(Rung):
    """`reports/rungs/lm/<rung>.json`."""

    parameters: int | None = None
    scores: LanguageModelScores = LanguageModelScores()
    samples: list[Sample] = []
    vectors: EmbeddingRung | None = None  # its input embedding, judged as word vectors


class TranslatorScores(Part):
    """Corpus BLEU with its 95 % interval and signature, chrF, TER, and the share equal to the reference (0..1).

    `main`: the figure to go by: chrF where the target language does not part its words by spaces.
    """

    main: Literal["bleu", "chrf"] = "bleu"

    bleu: float | None = None
    bleu_signature: str | None = Field(None, validation_alias=AliasChoices("bleu_signature", "signature"))
    bleu_low: float | None = None
    bleu_high: float | None = None
    chrf: float | None = None
    ter: float | None = None
    exact_match: float | None = None
    brevity_penalty: float | None = None
    hypothesis_length: int | None = None
    reference_length: int | None = None
    precisions: list[float] = []


class WidthErrors(Part):
    """Search with one beam width: BLEU, and the share of the wrong translations that are search errors."""

    width: int
    bleu: float | None = None
    mean_score: float | None = None
    sentences: int | None = None
    wrong: int | None = None
    share: float | None = None


class SearchErrors(Part):
    """Wrong translations: `search` whose reference the model itself prefers, `model` the others; by beam width."""

    sentences: int | None = None
    wrong: int | None = None
    search: int | None = None
    model: int | None = None
    share: float | None = None
    by_width: list[WidthErrors] = []


class LengthBucket(Part):
    """BLEU of the sentences whose source length falls in a range such as `6-10`."""

    length: str
    sentences: int | None = None
    bleu: float | None = None


class Candidate(Part):
    """A translation of an n-best list, with its log-probability (nats) and what the search ranked it by."""

    output: str
    log_prob: float | None = None
    score: float | None = None


class Translation(Part):
    """One test sentence; `attention` is (output tokens, source tokens), each row a distribution."""

    source: str
    reference: str
    output: str
    source_tokens: list[str] = []
    output_tokens: list[str] = []
    attention: list[list[float]] | None = None
    n_best: list[Candidate] = []

    @model_validator(mode="after")
    def _attention_fits(self) -> "Translation":
        """A map with rows or columns to spare would put weights beside the wrong words."""
        if self.attention:
            shape = sorted({(len(self.attention), len(row)) for row in self.attention})
            wanted = (len(self.output_tokens), len(self.source_tokens))
            if shape != [wanted]:
                raise ValueError(f"attention is {shape}, but there are {wanted} (output, source) tokens")
        return self


class TranslatorRung(Rung):
    """`reports/rungs/translator/<rung>.json`."""

    parameters: int | None = None
    scores: TranslatorScores = Field(default_factory=lambda: TranslatorScores.model_validate({}))
    search_errors: SearchErrors = SearchErrors()
    by_length: list[LengthBucket] = []
    examples: list[Translation] = []


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
