"""A tokenizer looked at: how finely it cuts, what it cannot write, which of its tokens are used."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from langladder.text.storage.table_lines import batches
from langladder.text.tokenize.line_encoder import LineEncoder
from langladder.text.tokenize.sizes import words_of
from langladder.text.tokenize.specials import UNK
from langladder.text.tokenize.tokenizers import Tokenizer

SAMPLES = 5
LONGEST = 20


def report_on(tokenizer: Tokenizer, lines: Iterable[str], *, samples: int = SAMPLES) -> dict[str, Any]:
    """Measure a tokenizer on some text (the held-out text says more than the text it was trained on).

    Returns:
        fertility (tokens per word), compression (bytes per token), unknown_rate (unknown tokens per token), vocabulary
        use, the longest tokens, and some lines cut into their tokens.
    """
    uses = np.zeros(tokenizer.vocab_size, dtype=np.int64)
    words = size = total_lines = 0
    shown: list[dict[str, Any]] = []
    encoder = LineEncoder(tokenizer)
    for chunk in batches(lines):
        ids, lengths = encoder.encode(chunk)
        uses += np.bincount(ids, minlength=tokenizer.vocab_size)
        words += words_of(chunk)
        size += sum(len(line.encode()) for line in chunk)
        total_lines += len(chunk)
        for number, row in enumerate(np.split(ids, np.cumsum(lengths[: samples - len(shown)]))[:-1]):
            tokens_of_row = " ".join(visible(tokenizer, token) for token in row[:60])
            shown.append({"text": chunk[number][:200], "tokens": tokens_of_row})
    tokens = int(uses.sum())
    ordinary = tokenizer.ordinary
    longest = sorted((tokenizer.decode([token]) for token in ordinary), key=lambda text: (-len(text), text))
    return {
        "kind": tokenizer.kind,
        "vocab_size": tokenizer.vocab_size,
        "lines": total_lines,
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
