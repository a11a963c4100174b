"""Some pairs of a raw parallel corpus, cleaned: what a worker does, before what only the whole corpus can tell.

Steps, limits and the ratio of lengths are a pair's own affair. A part leaves, in a scratch folder and named by its
number, the cleaned pairs, and for what is decided over all parts: hashes of pairs (duplicates) and of both sides
(sentences that are held out), each source's place and number of words (splits).
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pydantic import Field

from langladder.atomic import atomic_file
from langladder.schema import Config
from langladder.text.drops import Book, LimitsConfig, outside
from langladder.text.spilled import HASH, as_hashes, save
from langladder.text.splitting import SplitConfig, place
from langladder.text.steps import StepsConfig, build_steps
from langladder.text.tables import PAIRS, read_group
from langladder.text.words import split_words

ROWS = 16_384
Pair = tuple[str, str]
CLEANED = PAIRS.append(pa.field("row", pa.int64()))  # row: of the raw part


class CleanPairsConfig(Config):
    """How parallel text is cleaned."""

    source: StepsConfig = StepsConfig()
    target: StepsConfig = StepsConfig()
    limits: LimitsConfig = LimitsConfig()  # of either side
    max_length_ratio: float | None = Field(default=None, gt=1)  # words of the longer side over those of the shorter
    drop_duplicates: bool = True  # equal pairs
    held_out_never_in_train: bool = True  # no source and no target of validation and test is in train
    split: SplitConfig = SplitConfig()
    iid: bool = False  # pairs are independent samples: nothing repeated is dropped, overlap is only counted
    leakage_words: int = Field(default=13, ge=1)


@dataclass(frozen=True)
class PairPart:
    """Some raw pairs.

    Attributes:
        raw: their table; `name`: of the split that it is; `group`: which row group of it.
        scratch: path of what the part leaves, to which endings are added.
        placed: whether its pairs are sent to splits by their places.
    """

    raw: Path
    name: str
    group: int
    scratch: Path
    config: CleanPairsConfig
    seed: int
    placed: bool

    def file(self, ending: str) -> Path:
        """One of the files that it leaves."""
        return self.scratch.with_suffix(f".{ending}")


def clean_part(part: PairPart) -> Book:
    """Run the steps, drop what is outside the limits."""
    book, notes = Book(), _Notes(part)
    with atomic_file(part.file("arrow")) as file, pa.ipc.new_stream(str(file), CLEANED) as stream:
        rows, sources, targets = list[int](), list[str](), list[str]()
        for row, (source, target) in _cleaned(part, book):
            notes.add(source, target)
            rows.append(row)
            sources.append(source)
            targets.append(target)
            if len(rows) == ROWS:
                stream.write_table(pa.table([sources, targets, rows], schema=CLEANED))
                rows, sources, targets = [], [], []
        stream.write_table(pa.table([sources, targets, rows], schema=CLEANED))
    notes.save()
    return book


def _cleaned(part: PairPart, book: Book) -> Iterator[tuple[int, Pair]]:
    steps = build_steps(part.config.source), build_steps(part.config.target)
    for row, raw in enumerate(raw_pairs(part)):
        book.read += 1
        pair = (book.apply(steps[0], raw[0]), book.apply(steps[1], raw[1]))
        limits = part.config.limits
        reason = outside(pair[0], limits) or outside(pair[1], limits) or _uneven(pair, part.config)
        if reason is None:
            yield row, pair
        else:
            book.drop(reason, "\t".join(raw))


def _uneven(pair: Pair, config: CleanPairsConfig) -> str | None:
    if config.max_length_ratio is None:
        return None
    shorter, longer = sorted(len(split_words(side, "auto")) for side in pair)
    return "length_ratio" if longer > config.max_length_ratio * shorter else None


class _Notes:
    """What a part notes of its pairs."""

    def __init__(self, part: PairPart) -> None:
        self.part = part
        self.hashes: dict[str, list[bytes]] = {"pairs": [], "sources": [], "targets": []}
        self.places: list[float] = []
        self.words: list[int] = []

    def add(self, source: str, target: str) -> None:
        one, other = source.encode(), target.encode()
        for kind, content in (("pairs", b"%d\n%b%b" % (len(one), one, other)), ("sources", one), ("targets", other)):
            self.hashes[kind].append(hashlib.blake2b(content, digest_size=HASH.itemsize).digest())
        if self.part.placed:
            self.places.append(place([source], self.part.seed))
            self.words.append(len(split_words(source, "auto")))

    def save(self) -> None:
        for kind, digests in self.hashes.items():
            save(self.part.file(kind), as_hashes(digests))
        if self.part.placed:
            save(self.part.file("places"), np.array(self.places, dtype=np.float64))
            save(self.part.file("words"), np.array(self.words, dtype=np.int64))


def raw_pairs(part: PairPart) -> Iterator[Pair]:
    """The pairs as they were read."""
    for batch in read_group(part.raw, PAIRS, part.group, ROWS):
        yield from zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)


def cleaned_batches(part: PairPart) -> Iterator[pa.RecordBatch]:
    """The cleaned pairs, with the columns of `CLEANED`."""
    with pa.OSFile(str(part.file("arrow"))) as file, pa.ipc.open_stream(file) as stream:
        yield from stream
