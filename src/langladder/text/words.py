"""What counts as a word.

Three readings of a line. `whitespace` takes the spaces at their word (right for text whose tokens are already
separated). `unicode` finds words by Unicode properties: a run of letters, marks and digits (with inner apostrophes)
is a word, every other visible character is one by itself, and so is every Han, Hiragana or Katakana character, since
those scripts write no spaces. `auto` is `whitespace`, except that what holds characters of such scripts is read as
`unicode`.
"""

from typing import Literal

import regex  # type: ignore[import-untyped]

WordMode = Literal["whitespace", "unicode", "auto"]

UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}"
_LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}_]--[{UNSPACED}]]"
_WORD = regex.compile(rf"(?V1){_LETTER}+(?:['’]{_LETTER}+)*|\S")
_UNSPACED = regex.compile(f"[{UNSPACED}]")


def has_unspaced_script(text: str) -> bool:
    """True where the text has a character of a script that writes no spaces between words."""
    return not text.isascii() and _UNSPACED.search(text) is not None


def split_words(line: str, mode: WordMode = "whitespace") -> list[str]:
    """The words of one line; case is kept.

    >>> split_words("The cat sat on the mat.", "unicode")
    ['The', 'cat', 'sat', 'on', 'the', 'mat', '.']
    """
    if mode == "whitespace" or (mode == "auto" and not has_unspaced_script(line)):
        return line.split()
    if mode == "auto":
        return [part for word in line.split() for part in (_WORD.findall(word) if _UNSPACED.search(word) else [word])]
    words: list[str] = _WORD.findall(line)
    return words
