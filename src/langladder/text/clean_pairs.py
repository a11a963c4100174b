"""Cleaning parallel text: both sides of a pair, and the pair as a whole.

A pair goes when either side is empty or outside the limits, when one side is many times longer than the other, or
when the same pair was there before. Splits are cut by the hash of the source sentence, so that all translations of
one sentence fall together; a training pair that shares its source *or* its target with held-out text is dropped, for
else the test would ask for sentences that were seen.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import Field

from langladder.atomic import atomic_folder
from langladder.errors import InputError
from langladder.schema import Config
from langladder.text import leakage
from langladder.text.cleaning import cut_report
from langladder.text.drops import Book, LimitsConfig, outside
from langladder.text.splitting import Cut, SplitConfig, cut, place
from langladder.text.statistics import TextStatistics
from langladder.text.steps import StepsConfig, build_steps
from langladder.text.tables import PAIRS, SPLITS, TABLES, present_splits, read_batches, write_batches
from langladder.text.words import split_words

ROWS = 16_384
Pair = tuple[str, str]


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


def clean_parallel(raw_folder: Path, out_folder: Path, config: CleanPairsConfig, seed: int) -> dict[str, Any]:
    """Clean `raw_folder` into `out_folder`/{train,validation,test}.parquet, all of them or none.

    Returns and raises: as `cleaning.clean_text`, with a report for each side.
    """
    names = present_splits(raw_folder)
    book = Book()
    seen: set[Pair] = set()
    splits: dict[str, list[Pair]] = {split: [] for split in SPLITS}
    own = [name for name in names if name not in ("train", "all")]
    cuts: list[Cut] = []
    # Held-out pairs first: of two equal pairs, the one in the training text goes.
    for name in sorted(names, key=("test", "validation", "train", "all").index):
        pairs = list(_clean(raw_folder / f"{name}.parquet", config, book, seen))
        if not pairs:
            raise InputError(f"{raw_folder}/{name}.parquet: cleaning leaves no pair; relax `clean` (parallel)")
        if name in own or set(own) == {"validation", "test"}:
            splits[name] = pairs
            continue
        cuts.append(_cut(pairs, config.split, own, seed))
        for split, pair in zip(cuts[-1].splits, pairs, strict=True):
            splits[SPLITS[split]].append(pair)
    if config.held_out_never_in_train and not config.iid:
        splits["train"] = _without_held_out(splits, book)
    return _write(out_folder, splits, names, book, config) | cut_report(cuts)


def _cut(pairs: list[Pair], config: SplitConfig, own: list[str], seed: int) -> Cut:
    """Cut by the source sentence, a document of its own."""
    places = np.array([place([source], seed) for source, _ in pairs])
    words = np.array([len(split_words(source, "auto")) for source, _ in pairs], dtype=np.int64)
    return cut(places, words, config, own, "source sentences")


def _clean(path: Path, config: CleanPairsConfig, book: Book, seen: set[Pair]) -> Iterator[Pair]:
    steps = build_steps(config.source), build_steps(config.target)
    for batch in read_batches(path, PAIRS, ROWS):
        for raw in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
            book.read += 1
            pair = (book.apply(steps[0], raw[0]), book.apply(steps[1], raw[1]))
            reason = outside(pair[0], config.limits) or outside(pair[1], config.limits) or _uneven(pair, config)
            if reason is None and config.drop_duplicates and not config.iid:
                reason = "duplicate_pair" if pair in seen else None
                seen.add(pair)
            if reason is None:
                yield pair
            else:
                book.drop(reason, "\t".join(raw))


def _uneven(pair: Pair, config: CleanPairsConfig) -> str | None:
    if config.max_length_ratio is None:
        return None
    shorter, longer = sorted(len(split_words(side, "auto")) for side in pair)
    return "length_ratio" if longer > config.max_length_ratio * shorter else None


def _without_held_out(splits: dict[str, list[Pair]], book: Book) -> list[Pair]:
    """Training pairs neither side of which is held out."""
    held_out = [*splits["validation"], *splits["test"]]
    sources, targets = {source for source, _ in held_out}, {target for _, target in held_out}
    kept = []
    for pair in splits["train"]:
        if pair[0] in sources:
            book.drop("source_is_held_out", "\t".join(pair))
        elif pair[1] in targets:
            book.drop("target_is_held_out", "\t".join(pair))
        else:
            kept.append(pair)
    if not kept:
        raise InputError(
            "clean: every training pair shares a side with held-out text; set held_out_never_in_train: false, or give "
            "more pairs"
        )
    return kept


def _write(
    out_folder: Path, splits: dict[str, list[Pair]], names: list[str], book: Book, config: CleanPairsConfig
) -> dict[str, Any]:
    with atomic_folder(out_folder, TABLES) as folder:
        counts: dict[str, Any] = {}
        for split, pairs in splits.items():
            write_batches(folder / f"{split}.parquet", PAIRS, _tables(pairs))
            counts[split] = {"pairs": len(pairs), **{side: _count(pairs, i) for i, side in enumerate(PAIRS.names)}}
        held_out = {split: folder / f"{split}.parquet" for split in ("validation", "test")}
        overlap = {
            side: leakage.measure(folder / "train.parquet", held_out, config.leakage_words, side)
            for side in PAIRS.names
        }
    cut = [split for split in SPLITS if split not in names]
    return {"splits": counts, "cut_by_hash": cut, "cleaning": book.report(), "leakage": overlap}


def _tables(pairs: Iterable[Pair]) -> Iterator[pa.Table]:
    rows = iter(pairs)
    while piece := list(islice(rows, ROWS)):
        yield pa.table([[source for source, _ in piece], [target for _, target in piece]], schema=PAIRS)


def _count(pairs: list[Pair], side: int) -> dict[str, Any]:
    statistics = TextStatistics()
    statistics.add(pair[side] for pair in pairs)
    return statistics.report()
