"""Filtering as plainly as it can be said: in one process, everything in memory. What shards must equal."""

from collections import Counter
from typing import Any

from langladder.text.clean.drops import Book
from langladder.text.clean.duplicates import Seen
from langladder.text.filtering import mixture
from langladder.text.filtering.contamination import Contamination
from langladder.text.filtering.filtering import quality_report
from langladder.text.filtering.quality import QualityModel
from langladder.text.filtering.settings import FilterConfig, MixtureConfig
from langladder.text.read.documents import Document

Corpora = dict[str, list[Document]]


def plain(
    text: list[Document], beside: dict[str, list[Document]], config: FilterConfig, seed: int
) -> tuple[list[Document], dict[str, Any]]:
    """The documents that are left, and the report.

    Args:
        beside: the documents of each other source by its key in `config`.
    """
    book, found, warnings = Book(), dict[str, Any](), list[str]()
    corpora = {name: beside[f"mixture.others.{name}"] for name in (config.mixture.others if config.mixture else {})}
    corpora["text"] = text
    read = sizes([one for corpus in corpora.values() for one in corpus])
    if config.quality:
        model = QualityModel(config.quality, seed)
        told = model.fit([one.text for one in beside["quality.good"]], [one.text for one in text])
        found["quality"] = quality_report(told, config.quality.alpha if config.quality.threshold is None else None)
        warnings = told.warnings
        corpora["text"] = good(text, model, book)
    if config.duplicates:
        seen = Seen(config.duplicates)
        corpora = {name: new(corpus, seen, book) for name, corpus in corpora.items()}
    if config.contamination:
        contamination = Contamination(config.contamination)
        for name in config.contamination.sets:
            lines = [line for one in beside[f"contamination.sets.{name}"] for line in one.lines]
            contamination.learn(name, lines)
        for corpus in corpora.values():
            contamination.count(corpus)
        corpora = {name: without(corpus, contamination, book) for name, corpus in corpora.items()}
        found["contamination"] = contamination.report()
    left = corpora["text"]
    if config.mixture:
        left, found["mixture"] = mixed(corpora, config.mixture, seed)
    report: dict[str, Any] = {"size": {"read": read, "left": sizes(left)}}
    report["repeats_documents"] = any(one["epochs"] > 1 for one in found.get("mixture", {}).values())
    report |= {"warnings": warnings} if warnings else {}
    report |= config.duplicates.report() if config.duplicates else {}
    return left, report | {"went": book.report()["dropped"], **found}


def sizes(documents: list[Document]) -> dict[str, int]:
    """How much there is."""
    words = sum(one.words for one in documents)
    return {"documents": len(documents), "lines": sum(len(one.lines) for one in documents), "words": words}


def good(documents: list[Document], model: QualityModel, book: Book) -> list[Document]:
    """Documents that are good enough."""
    left = []
    for document, score in zip(documents, model.scores([one.text for one in documents]), strict=True):
        if model.keeps(document.text, float(score)):
            left.append(document)
        else:
            book.drop("low_quality_document", f"{score:.3f}: {document.text}")
    return left


def new(documents: list[Document], seen: Seen, book: Book) -> list[Document]:
    """Documents and lines that were not seen before."""
    found = []
    for document in documents:
        rows = []
        for line, log_prob in zip(*document, strict=True):
            if reason := seen.is_duplicate(line, "lines"):
                book.drop(reason, line)
            else:
                rows.append((line, log_prob))
        left = Document([line for line, _ in rows], [log_prob for _, log_prob in rows])
        if rows and (reason := seen.is_duplicate(left.text, "documents")):
            book.drop(reason, left.text)
        elif rows:
            found.append(left)
    return found


def without(documents: list[Document], contamination: Contamination, book: Book) -> list[Document]:
    """Documents without what stands in the test sets."""
    left = []
    for document, gone in contamination.clean(documents):
        for line in gone:
            book.drop("contaminated_line", line)
        if document is None:
            book.drop("contaminated_document", gone[0])
        else:
            left.append(document)
    return left


def mixed(corpora: Corpora, config: MixtureConfig, seed: int) -> tuple[list[Document], dict[str, Any]]:
    """The documents of all corpora, and what the report says of each."""
    weights = {"text": config.weight} | {name: other.weight for name, other in config.others.items()}

    def corpus(name: str) -> mixture.Corpus:
        words = sum(one.words for one in corpora[name])
        return mixture.Corpus(lambda: iter(corpora[name]), words, weights[name])

    all_of_them = {name: corpus(name) for name in weights}
    times = mixture.epochs(all_of_them, config.words)
    taken = list(mixture.mixed(all_of_them, times, seed))
    report = {}
    for name, one in all_of_them.items():
        mine = Counter(sizes([document for of, document in taken if of == name]))
        weight = round(mixture.shares(weights)[name], 4)
        report[name] = {"words": one.words, "weight": weight, "epochs": round(times[name], 4)}
        report[name] |= {f"{unit}_taken": count for unit, count in mine.items()}
    return [document for _, document in taken], report
