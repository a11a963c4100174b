"""What a text is made of: counts, lengths, characters. All figures are exact and go to the data report as they are."""

import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from langladder.text.line_words import Bytes
from langladder.text.steps import has_control_characters
from langladder.text.words import split_words

_CLASSES = {
    "L": "letter",
    "M": "mark",
    "N": "number",
    "P": "punctuation",
    "S": "symbol",
    "Z": "separator",
    "C": "other",
}
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
            self.lines += 1
            self.lengths[len(words)] += 1
            self.types.update(words)
            self.characters.update(line)
            self.bytes += len(line) if line.isascii() else len(line.encode())
            self.control_lines += has_control_characters(line)

    def add_batch(self, texts: pa.Array, lengths: np.ndarray) -> None:
        """Count many lines at once, all but the types of their words.

        Args:
            lengths: (L,) words in each line.
        """
        data = Bytes.of(texts).data
        self.lines += len(texts)
        self.bytes += len(data)
        self.lengths.update(_counted(lengths))
        ascii_ = {chr(code): count for code, count in enumerate(_bytes(data)[:128].tolist()) if count}
        beyond = data[data >= 128].tobytes().decode("utf-8").encode("utf-32-le")
        others = {chr(code): count for code, count in _counted(np.frombuffer(beyond, np.uint32)).items()}
        self.characters.update(ascii_ | others)
        if has_control_characters("".join(ascii_ | others)):
            self.control_lines += sum(map(has_control_characters, texts.to_pylist()))

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
            types: of words, where they were counted elsewhere.
        """
        words = sum(length * lines for length, lines in self.lengths.items())
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
        }


def _bytes(data: np.ndarray) -> np.ndarray:
    """(256,) how often each byte stands there; two bytes are counted at once."""
    even = len(data) & ~1
    pairs = np.bincount(data[:even].view(np.uint16), minlength=1 << 16).reshape(256, 256)
    counts: np.ndarray = pairs.sum(0) + pairs.sum(1)
    counts[data[even:]] += 1
    return counts


def _counted(numbers: np.ndarray) -> dict[int, int]:
    counts = np.bincount(numbers)
    return {number: int(counts[number]) for number in np.flatnonzero(counts).tolist()}


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


def _shares(counts: Counter[str]) -> dict[str, float]:
    total = counts.total()
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return {name: round(count / total, 6) for name, count in ordered}
