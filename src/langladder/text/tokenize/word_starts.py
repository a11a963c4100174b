"""Which tokens begin a word, and which end one: what tells words apart in a row of tokens.

    bpe_bytes, character   a token that begins with a space (`Ġcat`) begins a word
    unigram                one that begins with `▁`
    bpe_words              one with `</w>` ends a word
    wordpiece, bert        one without `##` begins a word
    word                   every token is a word

The first token of a line begins a word whatever it is.
"""

from typing import NamedTuple

import numpy as np

from langladder.text.tokenize.tokenizers import CONTINUES, END_OF_WORD, Tokenizer

SPACES = {"bpe_bytes": ("Ġ",), "character": (" ",), "unigram": ("▁",)}


class WordStarts(NamedTuple):
    """By token, (V,) bool each: it begins a word; what follows it begins one."""

    opens: np.ndarray
    closes: np.ndarray


def word_starts(tokenizer: Tokenizer) -> WordStarts:
    """For every id of the tokenizer, the reserved ones included, which both begin and end a word."""
    opens, closes = (np.ones(tokenizer.full_vocab_size, dtype=bool) for _ in range(2))
    for token in tokenizer.ordinary:
        name = tokenizer.name(token)
        if tokenizer.kind in ("wordpiece", "bert"):
            opens[token], closes[token] = not name.startswith(CONTINUES), False
        elif tokenizer.kind == "bpe_words":
            opens[token], closes[token] = False, name.endswith(END_OF_WORD)
        elif tokenizer.kind in SPACES:
            opens[token], closes[token] = name.startswith(SPACES[tokenizer.kind]), False
    return WordStarts(opens, closes)
