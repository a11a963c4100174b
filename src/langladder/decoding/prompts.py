"""Beginnings for language models to continue, drawn from the corpus, so that they are in its language."""

from collections.abc import Iterable

import numpy as np

from langladder.text.storage.corpus_ids import TokenStream
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizers import Tokenizer
from langladder.text.words.words import split_words

LONGEST = 3  # words
LINES = 40  # looked at for each prompt


def draw_prompts(stream: TokenStream, tokenizer: Tokenizer, count: int) -> list[str]:
    """The first one, two, three, one, … words of `count` different lines, evenly spread over the text.

    Lines that begin like a prompt before them, or are hardly longer than the prompt, are passed over; a small text may
    give fewer.
    """
    found: list[str] = []
    lines = list(_lines(stream, count * LINES))
    for number in range(count):
        wanted = number % LONGEST + 1
        start = number * len(lines) // max(count, 1)
        for ids in lines[start:] + lines[:start]:
            line = tokenizer.decode(ids)
            words = split_words(line, "auto")
            prompt = _beginning(line, words[:wanted])
            if len(words) > wanted + 1 and prompt not in found:
                found.append(prompt)
                break
    return found


def _lines(stream: TokenStream, count: int) -> Iterable[np.ndarray]:
    """At most `count` lines at even distances: the tokens between BOS and EOS."""
    starts = np.flatnonzero(stream.ids == BOS)
    for place in np.unique(np.linspace(0, len(starts) - 1, min(count, len(starts))).astype(np.int64)):
        ids = stream.ids[starts[place] + 1 : starts[place] + 200]
        ends = np.flatnonzero(ids == EOS)
        yield ids[: ends[0]] if len(ends) else ids


def _beginning(line: str, words: list[str]) -> str:
    """The line up to the end of its first words, as they stand in it."""
    end = 0
    for word in words:
        end = line.index(word, end) + len(word)
    return line[:end].strip()
