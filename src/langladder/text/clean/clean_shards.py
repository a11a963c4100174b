"""One shard of raw text, cleaned: what a worker does, before and after what only the whole corpus can tell.

Lines are steps' and limits' own affair, so a shard is cleaned by itself. It leaves, in a scratch folder and named by
its number, the cleaned lines, and for what is decided over all shards: a hash of each line or document (exact
duplicates), hashes of its bands (near ones), each document's place and number of words (splits).
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from langladder.atomic import atomic_file
from langladder.text.clean.corpus_duplicates import KINDS, Notes
from langladder.text.clean.drops import Book, LimitsConfig
from langladder.text.clean.duplicates import DuplicatesConfig
from langladder.text.clean.line_words import AT_ONCE, Bytes, replaced, words_of
from langladder.text.clean.spilled import mapped, save
from langladder.text.clean.splitting import as_place, salted
from langladder.text.clean.steps import Step, StepsConfig, build_steps
from langladder.text.clean.untouched import touched
from langladder.text.storage.arrow_arrays import numbers, truths, values
from langladder.text.storage.arrow_arrays import texts as strings
from langladder.text.storage.shards import read_shard
from langladder.text.storage.tables import TEXT

_END = list(strings(["", "\n"]))  # a line and nothing, joined by a line's end
_UNKNOWN = pa.nulls(1, pa.float64())[0]
CLEANED = TEXT.append(pa.field("row", pa.int64()))  # row: of the raw shard


@dataclass(frozen=True)
class Rules:
    """What every shard of a corpus is cleaned by."""

    steps: StepsConfig
    limits: LimitsConfig
    duplicates: DuplicatesConfig  # those that are looked for
    seed: int


@dataclass(frozen=True)
class Shard:
    """A raw shard.

    Attributes:
        raw: its file; `name`: the table's that it belongs to.
        scratch: path of what it leaves, to which endings are added.
        placed: whether its documents are sent to splits by their places.
    """

    raw: Path
    name: str
    scratch: Path
    rules: Rules
    placed: bool

    def file(self, ending: str) -> Path:
        """One of the files that it leaves."""
        return self.scratch.with_suffix(f".{ending}")


def clean_shard(shard: Shard) -> Book:
    """Run the steps, drop what is outside the limits."""
    book, steps, rules = Book(), build_steps(shard.rules.steps), shard.rules
    by_lines = "lines" in (rules.duplicates.exact, rules.duplicates.near)

    def batches() -> Iterator[pa.RecordBatch]:
        done = 0
        for batch in read_shard(shard.raw, TEXT, AT_ONCE):
            yield _cleaned(batch, done, steps, rules, book)
            done += batch.num_rows

    if by_lines:
        _write_lines(shard, batches())
    else:
        write_documents(shard, batches())
    return book


def drop_lines(shard_and_start: tuple[Shard, int], reasons: Path) -> Book:
    """Drop lines that are duplicates of others in the corpus.

    Args:
        shard_and_start: a shard, and how many lines those before it have.
        reasons: of every line of the corpus, 0 where it stays.
    """
    shard, start = shard_and_start
    book, why, rows = Book(), mapped(reasons), list[tuple[int, int]]()
    lines = _read(shard.file("lines"))

    def batches() -> Iterator[pa.RecordBatch]:
        at = start
        for batch in lines:
            mine = np.asarray(why[at : at + batch.num_rows])
            at += batch.num_rows
            rows.extend(zip(mine[mine > 0].tolist(), values(batch.column("row"))[mine > 0].tolist(), strict=True))
            yield batch.filter(truths(mine == 0))

    write_documents(shard, batches())
    if rows:
        raw = pa.chunked_array([batch.column("text") for batch in read_shard(shard.raw, TEXT)])
        for reason, row in rows:
            book.drop(f"{KINDS[reason]}_line", raw[row].as_py())
    return book


def _cleaned(
    batch: pa.RecordBatch, before: int, steps: list[tuple[str, Step]], rules: Rules, book: Book
) -> pa.RecordBatch:
    """The lines of a batch that stay."""
    raw = batch.column("text")
    book.read += len(raw)
    lines = np.flatnonzero(touched(Bytes.of(raw), rules.steps))
    found = {}
    for line, text in zip(lines.tolist(), raw.take(numbers(lines)).to_pylist(), strict=True):
        if (after := book.apply(steps, text)) != text:
            found[line] = after
    texts = replaced(raw, list(found), list(found.values()))
    known = batch.column("log_prob")
    if found and known.null_count < len(known):
        same = np.ones(len(raw), dtype=bool)
        same[list(found)] = False
        known = pc.if_else(truths(same), known, _UNKNOWN)
    reasons = _outside(texts, rules.limits)
    for line in np.flatnonzero(reasons).tolist():
        book.drop(REASONS[reasons[line]], raw[line].as_py())
    rows = numbers(np.arange(before, before + len(raw)))
    cleaned = pa.record_batch([batch.column("document"), texts, known, rows], schema=CLEANED)
    return cleaned.filter(truths(reasons == 0)) if reasons.any() else cleaned


REASONS = ("", "empty", "too_short", "too_long")


def _outside(texts: pa.Array, limits: LimitsConfig) -> np.ndarray:
    """(L,) int8, positions in REASONS: as `drops.outside` says of each line."""
    size = values(pc.utf8_length(texts))
    reasons = np.zeros(len(size), dtype=np.int8)
    if limits.min_words > 1 or limits.max_words is not None:
        words = words_of(texts).lengths
        reasons[words > (np.inf if limits.max_words is None else limits.max_words)] = 3
        reasons[words < limits.min_words] = 2
    if limits.max_characters is not None:
        reasons[size > limits.max_characters] = 3
    reasons[size < limits.min_characters] = 2
    reasons[size == 0] = 1
    return reasons


def _write_lines(shard: Shard, batches: Iterator[pa.RecordBatch]) -> None:
    notes = Notes(shard.rules.duplicates, "lines")
    with atomic_file(shard.file("lines")) as path, pa.ipc.new_stream(str(path), CLEANED) as stream:
        for batch in batches:
            stream.write_batch(batch)
            for text in batch.column("text").to_pylist():
                notes.note(text)
    notes.save(shard.file)


def write_documents(shard: Shard, batches: Iterator[pa.RecordBatch]) -> None:
    """Write the cleaned lines, their documents numbered from 0, and what is noted of each document."""
    noted, words = _Documents(shard), [np.zeros(0, dtype=np.int64)]
    last, number = None, -1
    with atomic_file(shard.file("arrow")) as path, pa.ipc.new_stream(str(path), TEXT) as stream:
        for batch in batches:
            if not batch.num_rows:
                continue
            documents, texts = values(batch.column("document")), batch.column("text")
            opens = documents != np.append(documents[0] if last is None else last, documents[:-1])
            opens[0] |= last is None
            noted.add(texts, opens)
            of = number + np.cumsum(opens)  # (L,) each line's document
            last, number = documents[-1], int(of[-1])
            if shard.placed:
                words.append(np.bincount(of, words_of(texts).lengths, number + 1).astype(np.int64))
            columns = [numbers(of), texts, batch.column("log_prob")]
            stream.write_batch(pa.record_batch(columns, schema=TEXT))
    noted.save()
    if shard.placed:
        save(shard.file("words"), _added(words, number + 1))
    save(shard.file("count"), np.array([number + 1]))


class _Documents:
    """What is noted of documents whose lines come batch by batch."""

    def __init__(self, shard: Shard) -> None:
        self.shard, self.notes = shard, Notes(shard.rules.duplicates, "documents")
        self.places: list[float] = []
        self._place, self._key = salted(shard.rules.seed), hashlib.blake2b(digest_size=16)
        self._lines: list[str] = []
        self._open = False

    def add(self, texts: pa.Array, opens: np.ndarray) -> None:
        """Some lines, and which of them open a document."""
        ended = Bytes.of(pc.binary_join_element_wise(texts, *_END))
        whole = ended.view()
        rows = np.unique(np.append(0, np.flatnonzero(opens)))
        ends, bounds = [*rows[1:].tolist(), len(texts)], np.append(ended.bounds[rows], ended.bounds[-1]).tolist()
        for row, end, start, stop in zip(rows.tolist(), ends, bounds, bounds[1:], strict=False):
            if opens[row]:
                self._close()
            if self.shard.placed:
                self._place.update(whole[start:stop])
            if self.notes.exact:
                self._key.update(whole[start:stop])
            if self.notes.near:
                self._lines += texts.slice(row, end - row).to_pylist()
            self._open = True

    def _close(self) -> None:
        if not self._open:
            return
        if self.shard.placed:
            self.places.append(as_place(self._place.digest()))
            self._place = salted(self.shard.rules.seed)
        if self.notes.exact:
            self.notes.hashes.append(self._key.digest())
            self._key = hashlib.blake2b(digest_size=16)
        if self.notes.near:
            self.notes.add("\n".join(self._lines))
            self._lines.clear()

    def save(self) -> None:
        """Write it."""
        self._close()
        self.notes.save(self.shard.file)
        if self.shard.placed:
            save(self.shard.file("places"), np.array(self.places))


def _added(counts: list[np.ndarray], size: int) -> np.ndarray:
    total = np.zeros(size, dtype=np.int64)
    for count in counts:
        total[: len(count)] += count
    return total


def _read(path: Path) -> Iterator[pa.RecordBatch]:
    with pa.memory_map(str(path)) as file, pa.ipc.open_stream(file) as stream:
        yield from stream


def cleaned_rows(shard: Shard) -> Iterator[pa.RecordBatch]:
    """The cleaned lines of a shard, its documents numbered from 0."""
    return _read(shard.file("arrow"))
