"""Cleaning parallel text: both sides of a pair, and the pair as a whole.

A pair goes when either side is empty or outside the limits, when one side is many times longer than the other, or
when the same pair was there before. Splits are cut by the hash of the source sentence, so that all translations of
one sentence fall together; a training pair that shares its source *or* its target with held-out text is dropped, for
else the test would ask for sentences that were seen.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from pydantic import Field

from langladder.atomic import atomic_folder
from langladder.engine.base import current
from langladder.text.clean.cleaning import cut_report
from langladder.text.clean.rows import Cleaned, CleanedRows, CleanRowsConfig, Row, RowType
from langladder.text.clean.splitting import Cut, cut
from langladder.text.clean.statistics import character_warnings, measure_tables
from langladder.text.clean.steps import Book, StepsConfig, build_steps, outside
from langladder.text.storage.tables import PAIRS, SPLITS, TABLES, present_splits
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
        tables = {split: folder / f"{split}.parquet" for split in SPLITS}
        measured = {}
        for side in PAIRS.names:
            with TemporaryDirectory(dir=folder) as scratch:
                measured[side] = measure_tables(tables, config.leakage_words, Path(scratch), current(), side)
    sides = {split: {side: counts[split] for side, (counts, _) in measured.items()} for split in SPLITS}
    report = {
        "splits": {split: {"pairs": counts["source"]["lines"], **counts} for split, counts in sides.items()},
        "cut_by_hash": [split for split in SPLITS if split not in names],
        "cleaning": rows.book.report(),
        "leakage": {side: overlap for side, (_, overlap) in measured.items()},
    }
    warnings = [
        line
        for side, (counts, _) in measured.items()
        for line in character_warnings(counts.values(), f"the {side} side")
    ]
    return report | cut_report(rows.cuts, warnings)


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
