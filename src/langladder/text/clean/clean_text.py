"""Cleaning a text: repaired lines, without duplicates, cut into train, validation and test, with a report.

A row is a line, an item a document (see `cleaning`). Splits that the corpus has are kept; missing ones are cut from
train.
"""

from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from pydantic import Field

from langladder.engine.base import current
from langladder.ground.atomic import atomic_folder
from langladder.text.clean.cleaning import (
    Cleaned,
    CleanedRows,
    CleaningConfig,
    CutReport,
    RowType,
    cut_as_configured,
    cut_report,
)
from langladder.text.clean.duplicates import DuplicatesConfig, NearDuplicatesReport
from langladder.text.clean.statistics import Leakage, TextFigures, character_warnings, measure_tables
from langladder.text.clean.steps import Book, BookReport, Language, StepsConfig, build_steps, found_conventions, outside
from langladder.text.storage.shards import SHARDED, SPLITS, present_splits
from langladder.text.storage.shards import TEXT as TEXT_SCHEMA
from langladder.text.storage.tables import Row, TableLines
from langladder.text.words.segmentation import (
    TEXT,
    ConventionsReport,
    conventions_report,
    splitter_of,
    write_conventions,
)


class CleanConfig(CleaningConfig):
    """How monolingual text is cleaned. iid: lines are independent samples of one source."""

    steps: StepsConfig = StepsConfig()
    duplicates: DuplicatesConfig = DuplicatesConfig()
    leakage_words: int = Field(default=13, ge=1)  # n of the n-grams counted across splits
    language: Language | None = None

    @property
    def compared(self) -> DuplicatesConfig:
        """Duplicates as they are set; of independent samples none."""
        return DuplicatesConfig(exact="keep", near="keep") if self.iid else self.duplicates


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
    names = present_splits(raw_folder)
    lines = TableLines([(raw_folder / names[0], "text")])
    steps, conventions = found_conventions(lines, config.steps, config.words, config.language)
    config = config.model_copy(update={"steps": steps, "words": conventions.words})
    # Held-out text first: of two equal documents, the one in train is dropped.
    ordered = sorted(names, key=("test", "validation", "train", "all").index)
    with atomic_folder(out_folder, SHARDED) as folder:
        rows = CleanedRows([(name, raw_folder / name) for name in ordered], folder, LINE, config, seed)
        rows.drop_duplicates("duplicate_document", across_tables=True)
        rows.cut(cut_as_configured)
        rows.write()
        tables = {split: folder / split for split in SPLITS}
        with TemporaryDirectory(dir=folder) as scratch:
            counts, overlap = measure_tables(tables, config.leakage_words, conventions.words, Path(scratch), current())
        write_conventions(folder, {TEXT: conventions})
    documents = np.bincount(rows.split[rows.split >= 0], minlength=len(SPLITS)).tolist()
    return {
        "splits": {split: {"documents": documents[n], **counts[split]} for n, split in enumerate(SPLITS)},
        "conventions": conventions_report({TEXT: conventions}),
        "cut_by_hash": [split for split in SPLITS if split not in names],
        **cut_report(rows.cuts, [*rows.book.warnings(), *character_warnings(counts.values(), "the text")]),
        "cleaning": {**rows.book.report(), **config.compared.report()},
        "leakage": overlap,
    }


def clean_lines(rows: list[Row], config: CleanConfig, book: Book) -> Iterator[Cleaned]:
    """Run the steps on each line; drop what is outside the limits."""
    steps, split = build_steps(config.steps), splitter_of(config.words)
    for row in rows:
        line = book.apply(steps, row["text"])
        reason = outside(line, config.limits, split)
        words = 0 if reason else len(split(line))
        yield Cleaned(row | {"text": line}, reason, key=line, unshared=(), split_by=line, words=words)


LINE = RowType(TEXT_SCHEMA, (), clean_lines, itemgetter("text"), of_documents=True)
