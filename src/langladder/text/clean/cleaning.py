"""Cleaning a corpus: repaired lines, without duplicates, cut into train, validation and test, with a report.

    raw shards ─ clean_shard ─┬─ duplicates, cut ─┬─ write_shard ─ clean shards ─ measure → report
                 of each      └─ of the corpus    └─ of each                      of each

What is done to each shard runs on an engine. The text is never in memory as a whole: here are a few numbers of each
document, while it is decided which documents go and which split each one belongs to. Splits that the corpus brings
itself stay as they are; missing ones are cut from train.
"""

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from langladder.atomic import atomic_folder
from langladder.engine.base import Engine, current
from langladder.errors import InputError
from langladder.schema import Config
from langladder.sorted_runs import mapped, save
from langladder.text.clean.clean_shards import Output, Rules, Shard, clean_shard, note_lines, read_rows, write_shard
from langladder.text.clean.drops import EXAMPLE_CHARACTERS, EXAMPLES, Book, LimitsConfig
from langladder.text.clean.duplicates import KINDS, DuplicatesConfig, decided
from langladder.text.clean.leakage import measure_tables
from langladder.text.clean.splitting import Cut, SplitConfig, cut
from langladder.text.clean.statistics import character_warnings
from langladder.text.clean.steps import StepsConfig
from langladder.text.storage import shards as storage
from langladder.text.storage.shards import SHARDED, finish_table, shard_ends, shard_files, write_dictionary
from langladder.text.storage.tables import SPLITS, TEXT, present_splits


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
    names, engine = present_splits(raw_folder), current()
    compared = DuplicatesConfig(exact="keep", near="keep") if config.iid else config.duplicates
    rules = Rules(config.steps, config.limits, compared, seed)
    with atomic_folder(out_folder, SHARDED) as folder:
        scratch = folder / "work"
        scratch.mkdir()
        # Held-out text first: of two equal documents, the one in the training text goes.
        ordered = sorted(names, key=("test", "validation", "train", "all").index)
        files = [(name, file) for name in ordered for file in shard_files(raw_folder / name)]
        shards = [Shard(file, name, scratch / f"{n:06d}", rules) for n, (name, file) in enumerate(files)]
        book = _clean(shards, scratch, engine)
        starts = np.cumsum([0, *(len(mapped(shard.file("places"))) for shard in shards)])
        gone = _duplicates(shards, starts, book, engine)
        splits, cuts = _split(shards, starts, gone, config.split, book)
        _write(folder, shards, starts, splits, engine)
        counts, overlap = measure_tables({s: folder / s for s in SPLITS}, config.leakage_words, scratch, engine)
        shutil.rmtree(scratch)
    documents = np.bincount(splits[splits >= 0], minlength=len(SPLITS)).tolist()
    return {
        "splits": {split: {"documents": documents[n], **counts[split]} for n, split in enumerate(SPLITS)},
        "cut_by_hash": [split for split in SPLITS if split not in names],
        **cut_report(cuts, character_warnings(counts.values(), "the text")),
        "cleaning": book.report() | compared.report(),
        "leakage": overlap,
    }


def cut_report(cuts: list[Cut], more: list[str]) -> dict[str, Any]:
    """How splits were cut, for the data report, where the corpus does not bring all of them; warnings, and `more`."""
    warnings = [line for found in cuts for line in found.warnings] + more
    return ({"cut_by": cuts[-1].by} if cuts else {}) | ({"warnings": warnings} if warnings else {})


def _clean(shards: Sequence[Shard], scratch: Path, engine: Engine) -> Book:
    """Clean all shards, without duplicate lines; what was changed and dropped."""
    config, gone, starts = shards[0].rules.duplicates, None, [0] * len(shards)
    if "lines" in (config.exact, config.near):
        list(engine.map(note_lines, shards, "comparing lines"))
        kinds, bounds = decided([shard.file for shard in shards], config, "lines", engine.share)
        gone, starts = scratch / "lines", bounds[:-1].tolist()
        save(gone, kinds)
    book = Book()
    for found in engine.map(partial(clean_shard, gone=gone), list(zip(shards, starts, strict=True)), "cleaning"):
        book.add(found)
    return book


def _duplicates(shards: Sequence[Shard], starts: np.ndarray, book: Book, engine: Engine) -> np.ndarray:
    """Which documents go as duplicates; noted with the first line of some of them.

    Args:
        starts: (S + 1,) documents of the corpus before each shard, and all.

    Returns:
        (D,) int8, positions in KINDS.
    """
    config = shards[0].rules.duplicates
    if "documents" not in (config.exact, config.near):
        return np.zeros(int(starts[-1]), dtype=np.int8)
    gone, _ = decided([shard.file for shard in shards], config, "documents", engine.share)
    for kind in np.unique(gone[gone > 0]).tolist():
        reason, documents = f"{KINDS[kind]}_document", np.flatnonzero(gone == kind)
        book.dropped[reason] = len(documents)
        book.examples[reason] = []
        for document in documents[:EXAMPLES].tolist():
            number = int(np.searchsorted(starts, document, side="right")) - 1
            rows = read_rows(shards[number].file("rows"))
            line = next(text for found, text, _ in rows if found == document - starts[number])
            book.examples[reason].append(line[:EXAMPLE_CHARACTERS])
    return gone


def _split(
    shards: Sequence[Shard], starts: np.ndarray, gone: np.ndarray, config: SplitConfig, book: Book
) -> tuple[np.ndarray, list[Cut]]:
    """The split of each document.

    Returns:
        (D,) int8 positions in SPLITS, -1 where the document goes; how splits were cut, [] where none was.

    Raises:
        InputError: a table is left empty, or has too few documents to cut.
    """
    splits, cuts = np.full(len(gone), -1, dtype=np.int8), list[Cut]()
    names = list(dict.fromkeys(shard.table for shard in shards))
    own = [name for name in names if name not in ("train", "all")]
    for name in names:
        numbers = [number for number, shard in enumerate(shards) if shard.table == name]  # consecutive
        first = int(starts[numbers[0]])
        stay = first + np.flatnonzero(gone[first : int(starts[numbers[-1] + 1])] == 0)
        if not len(stay):
            reasons = ", ".join(f"{reason} {count:,}" for reason, count in book.dropped.most_common())
            raise InputError(f"{shards[numbers[0]].raw.parent}: cleaning leaves nothing ({reasons}); relax `clean`")
        wanted = [name] if name in own else [split for split in SPLITS if split not in own]
        if len(wanted) == 1:
            splits[stay] = SPLITS.index(wanted[0])
        else:
            cuts.append(cut(_noted(shards, "places")[stay], _noted(shards, "words")[stay], config, own))
            splits[stay] = cuts[-1].splits
    return splits, cuts


def _noted(shards: Sequence[Shard], kind: str) -> np.ndarray:
    """(D,) what the shards noted of each document."""
    return np.concatenate([np.array(mapped(shard.file(kind))) for shard in shards])


def _write(folder: Path, shards: Sequence[Shard], starts: np.ndarray, splits: np.ndarray, engine: Engine) -> None:
    """Write the tables of the splits; splits: (D,) as `_split` gives them."""
    sizes, outputs = _noted(shards, "bytes"), list[Output]()
    limits = (storage.SHARD_BYTES, storage.ROWS)
    for split in range(len(SPLITS)):
        documents, begin = np.flatnonzero(splits == split), 0
        for end in shard_ends(sizes[documents]):
            first, last = int(documents[begin]), int(documents[end - 1])
            low, high = np.searchsorted(starts, [first, last], side="right").tolist()
            sources = [(shards[n].file("rows"), int(starts[n])) for n in range(low - 1, high)]
            scratch = folder / "work" / f"output-{len(outputs):06d}"
            outputs.append(Output(scratch, split, (first, last + 1), begin, sources, limits))
            begin = end
    save(folder / "work" / "splits", splits)
    digests = list(engine.map(partial(write_shard, splits=folder / "work" / "splits"), outputs, "writing"))
    for split, name in enumerate(SPLITS):
        mine = [number for number, output in enumerate(outputs) if output.split == split]
        files = [shard_files(outputs[number].folder)[0] for number in mine]
        finish_table(folder / name, TEXT, name, files, [digests[number] for number in mine])
    write_dictionary(folder)
