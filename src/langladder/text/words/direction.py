"""The direction of a text, and its language where the script has only one.

The direction is that of most strong letters, by Unicode's bidirectional classes (UAX 9): L runs to the right, R and AL
to the left. `dir="auto"` uses the first strong letter, which would reverse an Arabic sentence that begins with a
foreign name. In a tie, the first letter decides.
"""

import unicodedata
from collections.abc import Sequence
from typing import Literal

import regex  # type: ignore[import-untyped]

from langladder.text.words.segmentation import writes_hanja

Direction = Literal["ltr", "rtl"]

STRONG = ("L", "R", "AL")
_SPECIAL = regex.compile(r"<[a-z]+>")  # <unk>, <mask>: Latin letters in a text of any script
_LETTER = regex.compile(r"[\p{L}\p{M}]")
_KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}]")
_CERTAIN = {
    "ja": regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}ー]"),
    "ko": regex.compile(r"\p{Hangul}"),
    "th": regex.compile(r"\p{Thai}"),
}
_KOREAN = regex.compile(r"[\p{Hangul}\p{Han}]")
_CLUSTER = regex.compile(r"\X\p{M}*")  # \X leaves out signs of Burmese and other scripts (U+102C, U+1038)


def direction(text: str) -> Direction:
    """The direction of a text; a text without letters runs to the right.

    >>> direction("كتب الولد رسالة"), direction("GPT-2 نموذج لغوي"), direction("the word كتاب"), direction("3.5 …")
    ('rtl', 'rtl', 'ltr', 'ltr')
    """
    if text.isascii():
        return "ltr"
    strong = [kind != "L" for char in _SPECIAL.sub("", text) if (kind := unicodedata.bidirectional(char)) in STRONG]
    right_to_left = sum(strong)
    if 2 * right_to_left == len(strong):
        return "rtl" if strong and strong[0] else "ltr"
    return "rtl" if 2 * right_to_left > len(strong) else "ltr"


def has_right_to_left(text: str) -> bool:
    """True if the text has a right-to-left letter, which would affect the text beside it."""
    return not text.isascii() and any(unicodedata.bidirectional(char) in ("R", "AL") for char in text)


def language_of(text: str) -> str | None:
    """The language (BCP 47) of a text whose script has only one, by most of its letters; None where that is unknown.

    Kana are Japanese, Hangul is Korean, also with Han characters among it, Thai is Thai; Han characters alone are of
    several languages.
    """
    if text.isascii():
        return None
    letters = len(_LETTER.findall(text))
    if writes_hanja([text]) and 2 * len(_KOREAN.findall(text)) > letters:
        return "ko"
    for language, script in _CERTAIN.items():
        if 2 * len(script.findall(text)) > letters:
            return language if language != "ja" or _KANA.search(text) else None
    return None


def clusters(text: str) -> Sequence[str]:
    """The characters as a reader sees them: letters with their marks (grapheme clusters, UAX 29)."""
    matches: list[str] = _CLUSTER.findall(text)
    return matches
