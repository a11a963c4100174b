"""Cleaning parallel text: both sides of a pair, and the pair as a whole.

A pair goes when either side is empty or outside the limits, when one side is many times longer than the other, or
when the same pair was there before. Splits are cut by the hash of the source sentence, so that all translations of
one sentence fall together; a training pair that shares its source *or* its target with held-out text is dropped, for
else the test would ask for sentences that were seen.

    parts ─ steps, limits, hashes ─┬─ duplicates, cut, held-out sentences ─┬─ splits, one after the other → report
            of each, on an engine  └─ of the corpus, by their hashes       └─ the parts in order

The text is never in memory as a whole: one byte of each pair is, 16 more of each pair while splits are cut, and the
hashes of what is held out.
"""

import shutil
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from langladder.atomic import atomic_folder
from langladder.engine.base import current
from langladder.errors import InputError
from langladder.text import leakage
from langladder.text.arrow_arrays import truths
from langladder.text.cleaning import cut_report
from langladder.text.drops import EXAMPLE_CHARACTERS, EXAMPLES, Book
from langladder.text.pair_parts import (
    ROWS,
    CleanPairsConfig,
    Pair,
    PairPart,
    clean_part,
    cleaned_batches,
    raw_pairs,
)
from langladder.text.spilled import ascending, mapped, repeats
from langladder.text.splitting import Cut, cut
from langladder.text.statistics import TextStatistics
from langladder.text.tables import PAIRS, SPLITS, TABLES, groups_of, present_splits, write_batches

GONE, TRAIN = -1, SPLITS.index("train")


def clean_parallel(raw_folder: Path, out_folder: Path, config: CleanPairsConfig, seed: int) -> dict[str, Any]:
    """Clean `raw_folder` into `out_folder`/{train,validation,test}.parquet, all or none, on the current engine.

    Returns and raises: as `cleaning.clean_text`, with a report for each side.
    """
    names = present_splits(raw_folder)
    with atomic_folder(out_folder, TABLES) as folder:
        (folder / "work").mkdir()
        corpus = _Corpus(raw_folder, names, folder / "work", config, seed)
        cuts = corpus.cut(raw_folder)
        if config.held_out_never_in_train and not config.iid:
            corpus.drop_held_out()
        counts = {split: corpus.write(folder, split) for split in SPLITS}
        shutil.rmtree(folder / "work")
        held_out = {split: folder / f"{split}.parquet" for split in ("validation", "test")}
        overlap = {
            side: leakage.measure(folder / "train.parquet", held_out, config.leakage_words, side)
            for side in PAIRS.names
        }
    cut_here = [split for split in SPLITS if split not in names]
    report = {"splits": counts, "cut_by_hash": cut_here, "cleaning": corpus.book.report(), "leakage": overlap}
    return report | cut_report(cuts)


class _Corpus:
    """All parts, cleaned, held-out pairs first: of two equal pairs, the one in the training text goes.

    Attributes:
        where: of every cleaned pair, its position in SPLITS, or GONE; `bounds`: where each part's begin.
    """

    def __init__(self, raw_folder: Path, names: list[str], scratch: Path, config: CleanPairsConfig, seed: int) -> None:
        self.config, self.book = config, Book()
        self.own = [name for name in names if name not in ("train", "all")]
        tables = [(name, raw_folder / f"{name}.parquet") for name in sorted(names, key=_ORDER.index)]
        groups = [(table, name, group) for name, table in tables for group in range(groups_of(table, PAIRS))]
        placed = set(self.own) != {"validation", "test"}
        self.parts = [
            PairPart(table, name, group, scratch / f"{number:06d}", config, seed, placed and name not in self.own)
            for number, (table, name, group) in enumerate(groups)
        ]
        books = list(current().map(clean_part, self.parts, "cleaning pairs"))
        hashes = [part.file("pairs") for part in self.parts]
        self.bounds = np.cumsum([0, *(len(mapped(file)) for file in hashes)])
        self.where = np.full(int(self.bounds[-1]), TRAIN, dtype=np.int8)
        if config.drop_duplicates and not config.iid:
            self.where[repeats(hashes, current().share)] = GONE
        for number, book in enumerate(books):
            self.book.add(book)
            self._note("duplicate_pair", number, self._of(number) == GONE, raw=True)

    def _of(self, number: int) -> np.ndarray:
        of_it: np.ndarray = self.where[self.bounds[number] : self.bounds[number + 1]]
        return of_it

    def _note(self, reason: str, number: int, goes: np.ndarray, *, raw: bool) -> None:
        """Note the pairs of a part that go, with the first of them, as they were read or cleaned."""
        if not goes.any():
            return
        first, book = np.flatnonzero(goes)[:EXAMPLES].tolist(), Book()
        book.dropped[reason] = int(goes.sum())
        found = list(self._at(number, first, raw=raw))
        book.examples[reason] = ["\t".join(pair)[:EXAMPLE_CHARACTERS] for pair in found]
        self.book.add(book)

    def _at(self, number: int, wanted: list[int], *, raw: bool) -> Iterator[Pair]:
        """The pairs at some places of a part, ascending."""
        table = pa.Table.from_batches(cleaned_batches(self.parts[number])).take(wanted)
        if not raw:
            yield from zip(table.column(0).to_pylist(), table.column(1).to_pylist(), strict=True)
            return
        rows = table.column("row").to_pylist()
        yield from (pair for row, pair in enumerate(raw_pairs(self.parts[number])) if row in rows)

    def cut(self, raw_folder: Path) -> list[Cut]:
        """Send each pair to its split; returns how splits were cut.

        Raises:
            InputError: nothing is left of a table, or too few source sentences.
        """
        cuts = []
        for name in dict.fromkeys(part.name for part in self.parts):
            mine = [number for number, part in enumerate(self.parts) if part.name == name]
            where = self.where[self.bounds[mine[0]] : self.bounds[mine[-1] + 1]]  # a view
            stay = where != GONE
            if not stay.any():
                raise InputError(f"{raw_folder}/{name}.parquet: cleaning leaves no pair; relax `clean` (parallel)")
            if not self.parts[mine[0]].placed:
                where[stay] = SPLITS.index(name)
                continue
            read = partial(self._noted, mine)
            cuts.append(cut(read("places")[stay], read("words")[stay], self.config.split, self.own, "source sentences"))
            where[stay] = cuts[-1].splits
        return cuts

    def _noted(self, parts: list[int], kind: str) -> np.ndarray:
        return np.concatenate([mapped(self.parts[number].file(kind)) for number in parts])

    def drop_held_out(self) -> None:
        """Drop the training pairs of which a side is held out.

        Raises:
            InputError: none is left.
        """
        held_out = {}
        for side in ("sources", "targets"):
            hashes = [mapped(part.file(side))[self._of(number) > TRAIN] for number, part in enumerate(self.parts)]
            held_out[side] = ascending(np.concatenate(hashes))
        for number, part in enumerate(self.parts):
            for side, known in held_out.items():
                where = self._of(number)
                goes = (where == TRAIN) & _among(mapped(part.file(side)), known)
                where[goes] = GONE
                self._note(f"{side[:-1]}_is_held_out", number, goes, raw=False)
        if not (self.where == TRAIN).any():
            raise InputError(
                "clean: every training pair shares a side with held-out text; set held_out_never_in_train: false, or "
                "give more pairs"
            )

    def write(self, folder: Path, split: str) -> dict[str, Any]:
        """Write a split; returns its counts."""
        statistics = {side: TextStatistics() for side in PAIRS.names}

        def tables() -> Iterator[pa.Table]:
            for table in _tables(self._pairs(SPLITS.index(split))):
                for side, counted in statistics.items():
                    counted.add(table.column(side).to_pylist())
                yield table

        rows = write_batches(folder / f"{split}.parquet", PAIRS, tables())
        return {"pairs": rows, **{side: counted.report() for side, counted in statistics.items()}}

    def _pairs(self, split: int) -> Iterator[Pair]:
        for number, part in enumerate(self.parts):
            mine, done = self._of(number) == split, 0
            for batch in cleaned_batches(part) if mine.any() else ():
                chosen = batch.filter(truths(mine[done : done + batch.num_rows]))
                done += batch.num_rows
                yield from zip(chosen.column(0).to_pylist(), chosen.column(1).to_pylist(), strict=True)


_ORDER = ("test", "validation", "train", "all")


def _among(hashes: np.ndarray, known: np.ndarray) -> np.ndarray:
    """(N,) bool: which hashes are among the known ones, which are ascending."""
    if not len(known):
        return np.zeros(len(hashes), dtype=np.bool_)
    found: np.ndarray = known[np.minimum(np.searchsorted(known, hashes), len(known) - 1)] == hashes
    return found


def _tables(pairs: Iterable[Pair]) -> Iterator[pa.Table]:
    rows = iter(pairs)
    while piece := list(islice(rows, ROWS)):
        yield pa.table([[source for source, _ in piece], [target for _, target in piece]], schema=PAIRS)
