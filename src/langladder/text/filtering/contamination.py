"""Contamination: training text that stands in a test set is taken out (Brown et al. 2020, appendices A and C).

Training lines are searched for the n-grams of the sets, n = 13 words as in the paper, where a word is lower case and
has no punctuation. A line that holds one goes; a document that loses more than `max_lines` goes whole. An n-gram that
more than `max_documents` documents hold is a common phrase and no copy: it is left alone.

What differs: n-grams do not run over the ends of lines, and a line goes where the paper cuts 200 characters around the
n-gram. A line of a set with fewer than n words is looked for whole, as a line of the training text.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import regex  # type: ignore[import-untyped]
from pydantic import Field

from langladder.artefacts import read_json, write_json
from langladder.schema import Config
from langladder.text.clean.leakage import NGrams
from langladder.text.clean.spilled import mapped, save
from langladder.text.read.documents import Document
from langladder.text.words.words import split_words

_MARKS = regex.compile(r"[\p{P}\p{S}]+")


class ContaminationSettings(Config):
    """What counts as a copy of the sets, and what of the training text goes for it."""

    ngram_words: int = Field(default=13, ge=1, le=100)
    min_words: int = Field(default=4, ge=1)  # lines of the sets with fewer are not looked for
    max_documents: int = Field(default=10, ge=1)  # an n-gram in more of them is a common phrase: left alone
    remove: Literal["lines", "documents"] = "lines"  # documents: whole at the first n-gram
    max_lines: int = Field(default=10, ge=1)  # a document that would lose more goes whole


@dataclass(frozen=True)
class _Set:
    """An evaluation set: where each n-gram of it stands among all wanted ones, and n-grams in each line."""

    hashes: np.ndarray  # (G,) uint64
    grams: np.ndarray  # (L,) int64


class Contamination:
    """Learns sets, then counts in how many documents each n-gram stands, then takes lines out."""

    def __init__(self, settings: ContaminationSettings) -> None:
        self.settings = settings
        self._ngrams = NGrams(settings.ngram_words)
        self._sets: dict[str, _Set] = {}
        self._wanted = np.zeros(0, dtype=np.uint64)
        self._documents = np.zeros(0, dtype=np.int64)
        self._common: Counter[str] = Counter()

    def save(self, folder: Path) -> None:
        """Write what `opened` needs: the words and n-grams of the sets, in how many documents each n-gram stands."""
        folder.mkdir(exist_ok=True)
        write_json(folder / "words.json", self._ngrams.words)
        save(folder / "wanted", self._wanted)
        save(folder / "documents", self._documents)

    @classmethod
    def opened(cls, settings: ContaminationSettings, folder: Path) -> Self:
        """What another one learnt and counted, mapped: to `clean`."""
        new = cls(settings)
        new._ngrams = NGrams(settings.ngram_words, read_json(folder / "words.json"))
        new._wanted, new._documents = mapped(folder / "wanted"), mapped(folder / "documents")
        return new

    def forget(self) -> Self:
        """The same without what was counted: to `count`."""
        self._documents = np.zeros(len(self._wanted), dtype=np.int64)
        return self

    @property
    def counted(self) -> np.ndarray:
        """(2, F) int64: the n-grams that were found, and in how many documents."""
        found = np.flatnonzero(self._documents)
        return np.stack([found, self._documents[found]])

    @property
    def common(self) -> Counter[str]:
        """Lines of `clean` with n-grams that were left alone."""
        return self._common

    def add(self, counted: np.ndarray) -> None:
        """Count what another one `counted` in other documents."""
        self._documents[counted[0]] += counted[1]

    def learn(self, name: str, lines: Iterable[str]) -> None:
        """Look for the n-grams of an evaluation set."""
        kept = [line for line in map(normal, lines) if len(split_words(line, "auto")) >= self.settings.min_words]
        hashes, grams = self._ngrams.hashes(kept, learn=True)
        self._sets[name] = _Set(hashes, grams)
        self._wanted = np.unique(np.concatenate([self._wanted, hashes]))
        self._documents = np.zeros(len(self._wanted), dtype=np.int64)

    def count(self, documents: Sequence[Document]) -> None:
        """Note in how many documents each n-gram of the sets stands; every document comes once."""
        found, _, owners = self._found(documents)
        pairs = np.unique(np.stack([owners, found]), axis=1)  # each n-gram once a document
        np.add.at(self._documents, pairs[1], 1)

    def clean(self, documents: Sequence[Document]) -> list[tuple[Document | None, list[str]]]:
        """Each document without what stands in the sets, and the lines that went; None where the whole one goes."""
        found, lines, _ = self._found(documents)
        common = self._documents[found] > self.settings.max_documents
        bad = np.zeros(sum(len(document.lines) for document in documents), dtype=bool)
        bad[lines[~common]] = True
        flat = [line for document in documents for line in document.lines]
        for number in np.unique(lines[common]):
            self._common[flat[number]] += 1
        cleaned: list[tuple[Document | None, list[str]]] = []
        start = 0
        for document in documents:
            cleaned.append(self._without(document, bad[start : start + len(document.lines)]))
            start += len(document.lines)
        return cleaned

    def _without(self, document: Document, bad: np.ndarray) -> tuple[Document | None, list[str]]:
        gone = [line for line, hit in zip(document.lines, bad, strict=True) if hit]
        if not gone:
            return document, []
        most = 0 if self.settings.remove == "documents" else self.settings.max_lines
        if len(gone) > most or len(gone) == len(document.lines):
            return None, gone
        pairs = zip(document.lines, document.log_probs, bad, strict=True)
        kept = [(line, log_prob) for line, log_prob, hit in pairs if not hit]
        return Document([line for line, _ in kept], [log_prob for _, log_prob in kept]), gone

    def _found(self, documents: Sequence[Document]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Every n-gram of the sets in the documents: which of the wanted, in which line, of which document; (H,)."""
        flat = [normal(line) for document in documents for line in document.lines]
        hashes, grams = self._ngrams.hashes(flat, learn=False)
        if not len(self._wanted):
            return tuple(np.zeros(0, dtype=np.int64) for _ in range(3))  # type: ignore[return-value]
        at = np.minimum(np.searchsorted(self._wanted, hashes), len(self._wanted) - 1)
        hits = np.flatnonzero(self._wanted[at] == hashes)
        lines = np.repeat(np.arange(len(flat)), grams)[hits]
        owners = np.repeat(np.arange(len(documents)), [len(document.lines) for document in documents])
        return at[hits], lines, owners[lines]

    def report(self) -> dict[str, Any]:
        """What was found of each set; phrases that were left alone, the most frequent first."""
        some, common = self._documents > 0, self._documents > self.settings.max_documents
        sets = {}
        for name, one in self._sets.items():
            at = np.searchsorted(self._wanted, one.hashes)
            lines = np.repeat(np.arange(len(one.grams)), one.grams)
            copied = len(np.unique(lines[(some & ~common)[at]]))
            sets[name] = {"lines": len(one.grams), "lines_copied": copied, "ngrams": len(np.unique(one.hashes))}
        phrases = [line[:120] for line, _ in sorted(self._common.items(), key=lambda item: (-item[1], item[0]))[:3]]
        figures = {"ngram_words": self.settings.ngram_words, "ngrams_in_the_text": int(some.sum())}
        return figures | {"ngrams_too_common": int(common.sum()), "too_common_in": phrases, "sets": sets}


def normal(line: str) -> str:
    """Lower case, without punctuation, as words are compared."""
    return " ".join(_MARKS.sub("", line.lower()).split())
