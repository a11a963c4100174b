"""How a language is written: with spaces between its words, or without.

The letters decide, each by its Unicode script, and of mixed text the majority: a Chinese sentence with an English name
in it is Chinese. Han characters with at least a tenth of kana among them are Japanese, where every ending is kana;
Korean parts its words with spaces.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import Literal

import regex  # type: ignore[import-untyped]

from langladder.text.words.words import HAN, KANA, SPACELESS_CLASS

Writing = Literal["spaced", "chinese", "japanese", "unspaced"]
"""unspaced: the other scripts without spaces between words, such as Thai."""

KANA_SHARE = 0.1  # of Han and kana together, from which on a text is Japanese
_HAN = regex.compile(f"[{HAN}]")
_KANA = regex.compile(f"[{KANA}]")
_SPACELESS = regex.compile(f"[{SPACELESS_CLASS}]")


def writing(lines: Iterable[str]) -> Writing:
    """How a text is written; a text without letters is taken as spaced.

    >>> writing(["她喜欢看书。"]), writing(["彼女は本を読む。"]), writing(["เธออ่านหนังสือ"]), writing(["She reads."])
    ('chinese', 'japanese', 'unspaced', 'spaced')
    """
    characters: Counter[str] = Counter()
    for line in lines:
        characters.update(line)
    return writing_of(characters)


def writing_of(characters: Counter[str]) -> Writing:
    """As `writing`, of characters that are counted already."""
    kinds: Counter[str] = Counter()
    for character, count in characters.items():
        if unicodedata.category(character)[0] in "LM":  # a vowel sign of Thai or Burmese is a mark
            kinds[_kind(character)] += count
    east_asian = kinds["han"] + kinds["kana"]
    if east_asian > max(kinds["spaced"], kinds["unspaced"]):
        return "japanese" if kinds["kana"] >= KANA_SHARE * east_asian else "chinese"
    return "unspaced" if kinds["unspaced"] > kinds["spaced"] else "spaced"


def _kind(character: str) -> str:
    if character.isascii():
        return "spaced"
    for kind, pattern in (("han", _HAN), ("kana", _KANA), ("unspaced", _SPACELESS)):
        if pattern.match(character):
            return kind
    return "spaced"
