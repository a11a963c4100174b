"""Cleaning rows as plainly as it can be said: everything in memory, one row after the other. What parts must equal."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from langladder.text.clean.rows import CleanRowsConfig, Kind
from langladder.text.clean.splitting import TRAIN, assign, place
from langladder.text.clean.statistics import percentiles
from langladder.text.clean.steps import Book
from langladder.text.labelled.clean_labelled import (
    LABELLED_TEXT,
    ceilings_of,
    cut_by_label,
    labels_of,
    text_of,
    words_of,
)
from langladder.text.labelled.instructions import Dialogue
from langladder.text.labelled.labelled import LABELLED, TAGGED, ordered
from langladder.text.storage.tables import SPLITS

Splits = dict[str, list[Any]]


@dataclass
class Plain:
    """What is left of a corpus."""

    splits: Splits
    book: Book


def cleaned(
    raw: Splits,
    kind: Kind,
    config: CleanRowsConfig,
    seed: int,
    held: Callable[[Any], Hashable],
    key: Callable[[Any], Any],
) -> Plain:
    """Steps, limits, duplicates within a table, splits, no held-out text in train."""
    book = Book()
    splits: Splits = {split: [] for split in (*SPLITS, "unseen")}
    own = [name for name in raw if name in ("validation", "test")]
    for name, rows in raw.items():
        kept = _kept(rows, kind, config, book, key)
        if name in (*own, "unseen") or len(own) == 2:
            splits["train" if name == "all" else name] = kept
            continue
        for split, row in zip(_cut(kept, kind, config, seed, own), kept, strict=True):
            splits[SPLITS[split]].append(row)
    if config.held_out_never_in_train and not config.iid:
        known = {held(row) for split, rows in splits.items() if split != "train" for row in rows}
        for row in splits["train"]:
            if held(row) in known:
                book.drop(f"{kind.apart[0]}_is_held_out", kind.example(row))
        splits["train"] = [row for row in splits["train"] if held(row) not in known]
    return Plain(splits, book)


def _kept(rows: list[Any], kind: Kind, config: CleanRowsConfig, book: Book, key: Callable[[Any], Any]) -> list[Any]:
    seen, kept = set(), []
    for raw, (row, reason) in zip(rows, kind.clean(rows, config, book), strict=True):
        book.read += 1
        if reason is None and config.drop_duplicates and not config.iid:
            reason = kind.duplicate if key(row) in seen else None
            seen.add(key(row))
        if reason is None:
            kept.append(row)
        else:
            book.drop(reason, kind.example(raw))
    return kept


def _cut(rows: list[Any], kind: Kind, config: CleanRowsConfig, seed: int, own: list[str]) -> np.ndarray:
    places = np.array([place([kind.facts(row).split_by], seed) for row in rows])
    if kind.schema not in (LABELLED, TAGGED):
        return assign(places, config.split, own)
    strata = [row.get("label", "") for row in rows]
    cut = cut_by_label(places, strata, config.split, own)
    known = {label for row, split in zip(rows, cut, strict=True) if split == TRAIN for label in labels_of(row)}
    for row, spot in zip(rows, places, strict=True):
        if not known.issuperset(labels_of(row)):
            cut[places == spot] = TRAIN
            known.update(labels_of(row))
    return cut


def labelled_report(plain: Plain, kind: Kind, names: list[str]) -> dict[str, Any]:
    """The data report of labelled text."""
    unit = "examples" if kind is LABELLED_TEXT else "sentences"
    splits = {split: plain.splits[split] for split in SPLITS}
    vocabulary = {word for row in splits["train"] for word in words_of(row)}
    counts = {split: Counter(label for row in rows for label in labels_of(row)) for split, rows in splits.items()}
    found: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for row in (row for rows in splits.values() for row in rows):
        found[text_of(row)].add(tuple(labels_of(row)))
    several = [text for text, labels in found.items() if len(labels) > 1]
    train = {text_of(row) for row in splits["train"]}
    return {
        "splits": {split: {unit: len(rows)} | _labelled_counts(rows, vocabulary) for split, rows in splits.items()},
        "labels": {split: {label: counts[split][label] for label in ordered(counts["train"])} for split in SPLITS},
        "cut_by_hash": [split for split in SPLITS if split not in names],
        "cleaning": plain.book.report(),
        "several_labels": {"texts": len(several), "examples": several[:3]},
        "leakage": {
            split: {
                unit: len(splits[split]),
                "in_train": round(sum(text_of(row) in train for row in splits[split]) / len(splits[split]), 6),
            }
            for split in SPLITS[1:]
        },
    }


def _labelled_counts(rows: list[Any], vocabulary: set[str]) -> dict[str, Any]:
    words = Counter(word for row in rows for word in words_of(row))
    lengths = Counter(len(words_of(row)) for row in rows)
    ceilings = [value for row in rows for value in ceilings_of(row)]
    sure = [value for value in ceilings if value is not None]
    return {
        "words": words.total(),
        "word_types": len(words),
        "words_new_to_train": round(sum(n for word, n in words.items() if word not in vocabulary) / words.total(), 6),
        "best_possible_accuracy": round(sum(sure) / len(sure), 6) if len(sure) == len(ceilings) else None,
        "words_in_the_median": percentiles(lengths)["50"],
        "words_at_most": max(lengths),
    }


def prompts_in_train(plain: Plain) -> dict[str, float]:
    """Of each held-out split with dialogues, the share whose prompt train has, too."""
    prompts = {name: [Dialogue.of_row(row).prompt for row in rows] for name, rows in plain.splits.items() if rows}
    train = set(prompts.pop("train"))
    return {name: round(sum(one in train for one in found) / len(found), 6) for name, found in prompts.items()}
