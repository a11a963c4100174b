"""A tokenizer looked at: how finely it cuts, what it cannot write, which of its tokens are used."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np

from langladder.text.specials import UNK
from langladder.text.tokenizers import Tokenizer
from langladder.text.words import split_words

SAMPLES = 5
LONGEST = 20
CHUNK = 8_192


def report_on(tokenizer: Tokenizer, lines: Iterable[str], *, samples: int = SAMPLES) -> dict[str, Any]:
    """Measure a tokenizer on some text (the held-out text says more than the text it was trained on).

    Returns:
        fertility (tokens per word), compression (bytes per token), unknown_rate (unknown tokens per token), vocabulary
        use, the longest tokens, and some lines cut into their tokens.
    """
    uses = np.zeros(tokenizer.vocab_size, dtype=np.int64)
    words = size = total_lines = 0
    shown: list[dict[str, Any]] = []
    rows = iter(lines)
    while chunk := list(islice(rows, CHUNK)):
        encoded = tokenizer.encode_lines(chunk)
        uses += np.bincount(np.concatenate(encoded), minlength=tokenizer.vocab_size)
        words += sum(len(split_words(line, "auto")) for line in chunk)
        size += sum(len(line.encode()) for line in chunk)
        total_lines += len(chunk)
        for line, ids in islice(zip(chunk, encoded, strict=True), max(0, samples - len(shown))):
            shown.append({"text": line[:200], "tokens": " ".join(visible(tokenizer, token) for token in ids[:60])})
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
