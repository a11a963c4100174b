"""Cleaning parallel text: both sides of a pair, and the pair as a whole.

A pair goes when either side is empty or outside the limits, when one side is many times longer than the other, or
when the same pair was there before. Splits are cut by the hash of the source sentence, so that all translations of
one sentence fall together; a training pair that shares its source *or* its target with held-out text is dropped, for
else the test would ask for sentences that were seen. Parts of the corpus are cleaned on an engine (`row_corpus`).
"""

import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import Field

from langladder.atomic import atomic_folder
from langladder.errors import InputError
from langladder.text.clean import leakage
from langladder.text.clean.cleaning import cut_report
from langladder.text.clean.drops import Book, outside
from langladder.text.clean.row_corpus import RowCorpus
from langladder.text.clean.row_parts import Cleaning, CleanRowsConfig
from langladder.text.clean.splitting import Cut, cut
from langladder.text.clean.statistics import TextStatistics, character_warnings
from langladder.text.clean.steps import StepsConfig, build_steps
from langladder.text.storage.arrow_arrays import texts
from langladder.text.storage.tables import PAIRS, SPLITS, TABLES, present_splits, write_batches
from langladder.text.words.words import split_words

Pair = tuple[str, str]


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
    tables = [(name, raw_folder / f"{name}.parquet") for name in sorted(names, key=_ORDER.index)]
    with atomic_folder(out_folder, TABLES) as folder:
        (folder / "work").mkdir()
        corpus = _PairCorpus(tables, folder / "work", CleanPairs(config, seed))
        corpus.cut()
        if config.held_out_never_in_train and not config.iid and not corpus.drop_held_out():
            raise InputError(
                "clean: every training pair shares a side with held-out text; set held_out_never_in_train: false, or "
                "give more pairs"
            )
        counts = {split: _write(corpus, split, folder / f"{split}.parquet") for split in SPLITS}
        shutil.rmtree(folder / "work")
        held_out = {split: folder / f"{split}.parquet" for split in ("validation", "test")}
        overlap = {
            side: leakage.measure(folder / "train.parquet", held_out, config.leakage_words, side)
            for side in PAIRS.names
        }
    cut_here = [split for split in SPLITS if split not in names]
    report = {"splits": counts, "cut_by_hash": cut_here, "cleaning": corpus.book.report(), "leakage": overlap}
    sides = {side: [count[side] for count in counts.values()] for side in PAIRS.names}
    warnings = [said for side, reports in sides.items() for said in character_warnings(reports, f"the {side} side")]
    return report | cut_report(corpus.cuts, warnings)


_ORDER = ("test", "validation", "train", "all")


class CleanPairs(Cleaning[Pair]):
    """How a pair is cleaned."""

    schema = PAIRS
    apart = ("source", "target")
    duplicate = "duplicate_pair"
    across = True
    unit = "source sentences"
    by_words = True

    def rows(self, batch: pa.RecordBatch) -> Iterator[Pair]:
        """See `Cleaning.rows`."""
        return zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)

    def batch(self, rows: list[Pair]) -> pa.RecordBatch:
        """See `Cleaning.batch`."""
        sides = [texts([source for source, _ in rows]), texts([target for _, target in rows])]
        return pa.RecordBatch.from_arrays(sides, schema=PAIRS)

    def cleaner(self, book: Book) -> Callable[[Pair], tuple[Pair, str | None]]:
        """See `Cleaning.cleaner`."""
        steps = build_steps(self.config.source), build_steps(self.config.target)
        limits = self.config.limits

        def clean(raw: Pair) -> tuple[Pair, str | None]:
            pair = (book.apply(steps[0], raw[0]), book.apply(steps[1], raw[1]))
            return pair, outside(pair[0], limits) or outside(pair[1], limits) or self._uneven(pair)

        return clean

    def _uneven(self, pair: Pair) -> str | None:
        if self.config.max_length_ratio is None:
            return None
        shorter, longer = sorted(len(split_words(side, "auto")) for side in pair)
        return "length_ratio" if longer > self.config.max_length_ratio * shorter else None

    def key(self, row: Pair) -> bytes:
        """Both sides."""
        source = row[0].encode()
        return b"%d\n%b%b" % (len(source), source, row[1].encode())

    def held(self, row: Pair) -> tuple[bytes, ...]:
        """The source; the target."""
        return row[0].encode(), row[1].encode()

    def lines(self, row: Pair) -> Iterable[str]:
        """The source, so that all translations of a sentence fall together."""
        return row[:1]

    def shown(self, row: Pair) -> str:
        """Source, tab, target."""
        return "\t".join(row)


class _PairCorpus(RowCorpus[Pair]):
    """Pairs; `cuts`: how splits were cut."""

    def cut(self) -> None:
        self.cuts = list[Cut]()
        super().cut()

    def assigned(self, parts: range, stay: np.ndarray) -> np.ndarray:
        places, words = (self.noted(kind, parts)[stay] for kind in ("places", "words"))
        self.cuts.append(cut(places, words, self.cleaning.config.split, self.own, self.cleaning.unit))
        return self.cuts[-1].splits


def _write(corpus: RowCorpus[Pair], split: str, path: Path) -> dict[str, Any]:
    """Write a split; returns its counts."""
    statistics = {side: TextStatistics() for side in PAIRS.names}

    def counted() -> Iterator[pa.Table]:
        for table in corpus.tables_of(split):
            for side, found in statistics.items():
                found.add(table.column(side).to_pylist())
            yield table

    rows = write_batches(path, PAIRS, counted())
    return {"pairs": rows, **{side: found.report() for side, found in statistics.items()}}
