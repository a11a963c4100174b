"""Surprisal of each token and word of a text under a language model: −log₂ P(token | previous tokens), in bits.

It is computed by the ladder's scorer (`evaluation.perplexity`), with the text as one document: its lines one after the
other as BOS … EOS; the end of each line is a token and a word. A word's surprisal is the sum over its tokens, so that
models with different tokenizers can be compared word by word.
"""

import math
import re
from bisect import bisect_right
from typing import NamedTuple

import torch

from langladder.decoding.sampling import device_of
from langladder.ground.errors import InputError
from langladder.models.language.language_model import LanguageModel
from langladder.text.tokenize.specials import BOS, EOS, NAMES, PAD, UNK
from langladder.text.tokenize.tokenizers import Tokenizer

END_OF_LINE = NAMES[EOS]
_WORD = re.compile(r"\S+")


class Token(NamedTuple):
    """A token of the text.

    Attributes:
        before: the white space before it.
        text: its text; `<eos>` at the end of a line. Of a character of several tokens the first has the whole, the
            others their bytes (`\\xa9`).
        bits: its surprisal; None if the model gives it probability 0.
        word: the position of its word in the text. known: whether the tokenizer has it.
    """

    before: str
    text: str
    bits: float | None
    word: int
    known: bool


class Word(NamedTuple):
    """A word (text between white space, or the end of a line), and its surprisal in bits."""

    text: str
    bits: float | None


class Scored(NamedTuple):
    """The surprisal of a text under a model; `bits` in total, None if its probability is 0."""

    tokens: list[Token]
    words: list[Word]
    bits: float | None


class Guess(NamedTuple):
    """The prediction of a model at a position: its likeliest tokens with probabilities, likeliest first; its entropy in
    bits; the surprisal and the rank (from 1) of the actual token."""

    likeliest: list[tuple[str, float]]
    entropy: float
    bits: float | None
    rank: int


class Row(NamedTuple):
    """A text for a model: the ids of all lines, and for each predicted id its word and position in it."""

    ids: list[int]
    marks: list[tuple[str, str, int, bool]]
    words: list[str]


def row_of(tokenizer: Tokenizer, text: str) -> Row:
    """A text as ids, normalised as the training text was; lines without text are left out."""
    row = Row([], [], [])
    text = tokenizer.normalisation.normalise(text)
    for line in [line for line in text.splitlines() if line.strip()] or [""]:
        ids, spans = tokenizer.encode_with_spans(line)
        starts, first, end = [match.start() for match in _WORD.finditer(line)], len(row.words), 0
        for token, (start, stop) in zip(ids.tolist(), spans.tolist(), strict=True):
            spelled = line[max(start, end) : stop] or tokenizer.piece(token).strip()
            row.marks.append((line[end:start], spelled, first + max(0, bisect_right(starts, start) - 1), token != UNK))
            end = max(end, stop)
        row.ids.extend([BOS, *ids.tolist(), EOS])
        row.words.extend([*_WORD.findall(line), END_OF_LINE])
        row.marks.append(("", END_OF_LINE, len(row.words) - 1, True))
    return row


def surprisal(model: LanguageModel, tokenizer: Tokenizer, text: str) -> Scored:
    """The surprisal of a text.

    Its length is rounded up by padding: libraries cache compiled code for each shape, so a server that receives all
    shapes would use more and more memory for hours.
    """
    row = row_of(tokenizer, text)
    tokens = torch.tensor([row.ids])  # (1, T)
    tokens = torch.nn.functional.pad(tokens, (0, -tokens.shape[1] % 16), value=PAD)
    results = (-model.log_probs(tokens.to(device_of(model)))[0].cpu().double() / math.log(2)).tolist()  # 0 for BOS
    bits = [value for token, value in zip(row.ids, results, strict=False) if token != BOS]
    sums = [0.0] * len(row.words)
    for (_, _, word, _), value in zip(row.marks, bits, strict=True):
        sums[word] += value
    scored = [
        Token(before, text, finite(value), word, known)
        for (before, text, word, known), value in zip(row.marks, bits, strict=True)
    ]
    words = [Word(*pair) for pair in zip(row.words, map(finite, sums), strict=True)]
    return Scored(scored, words, finite(math.fsum(bits)))


def finite(bits: float) -> float | None:
    """A figure for printing, None if it is not finite; −0 becomes 0."""
    return round(bits, 6) + 0.0 if math.isfinite(bits) else None


def guess(model: LanguageModel, tokenizer: Tokenizer, text: str, position: int, most: int = 5) -> Guess:
    """The model's prediction at token `position` of the text, numbered as in `surprisal`.

    Raises:
        InputError: the text has no such token.
    """
    row = row_of(tokenizer, text)
    predicted = [at for at, token in enumerate(row.ids) if token != BOS]
    if not 0 <= position < len(predicted):
        raise InputError(f"place: {position}; the text has tokens 0 to {len(predicted) - 1} for this model")
    at = predicted[position]
    prefix = torch.tensor([row.ids[:at]], device=device_of(model))
    log_probs = model.next_log_probs(prefix)[0].cpu().double()  # (V,)
    log_probs[[PAD, BOS]] = -math.inf  # never predicted
    probs = log_probs.exp()
    values, ids = probs.topk(min(most, len(probs)))
    own = float(log_probs[row.ids[at]])
    return Guess(
        [(tokenizer.piece(token), value) for token, value in zip(ids.tolist(), values.tolist(), strict=True)],
        float(-torch.special.xlogy(probs, probs).sum()) / math.log(2),
        finite(-own / math.log(2)),
        1 + int((log_probs > own).sum()),
    )
