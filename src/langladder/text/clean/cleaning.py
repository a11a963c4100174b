"""Cleaning a corpus: repaired lines, without duplicates, cut into train, validation and test, with a report.

    shards ─ steps, limits, hashes ─┬─ duplicates, cut ─┬─ clean shards ─ statistics, leakage → report
             of each, on an engine  └─ of the corpus    └─ in order       of each, on an engine

The text is never in memory as a whole: of each document 16 bytes are while it is decided which duplicates go and where
splits are cut (`spilled`), and one byte after that. Splits that the corpus brings itself stay as they are; what it
lacks is cut from train.
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from langladder.atomic import atomic_folder
from langladder.engine.base import Engine, current
from langladder.errors import InputError
from langladder.schema import Config
from langladder.text.clean.clean_shards import Rules, Shard, clean_shard, cleaned_rows, drop_lines
from langladder.text.clean.corpus_duplicates import KINDS, decided
from langladder.text.clean.drops import EXAMPLE_CHARACTERS, EXAMPLES, Book, LimitsConfig
from langladder.text.clean.duplicates import DuplicatesConfig, Scope
from langladder.text.clean.measure_shards import measure
from langladder.text.clean.spilled import mapped, save
from langladder.text.clean.splitting import Cut, SplitConfig, cut
from langladder.text.clean.statistics import character_warnings
from langladder.text.clean.steps import StepsConfig
from langladder.text.storage.arrow_arrays import numbers, truths, values
from langladder.text.storage.shards import SHARDED, ShardWriter, shard_files, write_dictionary
from langladder.text.storage.tables import SPLITS, TEXT, present_splits, read_column


class CleanConfig(Config):
    """How monolingual text is cleaned."""

    steps: StepsConfig = StepsConfig()
    limits: LimitsConfig = LimitsConfig()
    duplicates: DuplicatesConfig = DuplicatesConfig()
    split: SplitConfig = SplitConfig()
    # Lines are independent samples of one source: a repeated one is data, so none is dropped, overlap is only counted.
    iid: bool = False
    leakage_words: int = Field(default=13, ge=1)  # n of the n-grams counted across splits


def clean_text(raw_folder: Path, out_folder: Path, config: CleanConfig, seed: int) -> dict[str, Any]:
    """Clean `raw_folder` into `out_folder`/{train,validation,test}, all of them or none, on the current engine.

    Args:
        raw_folder: train (and validation, test) or all, as the readers write them.
        seed: salts the hash that cuts splits.

    Returns:
        The data report: what was changed and dropped and why, every split's statistics, leakage between splits.

    Raises:
        InputError: cleaning leaves a split empty, or too few documents to cut one.
    """
    names = present_splits(raw_folder)
    own = [name for name in names if name not in ("train", "all")]
    with atomic_folder(out_folder, SHARDED) as folder:
        (folder / "work").mkdir()
        book, corpus = Book(), _Corpus(_shards(raw_folder, names, own, folder / "work", config, seed), current())
        corpus.clean(raw_folder, book)
        cuts = [found for name in names if (found := corpus.write(name, folder, config.split, own))]
        write_dictionary(folder)
        counts, overlap = measure(folder, config.leakage_words, current())
        shutil.rmtree(folder / "work")
    return {
        "splits": counts,
        "cut_by_hash": [split for split in SPLITS if split not in names],
        **cut_report(cuts, character_warnings(counts.values(), "the text")),
        "cleaning": book.report() | corpus.shards[0].rules.duplicates.report(),
        "leakage": overlap,
    }


def cut_report(cuts: list[Cut], more: list[str]) -> dict[str, Any]:
    """How splits were cut, for the data report, where the corpus does not bring all of them; warnings, and `more`."""
    warnings = [line for found in cuts for line in found.warnings] + more
    return ({"cut_by": cuts[-1].by} if cuts else {}) | ({"warnings": warnings} if warnings else {})


def _shards(
    raw_folder: Path, names: list[str], own: list[str], scratch: Path, config: CleanConfig, seed: int
) -> list[Shard]:
    looked_for = DuplicatesConfig(exact="keep", near="keep") if config.iid else config.duplicates
    rules = Rules(config.steps, config.limits, looked_for, seed)
    # Held-out text first: of two equal documents, the one in the training text goes.
    ordered = sorted(names, key=("test", "validation", "train", "all").index)
    files = [(name, file) for name in ordered for file in shard_files(raw_folder / name)]
    placed = len(own) < len(SPLITS) - 1
    return [
        Shard(file, name, scratch / f"{number:06d}", rules, placed and name not in own)
        for number, (name, file) in enumerate(files)
    ]


@dataclass
class _Corpus:
    """All shards in the order in which duplicates are looked for, and why each of their documents goes.

    Attributes:
        gone: of every document, 0 where it stays, else a position in KINDS; `bounds`: where each shard's begin.
    """

    shards: list[Shard]
    engine: Engine

    def clean(self, raw_folder: Path, book: Book) -> None:
        """Clean all shards; note what was changed and dropped."""
        books = list(self.engine.map(clean_shard, self.shards, "cleaning"))
        config = self.shards[0].rules.duplicates
        if "lines" in (config.exact, config.near):
            gone, starts = self._duplicates("lines")
            save(reasons := self.shards[0].scratch.with_name("reasons"), gone)
            parts = list(zip(self.shards, starts.tolist(), strict=False))
            for one, more in zip(
                books, self.engine.map(partial(drop_lines, reasons=reasons), parts, "dropping lines"), strict=True
            ):
                one.add(more)
        self.gone, self.bounds = self._duplicates("documents")
        for name in dict.fromkeys(shard.name for shard in self.shards):
            left = 0
            for number, shard in enumerate(self.shards):
                if shard.name == name:
                    book.add(books[number])
                    book.add(self._dropped(number))
                    left += int((self._of(number) == 0).sum())
            if not left:
                reasons_said = ", ".join(f"{reason} {count:,}" for reason, count in book.dropped.most_common())
                raise InputError(f"{raw_folder}/{name}: cleaning leaves nothing ({reasons_said}); relax `clean`")

    def _of(self, number: int) -> np.ndarray:
        of_it: np.ndarray = self.gone[self.bounds[number] : self.bounds[number + 1]]
        return of_it

    def _duplicates(self, scope: Scope) -> tuple[np.ndarray, np.ndarray]:
        """(N,) int8, positions in KINDS, of all lines or documents; where those of each shard begin, and the end."""
        config = self.shards[0].rules.duplicates
        if scope in (config.exact, config.near):
            return decided([shard.file for shard in self.shards], config, scope, self.engine.share)
        bounds = np.cumsum([0, *(int(mapped(shard.file("count"))[0]) for shard in self.shards)])
        return np.zeros(int(bounds[-1]), dtype=np.int8), bounds

    def _dropped(self, number: int) -> Book:
        """The documents of a shard that go as duplicates."""
        book, gone = Book(), self._of(number)
        for kind in np.unique(gone[gone > 0]).tolist():
            reason, documents = f"{KINDS[kind]}_document", np.flatnonzero(gone == kind)
            book.dropped[reason] = len(documents)
            book.examples[reason] = [text[:EXAMPLE_CHARACTERS] for text in self._openings(number, documents[:EXAMPLES])]
        return book

    def _openings(self, number: int, documents: np.ndarray) -> Iterator[str]:
        """The first lines of these documents of a shard."""
        wanted = documents.tolist()
        for batch in cleaned_rows(self.shards[number]):
            found = values(batch.column("document"))  # ascending
            while wanted and wanted[0] <= found[-1]:
                yield batch.column("text")[int(np.searchsorted(found, wanted.pop(0)))].as_py()

    def write(self, name: str, folder: Path, config: SplitConfig, own: list[str]) -> Cut | None:
        """Write the splits that a table is, or that are cut from it.

        Returns:
            How it was cut, None where it was not.
        """
        wanted = [name] if name in own else [split for split in SPLITS if split not in own]
        mine = [number for number, shard in enumerate(self.shards) if shard.name == name]
        where = np.concatenate([np.where(self._of(number) > 0, -1, 0).astype(np.int8) for number in mine])
        found = None
        if len(wanted) > 1:
            places, words = (self._numbers(mine, kind, where == 0) for kind in ("places", "words"))
            found = cut(places, words, config, own)
            where[where == 0] = found.splits
        else:
            where[where == 0] = SPLITS.index(wanted[0])
        with ExitStack() as stack:
            writers = {s: stack.enter_context(ShardWriter(folder / s, TEXT, s)) for s in wanted}
            for number in mine:
                documents = self.bounds[number] - self.bounds[mine[0]] + np.arange(len(self._of(number)))
                _send(self.shards[number], where[documents], writers)
        return found

    def _numbers(self, shards: Sequence[int], kind: str, stay: np.ndarray) -> np.ndarray:
        """What is noted of each document that stays."""
        whole: np.ndarray = np.concatenate([mapped(self.shards[number].file(kind)) for number in shards])
        return whole if stay.all() else whole[stay]


def _send(shard: Shard, where: np.ndarray, writers: dict[str, ShardWriter]) -> None:
    """Append the lines of a shard to the splits of their documents, which are numbered on.

    Args:
        where: (D,) positions in SPLITS; -1: nowhere.
    """
    new = np.zeros(len(where), dtype=np.int64)
    for split, writer in writers.items():
        chosen = where == SPLITS.index(split)
        new[chosen] = writer.documents + np.arange(int(chosen.sum()))
    for batch in cleaned_rows(shard):
        documents = values(batch.column("document"))
        batch = batch.set_column(0, "document", numbers(new[documents]))
        for split, writer in writers.items():
            chosen = where[documents] == SPLITS.index(split)
            writer.add(batch if chosen.all() else batch.filter(truths(chosen)))


def training_lines(clean_folder: Path) -> Iterator[str]:
    """The lines of the training split, one after the other."""
    for lines in read_column(clean_folder / "train", "text"):
        yield from lines
