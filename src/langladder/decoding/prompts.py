"""Prompts for language models, taken from the corpus, so that they are in its language."""

from collections.abc import Iterable

import numpy as np
import regex  # type: ignore[import-untyped]

from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizers import Tokenizer
from langladder.text.words.segmentation import DIVIDERS, Split, has_unspaced_script

LONGEST = 3  # words
UNSPACED = 5  # characters with their marks, if spaces do not separate words
LINES = 40  # looked at for each prompt
_WORD = regex.compile(rf"[^\s{DIVIDERS}]+")
# A word of a script that is written with spaces, a number, or a character with its marks; in Thai and Lao a vowel may
# stand before its consonant.
_CHARACTER = regex.compile(r"[\p{Latin}\p{Greek}\p{Cyrillic}\p{M}\p{N}]+|\p{Logical_Order_Exception}*(?!\s)\X")


def draw_prompts(stream: TokenStream, tokenizer: Tokenizer, count: int, split: Split | None = None) -> list[str]:
    """The first one, two, three, one, … words of `count` different lines, evenly spread over the text.

    Of a line in a script without spaces between words, the first five characters (`UNSPACED`) with their marks, unless
    its words are separated all the same. Lines that begin like a prompt before them, or are hardly longer than the
    prompt, are passed over; a small text may give fewer.

    Args:
        split: cuts such a line into words, where a segmenter was chosen.
    """
    prompts: list[str] = []
    lines = list(_lines(stream, count * LINES))
    for number in range(count):
        wanted = number % LONGEST + 1
        start = number * len(lines) // max(count, 1)
        for ids in lines[start:] + lines[:start]:
            line = tokenizer.decode(ids)
            ends, length = _ends(line, wanted, split)
            if len(ends) > length + 1 and (prompt := line[: ends[length - 1]].strip()) not in prompts:
                prompts.append(prompt)
                break
    return prompts


def _lines(stream: TokenStream, count: int) -> Iterable[np.ndarray]:
    """At most `count` lines at even distances: the tokens between BOS and EOS."""
    starts = np.flatnonzero(stream.ids == BOS)
    for position in np.unique(np.linspace(0, len(starts) - 1, min(count, len(starts))).astype(np.int64)):
        ids = stream.ids[starts[position] + 1 : starts[position] + 200]
        ends = np.flatnonzero(ids == EOS)
        yield ids[: ends[0]] if len(ends) else ids


def _ends(line: str, wanted: int, split: Split | None) -> tuple[list[int], int]:
    """The ends of a line's words, or of its characters if words are not separated; and the number for a prompt."""
    words = [match.end() for match in _WORD.finditer(line)]
    if has_unspaced_script(line):
        if split is not None:
            return _word_ends(line, split(line)), wanted
        characters = [match.end() for match in _CHARACTER.finditer(line)]
        if len(characters) > UNSPACED * len(words):  # words are shorter: these are clauses
            return characters, UNSPACED
    return words, wanted


def _word_ends(line: str, words: list[str]) -> list[int]:
    """The end of each word of a line."""
    ends, end = [], 0
    for word in words:
        end = line.index(word, end) + len(word)
        ends.append(end)
    return ends
