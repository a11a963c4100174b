"""One shard of text, cleaned and written: what a worker does, before and after what is decided over the whole corpus.

`clean_rows` is what cleaning means. Around it, `clean_shard` writes the cleaned lines into a scratch folder, with the
hashes, places and sizes of the documents. The whole corpus decides by these which documents go as duplicates and which
split each one belongs to; `write_shard` then writes one shard of a split.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, repeat
from operator import itemgetter
from pathlib import Path

import numpy as np
import pyarrow as pa

from langladder.atomic import atomic_file
from langladder.sorted_runs import mapped, save
from langladder.text.clean.drops import Book, LimitsConfig, outside
from langladder.text.clean.duplicates import KINDS, DuplicatesConfig, Notes
from langladder.text.clean.splitting import as_place, salted
from langladder.text.clean.steps import StepsConfig, build_steps
from langladder.text.storage.arrow_arrays import numbers, texts, truths, values
from langladder.text.storage.shards import ShardWriter, read_shard
from langladder.text.storage.tables import TEXT
from langladder.text.words.words import split_words

LINES = 4096  # that are in memory at a time
Row = tuple[int, str, float | None]
"""Document, text, log-probability: a row of `TEXT`."""


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


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a shard of text."""
    for batch in read_shard(path, TEXT, LINES):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def write_rows(path: Path, rows: Iterator[Row]) -> None:
    """Write rows as a shard of text."""
    with atomic_file(path) as temporary, pa.ipc.new_stream(str(temporary), TEXT) as stream:
        while some := list(islice(rows, LINES)):
            documents, lines, log_probs = zip(*some, strict=True)
            known = np.array([log_prob is not None for log_prob in log_probs])
            found = np.array([0.0 if log_prob is None else log_prob for log_prob in log_probs])
            columns = [numbers(np.array(documents, dtype=np.int64)), texts(lines), numbers(found, known)]
            stream.write_batch(pa.record_batch(columns, schema=TEXT))


@dataclass(frozen=True)
class Output:
    """A shard of a split, to be written from cleaned shards.

    Attributes:
        folder: of a table with this shard alone.
        split: position in SPLITS.
        documents: the first in the corpus, and the one after the last.
        number: of its first document in the split.
        sources: files of cleaned rows, and the number in the corpus of the first document of each.
        limits: as in `ShardWriter`.
    """

    folder: Path
    split: int
    documents: tuple[int, int]
    number: int
    sources: Sequence[tuple[Path, int]]
    limits: tuple[int, int]


def write_shard(output: Output, splits: Path) -> bytes:
    """Write one shard of a split.

    Args:
        splits: file of the split of each document of the corpus.

    Returns:
        The digest of the file.
    """
    first, stop = output.documents
    of = mapped(splits)
    renumbered = output.number - 1 + np.cumsum(of[first:stop] == output.split)
    with ShardWriter(output.folder, TEXT, output.folder.name, output.limits) as writer:
        for path, start in output.sources:
            for batch in read_shard(path, TEXT):
                documents = values(batch.column("document")) + start
                stay = (of[documents] == output.split) & (documents >= first) & (documents < stop)
                kept = batch.filter(truths(stay))
                writer.add(kept.set_column(0, "document", numbers(renumbered[documents[stay] - first])))
    return writer.digests[0]
