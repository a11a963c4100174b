"""Filter raw text before it is cleaned, as GPT-3's training data was (Brown et al. 2020, section 2.2, appendices A, C).

    raw text ─ quality ─ duplicates ─┬─ n-grams of test sets ─ mixture → filtered text
    other corpora ────── duplicates ─┘

The functions `drop_…` define the steps on documents. `filter_text` applies them one after the other to every shard, on
the current engine. What a step needs to know of all corpora (the fitted model, which texts are duplicates, how many
documents contain an n-gram) is computed before it and saved to files, so memory holds one shard's documents, the sample
that the model is fitted on, the n-grams of the test sets, and some bytes per document while duplicates are found.

Only training text is filtered; validation and test tables of the corpus are copied.

Mixture. Each corpus contributes its share of the words, be it a part of the corpus or several copies:

    epochs of a corpus = weight · words of the mixture / words of the corpus          (Brown et al. 2020, table 2.2)

So a small, good corpus may be read three times while only a part of a large one is read. Of the last, incomplete epoch
the documents are used whose hash lies below its fraction. Corpora are interleaved evenly.
"""

import heapq
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple, Required, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, model_validator

from langladder.engine.base import Engine, current
from langladder.ground.artefacts import read_json, write_json
from langladder.ground.atomic import Owner, atomic_folder
from langladder.ground.errors import InputError
from langladder.ground.remote import is_url
from langladder.ground.schema import Config
from langladder.ground.sorted_runs import mapped, save
from langladder.text.clean.duplicates import (
    DUPLICATE_KINDS,
    DuplicatesConfig,
    NearDuplicatesReport,
    Scope,
    TextHashes,
    decided,
)
from langladder.text.clean.splitting import hash_fraction
from langladder.text.clean.steps import Book, Dropped
from langladder.text.filtering.contamination import (
    ContaminationConfig,
    ContaminationReport,
    HeldOutNGrams,
    contamination_report,
    count_ngrams,
    drop_contaminated,
)
from langladder.text.filtering.quality import QualityConfig, QualityModel, QualityReport
from langladder.text.labelled.labelled import ID, LABELLED, MULTI_LABELLED, TAGGED, read_labelled, read_tagged
from langladder.text.read.files import TextSource, read_text
from langladder.text.storage.shards import SHARDED, SPLITS, Shard, file_writer, present_splits
from langladder.text.storage.shards import TEXT as TEXT_SCHEMA
from langladder.text.storage.tables import (
    Document,
    document_batches,
    read_column,
    read_documents,
    tables_of,
    write_batches,
)

REPORT = "filter.json"
FILTERED = Owner("text that langladder filtered", (*SHARDED.names, REPORT), lambda folder: (folder / REPORT).is_file())
TEXT = "text"
"""The name of the corpus itself among those that are mixed."""


class MixedSource(TextSource):
    """A corpus that is mixed in."""

    weight: float = Field(gt=0)  # its share of the words, over the sum of all weights


class MixtureConfig(Config):
    """The corpora that are mixed with the text, and their weights."""

    weight: float = Field(gt=0)  # of the text itself
    others: dict[str, MixedSource] = Field(min_length=1)
    words: int | None = Field(default=None, ge=1)  # of the mixture; null: as many as all corpora have together

    @model_validator(mode="after")
    def _names_are_free(self) -> Self:
        if "text" in self.others:
            raise ValueError("others: 'text' is the corpus itself; use another name")
        return self


class FilterConfig(Config):
    """Steps on raw text before it is cleaned, in this order; all null: no step."""

    quality: QualityConfig | None = None  # of the text itself, not of corpora that are mixed in
    duplicates: DuplicatesConfig | None = None  # over all corpora; of copies the one in a corpus that is mixed in stays
    contamination: ContaminationConfig | None = None
    mixture: MixtureConfig | None = None

    @property
    def idle(self) -> bool:
        """Whether there is no step."""
        return not any((self.quality, self.duplicates, self.contamination, self.mixture))

    def sources(self) -> dict[str, TextSource]:
        """All sources of text besides the corpus, by key."""
        sources: dict[str, TextSource] = {}
        if self.quality:
            sources["quality.good"] = self.quality.good
        if self.contamination:
            sources |= {f"contamination.sets.{name}": source for name, source in self.contamination.sets.items()}
        if self.mixture:
            sources |= {f"mixture.others.{name}": other for name, other in self.mixture.others.items()}
        return sources


class FilterReport(NearDuplicatesReport, total=False):
    """How large the text was and is, what was dropped for which reason, and what the steps found."""

    size: Required[dict[str, Counter[str]]]
    repeats_documents: Required[bool]
    warnings: list[str]
    went: dict[str, Dropped]
    quality: QualityReport
    contamination: ContaminationReport
    mixture: dict[str, dict[str, float]]


def write_left(shard: Shard, ending: str, documents: Iterable[Document]) -> Shard:
    """Write what a step leaves of a shard; returns it as a shard."""
    with file_writer(shard.path(ending), TEXT_SCHEMA) as writer:
        for table in tables_of(documents):
            writer.write_table(table)
    return replace(shard, file=shard.path(ending))


def filter_text(raw_folder: Path, out_folder: Path, config: FilterConfig, seed: int) -> FilterReport:
    """Filter a raw corpus into a folder of the same tables and filter.json, completely or not at all.

    Args:
        raw_folder: train (and validation, test) or all, as the readers write them.
        seed: of all random choices, which are hashes of the documents.

    Returns:
        The report: what was dropped and why, with examples; scores; what of the test sets was found; the mixture.

    Raises:
        InputError: a source is missing or bad, or nothing is left.
    """
    names = present_splits(raw_folder)
    train = next(name for name in ("train", "all") if name in names)
    engine, book = current(), Book()
    quality: QualityReport | None = None
    contamination: ContaminationReport | None = None
    warnings: list[str] = []
    with atomic_folder(out_folder, FILTERED) as folder:
        scratch = folder / "work"
        scratch.mkdir()
        shards = find_shards(raw_folder / train, config.mixture, scratch)
        read = total(engine.map(count_sizes, shards, "reading documents"))
        if config.quality:
            quality, warnings = fit_quality(raw_folder / train, config.quality, seed, scratch)
            step = partial(drop_low_quality, config=config.quality, seed=seed, weights=scratch / "weights")
            others = [shard for shard in shards if shard.table != TEXT]
            shards = others + apply(step, "quality", shards[len(others) :], engine, book)
        for scope, drop in DUPLICATES.items():
            if config.duplicates and scope in (config.duplicates.exact, config.duplicates.near):
                find_duplicates(shards, config.duplicates, scope, engine)
                shards = apply(drop, scope, shards, engine, book)
        if config.contamination:
            held_out = read_test_sets(config.contamination, scratch)
            counts = count_ngrams(shards, held_out, scratch / "ngrams", engine)
            step = partial(drop_contaminated, config=config.contamination, folder=scratch / "ngrams")
            shards = apply(step, "contamination", shards, engine, book)
            common = total(read_json(shard.path("common")) for shard in shards)
            contamination = contamination_report(held_out, counts, config.contamination, common)
        if config.mixture:
            corpora = corpora_of(shards, config.mixture, engine)
            times = epochs(corpora, config.mixture.words)
            documents = mixed(corpora, times, seed)
        else:
            documents = ((shard.table, document) for shard in shards for document in read_documents(shard.file))

        sizes_by_corpus: dict[str, Counter[str]] = {}
        if write_batches(folder / train, TEXT_SCHEMA, tables_of(counted(documents, sizes_by_corpus))) == 0:
            reasons = ", ".join(f"{reason} {number:,}" for reason, number in book.dropped.most_common())
            raise InputError(f"{raw_folder}/{train}: filtering leaves nothing ({reasons}); relax `filter`")
        mixture = mixture_report(corpora, times, sizes_by_corpus) if config.mixture else {}
        for name in set(names) & {*SPLITS} - {train}:
            shutil.copytree(raw_folder / name, folder / name)
        shutil.rmtree(scratch)
        report: FilterReport = {
            "size": {"read": read, "left": total(sizes_by_corpus.values())},
            "repeats_documents": any(part["epochs"] > 1 for part in mixture.values()),
        }
        if warnings:
            report["warnings"] = warnings
        if config.duplicates:
            report = {**report, **config.duplicates.report()}
        report["went"] = book.report()["dropped"]
        if quality:
            report["quality"] = quality
        if contamination:
            report["contamination"] = contamination
        if mixture:
            report["mixture"] = mixture
        write_json(folder / REPORT, report)
    return report


# ---- sources


def find_shards(table: Path, config: MixtureConfig | None, scratch: Path) -> list[Shard]:
    """The shards of all corpora in the order in which duplicates are found: those that are mixed in, then the text."""
    tables = dict[str, Path]()
    for name, source in config.others.items() if config else ():
        tables[name] = read_source(source, scratch / f"{name}.read", f"filter.mixture.others.{name}")
    tables[TEXT] = table
    return Shard.all_of(tables, scratch)


def read_source(source: TextSource, folder: Path, key: str) -> Path:
    """Read a source into a folder; returns the table of all its text.

    Raises:
        InputError: it is missing, empty or not text, or has splits of its own; the message names the key.
    """
    try:
        read_text(source, folder)
    except InputError as error:
        raise InputError(f"{key}: {error} (conf/filter/)") from error
    if present_splits(folder) != ["all"]:
        raise InputError(f"{key}.files: names splits; give one glob, all of which is read (conf/filter/)")
    return folder / "all"


def read_test_set(source: TextSource, folder: Path, key: str) -> Iterator[str]:
    """The lines of a test set: files of text, or a table of labelled texts or tagged sentences.

    Raises:
        InputError: as `read_source`.
    """
    path, columns = Path(source.path), list[str]()
    if not is_url(source.path) and path.suffix == ".parquet" and path.is_file():
        with suppress(pa.ArrowException, OSError):  # `read_source` reports a damaged file
            columns = [name for name in pq.read_schema(path).names if name != ID.name]
    if columns == TAGGED.names:
        yield from (" ".join(sentence.words) for sentence in read_tagged(path))
    elif columns in (LABELLED.names, MULTI_LABELLED.names):
        for example in read_labelled(path):
            yield from filter(None, (example.text, example.second))
    else:
        yield from chain.from_iterable(read_column(read_source(source, folder, key), "text"))


# ---- sizes


def sizes(documents: Iterable[Document]) -> Counter[str]:
    """The numbers of documents, lines and words."""
    counts = Counter(documents=0, lines=0, words=0)
    for document in documents:
        counts.update(documents=1, lines=len(document.lines), words=document.words)
    return counts


def count_sizes(shard: Shard) -> Counter[str]:
    """The numbers of documents, lines and words of a shard."""
    return sizes(read_documents(shard.file))


def total(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    """The sums of counts."""
    results = Counter[str]()
    for count in counts:
        results.update(count)
    return results


def counted(documents: Iterable[tuple[str, Document]], by_corpus: dict[str, Counter[str]]) -> Iterator[Document]:
    """The documents, whose sizes are added up in `by_corpus`."""
    for corpus, document in documents:
        by_corpus.setdefault(corpus, Counter()).update(sizes([document]))
        yield document


# ---- steps

Step = Callable[[Shard, Book], Iterator[Document]]
"""Yields the documents of a shard that are left, and notes what is dropped."""


def apply(step: Step, ending: str, shards: Sequence[Shard], engine: Engine, book: Book) -> list[Shard]:
    """Apply a step to shards, which writes files of that ending; returns what is left, and notes what is dropped."""
    left = []
    for shard, dropped in engine.map(partial(apply_to, step=step, ending=ending), shards, f"filtering: {ending}"):
        left.append(shard)
        book.add(dropped)
    return left


def apply_to(shard: Shard, step: Step, ending: str) -> tuple[Shard, Book]:
    """Apply a step to a shard; returns what is left and what was dropped."""
    book = Book()
    return write_left(shard, ending, step(shard, book)), book


def fit_quality(table: Path, config: QualityConfig, seed: int, scratch: Path) -> tuple[QualityReport, list[str]]:
    """Fit the quality model and save its weights; returns its report and warnings."""
    model = QualityModel(config, seed)
    good = read_source(config.good, scratch / "good.read", "filter.quality.good")
    fit = model.fit(*((document.text for document in read_documents(source)) for source in (good, table)))
    assert model.weights is not None
    save(scratch / "weights", model.weights)
    return fit.report(config), fit.warnings


def drop_low_quality(shard: Shard, book: Book, config: QualityConfig, seed: int, weights: Path) -> Iterator[Document]:
    """Drop documents that the quality model does not keep."""
    model = QualityModel(config, seed, mapped(weights))
    for batch in document_batches(read_documents(shard.file)):
        for document, score in zip(batch, model.scores([document.text for document in batch]), strict=True):
            if model.keeps(document.text, float(score)):
                yield document
            else:
                book.drop("low_quality_document", f"{score:.3f}: {document.text}")


def find_duplicates(shards: Sequence[Shard], config: DuplicatesConfig, scope: Scope, engine: Engine) -> None:
    """Save for each shard the positions in DUPLICATE_KINDS of its lines or documents; 0: the text is no duplicate."""
    for _ in engine.map(partial(hash_texts, config=config, scope=scope), shards, f"hashing {scope}"):
        pass
    kinds, bounds = decided([shard.path for shard in shards], config, scope, engine.share)
    for shard, start, end in zip(shards, bounds[:-1], bounds[1:], strict=True):
        save(shard.path(f"{scope}.kinds"), kinds[start:end])


def hash_texts(shard: Shard, config: DuplicatesConfig, scope: Scope) -> None:
    """Save hashes of all lines or documents of a shard."""
    notes = TextHashes(config, scope)
    for document in read_documents(shard.file):
        for text in document.lines if scope == "lines" else [document.text]:
            notes.note(text)
    notes.save(shard.path)


def drop_duplicate_lines(shard: Shard, book: Book) -> Iterator[Document]:
    """Drop lines that `find_duplicates` found, and documents without other lines."""
    kinds = iter(mapped(shard.path("lines.kinds")).tolist())
    for document in read_documents(shard.file):
        keep = []
        for line in document.lines:
            kind = next(kinds)
            keep.append(kind == 0)
            if kind:
                book.drop(f"{DUPLICATE_KINDS[kind]}_line", line)
        if any(keep):
            yield document.select(keep)


def drop_duplicate_documents(shard: Shard, book: Book) -> Iterator[Document]:
    """Drop documents that `find_duplicates` found."""
    for document, kind in zip(read_documents(shard.file), mapped(shard.path("documents.kinds")).tolist(), strict=True):
        if kind:
            book.drop(f"{DUPLICATE_KINDS[kind]}_document", document.text)
        else:
            yield document


def read_test_sets(config: ContaminationConfig, scratch: Path) -> HeldOutNGrams:
    """The n-grams of all test sets."""
    held_out = HeldOutNGrams(config.ngram_words, config.words)
    for name, source in config.sets.items():
        lines = read_test_set(source, scratch / f"{name}.set", f"filter.contamination.sets.{name}")
        held_out.add_set(name, lines, config.min_words)
    return held_out


DUPLICATES: dict[Scope, Step] = {"lines": drop_duplicate_lines, "documents": drop_duplicate_documents}


# ---- mixture


class Corpus(NamedTuple):
    """A corpus of a mixture: its documents (called once per epoch), their number of words, and its weight."""

    documents: Callable[[], Iterator[Document]]
    words: int
    weight: float


def corpora_of(shards: Sequence[Shard], config: MixtureConfig, engine: Engine) -> dict[str, Corpus]:
    """The corpora of a mixture, the text first."""
    words = Counter[str]()
    for shard, counts in zip(shards, engine.map(count_sizes, shards, "counting words"), strict=True):
        words[shard.table] += counts["words"]

    def corpus(name: str, weight: float) -> Corpus:
        own = [shard for shard in shards if shard.table == name]
        return Corpus(lambda: chain.from_iterable(read_documents(shard.file) for shard in own), words[name], weight)

    weights = {TEXT: config.weight} | {name: other.weight for name, other in config.others.items()}
    return {name: corpus(name, weight) for name, weight in weights.items()}


def shares(weights: Mapping[str, float]) -> dict[str, float]:
    """The weights as shares of the words, which add up to 1."""
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def epochs(corpora: Mapping[str, Corpus], words: int | None = None) -> dict[str, float]:
    """How often each corpus is read.

    Args:
        words: of the mixture; None: as many as the corpora have together.

    Raises:
        InputError: a corpus has no words.
    """
    if empty := [name for name, corpus in corpora.items() if not corpus.words]:
        raise InputError(f"mixture: {', '.join(empty)} has no words left to mix")
    total = sum(corpus.words for corpus in corpora.values()) if words is None else words
    parts = shares({name: corpus.weight for name, corpus in corpora.items()})
    # epochs_i = w_i · T / W_i
    return {name: parts[name] * total / corpus.words for name, corpus in corpora.items()}


def mixed(corpora: Mapping[str, Corpus], times: Mapping[str, float], seed: int) -> Iterator[tuple[str, Document]]:
    """The documents of all corpora, interleaved, each with its corpus' name."""

    def numbered(name: str, order: int) -> Iterator[tuple[float, int, str, Document]]:
        corpus, sofar = corpora[name], 0
        whole = int(times[name])
        for epoch in range(whole + 1):
            for document in corpus.documents():
                if epoch == whole and hash_fraction([f"mixture {name}", *document.lines], seed) >= times[name] - whole:
                    continue
                yield sofar / (times[name] * corpus.words), order, name, document
                sofar += document.words

    streams = [numbered(name, order) for order, name in enumerate(corpora)]
    for _, _, name, document in heapq.merge(*streams, key=lambda item: item[:2]):
        yield name, document


def mixture_report(
    corpora: Mapping[str, Corpus], times: Mapping[str, float], sizes: Mapping[str, Counter[str]]
) -> dict[str, dict[str, float]]:
    """Size, weight and epochs of each corpus, and what of it is in the mixture (by corpus: documents, lines, words)."""
    weights = shares({name: corpus.weight for name, corpus in corpora.items()})
    return {
        name: {"words": corpus.words, "weight": round(weights[name], 4), "epochs": round(times[name], 4)}
        | {f"{unit}_taken": count for unit, count in sizes.get(name, Counter[str]()).items()}
        for name, corpus in corpora.items()
    }
