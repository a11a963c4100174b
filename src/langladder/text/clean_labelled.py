"""Cleaning labelled text: steps, limits, no copies of held-out texts in train, splits, its labels numbered.

Cleaning is light: a text keeps its label, and a word its tag. Where words have a tag, a head or a place in a tree, the
steps work on each word alone, and one that they would take out or cut in two stays as it is. A text with two labels is
kept and reported. Splits are cut by the hash of the text, stratified by label; those that the corpus brings stay.
"""

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from langladder.atomic import atomic_folder
from langladder.errors import InputError
from langladder.schema import Config
from langladder.text.drops import Book, LimitsConfig, outside
from langladder.text.labelled import LABELLED_TABLES, ordered, write_labels
from langladder.text.labelled_rows import LABELS, TAGS, Kind, Row
from langladder.text.splitting import TRAIN, SplitConfig, place
from langladder.text.statistics import percentiles
from langladder.text.steps import StepsConfig, build_steps
from langladder.text.stratified import cut_by_label
from langladder.text.tables import SPLITS, present_splits, read_table, write_table

TOLD = 3  # texts that a report names
FEW = 20  # so many labels are never too many


class CleanLabelledConfig(Config):
    """How labelled text is cleaned."""

    steps: StepsConfig = StepsConfig()
    limits: LimitsConfig = LimitsConfig()
    drop_duplicates: bool = True  # a text that stands there before with the same label
    held_out_never_in_train: bool = True
    split: SplitConfig = SplitConfig()
    iid: bool = False  # examples are independent samples: nothing repeated is dropped, overlap is only counted


def clean_labels(raw_folder: Path, out_folder: Path, config: CleanLabelledConfig, seed: int) -> dict[str, Any]:
    """Clean texts with labels from `raw_folder` into `out_folder`/{train,validation,test}.parquet and labels.json.

    Args:
        raw_folder: train (and validation, test) or all.parquet, as the readers write them.
        seed: salts the hash that cuts splits.

    Returns:
        The data report: statistics and labels of each split, what was dropped, duplicates and overlap.

    Raises:
        InputError: a split is left empty, too few texts to cut one, or a held-out label that train lacks.
    """
    return _clean(raw_folder, out_folder, config, seed, LABELS)


def clean_tags(raw_folder: Path, out_folder: Path, config: CleanLabelledConfig, seed: int) -> dict[str, Any]:
    """Clean tagged sentences; otherwise as `clean_labels`."""
    return _clean(raw_folder, out_folder, config, seed, TAGS)


def _clean(raw_folder: Path, out_folder: Path, config: CleanLabelledConfig, seed: int, kind: Kind) -> dict[str, Any]:
    names = present_splits(raw_folder)
    book = Book()
    splits: dict[str, list[Row]] = {split: [] for split in SPLITS}
    own = [name for name in names if name not in ("train", "all")]
    for name in names:
        rows = _kept(raw_folder / f"{name}.parquet", config, book, kind)
        if name in own or set(own) == {"validation", "test"}:
            splits[name if name != "all" else "train"] = rows
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
        "splits": _statistics(splits, kind),
        "labels": {split: {label: counts[split][label] for label in labels} for split in SPLITS},
        "cut_by_hash": [split for split in SPLITS if split not in names],
        "cleaning": book.report(),
        **_repeated(splits, kind),
    }


def _kept(path: Path, config: CleanLabelledConfig, book: Book, kind: Kind) -> list[Row]:
    """The cleaned rows of a table, in order."""
    step = kind.stepper(book, build_steps(config.steps))
    seen: set[tuple[str, ...]] = set()
    kept = []
    for raw in read_table(path, kind.schema).to_pylist():
        book.read += 1
        row = step(raw)
        text = kind.text(row)
        reason = "empty" if row.get("second") == "" else outside(text, config.limits)
        if reason is None and config.drop_duplicates and not config.iid:
            key = (text, *kind.labels(row))
            reason = "duplicate" if key in seen else None
            seen.add(key)
        if reason is None:
            kept.append(row)
        else:
            book.drop(reason, kind.text(raw))
    if not kept:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in book.dropped.most_common())
        raise InputError(f"{path}: cleaning leaves nothing ({reasons}); relax `clean`")
    return kept


def _cut(rows: list[Row], config: SplitConfig, own: list[str], seed: int, kind: Kind) -> np.ndarray:
    places = np.array([place([kind.text(row)], seed) for row in rows])
    strata = [row["label"] for row in rows] if kind is LABELS else [""] * len(rows)
    cut = cut_by_label(places, strata, config, own)
    # What only held-out sentences have cannot be learnt: they go to train.
    known = {label for row, split in zip(rows, cut, strict=True) if split == TRAIN for label in kind.labels(row)}
    for row, spot in zip(rows, places, strict=True):
        if not known.issuperset(kind.labels(row)):
            cut[places == spot] = TRAIN
            known.update(kind.labels(row))
    return cut


def _without_held_out(splits: dict[str, list[Row]], book: Book, kind: Kind) -> list[Row]:
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


def _labels(splits: dict[str, list[Row]], kind: Kind) -> list[str]:
    """The labels of the training split in the order of their ids."""
    known = {label for row in splits["train"] for label in kind.labels(row)}
    for split in ("validation", "test"):
        for row in splits[split]:
            if unknown := set(kind.labels(row)) - known:
                raise InputError(
                    f"{split}: {min(unknown)[:60]!r} labels {kind.text(row)[:60]!r}, but no example of the cleaned "
                    f"training split; its labels are {', '.join(ordered(known))[:300]}"
                )
    if len(known) < 2:
        raise InputError(f"train: all {kind.unit} have one label, {min(known)!r}; two are needed to tell apart")
    if kind is LABELS and len(known) > max(FEW, len(splits["train"]) / 2):
        raise InputError(
            f"train: {len(known):,} labels for {len(splits['train']):,} texts, e.g. {min(known)[:60]!r}; are text and "
            "label in the columns that the corpus' settings name?"
        )
    return ordered(known)


def _statistics(splits: dict[str, list[Row]], kind: Kind) -> dict[str, Any]:
    """Of each split: how many, how long, what is new to train, and how good the best possible classifier is."""
    vocabulary = {word for row in splits["train"] for word in kind.words(row)}
    report = {}
    for split, rows in splits.items():
        lengths: Counter[int] = Counter()
        words: Counter[str] = Counter()
        for row in rows:
            found = kind.words(row)
            lengths[len(found)] += 1
            words.update(found)
        new = sum(count for word, count in words.items() if word not in vocabulary)
        ceilings = [value for row in rows for value in kind.ceilings(row)]
        sure = [value for value in ceilings if value is not None]
        report[split] = {
            kind.unit: len(rows),
            "words": words.total(),
            "word_types": len(words),
            "words_new_to_train": round(new / words.total(), 6),
            "best_possible_accuracy": round(sum(sure) / len(sure), 6) if len(sure) == len(ceilings) else None,
            "words_in_the_median": percentiles(lengths)["50"],
            "words_at_most": max(lengths),
        }
    return report


def _repeated(splits: dict[str, list[Row]], kind: Kind) -> dict[str, Any]:
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
