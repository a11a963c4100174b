"""Cleaning labelled text: steps, limits, no copies of held-out texts in train, splits, its labels numbered.

A text with two labels is kept and reported. Splits are cut by the hash of the text, stratified by label; those that the
corpus brings stay. Parts of the corpus are cleaned on an engine (`row_corpus`, `labelled_rows`).
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from langladder.atomic import atomic_folder
from langladder.errors import InputError
from langladder.text.clean.row_corpus import RowCorpus
from langladder.text.clean.row_parts import cleaned_batches
from langladder.text.clean.splitting import TRAIN
from langladder.text.labelled.labelled import LABELLED_TABLES, ordered, write_labels
from langladder.text.labelled.labelled_figures import Figures, counted, several_labels, split_reports, warnings
from langladder.text.labelled.labelled_rows import CleanLabelledConfig, Labelled, LabelledRows, Row, TaggedRows
from langladder.text.labelled.stratified import cut_by_label
from langladder.text.storage.arrow_arrays import truths
from langladder.text.storage.tables import SPLITS, present_splits, write_batches

FEW = 20  # so many labels are never too many


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
    return _clean(raw_folder, out_folder, Labelled(config, seed))


def clean_tags(raw_folder: Path, out_folder: Path, config: CleanLabelledConfig, seed: int) -> dict[str, Any]:
    """Clean tagged sentences; otherwise as `clean_labels`."""
    return _clean(raw_folder, out_folder, TaggedRows(config, seed))


def _clean(raw_folder: Path, out_folder: Path, cleaning: LabelledRows) -> dict[str, Any]:
    names, config = present_splits(raw_folder), cleaning.config
    tables = [(name, raw_folder / f"{name}.parquet") for name in names]
    with atomic_folder(out_folder, LABELLED_TABLES) as folder:
        (scratch := folder / "work").mkdir()
        corpus = _LabelledCorpus(tables, scratch, cleaning)
        corpus.cut()
        if config.held_out_never_in_train and not config.iid and not corpus.drop_held_out():
            raise InputError("clean: every training text is held out; set held_out_never_in_train: false, or give more")
        found = counted(corpus)
        labels = _labels(corpus, found)
        counts = {split: figures.labels for split, figures in found.items()}
        report = {
            "splits": split_reports(corpus, found, scratch),
            "labels": {split: {label: counts[split][label] for label in labels} for split in SPLITS},
            "cut_by_hash": [split for split in SPLITS if split not in names],
            "cleaning": corpus.book.report(),
            "several_labels": several_labels(corpus),
            "leakage": {
                split: {cleaning.unit: found[split].rows, "in_train": share}
                for split, share in corpus.in_train("text").items()
            },
            **warnings(found),
        }
        for split in SPLITS:
            write_batches(folder / f"{split}.parquet", cleaning.schema, corpus.tables_of(split))
        write_labels(folder, labels, counts)
        shutil.rmtree(scratch)
    return report


class _LabelledCorpus(RowCorpus[Row]):
    """Labelled rows, whose splits have about the same share of each label."""

    def assigned(self, parts: range, stay: np.ndarray) -> np.ndarray:
        places, names = self.noted("places", parts)[stay], dict[str, str]()
        if isinstance(self.cleaning, TaggedRows):
            strata = [""] * len(places)
        else:  # each label is held once
            columns = self._labels(parts, stay)
            strata = [names.setdefault(label, label) for column in columns for label in column.to_pylist()]
        cut = cut_by_label(places, strata, self.cleaning.config.split, self.own)
        self._keep_known(parts, stay, places, cut)
        return cut

    def _keep_known(self, parts: range, stay: np.ndarray, places: np.ndarray, cut: np.ndarray) -> None:
        """Send to train the held-out rows whose labels train lacks: what only they have cannot be learnt."""
        held, known, done = cut != TRAIN, set[str](), 0
        for column in self._labels(parts, stay):
            known.update(_different(column.filter(truths(~held[done : done + len(column)]))))
            done += len(column)
        done = 0
        for column in self._labels(parts, stay):
            mine = held[done : done + len(column)]
            if not known.issuperset(_different(column.filter(truths(mine)))):
                for at in np.flatnonzero(mine).tolist():
                    labels = _different(column[at : at + 1])
                    if not known.issuperset(labels):
                        cut[places == places[done + at]] = TRAIN
                        known.update(labels)
            done += len(column)

    def _labels(self, parts: range, stay: np.ndarray) -> Iterator[pa.Array]:
        """The labels of the rows of some parts that stay, so many at a time."""
        assert isinstance(self.cleaning, LabelledRows)
        done = 0
        for number in parts:
            for batch in cleaned_batches(self.parts[number]):
                yield batch.column(self.cleaning.labels_in).filter(truths(stay[done : done + batch.num_rows]))
                done += batch.num_rows


def _different(labels: pa.Array) -> list[str]:
    """The different labels of some rows."""
    found: list[str] = (labels.flatten() if pa.types.is_list(labels.type) else labels).unique().to_pylist()
    return found


def _labels(corpus: RowCorpus[Row], found: dict[str, Figures]) -> list[str]:
    """The labels of the training split in the order of their ids."""
    cleaning, known, rows = corpus.cleaning, set(found["train"].labels), found["train"].rows
    assert isinstance(cleaning, LabelledRows)
    for split in ("validation", "test"):
        if set(found[split].labels) - known:
            row, unknown = _first_unknown(corpus, cleaning, split, known)
            raise InputError(
                f"{split}: {unknown[:60]!r} labels {cleaning.text(row)[:60]!r}, but no example of the cleaned "
                f"training split; its labels are {', '.join(ordered(known))[:300]}"
            )
    if len(known) < 2:
        raise InputError(f"train: all {cleaning.unit} have one label, {min(known)!r}; two are needed to tell apart")
    if isinstance(cleaning, Labelled) and len(known) > max(FEW, rows / 2):
        raise InputError(
            f"train: {len(known):,} labels for {rows:,} texts, e.g. {min(known)[:60]!r}; are text and "
            "label in the columns that the corpus' settings name?"
        )
    return ordered(known)


def _first_unknown(corpus: RowCorpus[Row], cleaning: LabelledRows, split: str, known: set[str]) -> tuple[Row, str]:
    """The first row of a split with a label that train lacks, and that label."""
    return next((row, min(new)) for row in corpus.rows_of(split) if (new := set(cleaning.labels(row)) - known))
