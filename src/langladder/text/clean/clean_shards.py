"""One shard of text, cleaned: what a worker does before it is decided over the whole corpus what is kept.

`clean_rows` is what cleaning means. Around it, `clean_shard` writes the cleaned lines into a scratch folder, with the
hashes, places and sizes of the documents. The whole corpus decides by these which documents go as duplicates and which
split each one belongs to.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, repeat
from operator import itemgetter
from pathlib import Path

import numpy as np

from langladder.text.clean.drops import Book, LimitsConfig, outside
from langladder.text.clean.duplicates import KINDS, DuplicatesConfig, Notes
from langladder.text.clean.spilled import mapped, save
from langladder.text.clean.splitting import as_place, salted
from langladder.text.clean.steps import StepsConfig, build_steps
from langladder.text.storage.text_parts import Row, read_rows, write_rows
from langladder.text.words.words import split_words


@dataclass(frozen=True)
class Rules:
    """How every shard of a corpus is cleaned."""

    steps: StepsConfig
    limits: LimitsConfig
    duplicates: DuplicatesConfig
    seed: int


@dataclass(frozen=True)
class Shard:
    """A raw shard.

    Attributes:
        raw: its file.
        table: the name of the table it belongs to.
        scratch: path of the files that are written, to which endings are added.
    """

    raw: Path
    table: str
    scratch: Path
    rules: Rules

    def file(self, ending: str) -> Path:
        """A file that is written."""
        return self.scratch.with_suffix(f".{ending}")


def clean_rows(rows: Iterable[Row], rules: Rules, book: Book, gone: Iterator[int] | None = None) -> Iterator[Row]:
    """Run the steps on each line, and drop what is outside the limits or a duplicate.

    Args:
        book: notes what is changed and dropped.
        gone: of each line within the limits, a position in KINDS; 0: it stays.

    Yields:
        The lines that stay. A line that was changed has no known log-probability any more.
    """
    steps, kinds = build_steps(rules.steps), repeat(0) if gone is None else gone
    for document, text, log_prob in rows:
        book.read += 1
        line = book.apply(steps, text)
        reason = outside(line, rules.limits)
        if reason is None and (kind := next(kinds)):
            reason = f"{KINDS[kind]}_line"
        if reason is None:
            yield document, line, log_prob if line == text else None
        else:
            book.drop(reason, text)


def note_lines(shard: Shard) -> None:
    """Save what tells duplicates among the cleaned lines of the corpus."""
    notes = Notes(shard.rules.duplicates, "lines")
    for _, line, _ in clean_rows(read_rows(shard.raw), shard.rules, Book()):
        notes.note(line)
    notes.save(shard.file)


def clean_shard(shard_and_start: tuple[Shard, int], gone: Path | None = None) -> Book:
    """Clean a shard into its file `rows`, and note its documents.

    Args:
        shard_and_start: a shard, and the number of its first cleaned line in the corpus, which counts only with `gone`.
        gone: file of the positions in KINDS of all cleaned lines of the corpus.
    """
    shard, start = shard_and_start
    book, documents = Book(), DocumentNotes(shard.rules)
    kinds = None if gone is None else map(int, mapped(gone)[start:])
    cleaned = clean_rows(read_rows(shard.raw), shard.rules, book, kinds)
    write_rows(shard.file("rows"), documents.numbered(cleaned))
    documents.save(shard)
    return book


class DocumentNotes:
    """Numbers of each document of a shard: its place, words and bytes; hashes where duplicates are looked for."""

    def __init__(self, rules: Rules) -> None:
        self.seed = rules.seed
        self.duplicates = Notes(rules.duplicates, "documents")
        self.places: list[float] = []
        self.words: list[int] = []
        self.bytes: list[int] = []

    def numbered(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The same rows with their documents numbered from 0; each document is noted after its last row."""
        for number, (_, lines) in enumerate(groupby(rows, key=itemgetter(0))):
            place, key = salted(self.seed), hashlib.blake2b(digest_size=16)
            words = size = 0
            whole: list[str] = []
            for _, line, log_prob in lines:
                encoded = line.encode()
                for digest in (place, key):
                    digest.update(encoded)
                    digest.update(b"\n")
                words += len(split_words(line, "auto"))
                size += len(encoded)
                if self.duplicates.near:
                    whole.append(line)
                yield number, line, log_prob
            self.places.append(as_place(place.digest()))
            self.words.append(words)
            self.bytes.append(size)
            self.duplicates.hashes.append(key.digest())
            self.duplicates.add("\n".join(whole))

    def save(self, shard: Shard) -> None:
        """Write the files of the shard."""
        save(shard.file("places"), np.array(self.places, dtype=np.float64))
        save(shard.file("words"), np.array(self.words, dtype=np.int64))
        save(shard.file("bytes"), np.array(self.bytes, dtype=np.int64))
        self.duplicates.save(shard.file)
