"""What counts as a word.

Readings of a line. `whitespace` takes the spaces at their word (right for text whose tokens are already separated).
`auto` is `whitespace`, except that in scripts that write no spaces between words a word is a grapheme: a character of
Chinese or Japanese, a letter of Thai, Lao, Khmer or Burmese with its signs. In Tibetan it is a syllable; the tsheg
between syllables (་) is read as a space. `apart` is `auto` with the punctuation at a word's ends taken off: `(horse,`
is three words, `it's`, `twenty-one`, `U.S.` and `<unk>` are one. `separated` is for such scripts where the writer has
separated the words, by spaces or by zero-width spaces (U+200B), and takes punctuation off as `apart` does. `unicode`
finds words by Unicode properties: a run of letters, marks and digits (with inner apostrophes) is a word, every other
visible character is one by itself.

"Grapheme" is Unicode's cluster (UAX 29) with, in addition, the vowels that Thai and Lao write as letters before or
after their consonant, and every combining mark.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Literal

import regex  # type: ignore[import-untyped]

WordMode = Literal["whitespace", "unicode", "auto", "apart", "separated"]

HAN = r"\p{Han}〆"
KANA = r"\p{Hiragana}\p{Katakana}〱-〵ーｰﾞﾟ"  # signs of length, repetition and voice are of no script in Unicode
UNSPACED = HAN + KANA
SPACELESS = (
    *("Thai", "Lao", "Khmer", "Myanmar", "Tibetan", "Balinese", "Javanese"),
    *("Tai_Le", "New_Tai_Lue", "Tai_Tham", "Tai_Viet"),
)
SPACELESS_CLASS = "".join(rf"\p{{{script}}}" for script in SPACELESS)
_LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}_]--[{UNSPACED}{SPACELESS_CLASS}]]"
_SYLLABLE = r"[\p{Tibetan}&&[\p{L}\p{M}\p{N}]]+"
_GRAPHEME = rf"(?=[{UNSPACED}{SPACELESS_CLASS}])(?:\p{{Logical_Order_Exception}}(?=\p{{L}}))?\X\p{{M}}*[ะาๅະາ]?"
_WORD = regex.compile(rf"(?V1){_LETTER}+(?:['’]{_LETTER}+)*|{_SYLLABLE}|(?![་༌]){_GRAPHEME}|[^\s\u200b་༌]")
_UNSPACED = regex.compile(f"[{UNSPACED}{SPACELESS_CLASS}]")
# What stands whole: `<unk>`, tokens without a letter or digit (`--`, `@-@`), English clitics on their own.
_WHOLE = regex.compile(r"<\w+>|[^\p{L}\p{N}]+|['’](?:s|t|m|d|ll|re|ve|em|tis|twas|cause)", regex.IGNORECASE)
_ENDS = regex.compile(r"((?:(?![@#&%‰])\p{P})*)(.*?)(\p{P}*)", regex.DOTALL)
_DOTTED = regex.compile(r"(?:\w+\.)+\w+|\p{Lu}")  # U.S. and J. keep the dot that follows
_MARK = regex.compile(r"\p{Terminal_Punctuation}")  # . , ; : ! ? and those of other scripts
_GAP = regex.compile(r"[\s\u200b]+")
# Letters of one kind of script with gaps between some of them, and the letters a word has, at most, on average.
_STRETCHES = [
    (regex.compile(rf"(?V1)[{script}](?:[\s\u200b]*[{script}])*"), letters)
    for script, letters in ((rf"[{UNSPACED}]--\p{{P}}", 2.5), (rf"[[{SPACELESS_CLASS}]--\p{{P}}]་", 5.0))
]


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
    unspaced = mode != "separated" and has_unspaced_script(line)
    found: list[str] = []
    for word in (line.replace("\u200b", " ") if mode == "separated" else line).split():
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
                elif unicodedata.category(word[-2])[0] in "LMN":  # a combining mark is part of a letter
                    attached += 1
    return alone >= attached


def separates_words(lines: Iterable[str]) -> bool:
    """True where spaces, or zero-width spaces, separate the words of a script that is written without.

    Of the stretches of such letters (between punctuation marks and words of other scripts) most must have a gap, and
    what is between gaps must be about as long as a word. So text with spaces around English names, between sentences,
    or around phrases (Japanese for children: ぼくは がっこうへ いきます。) does not separate words.

    >>> separates_words(["我 爱 北京 天安门 。"]), separates_words(["我爱 Apple 公司。 他也爱。"])
    (True, False)
    """
    stretches, gaps, letters, room = 0, 0, 0, 0.0
    for line in lines:
        if not has_unspaced_script(line):
            continue
        for stretch, longest in _STRETCHES:
            for found in stretch.findall(line):
                words = _GAP.split(found)
                stretches, gaps, room = stretches + 1, gaps + len(words) - 1, room + longest * len(words)
                letters += sum(unicodedata.category(letter)[0] == "L" for word in words for letter in word)
    return 0 < stretches <= gaps and letters <= room


def reading_of(lines: Sequence[str]) -> WordMode:
    """What `auto` means for a text, by some of its lines."""
    tokenised = stands_apart(lines)
    if separates_words(lines):
        return "whitespace" if tokenised and not any("\u200b" in line for line in lines) else "separated"
    return "auto" if tokenised else "apart"
