"""The loop of `text.word_counts` over different pieces of text: the words of those that need no expression to be cut.

Shape legend: D pieces, W words of the plain ones.
"""

import numpy as np

from langladder.compiled import njit
from langladder.text.character_kernels import LETTER, decoded

WHOLE, APART, RUNS = 0, 1, 2  # a piece is a word; punctuation at its ends is none of it; runs of letters are
# Of ASCII: letters and digits; punctuation that is taken off the end of a word; off its beginning.
ALNUM, AFTER, BEFORE = 1, 2, 4


@njit()
def plain_words(
    text: np.ndarray, bounds: np.ndarray, table: np.ndarray, ascii_kinds: np.ndarray, way: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cut the pieces whose words can be told by their bytes alone.

    Args:
        table: classes by code point, LETTER for scripts without spaces. ascii_kinds: (128,) uint8. way: WHOLE, …

    Returns:
        How many words each piece has, (D,) int32, 0 for one that is not plain; the text of the plain ones end to end,
        and the bounds of its words, (W + 1,) int64.
    """
    words = np.zeros(len(bounds) - 1, dtype=np.int32)
    plain, size = np.empty(bounds[-1] - bounds[0], dtype=np.uint8), 0
    cuts, count = np.zeros(bounds[-1] - bounds[0] + 1, dtype=np.int64), 0
    for piece in range(len(bounds) - 1):
        first, last = bounds[piece], bounds[piece + 1]
        if way == WHOLE:
            inner, after = (first, last) if _spaced(text, first, last, table) else (last, last)
        else:
            inner, after = _inside(text, first, last, ascii_kinds, way)
        if inner == after:
            continue
        for place in range(first, last):
            plain[size] = text[place]
            size += 1
            if place < inner or place >= after - 1:  # a mark before the word, its last byte, a mark behind it
                count += 1
                cuts[count] = size
                words[piece] += 1
    return words, plain[:size], cuts[: count + 1]


@njit()
def _spaced(text: np.ndarray, first: int, last: int, table: np.ndarray) -> bool:
    """Whether no character is of a script without spaces."""
    while first < last:
        point, first = decoded(text, first)
        if table[point] == LETTER:
            return False
    return True


@njit()
def _inside(text: np.ndarray, first: int, last: int, ascii_kinds: np.ndarray, way: int) -> tuple[int, int]:
    """Where the run of letters and digits of a piece begins and ends; twice `last` where it is not so plain."""
    inner = first
    while way == APART and inner < last and text[inner] < 128 and ascii_kinds[text[inner]] & BEFORE:
        inner += 1
    after = inner
    while after < last and text[after] < 128 and ascii_kinds[text[after]] & ALNUM:
        after += 1
    if after == inner:
        return last, last
    for place in range(after, last):
        if way == RUNS or text[place] >= 128 or not ascii_kinds[text[place]] & AFTER:
            return last, last
    clitic = inner > first and text[inner - 1] == 39 and inner == first + 1  # 's, 'LL
    initial = after == inner + 1 and after < last and text[after] == 46 and 65 <= text[inner] <= 90  # J.
    return (last, last) if clitic or initial else (inner, after)
