"""Cleaning a corpus: repaired lines, without duplicates, cut into train, validation and test, with a report.

Two passes, neither of which holds the text in memory. The first cleans every line, drops what is outside the limits
and what the corpus already had, and finds each document's place (a hash). The second sends whole documents to their
splits. Splits that the corpus brings itself stay as they are; what it lacks is cut from train.
"""

import shutil
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pydantic import Field

from langladder.atomic import atomic_folder
from langladder.errors import InputError
from langladder.schema import Config
from langladder.text import leakage
from langladder.text.drops import Book, LimitsConfig, outside
from langladder.text.duplicates import DuplicatesConfig, Seen
from langladder.text.shards import SHARDED
from langladder.text.splitting import Cut, SplitConfig, cut, place
from langladder.text.statistics import TextStatistics
from langladder.text.steps import StepsConfig, build_steps
from langladder.text.tables import SPLITS, TEXT, present_splits, read_batches, read_column, write_batches
from langladder.text.words import split_words

ROWS = 16_384


class CleanConfig(Config):
    """How monolingual text is cleaned."""

    steps: StepsConfig = StepsConfig()
    limits: LimitsConfig = LimitsConfig()
    duplicates: DuplicatesConfig = DuplicatesConfig()
    split: SplitConfig = SplitConfig()
    # Lines are independent samples of one source: a repeated one is data, so none is dropped, overlap is only counted.
    iid: bool = False
    leakage_words: int = Field(default=13, ge=1)  # n of the n-grams counted across splits


class Document(NamedTuple):
    """A document's cleaned lines, and their exact log-probabilities where the line is as it was."""

    lines: list[str]
    log_probs: list[float | None]


def clean_text(raw_folder: Path, out_folder: Path, config: CleanConfig, seed: int) -> dict[str, Any]:
    """Clean `raw_folder` into `out_folder`/{train,validation,test}, all of them or none.

    Args:
        raw_folder: train (and validation, test) or all, as the readers write them.
        seed: salts the hash that cuts splits.

    Returns:
        The data report: what was changed and dropped and why, every split's statistics, leakage between splits.

    Raises:
        InputError: cleaning leaves a split empty, or too few documents to cut one.
    """
    names = present_splits(raw_folder)
    book, seen = Book(), Seen(config.duplicates)
    with atomic_folder(out_folder, SHARDED) as folder:
        places: dict[str, list[tuple[float, int]]] = {}
        # Held-out text first: of two equal documents, the one in the training text goes.
        for name in sorted(names, key=("test", "validation", "train", "all").index):
            places[name] = []
            documents = _clean(raw_folder / name, config, book, seen)
            write_batches(folder / f"{name}.cleaned", TEXT, _tables(documents, places[name], seed))
            if not places[name]:
                reasons = ", ".join(f"{reason} {count:,}" for reason, count in book.dropped.most_common())
                raise InputError(f"{raw_folder}/{name}: cleaning leaves nothing ({reasons}); relax `clean`")
        own = [name for name in names if name not in ("train", "all")]
        cuts = [found for name in names if (found := _route(folder, name, places[name], config.split, own))]
        counts = {split: _count(folder / split) for split in SPLITS}
        held_out = {split: folder / split for split in ("validation", "test")}
        overlap = leakage.measure(folder / "train", held_out, config.leakage_words)
    return {
        "splits": counts,
        "cut_by_hash": [split for split in SPLITS if split not in names],
        **cut_report(cuts),
        "cleaning": book.report(),
        "leakage": overlap,
    }


def cut_report(cuts: list[Cut]) -> dict[str, Any]:
    """How splits were cut, for the data report; {} where the corpus brings all of them."""
    warnings = [line for found in cuts for line in found.warnings]
    return ({"cut_by": cuts[-1].by} if cuts else {}) | ({"warnings": warnings} if warnings else {})


def _clean(path: Path, config: CleanConfig, book: Book, seen: Seen) -> Iterator[Document]:
    """Cleaned documents of one table, without those that are left empty or that were seen before."""
    steps = build_steps(config.steps)
    rows = (row for batch in read_batches(path, TEXT, ROWS) for row in zip(*_columns(batch), strict=True))
    for _, group in groupby(rows, key=itemgetter(0)):
        document = Document([], [])
        for _, text, log_prob in group:
            book.read += 1
            line = book.apply(steps, text)
            reason = outside(line, config.limits)
            if reason is None and not config.iid:
                reason = seen.is_duplicate(line, "lines")
            if reason is not None:
                book.drop(reason, text)
                continue
            document.lines.append(line)
            document.log_probs.append(log_prob if line == text else None)
        if not document.lines:
            continue
        reason = None if config.iid else seen.is_duplicate("\n".join(document.lines), "documents")
        if reason is not None:
            book.drop(reason, document.lines[0])
            continue
        yield document


def _columns(batch: pa.RecordBatch) -> list[list[Any]]:
    return [column.to_pylist() for column in batch.columns]


def _tables(documents: Iterator[Document], places: list[tuple[float, int]], seed: int) -> Iterator[pa.Table]:
    """Tables of about ROWS lines; notes each document's place and number of words."""
    columns: tuple[list[int], list[str], list[float | None]] = ([], [], [])
    for document in documents:
        columns[0].extend([len(places)] * len(document.lines))
        columns[1].extend(document.lines)
        columns[2].extend(document.log_probs)
        words = sum(len(split_words(line, "auto")) for line in document.lines)
        places.append((place(document.lines, seed), words))
        if len(columns[0]) >= ROWS:
            yield pa.table(list(columns), schema=TEXT)
            columns = ([], [], [])
    if columns[0]:
        yield pa.table(list(columns), schema=TEXT)


def _route(
    folder: Path, name: str, documents: list[tuple[float, int]], config: SplitConfig, own: list[str]
) -> Cut | None:
    """Turn one cleaned table into the splits that it is, or that are cut from it, and remove it.

    Args:
        documents: place and number of words of each.

    Returns:
        How it was cut, None where it was not.
    """
    cleaned = folder / f"{name}.cleaned"
    wanted = [name] if name in own else [split for split in SPLITS if split not in own]
    places, words = np.array(documents).T  # (D,) float64 each: words are far below 2^53
    found = None if len(wanted) == 1 else cut(places, words.astype(np.int64), config, own)
    for split in wanted:
        mine = np.ones(len(places), dtype=bool) if found is None else found.splits == SPLITS.index(split)
        numbers = np.cumsum(mine) - 1  # documents of each split are numbered from 0
        write_batches(folder / split, TEXT, _selected(cleaned, mine, numbers))
    shutil.rmtree(cleaned)
    return found


def _selected(path: Path, mine: np.ndarray, numbers: np.ndarray) -> Iterator[pa.Table]:
    for batch in read_batches(path, TEXT, ROWS):
        documents = batch.column("document").to_numpy()
        kept = pa.Table.from_batches([batch.filter(pa.array(mine[documents]))])
        if kept.num_rows:
            yield kept.set_column(0, "document", pa.array(numbers[documents[mine[documents]]]))


def _count(path: Path) -> dict[str, Any]:
    statistics = TextStatistics()
    documents = 0
    for batch in read_batches(path, TEXT, ROWS):
        statistics.add(batch.column("text").to_pylist())
        documents = int(batch.column("document")[-1].as_py()) + 1
    return {"documents": documents, **statistics.report()}


def training_lines(clean_folder: Path) -> Iterator[str]:
    """The lines of the training split, one after the other."""
    for lines in read_column(clean_folder / "train", "text"):
        yield from lines
