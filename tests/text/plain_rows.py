"""Cleaning rows as plainly as it can be said: everything in memory, one row after the other. What parts must equal."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from langladder.text.clean.drops import Book
from langladder.text.clean.row_parts import Cleaning
from langladder.text.clean.splitting import TRAIN, assign, place
from langladder.text.clean.statistics import percentiles
from langladder.text.labelled.instructions import Dialogue
from langladder.text.labelled.labelled import ordered
from langladder.text.labelled.labelled_rows import LabelledRows
from langladder.text.labelled.stratified import cut_by_label
from langladder.text.storage.tables import SPLITS

Splits = dict[str, list[Any]]


@dataclass
class Plain:
    """What is left of a corpus."""

    splits: Splits
    book: Book


def cleaned(raw: Splits, cleaning: Cleaning[Any], held: Callable[[Any], Hashable], key: Callable[[Any], Any]) -> Plain:
    """Steps, limits, duplicates within a table, splits, no held-out text in train."""
    config, book = cleaning.config, Book()
    splits: Splits = {split: [] for split in (*SPLITS, "unseen")}
    own = [name for name in raw if name in ("validation", "test")]
    for name, rows in raw.items():
        kept = _kept(rows, cleaning, book, key)
        if name in (*own, "unseen") or len(own) == 2:
            splits["train" if name == "all" else name] = kept
            continue
        for split, row in zip(_cut(kept, cleaning, own), kept, strict=True):
            splits[SPLITS[split]].append(row)
    if config.held_out_never_in_train and not config.iid:
        known = {held(row) for split, rows in splits.items() if split != "train" for row in rows}
        for row in splits["train"]:
            if held(row) in known:
                book.drop(f"{cleaning.apart[0]}_is_held_out", cleaning.shown(row))
        splits["train"] = [row for row in splits["train"] if held(row) not in known]
    return Plain(splits, book)


def _kept(rows: list[Any], cleaning: Cleaning[Any], book: Book, key: Callable[[Any], Any]) -> list[Any]:
    clean, seen, kept = cleaning.cleaner(book), set(), []
    for raw in rows:
        book.read += 1
        row, reason = clean(raw)
        if reason is None and cleaning.config.drop_duplicates and not cleaning.config.iid:
            reason = cleaning.duplicate if key(row) in seen else None
            seen.add(key(row))
        if reason is None:
            kept.append(row)
        else:
            book.drop(reason, cleaning.shown(raw))
    return kept


def _cut(rows: list[Any], cleaning: Cleaning[Any], own: list[str]) -> np.ndarray:
    places = np.array([place(cleaning.lines(row), cleaning.seed) for row in rows])
    if not isinstance(cleaning, LabelledRows):
        return assign(places, cleaning.config.split, own, cleaning.unit)
    strata = [row.get("label", "") for row in rows]
    cut = cut_by_label(places, strata, cleaning.config.split, own)
    known = {label for row, split in zip(rows, cut, strict=True) if split == TRAIN for label in cleaning.labels(row)}
    for row, spot in zip(rows, places, strict=True):
        if not known.issuperset(cleaning.labels(row)):
            cut[places == spot] = TRAIN
            known.update(cleaning.labels(row))
    return cut


def labelled_report(plain: Plain, cleaning: LabelledRows, names: list[str]) -> dict[str, Any]:
    """The data report of labelled text."""
    splits = {split: plain.splits[split] for split in SPLITS}
    vocabulary = {word for row in splits["train"] for word in cleaning.words_of(row)}
    counts = {split: Counter(label for row in rows for label in cleaning.labels(row)) for split, rows in splits.items()}
    found: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for row in (row for rows in splits.values() for row in rows):
        found[cleaning.text(row)].add(tuple(cleaning.labels(row)))
    several = [text for text, labels in found.items() if len(labels) > 1]
    train = {cleaning.text(row) for row in splits["train"]}
    return {
        "splits": {split: _labelled_counts(rows, cleaning, vocabulary) for split, rows in splits.items()},
        "labels": {split: {label: counts[split][label] for label in ordered(counts["train"])} for split in SPLITS},
        "cut_by_hash": [split for split in SPLITS if split not in names],
        "cleaning": plain.book.report(),
        "several_labels": {"texts": len(several), "examples": several[:3]},
        "leakage": {
            split: {
                cleaning.unit: len(splits[split]),
                "in_train": round(sum(cleaning.text(row) in train for row in splits[split]) / len(splits[split]), 6),
            }
            for split in SPLITS[1:]
        },
    }


def _labelled_counts(rows: list[Any], cleaning: LabelledRows, vocabulary: set[str]) -> dict[str, Any]:
    words = Counter(word for row in rows for word in cleaning.words_of(row))
    lengths = Counter(len(cleaning.words_of(row)) for row in rows)
    ceilings = [value for row in rows for value in cleaning.ceilings(row)]
    sure = [value for value in ceilings if value is not None]
    return {
        cleaning.unit: len(rows),
        "words": words.total(),
        "word_types": len(words),
        "words_new_to_train": round(sum(n for word, n in words.items() if word not in vocabulary) / words.total(), 6),
        "best_possible_accuracy": round(sum(sure) / len(sure), 6) if len(sure) == len(ceilings) else None,
        "words_in_the_median": percentiles(lengths)["50"],
        "words_at_most": max(lengths),
    }


def prompts_in_train(plain: Plain) -> dict[str, float]:
    """Of each held-out split with dialogues, the share whose prompt train has, too."""
    train = {one.prompt for one in plain.splits["train"]}
    held: dict[str, list[Dialogue]] = {name: rows for name, rows in plain.splits.items() if name != "train" and rows}
    return {name: round(sum(one.prompt in train for one in rows) / len(rows), 6) for name, rows in held.items()}
