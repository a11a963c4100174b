"""Score: the probability of texts under a language model: sentences token by token, files, options after a text.

Surprisal is −log₂ P(token | previous tokens), in bits; None if the probability is 0. See `surprisal`.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, NotRequired, TypedDict

import numpy as np

from langladder.answers.loading import LoadedModel
from langladder.answers.requests import OptionsRequest
from langladder.answers.surprisal import finite, surprisal
from langladder.decoding.options import OptionItem, option_item, score_options
from langladder.evaluation import perplexity
from langladder.evaluation.perplexity import LineLoss, TextScores
from langladder.ground.errors import InputError
from langladder.text.labelled.templates import ids_of
from langladder.text.read.lines import read_lines
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.encoding import framed


class ScoredToken(TypedDict):
    """A token as the text has it, and its surprisal in bits."""

    token: str
    bits: float | None


class ScoredSentence(TypedDict):
    """A sentence, its position in the request, and its bits: the sum, its end included."""

    rank: int
    sentence: str
    bits: float | None
    tokens: list[ScoredToken]


def score_sentences(loaded: LoadedModel, sentences: Sequence[str]) -> list[ScoredSentence]:
    """Sentences with their bits, the likeliest first; equal ones in the order given."""
    result = [(sentence, surprisal(loaded.model, loaded.tokenizer, sentence)) for sentence in sentences]
    ranked = sorted(result, key=lambda pair: math.inf if pair[1].bits is None else pair[1].bits)
    return [
        ScoredSentence(
            rank=rank,
            sentence=sentence,
            bits=scored.bits,
            tokens=[ScoredToken(token=token.text, bits=token.bits) for token in scored.tokens],
        )
        for rank, (sentence, scored) in enumerate(ranked, start=1)
    ]


class ScoredFile(NamedTuple):
    """The figures of a text file.

    note: says if lines were normalised like the model's training text.
    lines: each line with its loss.
    """

    figures: TextScores
    note: str | None
    lines: list[LineLoss]


def score_file(loaded: LoadedModel, file: Path) -> ScoredFile:
    """The scores of a text file with one sentence per line; a blank line begins a new document.

    Its words, characters and bytes are those of the normalised text.

    Raises:
        InputError: it cannot be read, or has no text.
    """
    documents: list[list[str]] = [[]]
    for line in (line.strip() for line in read_lines(file)):
        if line:
            documents[-1].append(line)
        elif documents[-1]:
            documents.append([])
    lines = [line for document in documents for line in document]
    if not lines:
        raise InputError(f"{file}: has only blank lines")
    note = loaded.tokenizer.normalisation.note(lines, f"lines of {file}")
    lines = loaded.tokenizer.normalisation.normalise_all(lines)
    rows = iter(framed(ids) for ids in loaded.tokenizer.encode_lines(lines))
    parts = [np.concatenate([next(rows) for _ in document]) for document in documents if document]
    losses: list[LineLoss] = []
    figures = perplexity.score(
        loaded.model,
        TokenStream(np.concatenate(parts), np.cumsum([0, *map(len, parts)])),
        words=sum(len(loaded.conventions.split(line)) + 1 for line in lines),
        word_unit=loaded.conventions.unit,
        characters=sum(len(line) + 1 for line in lines),
        bytes=sum(len(line.encode()) + 1 for line in lines),
        lines=losses,
    )
    return ScoredFile(figures, note, losses)


class ScoredOption(TypedDict):
    """An option after a text, in natural logarithms; None if the model gives it probability 0.

    Attributes:
        per_token: log P for each of its tokens.
        share: P(option) / Σ P over the options.
        calibrated: log P(option | text) − log P(option | words), only if words for calibration were given.
    """

    option: str
    log_prob: float | None
    tokens: int
    per_token: float | None
    share: float | None
    calibrated: NotRequired[float | None]


def rank_options(loaded: LoadedModel, text: str, request: OptionsRequest) -> list[ScoredOption]:
    """The options with their scores after a text, likeliest first (by the calibrated score if there is one).

    Raises:
        InputError: an option is empty, or there is no text before them.
    """

    def scored(context: str) -> tuple[OptionItem, list[float]]:
        wholes = ids_of(
            loaded.tokenizer, [f"{context} {option}{request.after}".lstrip(" ") for option in request.options]
        )
        item = option_item(wholes, ids_of(loaded.tokenizer, [context])[0])
        return item, score_options(loaded.model, [item])[0].tolist()

    item, log_probs = scored(text.rstrip(" "))
    alone = None if request.calibrate is None else scored(request.calibrate.strip(" "))[1]
    peak = max(log_probs)
    total = sum(math.exp(value - peak) for value in log_probs) if math.isfinite(peak) else math.nan
    rows: list[tuple[float, ScoredOption]] = []
    for index, (option, value) in enumerate(zip(request.options, log_probs, strict=True)):
        tokens, ranked_by = len(item.options[index]), value
        result = ScoredOption(
            option=option,
            log_prob=finite(value),
            tokens=tokens,
            per_token=finite(value / tokens),
            share=finite(math.exp(value - peak) / total) if math.isfinite(peak) else None,
        )
        if alone is not None:
            ranked_by = value - alone[index] if math.isfinite(value) else -math.inf
            result["calibrated"] = finite(ranked_by)
        rows.append((ranked_by, result))
    return [option for _, option in sorted(rows, key=lambda row: -row[0])]
