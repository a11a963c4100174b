"""Figures of clean text: the statistics of every split, and leakage, the share of the held-out text that train holds.

Leakage is measured on word n-grams (13 by default, as in the GPT-3 paper, Brown et al. 2020, appendix C; a shorter line
counts as one n-gram, whole) and on whole lines. All are compared by 64-bit hashes on disk. Held-out parts are hashed
first; then each training part saves those of its hashes that the held-out text has. Of g held-out n-grams, one in
2⁶⁴ / g different ones of the training text passes for one of them.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from langladder.engine.base import Engine, current
from langladder.sorted_runs import mapped, save
from langladder.text.clean.hashes import among, ascending, count_distinct, distinct
from langladder.text.clean.statistics import TextStatistics
from langladder.text.storage.shards import read_shard, shard_files
from langladder.text.storage.tables import read_batches
from langladder.text.words.words import split_words

_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that multiplying loses nothing modulo 2⁶⁴
_INVERSE = np.uint64(pow(int(_BASE), -1, 2**64))
_ONE = np.uint64(1)
LINES = 4096  # that are in memory at a time
KINDS = ("grams", "lines")  # what is compared


def hash_of(text: str) -> int:
    """64 bits, the same on every machine."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


class NGrams:
    """Hashes of a text's word n-grams.

    Args:
        size: n.
        words: known ones.

    Attributes:
        codes: `hash_of` every known word.
    """

    def __init__(self, size: int, words: Sequence[str] = ()) -> None:
        self.size = size
        self.codes = {word: hash_of(word) for word in words}

    @property
    def words(self) -> list[str]:
        """The known ones."""
        return list(self.codes)

    def hashes(self, lines: list[str], *, learn: bool) -> tuple[np.ndarray, np.ndarray]:
        """Hash every n-gram of each line.

        Args:
            lines: L lines of text.
            learn: new words become known; else an n-gram with an unknown word hashes to 0, which no other does.

        Returns:
            (G,) uint64 hashes, line after line; (L,) int64 n-grams in each line.
        """
        words = [split_words(line, "auto") for line in lines]
        if learn:
            return self.of(words)
        codes = np.array([self.codes.get(word, 0) for word in chain.from_iterable(words)], dtype=np.uint64)  # (W,)
        lengths = np.array([len(line) for line in words], dtype=np.int64)  # (L,)
        hashes, grams = gram_hashes(codes, lengths, self.size)
        starts, spans, _ = _windows(lengths, self.size)
        unknown = np.append(0, np.cumsum(codes == 0))
        hashes[unknown[starts + spans] > unknown[starts]] = 0
        return hashes, grams

    def of(self, words: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
        """As `hashes`, of the words of each line; new ones become known."""
        flat = list(chain.from_iterable(words))
        self.codes |= {word: hash_of(word) for word in set(flat).difference(self.codes)}
        codes = np.fromiter(map(self.codes.__getitem__, flat), np.uint64, len(flat))
        hashes, grams = gram_hashes(codes, np.array([len(line) for line in words], dtype=np.int64), self.size)
        return np.maximum(hashes, 1), grams


def gram_hashes(codes: np.ndarray, lengths: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Hash every n-gram of each line: w_0 … w_{n-1} to Σ_k code(w_k) · BASE^k + n.

    Args:
        codes: (W,) uint64, random-looking, of the words of all lines.
        lengths: (L,) int64, words in each line.
        size: n; a line with fewer words is one n-gram, which is not the start of a longer one.

    Returns:
        (G,) uint64 hashes, line after line; (L,) int64 n-grams in each line.
    """
    starts, spans, grams = _windows(lengths, size)
    powers, inverse = (np.cumprod(np.append(_ONE, np.full(len(codes), base))) for base in (_BASE, _INVERSE))
    sums = np.append(np.uint64(0), np.cumsum(codes * powers[:-1]))  # Σ_{i < j} code(w_i) · BASE^i
    hashes: np.ndarray = (sums[starts + spans] - sums[starts]) * inverse[starts] + spans.astype(np.uint64)
    return hashes, grams


def _windows(lengths: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(G,) first word and number of words of every n-gram, (L,) n-grams in each line."""
    spans = np.minimum(lengths, size)
    grams = np.where(lengths > 0, lengths - spans + 1, 0)
    first = np.cumsum(lengths) - lengths - (np.cumsum(grams) - grams)  # a line's first word less its first n-gram
    return np.arange(grams.sum()) + np.repeat(first, grams), np.repeat(spans, grams), grams


@dataclass(frozen=True)
class Part:
    """A part of a table: a shard, or a whole Parquet file.

    Attributes:
        table: the file; `column`: the text's.
        scratch: path of the files that are written, to which endings are added.
    """

    table: Path
    column: str
    scratch: Path

    def file(self, ending: str) -> Path:
        """A file of hashes."""
        return self.scratch.with_suffix(f".{ending}")

    def lines(self) -> Iterator[list[str]]:
        """The text, piece by piece."""
        schema = pa.schema([(self.column, pa.string())])
        read = read_batches if self.table.suffix == ".parquet" else read_shard
        for batch in read(self.table, schema, LINES):
            yield batch.column(0).to_pylist()


def measure_part(part: Part, size: int, wanted: Sequence[Path] = ()) -> TextStatistics:
    """Count one part, and save the hashes of its n-grams, lines and different words, ascending.

    Args:
        size: n of the n-grams.
        wanted: files of ascending hashes of n-grams and lines, the only ones to save; none: all are saved.
    """
    statistics, ngrams = TextStatistics(), NGrams(size)
    hashes: list[list[np.ndarray]] = [[np.zeros(0, dtype=np.uint64)] for _ in KINDS]
    known = [mapped(path) for path in wanted]
    for lines in part.lines():
        words = [split_words(line, "auto") for line in lines]
        for line, of_line in zip(lines, words, strict=True):
            statistics.count(line, len(of_line))
        found = [ngrams.of(words)[0], np.array([hash_of(line) for line in lines], dtype=np.uint64)]
        if known:
            found = [ascending(values) for values in found]
            found = [values[among(values, those)] for values, those in zip(found, known, strict=True)]
        for kept, values in zip(hashes, found, strict=True):
            kept.append(values)
    for kind, kept in zip(KINDS, hashes, strict=True):
        save(part.file(kind), np.sort(np.concatenate(kept)))
    save(part.file("types"), np.sort(np.array(list(ngrams.codes.values()), dtype=np.uint64)))
    return statistics


def measure_tables(
    tables: dict[str, Path], size: int, scratch: Path, engine: Engine, column: str = "text"
) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """Measure the splits of a clean text.

    Args:
        tables: split → its table; `train`, and those held out.
        size: n of the n-grams.
        scratch: an empty folder that all workers see.

    Returns:
        split → statistics; held-out split → n-grams and lines it has, and the share of each that train has, too.
    """
    parts = {
        split: [Part(file, column, scratch / f"{split}-{number:06d}") for number, file in enumerate(shard_files(table))]
        for split, table in tables.items()
    }
    held_out = [part for split, some in parts.items() if split != "train" for part in some]
    found = list(engine.map(partial(measure_part, size=size), held_out, "measuring held-out text"))
    wanted = [_union(held_out, kind, scratch / f"wanted.{kind}", engine) for kind in KINDS]
    call = partial(measure_part, size=size, wanted=wanted)
    found += engine.map(call, parts["train"], "measuring training text")
    seen = [_union(parts["train"], kind, scratch / f"seen.{kind}", engine) for kind in KINDS]
    of_part = dict(zip([*held_out, *parts["train"]], found, strict=True))
    counts = {}
    for split, some in parts.items():
        statistics = TextStatistics()
        for part in some:
            statistics.merge(of_part[part])
        counts[split] = statistics.report(count_distinct([part.file("types") for part in some], engine.share))
    return counts, {split: _leaked(some, seen, size) for split, some in parts.items() if split != "train"}


def _union(parts: Sequence[Part], kind: str, path: Path, engine: Engine) -> Path:
    distinct([part.file(kind) for part in parts], path, engine.share)
    return path


def _leaked(parts: Sequence[Part], seen: Sequence[Path], size: int) -> dict[str, Any]:
    report: dict[str, Any] = {"ngram_words": size}
    for kind, name, path in zip(KINDS, ("ngrams", "lines"), seen, strict=True):
        known = mapped(path)
        found = [among(mapped(part.file(kind)), known) for part in parts]  # (G,) bool each
        report[name] = sum(map(len, found))
        report[f"{name}_in_train"] = share(sum(int(one.sum()) for one in found), report[name])
    return report


def measure(train: Path, held_out: dict[str, Path], size: int = 13, column: str = "text") -> dict[str, dict[str, Any]]:
    """Compare each held-out table with the training table: the second result of `measure_tables`."""
    with TemporaryDirectory(dir=train.parent) as scratch:
        return measure_tables({"train": train, **held_out}, size, Path(scratch), current(), column)[1]


def share(part: int, whole: int) -> float:
    """Part of the whole, for a report."""
    return round(part / whole, 6) if whole else 0.0
