"""Cleaning a corpus: repaired lines, without duplicates, cut into train, validation and test, with a report.

    raw shards ─ clean_shard ─┬─ duplicates, cut ─┬─ write_tables ─ clean shards ─ measure → report
                 of each      └─ of the corpus    └─                               of each

The work on each shard runs on an engine. The text is never in memory as a whole: this process holds a few numbers per
document while it decides which documents are dropped and which split each belongs to. Splits that the corpus has are
kept; missing ones are cut from train.
"""

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby, repeat
from operator import itemgetter
from pathlib import Path
from typing import TypedDict

import numpy as np
from pydantic import Field

from langladder.engine.base import Engine, current
from langladder.ground.atomic import atomic_folder
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.ground.sorted_runs import mapped, save
from langladder.text.clean.duplicates import (
    DUPLICATE_KINDS,
    DuplicatesConfig,
    NearDuplicatesReport,
    TextHashes,
    decided,
)
from langladder.text.clean.splitting import Cut, SplitConfig, as_fraction, cut, salted
from langladder.text.clean.statistics import Leakage, TextFigures, character_warnings, measure_tables
from langladder.text.clean.steps import (
    EXAMPLE_CHARACTERS,
    EXAMPLES,
    Book,
    BookReport,
    Language,
    LimitsConfig,
    StepsConfig,
    build_steps,
    found_conventions,
    outside,
)
from langladder.text.storage.shards import (
    SHARDED,
    SPLITS,
    Shard,
    TextPart,
    TextRow,
    present_splits,
    read_text_rows,
    shard_files,
    write_tables,
    write_text_rows,
)
from langladder.text.words.segmentation import (
    TEXT,
    ConventionsReport,
    InstalledWords,
    WordChoice,
    conventions_report,
    splitter_of,
    write_conventions,
)


class CleanConfig(Config):
    """How monolingual text is cleaned."""

    steps: StepsConfig = StepsConfig()
    limits: LimitsConfig = LimitsConfig()
    duplicates: DuplicatesConfig = DuplicatesConfig()
    split: SplitConfig = SplitConfig()
    # Lines are independent samples of one source: a repeated one is data, so none is dropped, overlap is only counted.
    iid: bool = False
    leakage_words: int = Field(default=13, ge=1)  # n of the n-grams counted across splits
    words: InstalledWords = "auto"  # how words are split: in limits, statistics and all figures per word
    language: Language | None = None


class CutReport(TypedDict, total=False):
    """How missing splits were cut; warnings."""

    cut_by: str
    warnings: list[str]


class SplitFigures(TextFigures):
    """The figures of a split of documents."""

    documents: int


class CleaningReport(BookReport, NearDuplicatesReport):
    """What cleaning changed and dropped, and how duplicates were found."""


class CleanReport(CutReport):
    """The data report of a text: what was changed and dropped and why, statistics, leakage between splits."""

    splits: dict[str, SplitFigures]
    conventions: dict[str, ConventionsReport]
    cut_by_hash: list[str]
    cleaning: CleaningReport
    leakage: dict[str, Leakage]


@dataclass(frozen=True)
class Rules:
    """How every shard of a corpus is cleaned."""

    steps: StepsConfig
    limits: LimitsConfig
    duplicates: DuplicatesConfig
    words: WordChoice
    seed: int


def clean_text(raw_folder: Path, out_folder: Path, config: CleanConfig, seed: int) -> CleanReport:
    """Clean `raw_folder` into `out_folder`/{train,validation,test}, all of them or none, on the current engine.

    Args:
        raw_folder: train (and validation, test) or all, as the readers write them.
        seed: salts the hash that cuts splits.

    Returns:
        The data report: what was changed and dropped and why, every split's statistics, leakage between splits.

    Raises:
        InputError: cleaning leaves a split empty, or too few documents to cut one.
    """
    names, engine = present_splits(raw_folder), current()
    compared = DuplicatesConfig(exact="keep", near="keep") if config.iid else config.duplicates
    raw_rows = chain.from_iterable(map(read_text_rows, shard_files(raw_folder / names[0])))
    raw_lines = (text for _, text, _ in raw_rows)
    steps, conventions = found_conventions(raw_lines, config.steps, config.words, config.language)
    rules = Rules(steps, config.limits, compared, conventions.words, seed)
    with atomic_folder(out_folder, SHARDED) as folder:
        scratch = folder / "work"
        scratch.mkdir()
        # Held-out text first: of two equal documents, the one in train is dropped.
        ordered = sorted(names, key=("test", "validation", "train", "all").index)
        shards = Shard.all_of({name: raw_folder / name for name in ordered}, scratch)
        book = _clean(shards, rules, scratch, engine)
        starts = np.cumsum([0, *(len(mapped(shard.path("fractions"))) for shard in shards)])
        gone = _duplicates(shards, starts, compared, book, engine)
        splits, cuts = _split(shards, starts, gone, config.split, book)
        counts_of = np.diff(starts).tolist()
        parts = [TextPart(shard.path("rows"), int(starts[n]), counts_of[n]) for n, shard in enumerate(shards)]
        write_tables(folder, SPLITS, parts, splits, _noted(shards, "bytes"), scratch, engine)
        counts, overlap = measure_tables(
            {s: folder / s for s in SPLITS}, config.leakage_words, conventions.words, scratch, engine
        )
        write_conventions(folder, {TEXT: conventions})
        shutil.rmtree(scratch)
    documents = np.bincount(splits[splits >= 0], minlength=len(SPLITS)).tolist()
    return {
        "splits": {split: {"documents": documents[n], **counts[split]} for n, split in enumerate(SPLITS)},
        "conventions": conventions_report({TEXT: conventions}),
        "cut_by_hash": [split for split in SPLITS if split not in names],
        **cut_report(cuts, [*book.warnings(), *character_warnings(counts.values(), "the text")]),
        "cleaning": {**book.report(), **compared.report()},
        "leakage": overlap,
    }


def cut_report(cuts: list[Cut], more: list[str]) -> CutReport:
    """For the data report: how missing splits were cut; warnings, and `more`."""
    report: CutReport = {"cut_by": cuts[-1].by} if cuts else {}
    if warnings := [line for found in cuts for line in found.warnings] + more:
        report["warnings"] = warnings
    return report


def _clean(shards: Sequence[Shard], rules: Rules, scratch: Path, engine: Engine) -> Book:
    """Clean all shards, without duplicate lines; what was changed and dropped."""
    config, gone, starts = rules.duplicates, None, [0] * len(shards)
    if "lines" in (config.exact, config.near):
        list(engine.map(partial(note_lines, rules=rules), shards, "comparing lines"))
        kinds, bounds = decided([shard.path for shard in shards], config, "lines", engine.share)
        gone, starts = scratch / "lines", bounds[:-1].tolist()
        save(gone, kinds)
    book = Book()
    clean = partial(clean_shard, rules=rules, gone=gone)
    for noted in engine.map(clean, list(zip(shards, starts, strict=True)), "cleaning"):
        book.add(noted)
    return book


def _duplicates(
    shards: Sequence[Shard], starts: np.ndarray, config: DuplicatesConfig, book: Book, engine: Engine
) -> np.ndarray:
    """Find duplicate documents, and note them with the first line of some.

    Args:
        starts: (S + 1,) documents of the corpus before each shard, and all.

    Returns:
        (D,) int8, positions in DUPLICATE_KINDS.
    """
    if "documents" not in (config.exact, config.near):
        return np.zeros(int(starts[-1]), dtype=np.int8)
    gone, _ = decided([shard.path for shard in shards], config, "documents", engine.share)
    for kind in np.unique(gone[gone > 0]).tolist():
        reason, documents = f"{DUPLICATE_KINDS[kind]}_document", np.flatnonzero(gone == kind)
        book.dropped[reason] = len(documents)
        book.examples[reason] = []
        for document in documents[:EXAMPLES].tolist():
            number = int(np.searchsorted(starts, document, side="right")) - 1
            rows = read_text_rows(shards[number].path("rows"))
            line = next(text for found, text, _ in rows if found == document - starts[number])
            book.examples[reason].append(line[:EXAMPLE_CHARACTERS])
    return gone


def _split(
    shards: Sequence[Shard], starts: np.ndarray, gone: np.ndarray, config: SplitConfig, book: Book
) -> tuple[np.ndarray, list[Cut]]:
    """The split of each document.

    Returns:
        (D,) int8 positions in SPLITS, -1 for a dropped document; how splits were cut, [] if none was.

    Raises:
        InputError: a table is left empty, or has too few documents to cut.
    """
    splits, cuts = np.full(len(gone), -1, dtype=np.int8), list[Cut]()
    names = list(dict.fromkeys(shard.table for shard in shards))
    own = [name for name in names if name not in ("train", "all")]
    for name in names:
        numbers = [number for number, shard in enumerate(shards) if shard.table == name]  # consecutive
        first = int(starts[numbers[0]])
        stay = first + np.flatnonzero(gone[first : int(starts[numbers[-1] + 1])] == 0)
        if not len(stay):
            reasons = ", ".join(f"{reason} {count:,}" for reason, count in book.dropped.most_common())
            raise InputError(f"{shards[numbers[0]].file.parent}: cleaning leaves nothing ({reasons}); relax `clean`")
        wanted = [name] if name in own else [split for split in SPLITS if split not in own]
        if len(wanted) == 1:
            splits[stay] = SPLITS.index(wanted[0])
        else:
            cuts.append(cut(_noted(shards, "fractions")[stay], _noted(shards, "words")[stay], config, own))
            splits[stay] = cuts[-1].splits
    return splits, cuts


def _noted(shards: Sequence[Shard], kind: str) -> np.ndarray:
    """(D,) what the shards noted for each document."""
    return np.concatenate([np.array(mapped(shard.path(kind))) for shard in shards])


# ---- one shard, on a worker


def clean_rows(
    rows: Iterable[TextRow], rules: Rules, book: Book, gone: Iterator[int] | None = None
) -> Iterator[TextRow]:
    """Run the steps on each line, and drop what is outside the limits or a duplicate.

    Args:
        book: notes what is changed and dropped.
        gone: for each line within the limits, a position in DUPLICATE_KINDS; 0: it is kept.

    Yields:
        The lines that are kept. A changed line, and the lines of its document after a changed or dropped one, lose
        their log-probability, because it may depend on the lines before.
    """
    steps, split = build_steps(rules.steps), splitter_of(rules.words)
    kinds, altered = repeat(0) if gone is None else gone, -1  # a document
    for document, text, log_prob in rows:
        book.read += 1
        line = book.apply(steps, text)
        reason = outside(line, rules.limits, split)
        if reason is None and (kind := next(kinds)):
            reason = f"{DUPLICATE_KINDS[kind]}_line"
        if reason is not None or line != text:
            altered = document
        if reason is None:
            yield document, line, None if altered == document else log_prob
        else:
            book.drop(reason, text)


def note_lines(shard: Shard, rules: Rules) -> None:
    """Save the hashes that find duplicates among the cleaned lines."""
    notes = TextHashes(rules.duplicates, "lines")
    for _, line, _ in clean_rows(read_text_rows(shard.file), rules, Book()):
        notes.note(line)
    notes.save(shard.path)


def clean_shard(shard_and_start: tuple[Shard, int], rules: Rules, gone: Path | None = None) -> Book:
    """Clean a shard into its file `rows`, and note its documents.

    Args:
        shard_and_start: a shard, and the number of its first cleaned line in the corpus, used only with `gone`.
        gone: file of the positions in DUPLICATE_KINDS of all cleaned lines of the corpus.
    """
    shard, start = shard_and_start
    book, documents = Book(), DocumentNotes(rules)
    kinds = None if gone is None else map(int, mapped(gone)[start:])
    cleaned = clean_rows(read_text_rows(shard.file), rules, book, kinds)
    write_text_rows(shard.path("rows"), documents.numbered(cleaned))
    documents.save(shard)
    return book


class DocumentNotes:
    """Of each document of a shard: its hash as a fraction, words and bytes; hashes where duplicates are looked for."""

    def __init__(self, rules: Rules) -> None:
        self.seed = rules.seed
        self.split = splitter_of(rules.words)
        self.duplicates = TextHashes(rules.duplicates, "documents")
        self.fractions: list[float] = []
        self.words: list[int] = []
        self.bytes: list[int] = []

    def numbered(self, rows: Iterable[TextRow]) -> Iterator[TextRow]:
        """The same rows with their documents numbered from 0; each document is noted after its last row."""
        for number, (_, lines) in enumerate(groupby(rows, key=itemgetter(0))):
            fraction, key = salted(self.seed), hashlib.blake2b(digest_size=16)
            words = size = 0
            whole: list[str] = []
            for _, line, log_prob in lines:
                encoded = line.encode()
                for digest in (fraction, key):
                    digest.update(encoded)
                    digest.update(b"\n")
                words += len(self.split(line))
                size += len(encoded)
                if self.duplicates.near:
                    whole.append(line)
                yield number, line, log_prob
            self.fractions.append(as_fraction(fraction.digest()))
            self.words.append(words)
            self.bytes.append(size)
            self.duplicates.hashes.append(key.digest())
            self.duplicates.add("\n".join(whole))

    def save(self, shard: Shard) -> None:
        """Write the files of the shard."""
        save(shard.path("fractions"), np.array(self.fractions, dtype=np.float64))
        save(shard.path("words"), np.array(self.words, dtype=np.int64))
        save(shard.path("bytes"), np.array(self.bytes, dtype=np.int64))
        self.duplicates.save(shard.path)
