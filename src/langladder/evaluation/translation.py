"""Evaluation of a translator: BLEU and its kin, BLEU by length, search errors, examples with attention.

Whose fault is a wrong translation: the search's or the model's? For each output ŷ that is not the reference y*, compare
the model's own scores of both, both normalised by length:

    score(y*) > score(ŷ)   search error: the model prefers the reference, the search did not find it
    score(y*) ≤ score(ŷ)   model error: even a perfect search would not have returned the reference

(Ng 2018, Deep Learning Specialization, "Error analysis in beam search".) A search error is a lower bound in this sense:
the best sentence of all may be a third one, which neither search nor reference shows. A wider beam can mend search
errors only; as it grows their share falls, and what is left is the model. The coverage penalty, if there is one, is
left out of both sides: it belongs to the search.
"""

import time
from collections.abc import Sequence
from typing import Annotated, ClassVar, NamedTuple, Self

import numpy as np
import torch
from pydantic import Field, PlainSerializer, computed_field, model_validator

from langladder.data.translation import pack, pad
from langladder.decoding.beam_search import BeamConfig, Hypothesis
from langladder.decoding.scores import normalised
from langladder.decoding.translate import translate
from langladder.evaluation.bleu import BleuConfig, TranslationScores, corpus_bleu, score_translations, sentence_chrf
from langladder.evaluation.page import Excluded, Measured, Metric, Metrics, Page, parameter_count
from langladder.evaluation.predictions import Prediction, rounded
from langladder.ground.errors import InputError
from langladder.ground.progress import tracked
from langladder.models.translation.translator import Translator
from langladder.text.tokenize.specials import UNK
from langladder.text.tokenize.tokenizers import Tokenizer
from langladder.text.words.segmentation import Split

# ---- search errors


TOLERANCE = 1e-4
"""Nats a token by which scores must differ to count: the two are summed in different orders, in float32."""


class Sentence(NamedTuple):
    """One sentence to translate and its reference: source ids (with EOS), target ids (BOS … EOS), and both as text."""

    source: np.ndarray
    target: np.ndarray
    text: str
    reference: str


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
    def share(
        self,
    ) -> Annotated[
        float | None,
        Metric(
            "search errors",
            "share of the wrong translations that are the fault of the search: the model gives the reference a better "
            "score than its own output. The others are the fault of the model",
            unit="share",
            name="search_error_share",
            card="share of search errors among wrong outputs",
        ),
    ]:
        """Share of search errors among the wrong translations; None where all are right."""
        return round(self.search / self.wrong, 6) if self.wrong else None


class WidthResult(Measured):
    """What a beam width gave; `seconds` is wall-clock time of the search alone, not written: another each run."""

    width: int
    bleu: Annotated[float, PlainSerializer(lambda value: round(value, 4))]
    mean_score: Annotated[float, PlainSerializer(lambda value: round(value, 6))]
    errors: SearchErrors
    seconds: float = Field(default=0.0, exclude=True)


def reference_log_probs(
    model: Translator, pairs: Sequence[tuple[np.ndarray, np.ndarray]], *, batch_tokens: int = 4096
) -> np.ndarray:
    """log P(y* | x) of each (source ids with EOS, target ids BOS … EOS), (N,) float64.

    Raises:
        InputError: a target is not BOS … EOS of known ids (names the sentence).
    """
    for index, (_, target) in enumerate(pairs):
        if len(target) < 2 or target.max() >= model.target_vocab_size or target.min() < 0:
            raise InputError(
                f"reference {index}: BOS … EOS with ids in 0..{model.target_vocab_size - 1}, got {list(target)}"
            )
    lengths = np.array([max(len(source), len(target)) for source, target in pairs], dtype=np.int64)
    totals, device = np.zeros(len(pairs)), next(model.parameters()).device
    training = model.training
    model.eval()
    try:
        for rows in pack(np.argsort(lengths, kind="stable"), lengths, batch_tokens) if len(pairs) else []:
            sources, targets = (pad([pairs[row][side] for row in rows]).to(device) for side in (0, 1))
            totals[rows] = model.log_probs(sources, targets).sum(dim=1, dtype=torch.float64).cpu().numpy()
    finally:
        model.train(training)
    return totals


def find_search_errors(
    outputs: Sequence[str],
    hypotheses: Sequence[Hypothesis],
    sentences: Sequence[Sentence],
    log_probs: np.ndarray,
    config: BeamConfig,
) -> SearchErrors:
    """Divide the wrong ones among the translations `found` (their texts are `outputs`).

    Args:
        log_probs: (N,) of the references, from `reference_log_probs`.
    """
    wrong = search = 0
    for output, hypothesis, sentence, log_prob in zip(outputs, hypotheses, sentences, log_probs.tolist(), strict=True):
        if output == sentence.reference:
            continue
        wrong += 1
        T, T_reference = len(hypothesis.tokens) + 1, len(sentence.target) - 1
        ours = normalised(hypothesis.log_prob, T, config.alpha, config.length_form)
        best = normalised(log_prob, T_reference, config.alpha, config.length_form)
        search += best - ours > TOLERANCE * normalised(T_reference, T_reference, config.alpha, config.length_form)
    return SearchErrors(sentences=len(sentences), wrong=wrong, search=search, model=wrong - search)


def by_width(
    model: Translator,
    sentences: Sequence[Sentence],
    tokenizer: Tokenizer,
    config: BeamConfig,
    widths: Sequence[int],
    bleu_config: BleuConfig | None = None,
) -> list[WidthResult]:
    """Search with each width in turn, all else as in `config` but for groups and n-best, which are 1.

    Args:
        tokenizer: of the target.
        bleu_config: what BLEU counts as a word; None: as for most languages.
    """
    log_probs = reference_log_probs(model, [(sentence.source, sentence.target) for sentence in sentences])
    references = [[sentence.reference] for sentence in sentences]
    scoring = (bleu_config or BleuConfig()).model_copy(update={"bootstrap": 0})
    results = []
    for width in tracked(widths, "searching with other widths", unit="widths"):
        settings = BeamConfig.model_validate(config.model_dump() | {"width": width, "groups": 1, "n_best": 1})
        start = time.perf_counter()
        translations = [hypotheses[0] for hypotheses in translate(model, [s.source for s in sentences], settings)]
        seconds = time.perf_counter() - start
        outputs = [tokenizer.decode(hypothesis.tokens) for hypothesis in translations]
        errors = find_search_errors(outputs, translations, sentences, log_probs, settings)
        bleu = corpus_bleu(outputs, references, scoring)
        mean = float(np.mean([hypothesis.score for hypothesis in translations]))
        results.append(WidthResult(width=width, bleu=bleu, mean_score=mean, errors=errors, seconds=seconds))
    return results


# ---- the page of a translator


BUCKETS = ((1, 5), (6, 10), (11, 15), (16, 20), (21, 30), (31, None))  # source words

EXAMPLES = 6


class LengthBucket(Measured):
    """BLEU of the sentences whose source length, in words, falls in a range such as `6–10`."""

    length: str
    sentences: int
    bleu: float


class Candidate(Measured):
    """A translation of an n-best list, with its log-probability (nats) and its score in the search."""

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
    """The page of one translator: scores, search and model errors, results by beam width and by length, examples,
    outputs."""

    trained_on = "tokens"
    sampled = "test sentences"
    detail: ClassVar[Excluded] = {"examples": True, "by_length": True, "outputs": True}

    parameters: Annotated[int, parameter_count("weights of the model", logged=False)]
    scores: Annotated[TranslationScores, Metrics()]
    search_errors: Annotated[SearchErrors, Metrics()]
    by_width: list[WidthResult] = Field(default_factory=list)
    by_length: list[LengthBucket] = Field(default_factory=list)
    examples: list[Translation] = Field(default_factory=list)
    outputs: list[str] = Field(default_factory=list)

    @property
    def items(self) -> int | None:
        """Test sentences."""
        return self.scores.sentences


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
    table: list[Prediction] | None = None,
) -> TranslatorPage:
    """Translate test sentences by beam search and score them; deterministic, but for the seconds by width.

    Args:
        tokenizers: of the source and of the target.
        name: of the rung.
        split: cuts a source into words.
        n_best: translations that are shown of each example, at most the beam's width.
        bleu: what BLEU counts as a word, see `bleu.bleu_config`; None: as for most languages.
        widths: beam widths to compare, on at most `width_sentences` of the sentences.
        table: where it is given, the translation of each sentence is added to it; its loss is that of the reference.
    """
    translations = [
        hypotheses[0] for hypotheses in translate(model, [sentence.source for sentence in sentences], config)
    ]
    outputs = [tokenizers[1].decode(hypothesis.tokens) for hypothesis in translations]
    references = [[sentence.reference] for sentence in sentences]
    bleu = bleu or BleuConfig()
    log_probs = reference_log_probs(model, [(sentence.source, sentence.target) for sentence in sentences])
    if table is not None:
        table += [
            Prediction(
                item=row,
                text=sentence.text,
                truth=sentence.reference,
                prediction=output,
                right=output == sentence.reference,
                score=rounded(sentence_chrf(output, sentence.reference)),
                probability=rounded(np.exp(hypothesis.log_prob)),
                loss=rounded(-log_probs[row]),
                unknown=" ".join(_unknown(sentence, tokenizers[0])),
            )
            for row, (sentence, output, hypothesis) in enumerate(zip(sentences, outputs, translations, strict=True))
        ]
    words = np.array([len(split(sentence.text)) for sentence in sentences])
    chosen = _examples(words)
    several = config.model_copy(update={"n_best": min(n_best, config.width)})
    lists = translate(model, [sentences[i].source for i in chosen], several)
    return TranslatorPage(
        name=name,
        approach=model.approach,
        parameters=model.number_of_parameters(),
        scores=score_translations(outputs, references, bleu),
        search_errors=find_search_errors(outputs, translations, sentences, log_probs, config),
        by_width=by_width(model, evenly(sentences, width_sentences), tokenizers[1], config, widths, bleu),
        by_length=bleu_by_length(words, outputs, references, bleu),
        examples=[
            _example(sentences[i], translations[i], best, tokenizers) for i, best in zip(chosen, lists, strict=True)
        ],
        outputs=outputs,
    )


def _unknown(sentence: Sentence, tokenizer: Tokenizer) -> list[str]:
    """The words of a source that its tokenizer cannot spell."""
    if UNK not in sentence.source:
        return []
    return [word for word in dict.fromkeys(sentence.text.split()) if UNK in tokenizer.encode(word)]


def evenly(sentences: Sequence[Sentence], count: int) -> list[Sentence]:
    """At most `count` of them, at even distances."""
    count = min(count, len(sentences))
    return [sentences[index] for index in np.linspace(0, len(sentences) - 1, count).round().astype(int).tolist()]


def _example(
    sentence: Sentence, hypothesis: Hypothesis, best: list[Hypothesis], tokenizers: tuple[Tokenizer, Tokenizer]
) -> Translation:
    attention = hypothesis.attention
    return Translation(
        source=sentence.text,
        reference=sentence.reference,
        output=tokenizers[1].decode(hypothesis.tokens),
        source_tokens=[*pieces(tokenizers[0], sentence.source[:-1]), "<eos>"],
        output_tokens=[*pieces(tokenizers[1], hypothesis.tokens), "<eos>"],
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
    """The text of each token, with white space as a dot."""
    return [tokenizer.piece(int(i)) or "·" for i in ids]


def _examples(words: np.ndarray) -> list[int]:
    """Sentences of evenly spread lengths, short to long, the very longest left out."""
    order = np.argsort(words, kind="stable")
    return [int(order[int(index)]) for index in np.linspace(0.1, 0.95, min(EXAMPLES, len(order))) * (len(order) - 1)]


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
