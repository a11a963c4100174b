"""Cleaning parallel text: both sides of a pair, and the pair as a whole.

A pair is dropped if a side is empty or outside the limits, if one side is many times longer than the other, or if the
same pair occurred before. Splits are cut by the hash of the source sentence, so that all translations of a sentence are
in one split. A training pair that shares its source *or* its target with held-out text is dropped: the test must not
contain sentences that were seen.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self, TypedDict

import pyarrow.compute as pc
from pydantic import Field

from langladder.engine.base import current
from langladder.ground.atomic import atomic_folder
from langladder.text.clean.cleaning import (
    Cleaned,
    CleanedRows,
    CleanRowsConfig,
    CutReport,
    RowType,
    cut_as_configured,
    cut_report,
)
from langladder.text.clean.statistics import Leakage, TextFigures, character_warnings, measure_tables
from langladder.text.clean.steps import Book, BookReport, Language, StepsConfig, build_steps, found_conventions, outside
from langladder.text.storage.shards import SPLITS, present_splits
from langladder.text.storage.tables import PAIRS, TABLES, Row, TableLines, read_batches
from langladder.text.words.segmentation import (
    Conventions,
    ConventionsReport,
    WordChoice,
    conventions_report,
    splitter_of,
    write_conventions,
)


class CleanPairsConfig(CleanRowsConfig):
    """How parallel text is cleaned. `limits` hold for each side, `held_out_never_in_train` for sources and targets."""

    source: StepsConfig = StepsConfig()
    target: StepsConfig = StepsConfig()
    source_language: Language | None = None
    target_language: Language | None = None
    # Characters of the longer side over those of the shorter, after the target's are divided by the corpus' mean ratio
    # of target to source: one bound fits every pair of scripts.
    max_length_ratio: float | None = Field(default=None, gt=1)
    leakage_words: int = Field(default=13, ge=1)


class PairRules(CleanPairsConfig):
    """The settings, completed by the corpus; `words` is that of the source.

    Attributes:
        target_words: how the target is split into words.
        characters: target characters per source character.
    """

    target_words: WordChoice = "auto"
    characters: float = 1.0

    @classmethod
    def of(cls, config: CleanPairsConfig, sides: Mapping[str, Conventions], table: Path) -> Self:
        """The rules of a corpus.

        Args:
            sides: how `source` and `target` are read.
            table: raw pairs, whose characters are counted.
        """
        counts = dict.fromkeys(PAIRS.names, 0)
        if config.max_length_ratio is not None:
            for batch in read_batches(table, PAIRS):
                for side in counts:
                    counts[side] += pc.sum(pc.utf8_length(batch.column(side))).as_py() or 0
        more = {"words": sides["source"].words, "target_words": sides["target"].words}
        characters = max(counts["target"], 1) / max(counts["source"], 1)
        return cls.model_validate(config.model_dump() | more | {"characters": characters})

    def length_ratio(self, source: str, target: str) -> float:
        """How many times longer one side is than the other, relative to the mean of the corpus."""
        shorter, longer = sorted((len(source) * self.characters, len(target)))
        return longer / shorter


class PairFigures(TypedDict):
    """The figures of a split of sentence pairs."""

    pairs: int
    source: TextFigures
    target: TextFigures


class PairsReport(CutReport):
    """The data report of pairs; leakage: by side and split."""

    splits: dict[str, PairFigures]
    conventions: dict[str, ConventionsReport]
    cut_by_hash: list[str]
    cleaning: BookReport
    leakage: dict[str, dict[str, Leakage]]


def clean_parallel(raw_folder: Path, out_folder: Path, config: CleanPairsConfig, seed: int) -> PairsReport:
    """Clean `raw_folder` into `out_folder`/{train,validation,test}.parquet, all or none, on the current engine.

    Returns and raises: as `clean_text.clean_text`, with a report for each side.
    """
    names = present_splits(raw_folder)
    # Held-out pairs first: of two equal pairs, the one in train is dropped.
    ordered = sorted(names, key=("test", "validation", "train", "all").index)
    first = raw_folder / f"{names[0]}.parquet"
    source_steps, source_side = found_conventions(
        TableLines([(first, "source")]), config.source, config.words, config.source_language
    )
    target_steps, target_side = found_conventions(
        TableLines([(first, "target")]), config.target, config.words, config.target_language
    )
    sides = {"source": source_side, "target": target_side}
    config = config.model_copy(update={"source": source_steps, "target": target_steps})
    rules = PairRules.of(config, sides, first)
    with atomic_folder(out_folder, TABLES) as folder:
        rows = CleanedRows([(name, raw_folder / f"{name}.parquet") for name in ordered], folder, PAIR, rules, seed)
        rows.drop_duplicates("duplicate_pair", across_tables=True)
        rows.cut(partial(cut_as_configured, unit="source sentences"))
        rows.drop_held_out(
            "clean: every training pair shares a side with held-out text; set held_out_never_in_train: false, or give "
            "more pairs"
        )
        rows.write()
        tables = {split: folder / f"{split}.parquet" for split in SPLITS}
        measured = {}
        for side, conventions in sides.items():
            with TemporaryDirectory(dir=folder) as scratch:
                measured[side] = measure_tables(
                    tables, config.leakage_words, conventions.words, Path(scratch), current(), side
                )
        write_conventions(folder, sides)
    source, target = measured["source"][0], measured["target"][0]
    splits: dict[str, PairFigures] = {
        split: {"pairs": source[split]["lines"], "source": source[split], "target": target[split]} for split in SPLITS
    }
    warnings = rows.book.warnings()
    for side, (counts, _) in measured.items():
        warnings += character_warnings(counts.values(), f"the {side} side")
    return {
        "splits": splits,
        "conventions": conventions_report(sides),
        "cut_by_hash": [split for split in SPLITS if split not in names],
        "cleaning": rows.book.report(),
        "leakage": {side: overlap for side, (_, overlap) in measured.items()},
        **cut_report(rows.cuts, warnings),
    }


def clean_pairs(rows: list[Row], rules: PairRules, book: Book) -> Iterator[Cleaned]:
    """Run the steps on both sides; drop a pair with a side outside the limits, or one side far longer than the other.

    A training pair must share neither side with a held-out one.
    """
    source_steps, target_steps = build_steps(rules.source), build_steps(rules.target)
    source_words, target_words = splitter_of(rules.words), splitter_of(rules.target_words)
    for row in rows:
        source, target = book.apply(source_steps, row["source"]), book.apply(target_steps, row["target"])
        reason = outside(source, rules.limits, source_words) or outside(target, rules.limits, target_words)
        if reason is None and rules.max_length_ratio is not None:
            reason = "length_ratio" if rules.length_ratio(source, target) > rules.max_length_ratio else None
        sides = (source, target)
        row, words = {"source": source, "target": target}, 0 if reason else len(source_words(source))
        yield Cleaned(row, reason, key=sides, unshared=sides, split_by=source, words=words)


def _example(row: Row) -> str:
    return f"{row['source']}\t{row['target']}"


PAIR = RowType(PAIRS, ("source", "target"), clean_pairs, _example)
