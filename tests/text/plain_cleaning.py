"""Cleaning as plainly as it can be said: line by line, in one process, everything in memory. What shards must equal."""

import hashlib
from itertools import groupby
from typing import Any

import numpy as np
from datasketch import MinHash, MinHashLSH

from langladder.text.clean.clean_text import CleanConfig
from langladder.text.clean.cleaning import cut_report
from langladder.text.clean.duplicates import DuplicatesConfig, Scope, shingles
from langladder.text.clean.splitting import cut, hash_fraction
from langladder.text.clean.statistics import TextStatistics, character_warnings
from langladder.text.clean.steps import Book, build_steps, outside, run_steps
from langladder.text.storage.shards import SPLITS
from langladder.text.words.segmentation import Conventions, Split

Row = tuple[int, str, float | None]
Document = list[tuple[str, float | None]]


class Seen:
    """Duplicates among texts that come one by one, with the index of `datasketch` in memory."""

    def __init__(self, config: DuplicatesConfig) -> None:
        self.config = config
        self._hashes: set[bytes] = set()
        self._near: Any = None
        self._shingles: list[set[str]] = []  # of each text that stayed
        if config.near != "keep":
            self._near = MinHashLSH(num_perm=config.permutations, params=config.bands)

    def is_duplicate(self, text: str, scope: Scope) -> str | None:
        """`duplicate_…`, `near_duplicate_…` or None; remembers the text in the last case."""
        name = scope.removesuffix("s")
        if self.config.exact == scope:
            digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
            if digest in self._hashes:
                return f"duplicate_{name}"
            self._hashes.add(digest)
        return f"near_duplicate_{name}" if self.config.near == scope and self._is_near(text) else None

    def _is_near(self, text: str) -> bool:
        mine = shingles(text, self.config)
        signature = MinHash(num_perm=self.config.permutations)
        signature.update_batch([shingle.encode() for shingle in sorted(mine)])
        for other in self._near.query(signature):
            common = len(mine & self._shingles[other])
            if common / (len(mine) + len(self._shingles[other]) - common) >= self.config.near_threshold:
                return True
        self._near.insert(len(self._shingles), signature, check_duplication=False)
        self._shingles.append(mine)
        return False


def plain(raw: dict[str, list[Row]], config: CleanConfig, seed: int) -> tuple[dict[str, list[Row]], dict[str, Any]]:
    """The rows of each split, and the data report."""
    book, seen = Book(), Seen(config.duplicates)
    first = next(name for name in (*SPLITS, "all") if name in raw)
    steps = build_steps(config.steps)
    split_words = Conventions.of(config.words, (run_steps(steps, text) for _, text, _ in raw[first])).split
    order = [name for name in ("test", "validation", "train", "all") if name in raw]
    result: dict[str, list[Document]] = {name: documents(raw[name], config, book, seen, split_words) for name in order}
    own = [name for name in (*SPLITS, "all") if name in raw and name not in ("train", "all")]
    splits, cuts = dict[str, list[Document]](), []
    for name in (item for item in (*SPLITS, "all") if item in raw):
        wanted = [name] if name in own else [split for split in SPLITS if split not in own]
        if len(wanted) == 1:
            splits[wanted[0]] = result[name]
            continue
        fractions = np.array([hash_fraction([line for line, _ in item], seed) for item in result[name]])
        words = np.array([sum(len(split_words(line)) for line, _ in item) for item in result[name]])
        cuts.append(cut(fractions, words, config.split, own))
        for split in wanted:
            pairs = zip(result[name], cuts[-1].splits, strict=True)
            splits[split] = [item for item, of in pairs if SPLITS[of] == split]
    found_counts = {split: counts(splits[split], split_words) for split in SPLITS}
    report = {
        "splits": found_counts,
        "cut_by_hash": [split for split in SPLITS if split not in raw],
        **cut_report(cuts, [*book.warnings(), *character_warnings(found_counts.values(), "the text")]),
        "cleaning": {**book.report(), **({} if config.iid else config.duplicates.report())},
        "leakage": {
            split: leakage(splits["train"], splits[split], config.leakage_words, split_words) for split in SPLITS[1:]
        },
    }
    rows = {s: [(n, line, p) for n, item in enumerate(rows_) for line, p in item] for s, rows_ in splits.items()}
    return rows, report


def documents(rows: list[Row], config: CleanConfig, book: Book, seen: Seen, split_words: Split) -> list[Document]:
    """Cleaned documents, without those that are left empty or that were seen before."""
    steps, result = build_steps(config.steps), []
    for _, group in groupby(rows, key=lambda row: row[0]):
        document: Document = []
        whole = True
        for _, text, log_prob in group:
            book.read += 1
            line = book.apply(steps, text)
            reason = outside(line, config.limits, split_words)
            if reason is None and not config.iid:
                reason = seen.is_duplicate(line, "lines")
            whole = whole and reason is None and line == text
            if reason is not None:
                book.drop(reason, text)
                continue
            document.append((line, log_prob if whole else None))
        if not document:
            continue
        lines = [line for line, _ in document]
        reason = None if config.iid else seen.is_duplicate("\n".join(lines), "documents")
        if reason is not None:
            book.drop(reason, lines[0])
            continue
        result.append(document)
    return result


def counts(result: list[Document], split_words: Split) -> dict[str, Any]:
    """Statistics of a split."""
    statistics = TextStatistics()
    for line in (line for item in result for line, _ in item):
        statistics.add(line, split_words(line))
    return {"documents": len(result), **statistics.report()}


def leakage(train: list[Document], held_out: list[Document], size: int, split_words: Split) -> dict[str, Any]:
    """n-grams and lines of a split, and the share that the training text has."""

    def grams(line: str) -> list[tuple[str, ...]]:
        words = split_words(line)
        span = min(len(words), size)
        return [tuple(words[at : at + span]) for at in range(len(words) - span + 1)] if words else []

    lines = {line for item in train for line, _ in item}
    have = {gram for line in lines for gram in grams(line)}
    mine = [line for item in held_out for line, _ in item]
    result = [gram in have for line in mine for gram in grams(line)]
    return {
        "ngram_words": size,
        "ngrams": len(result),
        "ngrams_in_train": round(sum(result) / len(result), 6) if result else 0.0,
        "lines": len(mine),
        "lines_in_train": round(sum(line in lines for line in mine) / len(mine), 6),
    }
