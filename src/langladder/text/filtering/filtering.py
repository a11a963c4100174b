"""Filtering raw text before it is cleaned, as GPT-3's data was made (Brown et al. 2020, section 2.2, appendices A, C).

    raw text ─ quality ─ duplicates ─┬─ test sets' n-grams ─ mixture → filtered text
    corpora mixed in ─── duplicates ─┘

Only what is trained on is filtered: validation and test tables that the corpus brings itself stay as they are. The text
streams by; in memory are hashes, signatures of near-duplicates, and the documents that the quality model is fitted on.
"""

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from langladder.artefacts import write_json
from langladder.atomic import Owner, atomic_folder
from langladder.errors import InputError
from langladder.text.documents import Document, read_documents, write_documents
from langladder.text.drops import Book
from langladder.text.duplicates import Seen
from langladder.text.filtering import mixture
from langladder.text.filtering.contamination import Contamination
from langladder.text.filtering.quality import QualityModel, Told, keep_probability
from langladder.text.filtering.settings import FilterConfig
from langladder.text.filtering.sources import opened, set_lines
from langladder.text.shards import SHARDED, write_dictionary
from langladder.text.tables import SPLITS, present_splits

AT_ONCE = 512  # documents that are judged together
REPORT = "filter.json"
FILTERED = Owner("text that langladder filtered", (*SHARDED.names, REPORT), lambda folder: (folder / REPORT).is_file())
TEXT = "text"
"""The corpus itself, among those that are mixed."""


@dataclass
class _Work:
    """What the steps share.

    Attributes:
        folder: for what is between the steps; it goes in the end.
        book: what went and why.
        read, kept: documents, lines and words of all corpora.
        found: parts of the report.
        warnings: what the user should look at.
    """

    config: FilterConfig
    seed: int
    folder: Path
    book: Book = field(default_factory=Book)
    read: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    found: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


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
        work = _Work(config, seed, folder / "work")
        kept = _kept(raw_folder / trained, work)
        count = write_documents(folder / trained, _counted(_final(kept, work), work.kept))
        if count == 0:
            reasons = ", ".join(f"{reason} {number:,}" for reason, number in work.book.dropped.most_common())
            raise InputError(f"{raw_folder}/{trained}: filtering leaves nothing ({reasons}); relax `filter`")
        for name in set(names) & {*SPLITS} - {trained}:
            shutil.copytree(raw_folder / name, folder / name)
        write_dictionary(folder)
        report = _report(work)
        shutil.rmtree(work.folder)
        write_json(folder / REPORT, report)
    return report


def _kept(raw: Path, work: _Work) -> dict[str, Path]:
    """Corpus → its documents that are good enough and new, as tables; what is mixed in comes first."""
    seen = Seen(work.config.duplicates) if work.config.duplicates else None
    others = work.config.mixture.others if work.config.mixture else {}
    kept: dict[str, Path] = {}
    for name, source in others.items():
        table = opened(source, work.folder / f"{name}.read", f"filter.mixture.others.{name}")
        kept[name] = work.folder / f"{name}.kept"
        write_documents(kept[name], _new(_counted(read_documents(table), work.read), seen, work.book))
    documents: Iterator[Document] = _counted(read_documents(raw), work.read)
    if work.config.quality:
        documents = _good(documents, _model(raw, work), work)
    kept[TEXT] = work.folder / f"{TEXT}.kept"
    write_documents(kept[TEXT], _new(documents, seen, work.book))
    return kept


def _model(raw: Path, work: _Work) -> QualityModel:
    config = work.config.quality
    assert config is not None
    model = QualityModel(config, work.seed)
    good = opened(config.good, work.folder / "good.read", "filter.quality.good")
    told = model.fit(*((document.text for document in read_documents(table)) for table in (good, raw)))
    work.found["quality"] = quality_report(told, config.alpha if config.threshold is None else None)
    work.warnings += told.warnings
    return model


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


def _good(documents: Iterator[Document], model: QualityModel, work: _Work) -> Iterator[Document]:
    for some in batches(documents):
        for document, score in zip(some, model.scores([one.text for one in some]), strict=True):
            if model.keeps(document.text, float(score)):
                yield document
            else:
                work.book.drop("low_quality_document", f"{score:.3f}: {document.text}")


def _new(documents: Iterable[Document], seen: Seen | None, book: Book) -> Iterator[Document]:
    """Documents and lines that are no duplicates of earlier ones."""
    for document in documents:
        if seen is None:
            yield document
            continue
        lines, log_probs = list[str](), list[float | None]()
        for line, log_prob in zip(*document, strict=True):
            if reason := seen.is_duplicate(line, "lines"):
                book.drop(reason, line)
            else:
                lines.append(line)
                log_probs.append(log_prob)
        left = Document(lines, log_probs)
        if lines and (reason := seen.is_duplicate(left.text, "documents")):
            book.drop(reason, left.text)
        elif lines:
            yield left


def _final(kept: dict[str, Path], work: _Work) -> Iterator[Document]:
    """The documents of all corpora without what stands in the test sets, mixed."""
    tables = _decontaminated(kept, work) if work.config.contamination else kept
    if not work.config.mixture:
        yield from read_documents(tables[TEXT])
        return
    weights = {name: other.weight for name, other in work.config.mixture.others.items()}
    weights[TEXT] = work.config.mixture.weight
    corpora = {name: _corpus(tables[name], weights[name]) for name in (TEXT, *work.config.mixture.others)}
    times = mixture.epochs(corpora, work.config.mixture.words)
    taken: dict[str, Counter[str]] = {name: Counter() for name in corpora}
    for name, document in mixture.mixed(corpora, times, work.seed):
        taken[name].update(_sizes(document))
        yield document
    parts = mixture.shares(weights)
    work.found["mixture"] = {
        name: {"words": corpus.words, "weight": round(parts[name], 4), "epochs": round(times[name], 4)}
        | {f"{unit}_taken": count for unit, count in taken[name].items()}
        for name, corpus in corpora.items()
    }


def _corpus(table: Path, weight: float) -> mixture.Corpus:
    words = sum(document.words for document in read_documents(table))
    return mixture.Corpus(lambda: read_documents(table), words, weight)


def _decontaminated(kept: dict[str, Path], work: _Work) -> dict[str, Path]:
    config = work.config.contamination
    assert config is not None
    contamination = Contamination(config)
    for name, source in config.sets.items():
        where = f"filter.contamination.sets.{name}"
        contamination.learn(name, set_lines(source, work.folder / f"{name}.set", where))
    for path in kept.values():
        for some in batches(read_documents(path)):
            contamination.count(some)
    cleaned = {name: path.with_suffix(".clean") for name, path in kept.items()}
    for name, path in kept.items():
        write_documents(cleaned[name], _clean(read_documents(path), contamination, work.book))
    work.found["contamination"] = contamination.report()
    return cleaned


def _clean(documents: Iterator[Document], contamination: Contamination, book: Book) -> Iterator[Document]:
    for some in batches(documents):
        for document, gone in contamination.clean(some):
            for line in gone:
                book.drop("contaminated_line", line)
            if document is None:
                book.drop("contaminated_document", gone[0])
            else:
                yield document


def batches(documents: Iterator[Document]) -> Iterator[list[Document]]:
    """Some documents at a time."""
    while some := list(islice(documents, AT_ONCE)):
        yield some


def _counted(documents: Iterable[Document], counts: Counter[str]) -> Iterator[Document]:
    for document in documents:
        counts.update(_sizes(document))
        yield document


def _sizes(document: Document) -> dict[str, int]:
    return {"documents": 1, "lines": len(document.lines), "words": document.words}


def _report(work: _Work) -> dict[str, Any]:
    units = ("documents", "lines", "words")
    size = {name: {unit: counts[unit] for unit in units} for name, counts in (("read", work.read), ("left", work.kept))}
    repeated = any(one["epochs"] > 1 for one in work.found.get("mixture", {}).values())
    report = {"size": size, "repeats_documents": repeated}
    report |= {"warnings": work.warnings} if work.warnings else {}
    return report | {"went": work.book.report()["dropped"], **work.found}
