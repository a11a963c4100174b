"""All results of one language model: its scores on the test text, and its continuations."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from langladder.decoding.prompts import draw_prompts
from langladder.decoding.sampling import SamplingConfig, complete
from langladder.evaluation.attention_maps import AttentionMaps, page_maps
from langladder.evaluation.page import Excluded, Measured, Metrics, Page, Work, parameter_count
from langladder.evaluation.perplexity import LineLoss, TextScores, score
from langladder.evaluation.predictions import LINES, Prediction, rounded
from langladder.evaluation.word_vectors import WordVectorsPage
from langladder.ground.progress import tracked
from langladder.models.language.language_model import LanguageModel
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import NAMES, UNK
from langladder.text.tokenize.tokenizers import Tokenizer
from langladder.text.words.segmentation import EXTRAS, splitter_of, text_unit


class Sample(Measured):
    """The continuation of a prompt by a language model."""

    prompt: str
    text: str


class LanguageModelPage(Page):
    """The page of one language model: scores on the test text, samples, and its input embedding as word vectors."""

    headlines = ("perplexity_per_word",)
    trained_on = "tokens"
    detail: ClassVar[Excluded] = {"samples": True, "vectors": True, "attention": True, "scores": {"positions"}}

    parameters: Annotated[
        int, parameter_count("numbers that the model stores: weights, or counts of an n-gram model", compared=True)
    ]
    work: Annotated[Work | None, Metrics()] = None  # of networks; counted models multiply nothing
    scores: Annotated[TextScores, Metrics()]
    samples: list[Sample] = Field(default_factory=list)
    vectors: WordVectorsPage | None = None
    attention: AttentionMaps | None = Field(default=None, exclude_if=lambda value: value is None)

    @property
    def text_unit(self) -> Literal["word", "grapheme"]:
        """That of its scores."""
        return text_unit(self.scores.word_unit)

    @classmethod
    def headline(cls, pages: Sequence[Page]) -> str | None:
        """As `TextScores.headline`: bits per character where words are graphemes."""
        graphemes = any(page.text_unit == "grapheme" for page in pages)
        return "bits_per_character" if graphemes else super().headline(pages)


def evaluate_language_model(
    model: LanguageModel,
    tokenizer: Tokenizer,
    test: TokenStream,
    sizes: Mapping[str, Any],
    *,
    name: str,
    prompts: Sequence[str] | int,
    sampling: SamplingConfig,
    vectors: WordVectorsPage | None = None,
    work: Work | None = None,
    table: list[Prediction] | None = None,
) -> LanguageModelPage:
    """Score the test text; continue some prompts.

    Args:
        sizes: of the test text: words, characters, bytes and, where known, log_prob; see `perplexity.score`.
        name: of the rung.
        prompts: what to continue, or how many beginnings of test sentences are drawn for it.
        vectors: the page of its input embedding, where it has one.
        work: what it takes, where it is a network.
        table: where it is given, the first lines of the text, each with its loss, are added to it.
    """
    lines: list[LineLoss] | None = None if table is None else []
    scores = score(model, test, lines=lines, **sizes)
    if table is not None and lines is not None:
        table += [line_row(number, line, tokenizer) for number, line in enumerate(lines[:LINES])]
    if isinstance(prompts, int):
        segmenter = sizes.get("word_unit")
        prompts = draw_prompts(test, tokenizer, prompts, splitter_of(segmenter) if segmenter in EXTRAS else None)
    begun = tracked(prompts, "sampling", unit="prompts")
    return LanguageModelPage(
        name=name,
        approach=model.approach,
        parameters=model.number_of_parameters(),
        work=work,
        scores=scores,
        samples=[Sample(prompt=prompt, text=complete(model, tokenizer, prompt, sampling)) for prompt in begun],
        vectors=vectors,
        attention=page_maps(model, tokenizer, test),
    )


def line_row(number: int, line: LineLoss, tokenizer: Tokenizer) -> Prediction:
    """The row of a line in the table of a language model."""
    text = tokenizer.decode(line.ids)
    unknown = " ".join([NAMES[UNK]] * int((line.ids == UNK).sum()))
    return Prediction(item=number, text=text, truth="", prediction="", loss=rounded(line.loss), unknown=unknown)
