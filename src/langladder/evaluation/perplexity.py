"""One scorer for every language model, in units that do not depend on its tokenizer.

With L = −Σ log P(w_t | w_<t) the negative log-likelihood of the test text in nats, EOS counted and BOS not:

    perplexity per token  exp(L / tokens)       comparable only between models with the same tokenizer
    perplexity per word   exp(L / words)        words: by the conventions of the text, and one end a line
    bits per character    L / (ln 2 · chars)    characters: Unicode code points, and one newline a line
    bits per byte         L / (ln 2 · bytes)    bytes: UTF-8, and one newline a line

Every character of the text is scored once: the ids of a line spell it, EOS stands for its end. Where the text's true
probability is known, exp(−log P / words) is the entropy floor, which a model can only beat by chance of the sample.
"""

import math
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from langladder.data.language_modelling import SCORED_TOKENS, document_batches
from langladder.evaluation.page import LOGGED, Measured, Metric, Metrics, figures
from langladder.ground.artefacts import figures_from_json, figures_to_json
from langladder.ground.errors import InputError
from langladder.ground.progress import working
from langladder.models.language.language_model import LanguageModel, predicted
from langladder.text.storage.token_streams import POSITIONS, TokenStream, position_group
from langladder.text.tokenize.specials import BOS, EOS, PAD, UNK
from langladder.text.words.segmentation import WordUnit, text_unit

SHARED_UNK = "UNK stands for several words at once: not comparable with models that spell every word"


class PositionScores(Measured):
    """How well a language model predicts the lines at some positions of their documents.

    Attributes:
        first, last: positions, from 1; no last one: all that follow.
        words: of these lines, their ends included.
        perplexity: per word; None where the model rules one out. floor: the truth's, where it is known.
    """

    first: int
    last: int | None = None
    words: int
    perplexity: float | None = None
    floor: float | None = None


class TextScores(Measured):
    """How well a language model predicts a text; figures may be infinite (see `langladder.ground.artefacts`).

    Attributes:
        tokens, words, characters, bytes: of the text, ends of lines included.
        word_unit: what its words are; graphemes where the text does not separate words.
        nll_nats: −log P of the whole text, in nats.
        floor_perplexity_per_word, above_floor_percent: None where the text's true probability is not known.
        unknown_rate: share of UNK among the predicted tokens; `note` says what that means.
        impossible_tokens: tokens of the text that the model rules out: what makes its figures infinite.
        positions: by the position of the line in its document, of positions that the text has.
    """

    tokens: Annotated[int, LOGGED]
    words: Annotated[int, LOGGED]
    word_unit: Annotated[WordUnit, LOGGED] = "auto"
    characters: Annotated[int, LOGGED]
    bytes: Annotated[int, LOGGED]
    nll_nats: Annotated[float, LOGGED]
    perplexity_per_token: Annotated[
        float,
        Metric(
            "perplexity per token",
            "exp of the mean surprisal per token; comparable only between models that share a tokenizer",
            unit="perplexity",
            better="lower",
            after="perplexity per word",
        ),
    ]
    perplexity_per_word: Annotated[
        float,
        Metric(
            "perplexity per word",
            "exp of the mean surprisal per word, the end of each line counted as one: the model is as uncertain as in "
            "a choice among that many equally likely words. Every character of the test text counts once, so models "
            "with different tokenizers can be compared",
            unit="perplexity",
            better="lower",
            brief=True,
            compared=True,
        ),
    ]
    bits_per_character: Annotated[
        float,
        Metric(
            "bits per character",
            "bits per character that the test text would need if the model compressed it; comparable between models of"
            " one language, also of a language without spaces",
            better="lower",
        ),
    ]
    bits_per_byte: Annotated[
        float,
        Metric(
            "bits per byte",
            "bits per byte that the test text would need if the model compressed it; independent of words and tokens. "
            "A character takes one byte in English and three in Thai or Chinese, so do not compare texts in different "
            "scripts",
            better="lower",
            brief=True,
            compared=True,
        ),
    ]
    floor_perplexity_per_word: Annotated[float | None, Metric("entropy floor, perplexity per word")] = None
    above_floor_percent: Annotated[
        float | None,
        Metric(
            "above the floor",
            "by how much the perplexity per word exceeds the entropy floor, which is the perplexity of the true "
            "probabilities: no model can be below it on average; known only for a corpus with a known grammar",
            unit="percent",
            better="lower",
            brief=True,
            card="per cent above the entropy floor",
        ),
    ] = None
    unknown_rate: Annotated[float, Metric("share of unknown tokens")]
    impossible_tokens: Annotated[int, LOGGED] = 0
    note: Annotated[str | None, LOGGED] = None
    positions: Annotated[list[PositionScores], Metrics()] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _infinite(cls, value: object) -> object:
        return figures_from_json(value) if isinstance(value, Mapping) else value

    @model_serializer(mode="wrap")
    def _as_json_can(self, plain: SerializerFunctionWrapHandler) -> dict[str, object]:
        return figures_to_json(plain(self))

    @property
    def headline(self) -> tuple[str, float]:
        """The figure by which models are compared, with its name: per word, or where words are graphemes, in bits."""
        if text_unit(self.word_unit) == "grapheme":
            return "bits per character", self.bits_per_character
        return "perplexity per word", self.perplexity_per_word

    def figures(self) -> dict[str, Any]:
        """The figures, which can be infinite."""
        return figures(self)


def score(
    model: LanguageModel,
    stream: TokenStream,
    *,
    words: int,
    characters: int,
    bytes: int,
    word_unit: WordUnit = "auto",
    log_prob: float | None = None,
    words_by_position: Sequence[int] = (),
    log_prob_by_position: Sequence[float] | None = None,
    batch_tokens: int = SCORED_TOKENS,
    lines: list["LineLoss"] | None = None,
) -> TextScores:
    """Score a text that `stream` holds tokenised.

    Args:
        words: of the text plus one end a line.
        characters: Unicode code points of the text plus one newline a line.
        bytes: UTF-8 bytes of the text plus one newline a line.
        word_unit: what its words are.
        log_prob: the text's true natural-log probability, where known.
        words_by_position, log_prob_by_position: the same of each group of `POSITIONS`.
        batch_tokens: tokens read at a time; changes the speed, not the result.
        lines: where it is given, each line of the text with its loss is added to it.

    Returns:
        The figures; floor and distance from it with `log_prob` only. If the model rules a token out (probability 0),
        they are infinite, and `impossible_tokens` counts these.

    Raises:
        InputError: there is nothing to score, or an id outside the model's vocabulary.
    """
    device = next(model.parameters()).device if isinstance(model, torch.nn.Module) else torch.device("cpu")
    total, tokens, unknown, impossible = 0.0, 0, 0, 0
    by_position = np.zeros(len(POSITIONS))
    documents: list[list[LineLoss]] = []  # in the order of the batches
    with working("scoring", len(stream.ids), "tokens") as task:
        for batch in document_batches(stream, batch_tokens=batch_tokens):
            keep = predicted(batch)  # (B, T)
            scores = model.log_probs(batch.to(device)).cpu()[keep].double()  # (N,)
            impossible += int(torch.isneginf(scores).sum())
            total -= float(scores.sum())
            groups = position_group((batch == BOS).cumsum(dim=1).sub(1).clamp(min=0)[keep].numpy())  # (N,)
            by_position -= np.bincount(groups, weights=scores.numpy(), minlength=len(POSITIONS))
            if lines is not None:
                documents += _by_line(batch, keep, scores)
            tokens += len(scores)
            unknown += int((batch == UNK).sum())
            task.advance(int((batch != PAD).sum()))
    if not tokens or words < 1 or characters < 1 or bytes < 1:
        raise InputError(f"nothing to score: {tokens} tokens, {words} words, {characters} characters, {bytes} bytes")
    if lines is not None:
        order = [index for index in np.argsort(-np.diff(stream.offsets), kind="stable") if len(stream.document(index))]
        lines += [
            line for _, scored in sorted(zip(order, documents, strict=True), key=itemgetter(0)) for line in scored
        ]
    per_word, floor = _exp(total / words), None if log_prob is None else math.exp(-log_prob / words)
    return TextScores(
        tokens=tokens,
        words=words,
        word_unit=word_unit,
        characters=characters,
        bytes=bytes,
        nll_nats=total,
        perplexity_per_token=_exp(total / tokens),
        perplexity_per_word=per_word,
        bits_per_character=total / math.log(2) / characters,
        bits_per_byte=total / math.log(2) / bytes,
        floor_perplexity_per_word=floor,
        above_floor_percent=None if floor is None else 100 * (per_word / floor - 1),
        unknown_rate=unknown / tokens,
        impossible_tokens=impossible,
        note=SHARED_UNK if unknown else None,
        positions=_positions(by_position.tolist(), words_by_position, log_prob_by_position),
    )


class LineLoss(NamedTuple):
    """A line of a text: its ids, without BOS and EOS, and −log P of the line and its end given the previous text."""

    ids: np.ndarray
    loss: float


def _by_line(batch: torch.Tensor, keep: torch.Tensor, scores: torch.Tensor) -> list[list[LineLoss]]:
    """The lines of each document of a batch.

    Args:
        batch, keep: (B, T) ids, and which of them are scored; scores: (N,) of those.
    """
    losses = np.zeros(batch.shape)
    losses[keep.numpy()] = -scores.numpy()
    results = []
    for ids, row in zip(batch.numpy(), losses, strict=True):
        starts = np.flatnonzero(ids == BOS)
        sums = np.add.reduceat(row, starts)
        parts = np.split(ids, starts[1:])
        results.append(
            [LineLoss(part[(part > EOS) | (part == UNK)], float(loss)) for part, loss in zip(parts, sums, strict=True)]
        )
    return results


def _positions(
    losses: Sequence[float], words: Sequence[int], log_probs: Sequence[float] | None
) -> list[PositionScores]:
    """The figures of each group of positions in which the text has lines; losses in nats."""
    lasts = [*(first - 1 for first in POSITIONS[1:]), None]
    known: Sequence[float | None] = log_probs or [None] * len(POSITIONS)
    positions = []
    for first, last, loss, count, log_prob in zip(POSITIONS, lasts, losses, words, known, strict=False):
        if count:
            perplexity = _exp(loss / count)
            positions.append(
                PositionScores(
                    first=first,
                    last=last,
                    words=count,
                    perplexity=perplexity if math.isfinite(perplexity) else None,
                    floor=None if log_prob is None else math.exp(-log_prob / count),
                )
            )
    return positions


def _exp(exponent: float) -> float:
    return math.exp(exponent) if exponent < math.log(float.fromhex("0x1p1023")) else math.inf
