"""What a text consists of: counts, lengths, characters. All figures are exact and go to the data report as they are."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import regex  # type: ignore[import-untyped]

from langladder.text.clean.steps import has_control_characters
from langladder.text.words.words import split_words

_CLASSES = {
    "L": "letter",
    "M": "mark",
    "N": "number",
    "P": "punctuation",
    "S": "symbol",
    "Z": "separator",
    "C": "other",
}
_INVISIBLE = regex.compile(r"(?V1)[\p{Cf}&&\p{Default_Ignorable_Code_Point}]")
_INDIC = {"Bengali", "Devanagari", "Gujarati", "Gurmukhi", "Kannada", "Malayalam", "Oriya", "Sinhala"}
_INDIC |= {"Tamil", "Telugu"}
_JOINED = {"Arabic", "Khmer", "Mongolian", "Myanmar", "Syriac", "Tibetan"} | _INDIC
_RIGHT_TO_LEFT = {"Arabic", "Hebrew", "Nko", "Syriac", "Thaana"}
# Invisible characters that are part of how some scripts are written.
_BELONGS = {"\u200b": {"Khmer", "Lao", "Myanmar", "Thai", "Tibetan"}, "\u200c": _JOINED, "\u200d": _JOINED}
_BELONGS |= {"\u200e": _RIGHT_TO_LEFT, "\u200f": _RIGHT_TO_LEFT}
NAMED = 4  # kinds of invisible characters that a warning names
PRESENT = 0.01  # share of the letters from which a script is part of a text
PERCENTILES = (0, 1, 5, 25, 50, 75, 95, 99, 100)


class TextStatistics:
    """Counts that grow as lines stream by."""

    def __init__(self) -> None:
        self.lines = 0
        self.bytes = 0
        self.control_lines = 0
        self.lengths: Counter[int] = Counter()  # words in a line → lines
        self.characters: Counter[str] = Counter()
        self.types: set[str] = set()

    def add(self, lines: Iterable[str]) -> None:
        """Count some lines."""
        for line in lines:
            words = split_words(line, "auto")
            self.types.update(words)
            self.count(line, len(words))

    def count(self, line: str, words: int) -> None:
        """Count a line of so many words, all but the types of these."""
        self.lines += 1
        self.lengths[words] += 1
        self.characters.update(line)
        self.bytes += len(line) if line.isascii() else len(line.encode())
        self.control_lines += has_control_characters(line)

    def merge(self, other: "TextStatistics") -> None:
        """Add what another has counted of other lines, all but the types of their words."""
        self.lines += other.lines
        self.bytes += other.bytes
        self.control_lines += other.control_lines
        self.lengths.update(other.lengths)
        self.characters.update(other.characters)

    def report(self, types: int | None = None) -> dict[str, Any]:
        """Figures ready for JSON. Words are split at spaces, or one a character in scripts without spaces.

        Args:
            types: different words, where they are counted apart from this.
        """
        words = sum(length * lines for length, lines in self.lengths.items())
        found = invisible(self.characters)
        return {
            "lines": self.lines,
            "words": words,
            "word_types": len(self.types) if types is None else types,
            "characters": self.characters.total(),
            "character_types": len(self.characters),
            "bytes": self.bytes,
            "words_a_line": {
                "mean": round(words / self.lines, 3) if self.lines else 0.0,
                "percentiles": percentiles(self.lengths),
                "histogram": histogram(self.lengths),
            },
            "character_classes": character_classes(self.characters),
            "scripts": scripts(self.characters),
            "lines_with_control_characters": self.control_lines,
            "replacement_characters": self.characters["\ufffd"],
        } | ({"invisible_characters": found} if found else {})


def percentiles(lengths: Counter[int]) -> dict[str, int]:
    """The smallest length that at least p % of the lines do not exceed."""
    total, result, below = lengths.total(), {}, 0
    wanted = list(PERCENTILES) if total else []
    for length in sorted(lengths):
        below += lengths[length]
        while wanted and below * 100 >= wanted[0] * total:
            result[str(wanted.pop(0))] = length
    return result


def histogram(lengths: Counter[int]) -> dict[str, int]:
    """Lines by length in bins that double: 1, 2-3, 4-7, 8-15, …"""
    bins: Counter[int] = Counter()
    for length, lines in lengths.items():
        bins[length.bit_length()] += lines
    names = {0: "0", 1: "1"}
    return {names.get(bits) or f"{1 << bits - 1}-{(1 << bits) - 1}": bins[bits] for bits in sorted(bins)}


def character_classes(characters: Counter[str]) -> dict[str, float]:
    """Share of each Unicode class among the characters, commonest first."""
    classes: Counter[str] = Counter()
    for character, count in characters.items():
        classes[_CLASSES[unicodedata.category(character)[0]]] += count
    return _shares(classes)


def scripts(characters: Counter[str]) -> dict[str, float]:
    """Share of each script among the letters, by the first word of the letters' Unicode names, commonest first."""
    found: Counter[str] = Counter()
    for character, count in characters.items():
        if unicodedata.category(character)[0] == "L":
            name = unicodedata.name(character, "UNNAMED").split()[0].split("-")[0].capitalize()
            found["Han" if name == "Cjk" else name] += count
    return _shares(found)


def invisible(characters: Counter[str]) -> dict[str, int]:
    """How often each character stands there that shows nothing (zero-width, bidirectional controls), commonest first.

    Those that a script of the text is written with are left out: joiners in Arabic and Indic scripts, the zero-width
    space in Thai, marks of direction in Hebrew; and joiners where there are as many emoji as they could join.
    """
    found = {character: count for character, count in characters.items() if _INVISIBLE.match(character)}
    if not found:
        return {}
    there = {script for script, share in scripts(characters).items() if share >= PRESENT}
    pictures = sum(count for character, count in characters.items() if unicodedata.category(character) == "So")
    if pictures - characters["\ufffd"] >= found.get("\u200d", 0):
        found.pop("\u200d", None)
    strange = [(one, count) for one, count in found.items() if not _BELONGS.get(one, set()) & there]
    ordered = sorted(strange, key=lambda pair: (-pair[1], pair[0]))
    return {f"U+{ord(character):04X} {unicodedata.name(character, 'UNNAMED')}": count for character, count in ordered}


def character_warnings(reports: Iterable[Mapping[str, Any]], what: str) -> list[str]:
    """What to say of invisible and replacement characters.

    Args:
        reports: of the splits of a text, as `TextStatistics.report` gives them.
        what: the text, as a message names it.
    """
    unseen, lost = Counter[str](), 0
    for report in reports:
        unseen.update(report.get("invisible_characters", {}))
        lost += report["replacement_characters"]
    warnings = []
    if unseen:
        kinds = ", ".join(f"{count:,} {name}" for name, count in unseen.most_common(NAMED))
        more = f" and {len(unseen) - NAMED} kinds more" if len(unseen) > NAMED else ""
        warnings.append(
            f"{what} has {unseen.total():,} invisible character(s) ({kinds}{more}): a word with one is another word; "
            "if they are not meant, take them out of the files"
        )
    if lost:
        warnings.append(
            f"{what} has {lost:,} replacement character(s) (U+FFFD): a program before this one could not decode what "
            "stood there; make the files anew from their source, in the right encoding"
        )
    return warnings


def _shares(counts: Counter[str]) -> dict[str, float]:
    total = counts.total()
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return {name: round(count / total, 6) for name, count in ordered}
