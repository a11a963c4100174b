"""Cleaning labelled text: counted, without copies of held-out texts in train, cut into splits, its labels numbered.

Cleaning is light: a text keeps its label, and a word its tag. A text with two labels is kept and reported. Splits are
cut by the hash of the text, stratified by label; those that the corpus brings stay as they are.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from langladder.atomic import atomic_folder
from langladder.errors import InputError
from langladder.schema import Config
from langladder.text.drops import Book, LimitsConfig, outside
from langladder.text.labelled import LABELLED, LABELLED_TABLES, TAGGED, ordered, write_labels
from langladder.text.splitting import SplitConfig, place
from langladder.text.statistics import TextStatistics
from langladder.text.steps import StepsConfig, build_steps
from langladder.text.stratified import cut_by_label
from langladder.text.tables import SPLITS, present_splits, read_table, write_table

Row = dict[str, Any]
TOLD = 3  # examples that a report names


class CleanLabelledConfig(Config):
    """How labelled text is cleaned."""

    steps: StepsConfig = StepsConfig()
    limits: LimitsConfig = LimitsConfig()
    drop_duplicates: bool = True  # a text that stands there before with the same label
    held_out_never_in_train: bool = True
    split: SplitConfig = SplitConfig()
    iid: bool = False  # examples are independent samples: nothing repeated is dropped, overlap is only counted


class _Kind(NamedTuple):
    """What sets the two sides apart: their tables, the text of a row, its labels, and what it is called."""

    schema: pa.Schema
    text: Callable[[Row], str]
    labels: Callable[[Row], Sequence[str]]
    unit: str


LABELS = _Kind(LABELLED, lambda row: row["text"] + ("\t" + row["second"] if row["second"] else ""),
               lambda row: [row["label"]], "examples")  # fmt: skip
TAGS = _Kind(TAGGED, lambda row: " ".join(row["words"]), lambda row: row["tags"], "sentences")


def clean_labels(raw_folder: Path, out_folder: Path, config: CleanLabelledConfig, seed: int) -> dict[str, Any]:
    """Clean texts with labels from `raw_folder` into `out_folder`/{train,validation,test}.parquet and labels.json.

    Returns:
        The data report: statistics and labels of each split, what was dropped, duplicates and overlap.

    Raises:
        InputError: a split is left empty, too few texts to cut one, or a held-out label that train lacks.
    """
    return _clean(raw_folder, out_folder, config, seed, LABELS)


def clean_tags(raw_folder: Path, out_folder: Path, config: CleanLabelledConfig, seed: int) -> dict[str, Any]:
    """Clean tagged sentences; otherwise as `clean_labels`."""
    return _clean(raw_folder, out_folder, config, seed, TAGS)


def _clean(raw_folder: Path, out_folder: Path, config: CleanLabelledConfig, seed: int, kind: _Kind) -> dict[str, Any]:
    names = present_splits(raw_folder)
    book = Book()
    splits: dict[str, list[Row]] = {split: [] for split in SPLITS}
    own = [name for name in names if name not in ("train", "all")]
    for name in names:
        rows = _kept(raw_folder / f"{name}.parquet", config, book, kind)
        if name in own or set(own) == {"validation", "test"}:
            splits[name] = rows
            continue
        for split, row in zip(_cut(rows, config.split, own, seed, kind), rows, strict=True):
            splits[SPLITS[split]].append(row)
    if config.held_out_never_in_train and not config.iid:
        splits["train"] = _without_held_out(splits, book, kind)
    labels = _labels(splits, kind)
    counts = {split: Counter(label for row in rows for label in kind.labels(row)) for split, rows in splits.items()}
    with atomic_folder(out_folder, LABELLED_TABLES) as folder:
        for split, rows in splits.items():
            write_table(folder / f"{split}.parquet", pa.Table.from_pylist(rows, schema=kind.schema))
        write_labels(folder, labels, counts)
    return {
        "splits": {split: {kind.unit: len(rows), **_statistics(rows, kind)} for split, rows in splits.items()},
        "labels": {split: {label: counts[split][label] for label in labels} for split in SPLITS},
        "cut_by_hash": [split for split in SPLITS if split not in names],
        "cleaning": book.report(),
        **_repeated(splits, kind),
    }


def _kept(path: Path, config: CleanLabelledConfig, book: Book, kind: _Kind) -> list[Row]:
    """The cleaned rows of a table, in order."""
    steps = build_steps(config.steps)
    seen: set[tuple[str, ...]] = set()
    kept = []
    for row in read_table(path, kind.schema).to_pylist():
        book.read += 1
        if kind is LABELS and row["tree"] is None and row["heads"] is None:
            row |= {name: book.apply(steps, row[name]) for name in ("text", "second") if row[name] is not None}
        text = kind.text(row)
        reason = outside(text, config.limits)
        if reason is None and config.drop_duplicates and not config.iid:
            key = (text, *kind.labels(row))
            reason = "duplicate" if key in seen else None
            seen.add(key)
        if reason is None:
            kept.append(row)
        else:
            book.drop(reason, text)
    if not kept:
        raise InputError(f"{path}: cleaning leaves nothing; relax `clean`")
    return kept


def _cut(rows: list[Row], config: SplitConfig, own: list[str], seed: int, kind: _Kind) -> np.ndarray:
    places = np.array([place([kind.text(row)], seed) for row in rows])
    strata = [row["label"] for row in rows] if kind is LABELS else [""] * len(rows)
    cut = cut_by_label(places, strata, config, own)
    # What only held-out sentences have cannot be learnt: they go to train.
    known = {label for row, split in zip(rows, cut, strict=True) if split == 0 for label in kind.labels(row)}
    for row, spot in zip(rows, places, strict=True):
        if not known.issuperset(kind.labels(row)):
            cut[places == spot] = 0
    return cut


def _without_held_out(splits: dict[str, list[Row]], book: Book, kind: _Kind) -> list[Row]:
    held_out = {kind.text(row) for split in ("validation", "test") for row in splits[split]}
    kept = []
    for row in splits["train"]:
        if (text := kind.text(row)) in held_out:
            book.drop("text_is_held_out", text)
        else:
            kept.append(row)
    if not kept:
        raise InputError("clean: every training text is held out; set held_out_never_in_train: false, or give more")
    return kept


def _labels(splits: dict[str, list[Row]], kind: _Kind) -> list[str]:
    """The labels of the training split in the order of their ids."""
    known = {label for row in splits["train"] for label in kind.labels(row)}
    for split in ("validation", "test"):
        for row in splits[split]:
            if unknown := set(kind.labels(row)) - known:
                raise InputError(
                    f"{split}: {min(unknown)!r} labels {kind.text(row)[:60]!r}, but no example of the cleaned training "
                    f"split; its labels are {', '.join(ordered(known))}"
                )
    if len(known) < 2:
        raise InputError(f"train: all {kind.unit} have one label, {min(known)!r}; two are needed to tell apart")
    return ordered(known)


def _statistics(rows: Iterable[Row], kind: _Kind) -> dict[str, Any]:
    statistics = TextStatistics()
    statistics.add(kind.text(row) for row in rows)
    return statistics.report()


def _repeated(splits: dict[str, list[Row]], kind: _Kind) -> dict[str, Any]:
    """Texts that several labels have, and the share of held-out texts that train has too."""
    found: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for row in (row for rows in splits.values() for row in rows):
        found[kind.text(row)].add(tuple(kind.labels(row)))
    several = [text for text, labels in found.items() if len(labels) > 1]
    train = {kind.text(row) for row in splits["train"]}
    overlap = {
        split: {
            kind.unit: len(splits[split]),
            "in_train": round(sum(kind.text(row) in train for row in splits[split]) / len(splits[split]), 6),
        }
        for split in ("validation", "test")
    }
    return {"several_labels": {"texts": len(several), "examples": several[:TOLD]}, "leakage": overlap}
