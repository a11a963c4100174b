"""A tokenizer looked at: how finely it cuts, what it cannot write, which of its tokens are used."""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from langladder.engine.base import current
from langladder.text.storage.tables import line_batches
from langladder.text.tokenize.line_encoder import LineEncoder
from langladder.text.tokenize.sizes import words_of
from langladder.text.tokenize.specials import UNK
from langladder.text.tokenize.tokenizers import Tokenizer

SAMPLES = 5
LONGEST = 20


class Counts(NamedTuple):
    """Counts of some lines: how often each token occurs, (V,) int64; numbers of words, bytes and lines."""

    uses: np.ndarray
    words: int
    bytes: int
    lines: int


def count_tokens(tokenizer: Tokenizer, lines: Iterable[str]) -> Counts:
    """Encode lines and count."""
    uses = np.zeros(tokenizer.vocab_size, dtype=np.int64)
    words = size = total = 0
    encoder = LineEncoder(tokenizer)
    for batch in line_batches(lines):
        uses += np.bincount(encoder.encode(batch)[0], minlength=tokenizer.vocab_size)
        words += words_of(batch)
        size += sum(len(line.encode()) for line in batch)
        total += len(batch)
    return Counts(uses, words, size, total)


def report_on(tokenizer: Tokenizer, parts: Sequence[Iterable[str]], *, samples: int = SAMPLES) -> dict[str, Any]:
    """Measure a tokenizer on some text (the held-out text says more than the text it was trained on).

    Args:
        parts: the lines of the text, in parts that can be iterated again; workers count them.
        samples: how many of the first lines are shown.

    Returns:
        fertility (tokens per word), compression (bytes per token), unknown_rate (unknown tokens per token), vocabulary
        use, the longest tokens, and some lines cut into their tokens.
    """
    found = list(current().map(partial(count_tokens, tokenizer), parts, "counting tokens"))
    uses = np.sum([one.uses for one in found], axis=0)
    words, size = sum(one.words for one in found), sum(one.bytes for one in found)
    first = list(islice(chain.from_iterable(parts), samples))
    shown = [
        {"text": line[:200], "tokens": " ".join(visible(tokenizer, token) for token in ids[:60])}
        for line, ids in zip(first, tokenizer.encode_lines(first), strict=True)
    ]
    tokens = int(uses.sum())
    ordinary = tokenizer.ordinary
    longest = sorted((tokenizer.decode([token]) for token in ordinary), key=lambda text: (-len(text), text))
    return {
        "kind": tokenizer.kind,
        "vocab_size": tokenizer.vocab_size,
        "lines": sum(one.lines for one in found),
        "tokens": tokens,
        "fertility": round(tokens / max(words, 1), 4),
        "compression": round(size / max(tokens, 1), 4),
        "unknown_rate": round(int(uses[UNK]) / max(tokens, 1), 6),
        "vocabulary_used": round(int((uses[ordinary] > 0).sum()) / max(len(ordinary), 1), 4),
        "longest_tokens": longest[:LONGEST],
        "most_frequent_tokens": [visible(tokenizer, token) for token in np.argsort(-uses, kind="stable")[:LONGEST]],
        "samples": shown,
    }


def visible(tokenizer: Tokenizer, token: int | np.integer[Any]) -> str:
    """A token as text, its spaces as ▁."""
    return tokenizer.piece(int(token)).replace(" ", "▁")
