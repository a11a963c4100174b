"""Figures of clean text: the content of each split, and leakage, the share of held-out text that is in train.

All figures are exact and go to the data report. Leakage is measured on word n-grams (13 by default, as in the GPT-3
paper, Brown et al. 2020, appendix C; a shorter line counts as one n-gram) and on whole lines. Both are compared by
64-bit hashes on disk: held-out shards are hashed first; then each training shard saves those of its hashes that the
held-out text has. With g held-out n-grams, one in 2⁶⁴ / g distinct training n-grams is wrongly counted as one of them.
"""

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NotRequired, TypedDict

import numpy as np
import pyarrow as pa
import regex  # type: ignore[import-untyped]

from langladder.engine.base import Engine
from langladder.ground.sorted_runs import among, ascending, count_distinct, distinct, mapped, save
from langladder.text.clean.steps import has_control_characters
from langladder.text.storage.shards import LINES, Shard
from langladder.text.words.segmentation import WordChoice, splitter_of

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
SMALL = 200_000  # bytes of text below which counted models do better than networks (docs/small-languages.md)
NAMED = 4  # kinds of invisible characters that a warning names
PRESENT = 0.01  # minimum share of the letters for a script to be part of a text
PERCENTILES = (0, 1, 5, 25, 50, 75, 95, 99, 100)
KINDS = ("ngrams", "lines")  # what is compared between splits


class LengthFigures(TypedDict):
    """How many words the lines of a text have: mean, percentiles, and lines by length."""

    mean: float
    percentiles: dict[str, int]
    histogram: dict[str, int]


class CharacterFigures(TypedDict):
    """What `character_warnings` reads of a text's figures."""

    replacement_characters: int
    invisible_characters: NotRequired[dict[str, int]]


class TextFigures(CharacterFigures):
    """The figures of a split, for the data report. types: different ones; words_and_line_ends: figures per word count
    the end of each line as a word."""

    lines: int
    words: int
    words_and_line_ends: int
    word_types: int
    characters: int
    character_types: int
    bytes: int
    words_a_line: LengthFigures
    character_classes: dict[str, float]
    scripts: dict[str, float]
    lines_with_control_characters: int


class Leakage(TypedDict):
    """n-grams and lines of a held-out split, and the share of each that is also in the training text."""

    ngram_words: int
    ngrams: int
    ngrams_in_train: float
    lines: int
    lines_in_train: float


class TextStatistics:
    """Counts of the lines that were added so far."""

    def __init__(self) -> None:
        self.lines = 0
        self.bytes = 0
        self.control_lines = 0
        self.lengths: Counter[int] = Counter()  # words in a line → lines
        self.characters: Counter[str] = Counter()
        self.types: set[str] = set()

    def add(self, line: str, words: Sequence[str]) -> None:
        """Count a line and its words."""
        self.lines += 1
        self.lengths[len(words)] += 1
        self.characters.update(line)
        self.bytes += len(line) if line.isascii() else len(line.encode())
        self.control_lines += has_control_characters(line)
        self.types.update(words)

    def merge(self, other: "TextStatistics") -> None:
        """Add the counts of other lines, except the types of their words."""
        self.lines += other.lines
        self.bytes += other.bytes
        self.control_lines += other.control_lines
        self.lengths.update(other.lengths)
        self.characters.update(other.characters)

    def report(self, types: int | None = None) -> TextFigures:
        """Figures ready for JSON.

        Args:
            types: number of different words, where they were counted by their hashes.
        """
        words = sum(length * lines for length, lines in self.lengths.items())
        report: TextFigures = {
            "lines": self.lines,
            "words": words,
            "words_and_line_ends": words + self.lines,
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
        if counts := invisible(self.characters):
            report["invisible_characters"] = counts
        return report


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
    counts: Counter[str] = Counter()
    for character, count in characters.items():
        if unicodedata.category(character)[0] == "L":
            name = unicodedata.name(character, "UNNAMED").split()[0].split("-")[0].capitalize()
            counts["Han" if name == "Cjk" else name] += count
    return _shares(counts)


def invisible(characters: Counter[str]) -> dict[str, int]:
    """How often each invisible character (zero-width, bidirectional control) occurs, commonest first.

    Those that a script of the text needs are left out: joiners in Arabic and Indic scripts, the zero-width
    space in Thai, marks of direction in Hebrew; and joiners where there are as many emoji as they could join.
    """
    counts = {character: count for character, count in characters.items() if _INVISIBLE.match(character)}
    if not counts:
        return {}
    there = {script for script, share in scripts(characters).items() if share >= PRESENT}
    pictures = sum(count for character, count in characters.items() if unicodedata.category(character) == "So")
    if pictures - characters["\ufffd"] >= counts.get("\u200d", 0):
        counts.pop("\u200d", None)
    strange = [(name, count) for name, count in counts.items() if not _BELONGS.get(name, set()) & there]
    ordered = sorted(strange, key=lambda pair: (-pair[1], pair[0]))
    return {f"U+{ord(character):04X} {unicodedata.name(character, 'UNNAMED')}": count for character, count in ordered}


def character_warnings(reports: Iterable[CharacterFigures], what: str) -> list[str]:
    """Warnings about invisible and replacement characters.

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
            f"{what} has {unseen.total():,} invisible character(s) ({kinds}{more}): a word with one is another; "
            "if they are not intended, remove them (`invisible` in conf/clean removes all but joiners)"
        )
    if lost:
        warnings.append(
            f"{what} has {lost:,} replacement character(s) (U+FFFD): an earlier program could not decode what "
            "was there; create the files again from their source, in the right encoding"
        )
    return warnings


def _shares(counts: Counter[str]) -> dict[str, float]:
    total = counts.total()
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return {name: round(count / total, 6) for name, count in ordered}


# ---- n-grams of words, by their hashes


def hash_of(text: str) -> int:
    """64 bits, the same on every machine."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def hashes_of(texts: Iterable[str]) -> np.ndarray:
    """(N,) uint64: the hash of each text."""
    return np.fromiter(map(hash_of, texts), np.uint64)


def word_ngrams(words: Sequence[str], size: int) -> list[str]:
    """The n-grams of a line, n = `size`; a line with fewer words is one n-gram, a line without words has none.

    >>> word_ngrams(["a", "b", "c"], 2), word_ngrams(["a"], 2), word_ngrams([], 2)
    (['a b', 'b c'], ['a'], [])
    """
    return [" ".join(words[start : start + size]) for start in range(max(len(words) - size + 1, len(words) > 0))]


# ---- measuring tables on an engine


def measure_shard(
    shard: Shard, size: int, mode: WordChoice, column: str, wanted: Sequence[Path] = ()
) -> TextStatistics:
    """Count one shard, and save the hashes of its n-grams, lines and different words, ascending.

    Args:
        size: n of the n-grams.
        mode: how lines are cut into words.
        column: of the text.
        wanted: files of ascending hashes of n-grams and lines, the only ones to save; none: all are saved.

    Returns:
        The counts, without the types, whose hashes are saved.
    """
    statistics, split = TextStatistics(), splitter_of(mode)
    hashes: list[list[np.ndarray]] = [[np.zeros(0, dtype=np.uint64)] for _ in KINDS]
    known = [mapped(path) for path in wanted]
    for batch in shard.read(pa.schema([(column, pa.string())]), LINES):
        lines = batch.column(0).to_pylist()
        words = [split(line) for line in lines]
        for line, of_line in zip(lines, words, strict=True):
            statistics.add(line, of_line)
        ngrams = chain.from_iterable(word_ngrams(of_line, size) for of_line in words)
        arrays = [hashes_of(ngrams), hashes_of(lines)]
        if known:
            arrays = [ascending(values) for values in arrays]
            arrays = [values[among(values, those)] for values, those in zip(arrays, known, strict=True)]
        for kept, values in zip(hashes, arrays, strict=True):
            kept.append(values)
    for kind, kept in zip(KINDS, hashes, strict=True):
        save(shard.path(kind), np.sort(np.concatenate(kept)))
    save(shard.path("types"), np.sort(hashes_of(statistics.types)))
    statistics.types = set()
    return statistics


def measure_tables(
    tables: Mapping[str, Path],
    size: int,
    mode: WordChoice,
    scratch: Path,
    engine: Engine,
    column: str = "text",
) -> tuple[dict[str, TextFigures], dict[str, Leakage]]:
    """Measure the splits of a clean text.

    Args:
        tables: split → its table; `train`, and those held out.
        size: n of the n-grams.
        mode: how lines are cut into words.
        scratch: a folder that all workers see, for files of hashes.
        column: of the text.

    Returns:
        split → statistics; held-out split → n-grams and lines it has, and the share of each that train has, too.
    """
    folder = scratch / "statistics"
    folder.mkdir()
    shards = Shard.all_of(tables, folder)
    train = [shard for shard in shards if shard.table == "train"]
    held_out = [shard for shard in shards if shard.table != "train"]
    measure = partial(measure_shard, size=size, mode=mode, column=column)
    measured = list(engine.map(measure, held_out, "measuring held-out text"))
    wanted = [_union(held_out, kind, folder / f"wanted.{kind}", engine) for kind in KINDS]
    measured += engine.map(partial(measure, wanted=wanted), train, "measuring training text")
    seen = [_union(train, kind, folder / f"seen.{kind}", engine) for kind in KINDS]
    counts, overlap = dict[str, TextFigures](), dict[str, Leakage]()
    for split in tables:
        statistics = TextStatistics()
        for shard, results in zip([*held_out, *train], measured, strict=True):
            if shard.table == split:
                statistics.merge(results)
        own = [shard for shard in shards if shard.table == split]
        counts[split] = statistics.report(count_distinct([shard.path("types") for shard in own], engine.share))
        if split != "train":
            overlap[split] = _leaked(own, seen, size, engine)
    return counts, overlap


def _union(shards: Sequence[Shard], kind: str, path: Path, engine: Engine) -> Path:
    distinct([shard.path(kind) for shard in shards], path, engine.share)
    return path


def _leaked(shards: Sequence[Shard], seen: Sequence[Path], size: int, engine: Engine) -> Leakage:
    leaked = list(engine.map(partial(count_leaked, seen=seen), shards, "comparing with training text"))
    ngrams, lines = (tuple(map(sum, zip(*counts, strict=True))) for counts in zip(*leaked, strict=True))
    return {
        "ngram_words": size,
        "ngrams": ngrams[0],
        "ngrams_in_train": share(ngrams[1], ngrams[0]),
        "lines": lines[0],
        "lines_in_train": share(lines[1], lines[0]),
    }


def count_leaked(shard: Shard, seen: Sequence[Path]) -> list[tuple[int, int]]:
    """How many hashes of each kind a held-out shard has, and how many of them the training text has.

    Args:
        seen: files of the ascending hashes of each kind that the training text has.
    """
    hashes = [mapped(shard.path(kind)) for kind in KINDS]  # (G,) uint64, (L,) uint64
    return [(len(some), int(among(some, mapped(path)).sum())) for some, path in zip(hashes, seen, strict=True)]


def share(part: int, whole: int) -> float:
    """Part of the whole, for a report."""
    return round(part / whole, 6) if whole else 0.0
