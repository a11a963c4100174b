"""Contamination: training text that occurs in a test set is removed (Brown et al. 2020, appendices A and C).

Training lines are searched for the n-grams of the test sets, n = 13 words as in the paper; words are compared in lower
case and without punctuation. A line that contains one is removed; a document that loses more than `max_lines` lines is
removed whole. An n-gram that occurs in more than `max_documents` documents is a common phrase, not a copy, and is
ignored.

Differences from the paper: n-grams do not cross the ends of lines, and the whole line is removed where the paper cuts
200 characters around the n-gram. A line of a test set with fewer than n words is searched for as a whole line.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple, TypedDict

import numpy as np
import regex  # type: ignore[import-untyped]
from pydantic import Field

from langladder.engine.base import Engine
from langladder.ground.artefacts import write_json
from langladder.ground.schema import Config
from langladder.ground.sorted_runs import mapped, save
from langladder.text.clean.statistics import hashes_of, word_ngrams
from langladder.text.clean.steps import Book
from langladder.text.read.files import TextSource
from langladder.text.storage.shards import Shard
from langladder.text.storage.tables import Document, document_batches, read_documents
from langladder.text.words.segmentation import InstalledWords, Split, WordChoice, divided, splitter_of

_PUNCTUATION = regex.compile(r"[\p{P}\p{S}]+")


class ContaminationSettings(Config):
    """Which n-grams count as copies of the test sets, and what is removed for them."""

    ngram_words: int = Field(default=13, ge=1, le=100)
    min_words: int = Field(default=4, ge=1)  # shorter lines of the test sets are ignored
    max_documents: int = Field(default=10, ge=1)  # an n-gram in more documents is a common phrase and is ignored
    remove: Literal["lines", "documents"] = "lines"  # documents: the whole document at the first n-gram
    max_lines: int = Field(default=10, ge=1)  # a document that would lose more lines is removed whole
    words: InstalledWords = "auto"  # what a word is


class ContaminationConfig(ContaminationSettings):
    """The test sets: files of text, or tables of labelled texts or tagged sentences from the stage `clean`."""

    sets: dict[str, TextSource] = Field(min_length=1)


class SetCopies(TypedDict):
    """How many lines and different n-grams a test set has, and how many of its lines the text has, too."""

    lines: int
    lines_copied: int
    ngrams: int


class ContaminationReport(TypedDict):
    """How much of each test set was found, and lines with common phrases, the most frequent first."""

    ngram_words: int
    ngrams_in_the_text: int
    ngrams_too_common: int
    too_common_in: list[str]
    sets: dict[str, SetCopies]


class Matches(NamedTuple):
    """The n-grams of test sets in some documents, (M,) int64 each: which n-gram, in which line, of which document."""

    ngrams: np.ndarray
    lines: np.ndarray
    documents: np.ndarray


@dataclass
class HeldOutNGrams:
    """The n-grams of the test sets, and where documents contain them.

    Attributes:
        size: n.
        words: what a word is.
        hashes: (G,) uint64, ascending: hashes of all different n-grams.
        sets: by name, (N,) uint64 hashes of the n-grams of a set and (L,) int64 number of n-grams in each of its lines.
    """

    size: int
    words: WordChoice = "auto"
    hashes: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    sets: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def add_set(self, name: str, lines: Iterable[str], min_words: int) -> None:
        """Add a test set; its lines with fewer than `min_words` words are ignored."""
        split = splitter_of(self.words)
        kept = [line for line in map(normalize, lines) if len(split(line)) >= min_words]
        self.sets[name] = ngram_hashes(kept, self.size, split)
        self.hashes = np.unique(np.concatenate([self.hashes, self.sets[name][0]]))

    def find(self, documents: Sequence[Document]) -> Matches:
        """All n-grams of the test sets in the documents, whose lines are numbered through."""
        lines = [normalize(line) for document in documents for line in document.lines]
        hashes, counts = ngram_hashes(lines, self.size, splitter_of(self.words))
        if not len(self.hashes):
            return Matches(*np.zeros((3, 0), dtype=np.int64))
        ngrams = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        matched = np.flatnonzero(self.hashes[ngrams] == hashes)
        line_numbers = np.repeat(np.arange(len(lines)), counts)[matched]
        owners = np.repeat(np.arange(len(documents)), [len(document.lines) for document in documents])
        return Matches(ngrams[matched], line_numbers, owners[line_numbers])

    def count_documents(self, documents: Sequence[Document]) -> np.ndarray:
        """(G,) int64: the number of the documents that contain each n-gram."""
        hits = self.find(documents)
        pairs = np.unique(np.stack([hits.documents, hits.ngrams]), axis=1)  # each n-gram once per document
        counts: np.ndarray = np.bincount(pairs[1], minlength=len(self.hashes))
        return counts


def remove_contaminated(
    documents: Sequence[Document],
    held_out: HeldOutNGrams,
    counts: np.ndarray,
    settings: ContaminationSettings,
    common: Counter[str],
) -> list[tuple[Document | None, list[str]]]:
    """Remove the lines that occur in test sets.

    Args:
        counts: (G,) number of documents of the whole corpus that contain each n-gram.
        common: lines with common phrases are counted here.

    Returns:
        For each document what is left of it, None for nothing, and the lines that are the reason.
    """
    hits = held_out.find(documents)
    lines = list(chain.from_iterable(document.lines for document in documents))
    is_common = counts[hits.ngrams] > settings.max_documents
    common.update(lines[number] for number in np.unique(hits.lines[is_common]))
    keep = np.ones(len(lines), dtype=bool)
    keep[hits.lines[~is_common]] = False
    results: list[tuple[Document | None, list[str]]] = []
    start = 0
    for document in documents:
        mine = keep[start : start + len(document.lines)].tolist()
        start += len(document.lines)
        removed = [line for line, kept in zip(document.lines, mine, strict=True) if not kept]
        limit = 0 if settings.remove == "documents" else settings.max_lines
        whole = bool(removed) and (len(removed) > limit or not any(mine))
        results.append((None if whole else document.select(mine), removed))
    return results


def contamination_report(
    held_out: HeldOutNGrams, counts: np.ndarray, settings: ContaminationSettings, common: Counter[str]
) -> ContaminationReport:
    """How much of each test set was found, and examples of common phrases, the most frequent first.

    Args:
        counts: (G,) number of documents that contain each n-gram.
        common: number of lines with common phrases, by line.
    """
    is_copied = (counts > 0) & (counts <= settings.max_documents)
    sets: dict[str, SetCopies] = {}
    for name, (hashes, per_line) in held_out.sets.items():
        lines = np.repeat(np.arange(len(per_line)), per_line)  # (N,) the line of each n-gram
        copied = lines[is_copied[np.searchsorted(held_out.hashes, hashes)]]
        sets[name] = {
            "lines": len(per_line),
            "lines_copied": len(np.unique(copied)),
            "ngrams": len(np.unique(hashes)),
        }
    phrases = [line[:120] for line, _ in sorted(common.items(), key=lambda item: (-item[1], item[0]))[:3]]
    return {
        "ngram_words": settings.ngram_words,
        "ngrams_in_the_text": int((counts > 0).sum()),
        "ngrams_too_common": int((counts > settings.max_documents).sum()),
        "too_common_in": phrases,
        "sets": sets,
    }


def ngram_hashes(lines: Iterable[str], size: int, split: Split) -> tuple[np.ndarray, np.ndarray]:
    """(N,) uint64 hashes of the n-grams of all lines, and (L,) int64 the number of n-grams in each line."""
    ngrams = [word_ngrams(split(line), size) for line in lines]
    return hashes_of(chain.from_iterable(ngrams)), np.array(list(map(len, ngrams)), dtype=np.int64)


def normalize(line: str) -> str:
    """Lower case, without punctuation: the form in which words are compared."""
    return " ".join(_PUNCTUATION.sub("", divided(line.lower())).split())


# ---- shards


def count_ngrams(shards: Sequence[Shard], held_out: HeldOutNGrams, folder: Path, engine: Engine) -> np.ndarray:
    """(G,) int64: the number of documents of all shards that contain each n-gram of the test sets.

    The hashes of the n-grams and the counts are saved in the folder.
    """
    folder.mkdir()
    save(folder / "hashes", held_out.hashes)
    counts = np.zeros(len(held_out.hashes), dtype=np.int64)
    count = partial(count_ngrams_of, size=held_out.size, words=held_out.words, folder=folder)
    for shard, _ in zip(shards, engine.map(count, shards, "counting n-grams"), strict=True):
        ngrams, documents = mapped(shard.path("ngrams"))
        counts[ngrams] += documents
    save(folder / "counts", counts)
    return counts


def count_ngrams_of(shard: Shard, size: int, words: WordChoice, folder: Path) -> None:
    """Save (2, M): the n-grams of the test sets that a shard contains, and in how many of its documents."""
    held_out = HeldOutNGrams(size, words, mapped(folder / "hashes"))
    counts = np.zeros(len(held_out.hashes), dtype=np.int64)
    for batch in document_batches(read_documents(shard.file)):
        counts += held_out.count_documents(batch)
    numbers = np.flatnonzero(counts)
    save(shard.path("ngrams"), np.stack([numbers, counts[numbers]]))


def drop_contaminated(shard: Shard, book: Book, config: ContaminationConfig, folder: Path) -> Iterator[Document]:
    """Drop text that occurs in the test sets; saves how often lines contain common phrases."""
    held_out = HeldOutNGrams(config.ngram_words, config.words, mapped(folder / "hashes"))
    counts, common = mapped(folder / "counts"), Counter[str]()
    for batch in document_batches(read_documents(shard.file)):
        for document, removed in remove_contaminated(batch, held_out, counts, config, common):
            for line in removed:
                book.drop("contaminated_line", line)
            if document is None:
                book.drop("contaminated_document", removed[0])
            else:
                yield document
    write_json(shard.path("common"), common)
