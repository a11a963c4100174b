"""Filtering raw text before it is cleaned, as GPT-3's data was made (Brown et al. 2020, section 2.2, appendices A, C).

    raw text ─ quality ─ duplicates ─┬─ test sets' n-grams ─ mixture → filtered text
    corpora mixed in ─── duplicates ─┘

Only what is trained on is filtered: validation and test tables that the corpus brings itself stay as they are. Shards
are filtered by themselves, on an engine (`filter_parts`); in memory are the documents that the quality model is fitted
on, the test sets' n-grams, and while duplicates are decided some bytes of each document.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from langladder.artefacts import write_json
from langladder.atomic import Owner, atomic_folder
from langladder.engine.base import Engine, current
from langladder.errors import InputError
from langladder.text.clean.drops import Book
from langladder.text.clean.duplicates import Scope, decided
from langladder.text.clean.spilled import mapped, save
from langladder.text.filtering import filter_parts, mixture
from langladder.text.filtering.contamination import Contamination, ContaminationSettings
from langladder.text.filtering.filter_parts import (
    Done,
    Judge,
    Part,
    count_ngrams,
    drop_documents,
    drop_lines,
    sizes,
    take_out,
)
from langladder.text.filtering.quality import QualityModel, QualitySettings, Told, keep_probability
from langladder.text.filtering.settings import ContaminationConfig, FilterConfig, MixtureConfig
from langladder.text.filtering.sources import opened, set_lines
from langladder.text.read.documents import Document, read_documents, tables_of
from langladder.text.storage.arrow_arrays import numbers, values
from langladder.text.storage.shards import SHARDED, read_shard, shard_files, write_dictionary
from langladder.text.storage.tables import SPLITS, present_splits, write_batches
from langladder.text.storage.tables import TEXT as TEXT_SCHEMA

REPORT = "filter.json"
FILTERED = Owner("text that langladder filtered", (*SHARDED.names, REPORT), lambda folder: (folder / REPORT).is_file())
TEXT = "text"
"""The corpus itself, among those that are mixed."""


@dataclass
class _Work:
    """What the steps share.

    Attributes:
        parts: what is left of all corpora, in the order in which duplicates are looked for; `sizes` of each.
        folder: for what is between the steps; it goes in the end.
        book: what went and why.
        read, kept: documents, lines and words of all corpora.
        found: parts of the report.
        warnings: what the user should look at.
    """

    config: FilterConfig
    seed: int
    folder: Path
    engine: Engine
    parts: list[Part] = field(default_factory=list)
    sizes: list[Counter[str]] = field(default_factory=list)
    book: Book = field(default_factory=Book)
    read: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    found: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def run(self, step: Callable[[Any], Done], jobs: Sequence[Any], what: str) -> list[Done]:
        """Do a step to all parts, and note what it did."""
        found = list(self.engine.map(step, jobs, what))
        for done in found:
            self.book.add(done.book)
        self.parts, self.sizes = [done.part for done in found], [done.sizes for done in found]
        return found


def filter_text(raw_folder: Path, out_folder: Path, config: FilterConfig, seed: int) -> dict[str, Any]:
    """Filter a raw corpus into a folder of the same tables and filter.json, all of it or nothing.

    Args:
        raw_folder: train (and validation, test) or all, as the readers write them.
        seed: of every choice between documents, which all go by hashes of their text.

    Returns:
        The report: what went and why with samples, scores, what was found of the test sets, the mixture.

    Raises:
        InputError: a source is missing or bad, or nothing is left.
    """
    names = present_splits(raw_folder)
    trained = next(name for name in ("train", "all") if name in names)
    with atomic_folder(out_folder, FILTERED) as folder:
        work = _Work(config, seed, folder / "work", current())
        work.folder.mkdir()
        _kept(raw_folder / trained, work)
        if write_batches(folder / trained, TEXT_SCHEMA, _final(work)) == 0:
            reasons = ", ".join(f"{reason} {number:,}" for reason, number in work.book.dropped.most_common())
            raise InputError(f"{raw_folder}/{trained}: filtering leaves nothing ({reasons}); relax `filter`")
        for name in set(names) & {*SPLITS} - {trained}:
            shutil.copytree(raw_folder / name, folder / name)
        write_dictionary(folder)
        report = _report(work)
        shutil.rmtree(work.folder)
        write_json(folder / REPORT, report)
    return report


def _kept(raw: Path, work: _Work) -> None:
    """Leave of each corpus' parts the documents that are good enough and new; what is mixed in comes first."""
    others = work.config.mixture.others if work.config.mixture else {}
    tables: dict[str, Path] = {}
    for name, source in others.items():
        tables[name] = opened(source, work.folder / f"{name}.read", f"filter.mixture.others.{name}")
    tables[TEXT] = raw
    files = [(name, file) for name, table in tables.items() for file in shard_files(table)]
    work.parts = [
        Part(name, file, work.folder / f"{number:06d}", judged=name == TEXT)
        for number, (name, file) in enumerate(files)
    ]
    config, judge = work.config.duplicates, _judge(raw, work) if work.config.quality else None
    used = (config.exact, config.near) if config else ()
    scopes: list[Scope] = [scope for scope in ("lines", "documents") if scope in used]
    step = partial(filter_parts.judge, judge=judge, duplicates=config, scope=scopes[0] if scopes else "keep")
    for done in work.run(step, work.parts, "reading documents"):
        work.read.update(done.read)
    for scope in scopes:
        assert config is not None
        gone, starts = decided([part.beside for part in work.parts], config, scope, work.engine.share)
        save(reasons := work.folder / f"{scope}.reasons", gone)
        drop = partial(drop_lines, duplicates=config) if scope == "lines" else drop_documents
        parts = list(zip(work.parts, starts.tolist(), strict=False))
        work.run(partial(drop, reasons=reasons), parts, f"dropping {scope}")


def _judge(raw: Path, work: _Work) -> Judge:
    config = work.config.quality
    assert config is not None
    model = QualityModel(config, work.seed)
    good = opened(config.good, work.folder / "good.read", "filter.quality.good")
    told = model.fit(*((document.text for document in read_documents(table)) for table in (good, raw)))
    work.found["quality"] = quality_report(told, config.alpha if config.threshold is None else None)
    work.warnings += told.warnings
    judge = Judge(QualitySettings(**config.model_dump(exclude={"good"})), work.seed, work.folder / "model")
    model.save(judge.model)
    return judge


def quality_report(told: Told, alpha: float | None) -> dict[str, Any]:
    """How well good and raw documents are told apart, and how they score; α: of the Pareto rule, where it is used."""
    report: dict[str, Any] = {"area_under_roc_curve": round(told.area, 4)}
    for name, scores in (("good", told.good), ("raw", told.raw)):
        report[name] = {
            "fitted_on": len(scores),
            "median_words": told.words[name],
            "mean_score": round(float(scores.mean()), 4),
        }
        if alpha is not None:
            kept = sum(keep_probability(float(score), alpha) for score in scores) / len(scores)
            report[name]["expected_to_stay"] = round(kept, 4)
    return report


def _final(work: _Work) -> Iterator[pa.Table]:
    """What is left of all corpora, mixed, and without what stands in the test sets."""
    if work.config.contamination:
        _decontaminate(work.config.contamination, work)
    if work.config.mixture:
        return tables_of(_mixed(work.config.mixture, work))
    for counts in work.sizes:
        work.kept.update(counts)
    return _renumbered(work.parts)


def _renumbered(parts: list[Part]) -> Iterator[pa.Table]:
    """The documents of all parts, numbered from 0."""
    count = 0
    for part in parts:
        last = None
        for batch in read_shard(part.file, TEXT_SCHEMA):
            found = values(batch.column("document"))
            opens = found != np.append(found[0] - 1 if last is None else last, found[:-1])
            of = count - 1 + np.cumsum(opens)
            last, count = found[-1], int(of[-1]) + 1
            yield pa.Table.from_batches([batch.set_column(0, "document", numbers(of))])


def _mixed(config: MixtureConfig, work: _Work) -> Iterator[Document]:
    weights = {name: other.weight for name, other in config.others.items()} | {TEXT: config.weight}
    corpora = {name: _corpus(name, weights[name], work) for name in (TEXT, *config.others)}
    times = mixture.epochs(corpora, config.words)
    taken: dict[str, Counter[str]] = {name: Counter() for name in corpora}
    for name, document in mixture.mixed(corpora, times, work.seed):
        taken[name].update(sizes(document))
        yield document
    for counts in taken.values():
        work.kept.update(counts)
    parts = mixture.shares(weights)
    work.found["mixture"] = {
        name: {"words": corpus.words, "weight": round(parts[name], 4), "epochs": round(times[name], 4)}
        | {f"{unit}_taken": count for unit, count in taken[name].items()}
        for name, corpus in corpora.items()
    }


def _corpus(name: str, weight: float, work: _Work) -> mixture.Corpus:
    mine = [number for number, part in enumerate(work.parts) if part.corpus == name]

    def documents() -> Iterator[Document]:
        return chain.from_iterable(work.parts[number].documents() for number in mine)

    return mixture.Corpus(documents, sum(work.sizes[number]["words"] for number in mine), weight)


def _decontaminate(config: ContaminationConfig, work: _Work) -> None:
    settings = ContaminationSettings(**config.model_dump(exclude={"sets"}))
    contamination, learnt = Contamination(settings), work.folder / "ngrams"
    for name, source in config.sets.items():
        where = f"filter.contamination.sets.{name}"
        contamination.learn(name, set_lines(source, work.folder / f"{name}.set", where))
    contamination.save(learnt)
    step = partial(count_ngrams, settings=settings, learnt=learnt)
    for part, _ in zip(work.parts, work.engine.map(step, work.parts, "counting n-grams"), strict=True):
        contamination.add(mapped(part.beside("ngrams")))
    contamination.save(learnt)
    step_out = partial(take_out, settings=settings, learnt=learnt)
    for done in work.run(step_out, work.parts, "taking out n-grams"):
        contamination.common.update(done.common)
    work.found["contamination"] = contamination.report()


def _report(work: _Work) -> dict[str, Any]:
    units = ("documents", "lines", "words")
    size = {name: {unit: counts[unit] for unit in units} for name, counts in (("read", work.read), ("left", work.kept))}
    repeated = any(one["epochs"] > 1 for one in work.found.get("mixture", {}).values())
    report = {"size": size, "repeats_documents": repeated}
    report |= {"warnings": work.warnings} if work.warnings else {}
    report |= work.config.duplicates.report() if work.config.duplicates else {}
    return report | {"went": work.book.report()["dropped"], **work.found}
