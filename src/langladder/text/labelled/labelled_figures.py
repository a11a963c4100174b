"""Figures of clean labelled text: how many rows, words and labels each split has, what is new to train.

Each part counts its own rows, on an engine. Words are compared by hashes of 64 bits, which lie on disk: of ten million
different words, two have the same one with a probability of 3 in a million.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from langladder.engine.base import current
from langladder.text.clean.leakage import share
from langladder.text.clean.row_corpus import RowCorpus
from langladder.text.clean.row_parts import RowPart, cleaned_batches
from langladder.text.clean.spilled import among, ascending, count_distinct, distinct, mapped, repeats, save
from langladder.text.clean.statistics import character_warnings, invisible, percentiles
from langladder.text.labelled.labelled_rows import LabelledRows, Row
from langladder.text.storage.tables import SPLITS

TOLD = 3  # texts that a report names


@dataclass
class Figures:
    """Counts of some rows. ceiling: the sum of those that are known; known, ceilings: how many these are, and all."""

    rows: int = 0
    lengths: Counter[int] = field(default_factory=Counter)  # words in a row → rows
    labels: Counter[str] = field(default_factory=Counter)
    ceiling: float = 0.0
    known: int = 0
    ceilings: int = 0
    characters: Counter[str] = field(default_factory=Counter)

    def count(self, words: int, labels: Sequence[str], ceilings: Sequence[float | None]) -> None:
        """Count a row of so many words."""
        self.rows += 1
        self.lengths[words] += 1
        for label in labels:
            self.labels[label] += 1
        for value in ceilings:
            self.ceilings += 1
            if value is not None:
                self.ceiling += value
                self.known += 1

    def add(self, other: "Figures") -> None:
        """Counts of other rows."""
        self.rows += other.rows
        self.lengths.update(other.lengths)
        self.labels.update(other.labels)
        self.ceiling += other.ceiling
        self.known += other.known
        self.ceilings += other.ceilings
        self.characters.update(other.characters)


def counted(corpus: RowCorpus[Row]) -> dict[str, Figures]:
    """Count the rows of each split, part by part."""
    for number, part in enumerate(corpus.parts):
        save(part.file("where"), corpus.of(number))
    found = {split: Figures() for split in SPLITS}
    for counts in current().map(count_part, corpus.parts, "counting words"):
        for split, figures in counts.items():
            found[split].add(figures)
    return found


def count_part(part: RowPart[Row]) -> dict[str, Figures]:
    """Count a part's rows; leaves the hashes of each split's words, ascending, and how often each stands there."""
    assert isinstance(part.cleaning, LabelledRows)
    where = mapped(part.file("where"))
    found = {split: Figures() for split in SPLITS}
    words: dict[str, Counter[str]] = {split: Counter() for split in SPLITS}
    done = 0
    for batch in cleaned_batches(part):
        for at, row in zip(where[done : done + batch.num_rows], part.cleaning.rows(batch), strict=True):
            if at >= 0:
                mine = part.cleaning.words_of(row)
                words[SPLITS[at]].update(mine)
                found[SPLITS[at]].count(len(mine), part.cleaning.labels(row), part.cleaning.ceilings(row))
        done += batch.num_rows
    for split, counts in words.items():
        for word, count in counts.items():
            for character in word:
                found[split].characters[character] += count
        hashes = np.frombuffer(b"".join(map(_hash, counts)), np.uint64)
        order = np.argsort(hashes)
        save(part.file(f"{split}-words"), hashes[order])
        save(part.file(f"{split}-counts"), np.array(list(counts.values()), dtype=np.int64)[order])
    return found


def _hash(word: str) -> bytes:
    return hashlib.blake2b(word.encode(), digest_size=8).digest()


def split_reports(corpus: RowCorpus[Row], found: dict[str, Figures], scratch: Path) -> dict[str, Any]:
    """Of each split: how many, how long, what is new to train, and how good the best possible classifier is."""
    known, room = scratch / "train-words", current().share
    distinct(corpus.files("train-words"), known, room)
    report = {}
    for split, figures in found.items():
        words = sum(length * rows for length, rows in figures.lengths.items())
        report[split] = {
            corpus.cleaning.unit: figures.rows,
            "words": words,
            "word_types": count_distinct(corpus.files(f"{split}-words"), room),
            "words_new_to_train": share(_new(corpus, split, mapped(known)), words),
            "best_possible_accuracy": round(figures.ceiling / figures.known, 6)
            if figures.known == figures.ceilings
            else None,
            "words_in_the_median": percentiles(figures.lengths)["50"],
            "words_at_most": max(figures.lengths),
        }
    return report


def _new(corpus: RowCorpus[Row], split: str, known: np.ndarray) -> int:
    """How many words of a split are not among the known ones, each as often as it stands there."""
    new = 0
    for words, counts in zip(corpus.files(f"{split}-words"), corpus.files(f"{split}-counts"), strict=True):
        new += int(mapped(counts)[~among(mapped(words), known)].sum())
    return new


def warnings(found: dict[str, Figures]) -> dict[str, Any]:
    """What to say of the characters of all splits, for the data report; {} where there is nothing."""
    characters = Counter[str]()
    for figures in found.values():
        characters.update(figures.characters)
    report = {"invisible_characters": invisible(characters), "replacement_characters": characters["\ufffd"]}
    said = character_warnings([report], "the text")
    return {"warnings": said} if said else {}


def several_labels(corpus: RowCorpus[Row]) -> dict[str, Any]:
    """Texts that stand in the corpus with several labels: how many, and the first of them."""
    cleaning = corpus.cleaning
    assert isinstance(cleaning, LabelledRows)
    stay, room = corpus.where >= 0, current().share
    different = stay & ~repeats(corpus.files("key"), room, stay)  # texts with their labels, each once
    again = repeats(corpus.files("text"), room, different)  # so these have other labels than before
    hashes = [mapped(file)[corpus.of(number, again)] for number, file in enumerate(corpus.files("text"))]
    texts = ascending(np.concatenate(hashes))
    return {"texts": len(texts), "examples": list(islice(_with(corpus, cleaning, texts), TOLD))}


def _with(corpus: RowCorpus[Row], cleaning: LabelledRows, hashes: np.ndarray) -> Iterator[str]:
    """The texts with these hashes, each once, split by split."""
    told = set[str]()
    for split in range(len(SPLITS)):
        for number, file in enumerate(corpus.files("text") if len(hashes) else ()):
            at = np.flatnonzero((corpus.of(number) == split) & among(mapped(file), hashes))
            for row in corpus.at(number, at.tolist()) if len(at) else ():
                if (text := cleaning.text(row)) not in told:
                    told.add(text)
                    yield text
