"""The page of a translator: its scores, whose the errors are, examples with attention."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, PlainSerializer, computed_field, model_validator

from langladder.evaluation.page import Measured, Page


class TranslationScores(Measured):
    """Scores of a set of translations. BLEU and chrF from 0 to 100, TER from 0 up, the rest from 0 to 1 or in tokens.

    Attributes:
        bleu, bleu_low, bleu_high: BLEU and its 95 % interval (None without bootstrap).
        precisions: P_1 … P_4, from 0 to 1.
        brevity_penalty, hypothesis_length, reference_length: BP, c and r.
        chrf: chrF2.
        ter: edits per hundred words of the reference; lower is better.
        exact_match: share of translations equal to one of their references.
        signature, chrf_signature, ter_signature: sacreBLEU's; `pretok` in TER's: what cut its words beforehand.
        main: the figure to go by, `bleu`; `chrf` where the language does not part its words by spaces.
    """

    sentences: int
    bleu: float
    bleu_low: float | None
    bleu_high: float | None
    precisions: list[float]
    brevity_penalty: float
    hypothesis_length: int
    reference_length: int
    chrf: float
    ter: float
    exact_match: float
    signature: str
    chrf_signature: str
    ter_signature: str
    main: Literal["bleu", "chrf"]


class SearchErrors(Measured):
    """How the wrong translations divide.

    Attributes:
        sentences: how many were translated; wrong: how many of them differ from their reference.
        search, model: how many of the wrong ones are search errors, and model errors; together all of them.
    """

    sentences: int
    wrong: int
    search: int
    model: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def share(self) -> float | None:
        """Share of search errors among the wrong translations; None where all are right."""
        return round(self.search / self.wrong, 6) if self.wrong else None


class WidthResult(Measured):
    """What a beam width gave; `seconds` is wall-clock time of the search alone, not written: another each run."""

    width: int
    bleu: Annotated[float, PlainSerializer(lambda value: round(value, 4))]
    mean_score: Annotated[float, PlainSerializer(lambda value: round(value, 6))]
    errors: SearchErrors
    seconds: float = Field(default=0.0, exclude=True)


class LengthBucket(Measured):
    """BLEU of the sentences whose source length, in words, falls in a range such as `6–10`."""

    length: str
    sentences: int
    bleu: float


class Candidate(Measured):
    """A translation of an n-best list, with its log-probability (nats) and what the search ranked it by."""

    output: str
    log_prob: float
    score: float


class Translation(Measured):
    """One test sentence; `attention` is (output tokens, source tokens), each row a distribution."""

    source: str
    reference: str
    output: str
    source_tokens: list[str] = Field(default_factory=list)
    output_tokens: list[str] = Field(default_factory=list)
    attention: list[list[float]] | None = None
    n_best: list[Candidate] = Field(default_factory=list)

    @model_validator(mode="after")
    def _attention_fits(self) -> Self:
        """A map with rows or columns to spare would put weights beside the wrong words."""
        if self.attention:
            shape = sorted({(len(self.attention), len(row)) for row in self.attention})
            wanted = (len(self.output_tokens), len(self.source_tokens))
            if shape != [wanted]:
                raise ValueError(f"attention is {shape}, but there are {wanted} (output, source) tokens")
        return self


class TranslatorPage(Page):
    """Of one translator: scores, whose the errors are, by beam width and by length, examples, and every output."""

    detail: ClassVar[dict[str, Any]] = {"examples": True, "by_length": True, "outputs": True}

    parameters: int
    scores: TranslationScores
    search_errors: SearchErrors
    by_width: list[WidthResult] = Field(default_factory=list)
    by_length: list[LengthBucket] = Field(default_factory=list)
    examples: list[Translation] = Field(default_factory=list)
    outputs: list[str] = Field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """See `Page.figures`."""
        shown = ("bleu", "bleu_low", "bleu_high", "chrf", "ter", "exact_match", "brevity_penalty", "sentences", "main")
        found = {name: getattr(self.scores, name) for name in shown}
        return found | {"search_error_share": self.search_errors.share, "signature": self.scores.signature}
