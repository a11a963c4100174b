"""Readers of labelled text: from files in their many layouts to raw tables, one example a row.

The training split is read first: a label that only a held-out split has cannot be learnt, and is an error where it
stands. Nothing is written when any file is bad.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from langladder.atomic import atomic_folder
from langladder.errors import InputError
from langladder.remote import File, located
from langladder.text.clean.splitting import place
from langladder.text.labelled.label_rows import Row, rows
from langladder.text.labelled.label_sources import FoldedSource, LabelledSource
from langladder.text.labelled.labelled import LABELLED, LABELLED_TABLES, ordered
from langladder.text.labelled.trees import bracketed, phrase_texts
from langladder.text.read.chosen_files import skipped
from langladder.text.read.lines import FileFacts
from langladder.text.read.sources import files_of
from langladder.text.storage.tables import pieces, write_batches


def read_labels(source: LabelledSource, out_folder: Path) -> dict[str, Any]:
    """Read a labelled corpus into `out_folder`: train, validation, test.parquet, or all.parquet.

    Returns:
        Counts by split, files read, and what was put right in reading them.

    Raises:
        InputError: missing path, empty glob, a file or line that is not what it should be, a label of a held-out split
            that train does not have.
    """
    facts, found = FileFacts(), files_of(source, source.files)
    if source.phrases and "all" in found and source.folds is None:
        raise InputError(
            "phrases: true needs splits of the corpus' own (files: {train: …}): phrases of held-out trees leak"
        )
    counts: dict[str, dict[str, int]] = {}
    known: set[str] = set()
    with atomic_folder(out_folder, LABELLED_TABLES) as folder:
        for split, files in splits_of(source, found).items():
            counts[split] = {"examples": 0, "left_out": 0}
            examples = _examples(files, split, source, facts, known, counts[split])
            if write_batches(folder / f"{split}.parquet", LABELLED, _tables(examples, counts[split])) == 0:
                raise InputError(f"{source.path}: split {split!r} holds no example{facts.no_text()}")
    return {"splits": counts, **facts.report()} | skipped(located(source.path), facts, source.endings)


def splits_of(source: FoldedSource, found: dict[str, list[File]]) -> dict[str, list[File]]:
    """The files of each split, train first; of folds, all files are those of train and of test."""
    if source.folds is not None:
        return {"train": found["all"], "test": found["all"]}
    return {split: found[split] for split in ("train", "all", "validation", "test") if split in found}


def in_split(source: FoldedSource, split: str, text: str, number: int) -> bool:
    """Whether a text belongs to a split: with folds, by its number among those of its label, or by its hash."""
    if source.folds is None:
        return True
    fold = number % source.folds if source.fold_by == "order" else int(place([text], 0) * source.folds)
    return (fold == source.fold) == (split == "test")


def _examples(
    files: list[File], split: str, source: LabelledSource, facts: FileFacts, known: set[str], counts: dict[str, int]
) -> Iterator[dict[str, Any]]:
    """The rows of a split's table; notes the labels of train in `known`."""
    numbers: Counter[str] = Counter()
    phrases: set[tuple[str, str]] = set()
    for row in (row for file in files for row in rows(file, source, facts)):
        label = source.rename.get(row.label, row.label)
        if not in_split(source, split, row.text, numbers[row.label]):
            numbers[row.label] += 1
            continue
        numbers[row.label] += 1
        if split == "train" and source.phrases:
            yield from _phrases(row, source, phrases, known)
        elif label is None:
            counts["left_out"] += 1
        else:
            check_label(row.where, label, split, known)
            tree = bracketed(row.tree, source.rename)[-1] if row.tree else None
            yield _example(row.text, row.second, label, tree, row.heads)


def check_label(where: str, label: str, split: str, known: set[str]) -> None:
    """Note a label of train; raise InputError for one that only a held-out split has."""
    if split in ("train", "all"):
        known.add(label)
    elif label not in known:
        raise InputError(
            f"{where}: {label[:60]!r} is no label of the training split, which has {', '.join(ordered(known))[:300]}; "
            "mend it, or give it training examples"
        )


def _phrases(row: Row, source: LabelledSource, seen: set[tuple[str, str]], known: set[str]) -> Iterator[dict[str, Any]]:
    """Each labelled phrase of a tree that no tree had before, the whole sentence first."""
    if row.tree is None:
        raise InputError(f"{row.where}: phrases: true, but this file has no trees (conf/labels)")
    inner = bracketed(row.tree, source.rename)
    spans = phrase_texts(row.tree)
    for node in reversed(range(len(row.tree))):
        name = row.tree.label[node]
        label = source.rename.get(name, name) if name is not None else None
        if label is not None and (spans[node], label) not in seen:
            seen.add((spans[node], label))
            known.add(label)
            yield _example(spans[node], None, label, inner[node], None)


def _example(
    text: str, second: str | None, label: str, tree: str | None, heads: tuple[int, ...] | None
) -> dict[str, Any]:
    return {"text": text, "second": second, "label": label, "tree": tree, "heads": heads}


def _tables(examples: Iterator[dict[str, Any]], counts: dict[str, int]) -> Iterator[pa.Table]:
    for piece in pieces(examples, lambda row: len(row["text"]) + len(row["second"] or "")):
        counts["examples"] += len(piece)
        yield pa.Table.from_pylist(piece, schema=LABELLED)
