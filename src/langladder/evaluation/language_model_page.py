"""The page of a language model: how well it predicts the test text, what it writes."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from langladder.evaluation.page import Measured, Page, Work
from langladder.evaluation.word_vectors_page import WordVectorsPage
from langladder.ground.artefacts import figures_from_json, figures_to_json
from langladder.text.words.segmentation import WordUnit


class TextScores(Measured):
    """How well a language model predicts a text; figures may be infinite (see `langladder.ground.artefacts`).

    Attributes:
        tokens, words, characters, bytes: of the text, ends of lines included.
        word_unit: what its words are; graphemes where the text does not separate words.
        nll_nats: −log P of the whole text, in nats.
        floor_perplexity_per_word, above_floor_percent: None where the text's true probability is not known.
        unknown_rate: share of UNK among the predicted tokens; `note` says what that means.
        impossible_tokens: tokens of the text that the model rules out: what makes its figures infinite.
    """

    tokens: int
    words: int
    word_unit: WordUnit = "auto"
    characters: int
    bytes: int
    nll_nats: float
    perplexity_per_token: float
    perplexity_per_word: float
    bits_per_character: float
    bits_per_byte: float
    floor_perplexity_per_word: float | None = None
    above_floor_percent: float | None = None
    unknown_rate: float
    impossible_tokens: int = 0
    note: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _infinite(cls, value: Any) -> Any:
        return figures_from_json(value) if isinstance(value, Mapping) else value

    @model_serializer(mode="wrap")
    def _as_json_can(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return figures_to_json(plain(self))

    @property
    def headline(self) -> tuple[str, float]:
        """The figure by which models are compared, with its name: per word, or where words are graphemes, in bits."""
        if self.word_unit == "graphemes":
            return "bits per character", self.bits_per_character
        return "perplexity per word", self.perplexity_per_word

    def figures(self) -> dict[str, Any]:
        """What was measured, infinite where it is."""
        return {name: value for name, value in self if value is not None}


class Sample(Measured):
    """What a language model wrote after a prompt."""

    prompt: str
    text: str


class LanguageModelPage(Page):
    """Of one language model: its scores on the test text, what it writes, its input embedding as word vectors."""

    detail: ClassVar[dict[str, Any]] = {"samples": True, "vectors": True}

    parameters: int
    work: Work | None = None  # of networks; counted models multiply nothing
    scores: TextScores
    samples: list[Sample] = Field(default_factory=list)
    vectors: WordVectorsPage | None = None

    def figures(self) -> dict[str, Any]:
        """See `Page.figures`."""
        return {"parameters": self.parameters, **self.scores.figures()}
