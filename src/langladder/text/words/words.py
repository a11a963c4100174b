"""What counts as a word.

Readings of a line. `whitespace` takes the spaces at their word (right for text whose tokens are already separated).
`auto` is `whitespace`, except that in scripts that write no spaces between words every character is a word by itself
(of Thai and its like: every character with its signs). `apart` is `auto` with the punctuation at a word's ends taken
off: `(horse,` is three words, `it's`, `twenty-one`, `U.S.` and `<unk>` are one. `unicode` finds words by Unicode
properties: a run of letters, marks and digits (with inner apostrophes) is a word, every other visible character is one
by itself.
"""

import unicodedata
from collections.abc import Iterable
from typing import Literal

import regex  # type: ignore[import-untyped]

WordMode = Literal["whitespace", "unicode", "auto", "apart"]

UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}"
SPACELESS = (
    *("Thai", "Lao", "Khmer", "Myanmar", "Tibetan", "Balinese", "Javanese"),
    *("Tai_Le", "New_Tai_Lue", "Tai_Tham", "Tai_Viet"),
)
SPACELESS_CLASS = "".join(rf"\p{{{script}}}" for script in SPACELESS)
_LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}_]--[{UNSPACED}{SPACELESS_CLASS}]]"
_WORD = regex.compile(rf"(?V1){_LETTER}+(?:['’]{_LETTER}+)*|(?=[{SPACELESS_CLASS}])\X|\S")
_UNSPACED = regex.compile(f"[{UNSPACED}{SPACELESS_CLASS}]")
# What stands whole: `<unk>`, tokens without a letter or digit (`--`, `@-@`), English clitics on their own.
_WHOLE = regex.compile(r"<\w+>|[^\p{L}\p{N}]+|['’](?:s|t|m|d|ll|re|ve|em|tis|twas|cause)", regex.IGNORECASE)
_ENDS = regex.compile(r"((?:(?![@#&%‰])\p{P})*)(.*?)(\p{P}*)", regex.DOTALL)
_DOTTED = regex.compile(r"(?:\w+\.)+\w+|\p{Lu}")  # U.S. and J. keep the dot that follows
_MARK = regex.compile(r"[.,;:!?،؛؟।]")


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
    if mode == "unicode":
        words: list[str] = _WORD.findall(line)
        return words
    unspaced = has_unspaced_script(line)
    found: list[str] = []
    for word in line.split():
        if unspaced and _UNSPACED.search(word):
            found += _WORD.findall(word)
        elif mode == "auto" or word.isalnum():
            found.append(word)
        else:
            found += _apart(word)
    return found


def _apart(word: str) -> list[str]:
    """A word and the punctuation at its ends, each mark by itself."""
    if _WHOLE.fullmatch(word):
        return [word]
    before, inner, after = _ENDS.fullmatch(word).groups()
    if after.startswith(".") and _DOTTED.fullmatch(inner):
        inner, after = f"{inner}.", after[1:]
    return [*before, inner, *after]


def stands_apart(lines: Iterable[str]) -> bool:
    """True where punctuation is mostly a token of its own already, or there is none: text that has been tokenised."""
    alone = attached = 0
    for line in lines:
        for word in line.split():
            if _MARK.match(word[-1]):
                if len(word) == 1:
                    alone += 1
                elif unicodedata.category(word[-2])[0] in "LN":
                    attached += 1
    return alone >= attached
