"""Evaluation of a translator: BLEU and its kin, BLEU by length, search errors, examples with attention."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from langladder.decoding.beam_search import BeamConfig, Hypothesis
from langladder.decoding.translate import translate
from langladder.evaluation.bleu import BleuConfig, TranslationScores, corpus_bleu, score_translations
from langladder.evaluation.metrics import Metrics, parameter_count
from langladder.evaluation.page import Measured, Page
from langladder.evaluation.search_errors import (
    SearchErrors,
    Sentence,
    WidthResult,
    by_width,
    find_search_errors,
    reference_log_probs,
)
from langladder.models.translation.translator import Translator
from langladder.text.tokenize.tokenizers import Tokenizer
from langladder.text.words.segmentation import Split

BUCKETS = ((1, 5), (6, 10), (11, 15), (16, 20), (21, 30), (31, None))  # source words

EXAMPLES = 6


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

    trained_on = "tokens"
    detail: ClassVar[dict[str, Any]] = {"examples": True, "by_length": True, "outputs": True}

    parameters: Annotated[int, parameter_count("weights of the model", logged=False)]
    scores: Annotated[TranslationScores, Metrics()]
    search_errors: Annotated[SearchErrors, Metrics()]
    by_width: list[WidthResult] = Field(default_factory=list)
    by_length: list[LengthBucket] = Field(default_factory=list)
    examples: list[Translation] = Field(default_factory=list)
    outputs: list[str] = Field(default_factory=list)


def evaluate_translator(
    model: Translator,
    sentences: Sequence[Sentence],
    tokenizers: tuple[Tokenizer, Tokenizer],
    config: BeamConfig,
    *,
    name: str,
    split: Split = str.split,
    n_best: int = 1,
    bleu: BleuConfig | None = None,
    widths: Sequence[int] = (),
    width_sentences: int = 200,
) -> TranslatorPage:
    """Translate test sentences by beam search and score them; deterministic, but for the seconds by width.

    Args:
        tokenizers: of the source and of the target.
        name: of the rung.
        split: cuts a source into words.
        n_best: translations that are shown of each example, at most the beam's width.
        bleu: what BLEU counts as a word, see `bleu.bleu_config`; None: as for most languages.
        widths: beam widths to compare, on at most `width_sentences` of the sentences.
    """
    found = [hypotheses[0] for hypotheses in translate(model, [sentence.source for sentence in sentences], config)]
    outputs = [tokenizers[1].decode(hypothesis.tokens) for hypothesis in found]
    references = [[sentence.reference] for sentence in sentences]
    bleu = bleu or BleuConfig()
    log_probs = reference_log_probs(model, [(sentence.source, sentence.target) for sentence in sentences])
    words = np.array([len(split(sentence.text)) for sentence in sentences])
    chosen = _examples(words)
    several = config.model_copy(update={"n_best": min(n_best, config.width)})
    lists = translate(model, [sentences[i].source for i in chosen], several)
    return TranslatorPage(
        name=name,
        approach=model.approach,
        parameters=model.number_of_parameters(),
        scores=score_translations(outputs, references, bleu),
        search_errors=find_search_errors(outputs, found, sentences, log_probs, config),
        by_width=by_width(model, evenly(sentences, width_sentences), tokenizers[1], config, widths, bleu),
        by_length=bleu_by_length(words, outputs, references, bleu),
        examples=[_example(sentences[i], found[i], best, tokenizers) for i, best in zip(chosen, lists, strict=True)],
        outputs=outputs,
    )


def evenly(sentences: Sequence[Sentence], count: int) -> list[Sentence]:
    """At most `count` of them, at even distances."""
    count = min(count, len(sentences))
    return [sentences[place] for place in np.linspace(0, len(sentences) - 1, count).round().astype(int).tolist()]


def _example(
    sentence: Sentence, found: Hypothesis, best: list[Hypothesis], tokenizers: tuple[Tokenizer, Tokenizer]
) -> Translation:
    attention = found.attention
    return Translation(
        source=sentence.text,
        reference=sentence.reference,
        output=tokenizers[1].decode(found.tokens),
        source_tokens=[*pieces(tokenizers[0], sentence.source[:-1]), "<eos>"],
        output_tokens=[*pieces(tokenizers[1], found.tokens), "<eos>"],
        attention=None if attention is None else attention.astype(np.float64).round(3).tolist(),
        n_best=[
            Candidate(
                output=tokenizers[1].decode(other.tokens),
                log_prob=round(other.log_prob, 4),
                score=round(other.score, 4),
            )
            for other in best
        ],
    )


def pieces(tokenizer: Tokenizer, ids: Sequence[int] | np.ndarray) -> list[str]:
    """Each token as text of its own, white space as a dot."""
    return [tokenizer.piece(int(i)) or "·" for i in ids]


def _examples(words: np.ndarray) -> list[int]:
    """Sentences of evenly spread lengths, short to long, the very longest left out."""
    order = np.argsort(words, kind="stable")
    return [int(order[int(place)]) for place in np.linspace(0.1, 0.95, min(EXAMPLES, len(order))) * (len(order) - 1)]


def bleu_by_length(
    words: np.ndarray, outputs: list[str], references: list[list[str]], config: BleuConfig | None = None
) -> list[LengthBucket]:
    """BLEU of each of `BUCKETS` that has sentences.

    Args:
        words: (N,) words of each source.
    """
    config = (config or BleuConfig()).model_copy(update={"bootstrap": 0})
    rows = []
    for low, high in BUCKETS:
        inside = np.flatnonzero((words >= low) & (words <= (high or words.max())))
        if len(inside):
            bleu = corpus_bleu([outputs[i] for i in inside], [references[i] for i in inside], config)
            label = f"{low}–{high}" if high else f"{low}+"
            rows.append(LengthBucket(length=label, sentences=len(inside), bleu=round(bleu, 2)))
    return rows
