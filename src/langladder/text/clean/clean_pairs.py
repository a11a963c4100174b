"""Cleaning parallel text: both sides of a pair, and the pair as a whole.

A pair goes when either side is empty or outside the limits, when one side is many times longer than the other, or
when the same pair was there before. Splits are cut by the hash of the source sentence, so that all translations of
one sentence fall together; a training pair that shares its source *or* its target with held-out text is dropped, for
else the test would ask for sentences that were seen.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from langladder.atomic import atomic_folder
from langladder.text.clean import leakage
from langladder.text.clean.cleaning import cut_report
from langladder.text.clean.drops import Book, outside
from langladder.text.clean.rows import Cleaned, CleanedRows, CleanRowsConfig, Row, RowType
from langladder.text.clean.splitting import Cut, cut
from langladder.text.clean.statistics import TextStatistics, character_warnings
from langladder.text.clean.steps import StepsConfig, build_steps
from langladder.text.storage.tables import PAIRS, SPLITS, TABLES, present_splits, read_column
from langladder.text.words.words import split_words


class CleanPairsConfig(CleanRowsConfig):
    """How parallel text is cleaned. limits: of either side; held_out_never_in_train: no source and no target of it."""

    source: StepsConfig = StepsConfig()
    target: StepsConfig = StepsConfig()
    max_length_ratio: float | None = Field(default=None, gt=1)  # words of the longer side over those of the shorter
    leakage_words: int = Field(default=13, ge=1)


def clean_parallel(raw_folder: Path, out_folder: Path, config: CleanPairsConfig, seed: int) -> dict[str, Any]:
    """Clean `raw_folder` into `out_folder`/{train,validation,test}.parquet, all or none, on the current engine.

    Returns and raises: as `cleaning.clean_text`, with a report for each side.
    """
    names = present_splits(raw_folder)
    # Held-out pairs first: of two equal pairs, the one in the training text goes.
    ordered = sorted(names, key=("test", "validation", "train", "all").index)
    with atomic_folder(out_folder, TABLES) as folder:
        rows = CleanedRows([(name, raw_folder / f"{name}.parquet") for name in ordered], folder, PAIR, config, seed)
        rows.drop_duplicates("duplicate_pair", across_tables=True)
        rows.cut(_cut)
        rows.drop_held_out(
            "clean: every training pair shares a side with held-out text; set held_out_never_in_train: false, or give "
            "more pairs"
        )
        rows.write()
        counts = {split: _counts(folder / f"{split}.parquet") for split in SPLITS}
        held_out = {split: folder / f"{split}.parquet" for split in ("validation", "test")}
        overlap = {
            side: leakage.measure(folder / "train.parquet", held_out, config.leakage_words, side)
            for side in PAIRS.names
        }
    cut_here = [split for split in SPLITS if split not in names]
    report = {"splits": counts, "cut_by_hash": cut_here, "cleaning": rows.book.report(), "leakage": overlap}
    sides = {side: [count[side] for count in counts.values()] for side in PAIRS.names}
    warnings = [line for side, reports in sides.items() for line in character_warnings(reports, f"the {side} side")]
    return report | cut_report(rows.cuts, warnings)


def _counts(path: Path) -> dict[str, Any]:
    """How many pairs a split has, and statistics of each side."""
    statistics = {side: TextStatistics() for side in PAIRS.names}
    for side, found in statistics.items():
        for lines in read_column(path, side):
            found.add(lines)
    return {"pairs": statistics["source"].lines, **{side: found.report() for side, found in statistics.items()}}


def clean_pairs(rows: list[Row], config: CleanPairsConfig, book: Book) -> Iterator[Cleaned]:
    """Run the steps on both sides; drop a pair with a side outside the limits, or one side far longer than the other.

    A training pair must share neither side with a held-out one.
    """
    source_steps, target_steps = build_steps(config.source), build_steps(config.target)
    for row in rows:
        source, target = book.apply(source_steps, row["source"]), book.apply(target_steps, row["target"])
        reason = outside(source, config.limits) or outside(target, config.limits)
        if reason is None and config.max_length_ratio is not None:
            shorter, longer = sorted(len(split_words(side, "auto")) for side in (source, target))
            reason = "length_ratio" if longer > config.max_length_ratio * shorter else None
        sides = (source, target)
        yield Cleaned({"source": source, "target": target}, reason, key=sides, unshared=sides, split_by=source)


def _example(row: Row) -> str:
    return f"{row['source']}\t{row['target']}"


def _cut(rows: CleanedRows, chosen: np.ndarray, own: Sequence[str]) -> Cut:
    words = [len(split_words(source, "auto")) for source in rows.column("source", chosen)]
    return cut(rows.places[chosen], np.array(words, dtype=np.int64), rows.config.split, own, "source sentences")


PAIR = RowType(PAIRS, ("source", "target"), clean_pairs, _example)
