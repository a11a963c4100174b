"""Encodings of text files: which can be read, and which one a file that is not UTF-8 probably has.

A guess takes the encoding in which most characters that are not ASCII are ones that texts are full of: the frequent
half of a standard's characters (its level 1) in Chinese, Japanese and Korean, words of one alphabet elsewhere.
"""

import codecs
import re
from collections.abc import Callable

WIDE = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
"""Encodings of two or four bytes a character; in all others that are read, the byte \\n ends a line."""
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark is its beginning
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8",
}
SURE = 0.8  # of the characters that are not ASCII, to name an encoding

_WORD = re.compile(r"[^\W\d_]+")
_PUNCTUATION = frozenset("‘’“”„–—…•«»°§©®™€£¡¿·№")


def known(name: str) -> str:
    """Python's name of an encoding.

    Raises:
        ValueError: there is none of this name, or not for lines of text.
    """
    try:
        found = codecs.lookup(name).name
        readable = found in WIDE or "a\n".encode(name) == b"a\n"  # lines are found before they are decoded
    except (LookupError, ValueError):
        readable = False
    if not readable:
        allowed = "utf-8, gb18030, shift_jis, cp1251, latin-1, utf-16, …"
        raise ValueError(f"{name[:40]!r} is no encoding that is read; {allowed}")
    return found


def likely(sample: bytes) -> str | None:
    """The encoding that some text is probably in, None where none stands out."""
    for mark, name in MARKS.items():
        if sample.startswith(mark):
            return name
    if b"\0" in sample:
        return next((name for name in ("utf-16-le", "utf-16-be") if _is_text(sample, name)), None)
    best, name = max(((_score(sample, *one), one[0]) for one in _COMMON), key=lambda pair: pair[0])
    return name if best >= SURE else None


def _is_text(sample: bytes, name: str) -> bool:
    try:
        text = codecs.getincrementaldecoder(name)().decode(sample)
    except UnicodeDecodeError:
        return False
    return "".join(text.split()).isprintable() and any(one.isascii() for one in text)


def _score(sample: bytes, name: str, common: Callable[[str, str], int]) -> float:
    """The share of frequent characters among those that are not ASCII; 0 where the sample is not in this encoding."""
    try:
        text = codecs.getincrementaldecoder(name)().decode(sample)  # its last character may be cut
    except UnicodeDecodeError:
        return 0.0
    others = sum(not character.isascii() for character in text)
    return common(text, name) / others if others else 0.0


def _all(text: str, _name: str) -> int:
    return sum(not character.isascii() for character in text)


def _western(text: str, _name: str) -> int:
    """Letters with accents inside words of ASCII letters, or alone."""
    words = (word for word in _WORD.findall(text) if len(word) == 1 or re.search("[A-Za-z]", word))
    return sum(not letter.isascii() for word in words for letter in word) + _marks(text)


def _cyrillic(text: str, _name: str) -> int:
    """Words of Cyrillic letters, small but for the first: in the other encoding capital and small are exchanged."""
    words = (word for word in _WORD.findall(text) if re.fullmatch("[А-Яа-яЁёІіЇїЄєҐґ][а-яёіїєґ]*", word))
    return sum(map(len, words)) + _marks(text)


def _marks(text: str) -> int:
    return sum(character in _PUNCTUATION for character in text)


def _led_by(pattern: bytes) -> Callable[[str, str], int]:
    """Characters of two bytes whose first one is of the frequent rows of the standard's table."""
    first = re.compile(pattern)

    def common(text: str, name: str) -> int:
        codes = (character.encode(name) for character in text if not character.isascii())
        return sum(len(code) == 2 and first.match(code) is not None for code in codes)

    return common


# In this order where two fit equally well: Korean syllables lie among the frequent Chinese characters.
_COMMON: list[tuple[str, Callable[[str, str], int]]] = [
    ("utf-8", _all),
    ("cp1252", _western),
    ("cp1251", _cyrillic),
    ("koi8-r", _cyrillic),
    *((name, _led_by(rb"[\xa1\xb0-\xc8]")) for name in ("euc-kr", "cp949")),
    ("euc-jp", _led_by(rb"[\xa1\xa4\xa5\xb0-\xcf]")),
    *((name, _led_by(rb"[\x81-\x83\x88-\x97]")) for name in ("shift_jis", "cp932")),
    *((name, _led_by(rb"[\xa1\xa4-\xc6]")) for name in ("big5", "cp950")),
    ("gb18030", _led_by(rb"[\xa1\xa3\xb0-\xd7]")),
]
