"""Loops over the characters of UTF-8 text: classes, counts, words between spaces.

Shape legend: N bytes of text, L lines.
"""

from typing import Any

import numpy as np

from langladder.compiled import njit

WIDE: Any = np.int64  # a type checker takes its values for whole numbers of Python, which they become

CHARACTERS = 0x110000
UNSEEN, ASKED = 255, 254  # in a table of classes: nobody has asked for the class yet; somebody is asking
SPACE, LETTER, DIGIT, SIGN = 0, 1, 2, 3


@njit()
def decoded(text: np.ndarray, place: int) -> tuple[int, int]:
    """A character of UTF-8 text: its code point, and where the next begins."""
    first = WIDE(text[place])
    if first < 0x80:
        return first, place + 1
    if first < 0xE0:
        return (first & 0x1F) << 6 | (text[place + 1] & 0x3F), place + 2
    if first < 0xF0:
        return (first & 0x0F) << 12 | WIDE(text[place + 1] & 0x3F) << 6 | (text[place + 2] & 0x3F), place + 3
    high = (first & 0x07) << 18 | WIDE(text[place + 1] & 0x3F) << 12
    return high | WIDE(text[place + 2] & 0x3F) << 6 | (text[place + 3] & 0x3F), place + 4


@njit()
def unseen(text: np.ndarray, place: int, table: np.ndarray, found: np.ndarray) -> tuple[int, int]:
    """The code points of a text that the table of classes lacks, each once, in `found`.

    Returns:
        Where in the text to go on from, and how many were found: as many as there is room for, or all.
    """
    size = 0
    while place < len(text) and size < len(found):
        if text[place] < 0x80:
            place += 1
            continue
        point, place = decoded(text, place)
        if table[point] == UNSEEN:
            table[point] = ASKED
            found[size] = point
            size += 1
    return place, size


@njit()
def histogram(text: np.ndarray, counts: np.ndarray) -> None:
    """Count the characters of a text by their code points: counts (1,114,112,) int64, added to."""
    place = 0
    while place < len(text):
        point, place = decoded(text, place)
        counts[point] += 1


@njit()
def count_words(text: np.ndarray, bounds: np.ndarray, table: np.ndarray, mixed: np.ndarray) -> int:
    """How many words white space separates, of the lines without a character of the class LETTER.

    Args:
        mixed: (L,) bool, filled: whether a line has a LETTER (one of a script without spaces, say).
    """
    words = 0
    for line in range(len(bounds) - 1):
        place, found, inside = bounds[line], 0, False
        while place < bounds[line + 1]:
            point, place = decoded(text, place)
            kind = table[point]
            found += kind != SPACE and not inside
            inside = kind != SPACE
            if kind == LETTER:
                mixed[line] = True
        if not mixed[line]:
            words += found
    return words
