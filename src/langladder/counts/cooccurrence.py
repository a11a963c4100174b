"""Which words co-occur, and which words occur in which documents: counts of a text as sparse matrices.

Term–term counts in a window:

    X_ij = Σ over lines, positions t and distances d = 1 … m of  weight(d) · [w_t = i and w_{t±d} = j]

with weight(d) = 1 (flat) or 1/d (Pennington et al. 2014, GloVe, section 4.2). A window never reaches beyond its line.
The positions are sorted by their words; then a word's neighbours at all of its positions are counted in one dense row,
which is read out and zeroed for the next word. No pair is written down, let alone sorted.

Term–document counts:

    X_wd = how often word w occurs in document d

The sums are of whole numbers (1/d in units of 1/scale), so any order of adding gives the same bytes, whatever the
number of threads, parts and workers. A text whose counts do not fit into the memory that the engine grants is counted
in parts. Each part's matrix is a sorted run on disk, with the key row · columns + column, and the runs are merged
(`langladder.ground.sorted_runs`).

Shape legend: T words of text, P of a part of it, R lines, D documents, V words of the vocabulary, m the window, E
entries of a matrix, K parts.
"""

import math
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field
from scipy.sparse import csr_matrix

from langladder.counts.stored import Counting, entry_rows, file_name, write_counts
from langladder.engine.base import Engine, Serial, current
from langladder.ground.errors import InputError
from langladder.ground.memory import forget
from langladder.ground.sorted_runs import GrowingArray, add_up, key_ranges, mapped, read_range, save, temporary_folder
from langladder.kernels.counting import count_rows
from langladder.text.storage.token_streams import TokenStream, id_bounds
from langladder.text.words.vocabulary import WordCorpus

PIECE = 1 << 19  # ids or entries that are processed at once
PAIRS_AT_ONCE = 1 << 28
BYTES_A_PAIR = 84  # where hardly any two pairs are equal: two entries of blocks, of rows and of a run, and gaps
BYTES_A_WORD = 24  # of counting pairs: the text, its positions
BYTES_A_DOCUMENT_WORD = 56  # of counting documents: positions, documents, entries
BYTES_AN_ENTRY = 80  # of runs that are merged: read, sorted, added up, written
MOST_THREADS = 8
BLOCKS = 8  # of rows that a thread counts one after the other
FINE = 1 << 32  # units of a distance where the distances' least common multiple is too large
ENTRY = np.dtype([("key", np.int64), ("count", np.int64)])  # of a run


class Part(NamedTuple):
    """The positions `first` … `last − 1` of a text."""

    number: int
    first: int
    last: int


class Text(NamedTuple):
    """Word ids and the bounds of their lines (or documents); the path of their file, where it holds just these."""

    ids: np.ndarray  # (T,) int32
    offsets: np.ndarray  # (R + 1,) int64
    path: Path | None = None

    @property
    def whole(self) -> Part:
        """All of its positions."""
        return Part(0, int(self.offsets[0]), int(self.offsets[-1]))


class Rows(NamedTuple):
    """A matrix of whole numbers in the form of CSR, columns ascending in each row."""

    bounds: np.ndarray  # (V + 1,) int64
    columns: np.ndarray  # (E,) int32
    values: np.ndarray  # (E,) int64


Count = Callable[[Text, Part], Rows]


class CooccurrenceConfig(Counting):
    """What counts as co-occurring."""

    window: int = Field(default=5, ge=1, le=1000)  # m, words on each side: 1–3 shows syntax, 4–10 meaning
    sides: Literal["symmetric", "left", "right"] = "symmetric"  # left: X_ij counts j standing before i
    weighting: Literal["flat", "inverse_distance"] = "flat"

    @property
    def key(self) -> str:
        """E.g. `window5-flat-symmetric`."""
        return f"window{self.window}-{self.weighting}-{self.sides}"

    @property
    def scale(self) -> int:
        """Units per pair of neighbours, so that other distances have (nearly) whole numbers."""
        if self.weighting == "flat":
            return 1
        multiple = math.lcm(*range(1, self.window + 1))
        return multiple if multiple <= 1 << 20 else FINE  # up to 16 words: exact; beyond: to 2⁻³² · d / 2

    def units(self) -> np.ndarray:
        """The units of a pair at the distances 1 … m, (m,) int64: weight(d) = units / scale."""
        if self.weighting == "flat":
            return np.ones(self.window, dtype=np.int64)
        return np.array([round(self.scale / distance) for distance in range(1, self.window + 1)], dtype=np.int64)

    def count(self, corpus: WordCorpus, scratch: Path | None = None) -> csr_matrix:
        """Term–term counts of a text, (V, V) float64 CSR."""
        text = Text(corpus.stream.ids, corpus.stream.offsets, corpus.path)
        return _count_pairs(text, len(corpus.vocabulary), self, None, current(), scratch)


class DocumentCounting(Counting):
    """The definition of a document."""

    documents: Literal["documents", "lines"] = "documents"

    @property
    def key(self) -> str:
        """`term_document-documents` or `term_document-lines`."""
        return f"term_document-{self.documents}"

    def count(self, corpus: WordCorpus, scratch: Path | None = None) -> csr_matrix:
        """(V, D) float64 CSR."""
        bounds = corpus.document_bounds if self.documents == "documents" else corpus.stream.offsets
        text = Text(corpus.stream.ids, bounds, corpus.path)
        return _count_documents(text, len(corpus.vocabulary), current(), scratch)


AnyCounting = CooccurrenceConfig | DocumentCounting


def store_counts(folder: Path, corpus: WordCorpus, countings: Iterable[AnyCounting]) -> dict[str, float]:
    """Count, and write a file for each counting; returns the sizes of the corpus, the entries and density of each."""
    figures: dict[str, float] = {"words": len(corpus.vocabulary), "documents": len(corpus.document_bounds) - 1}
    for counting in countings:
        counts = counting.count(corpus, folder)
        write_counts(folder / file_name(counting), counts)
        figures[f"{counting.key}_nonzeros"] = int(counts.nnz)
        figures[f"{counting.key}_density"] = round(counts.nnz / (counts.shape[0] * counts.shape[1]), 6)
    return figures


def count_cooccurrence(
    ids: np.ndarray,
    offsets: np.ndarray,
    vocab_size: int,
    config: CooccurrenceConfig | None = None,
    *,
    threads: int | None = None,
    engine: Engine | None = None,
) -> csr_matrix:
    """Term–term counts X.

    Args:
        ids: (T,) word ids below `vocab_size`; fastest where low ids are frequent words.
        offsets: (R + 1,) bounds of the lines: line r is `ids[offsets[r] : offsets[r + 1]]`.
        threads: only changes the speed; None: the number of processors, up to 8.
        engine: grants the memory. Its workers have no way to `ids`: what lies in files is counted by
            `CooccurrenceConfig.count`.

    Returns:
        (V, V) float64 CSR, column numbers ascending in each row, no stored zeros.

    Raises:
        InputError: an id is not below `vocab_size`.
    """
    text = Text(np.asarray(ids, dtype=np.int32), np.asarray(offsets, dtype=np.int64))
    return _count_pairs(text, vocab_size, config or CooccurrenceConfig(), threads, engine or current(), None)


def _count_pairs(
    text: Text, vocab_size: int, config: CooccurrenceConfig, threads: int | None, engine: Engine, scratch: Path | None
) -> csr_matrix:
    check_ids(text.ids, vocab_size)
    threads = threads or min(os.cpu_count() or 1, MOST_THREADS)
    words_at_once = engine.share // (BYTES_A_PAIR * config.window + BYTES_A_WORD)
    at_once = max(1, min(PAIRS_AT_ONCE // config.window, words_at_once))
    shape = vocab_size, vocab_size
    if text.whole.last - text.whole.first > at_once:
        alone = engine.workers > 1 and text.path is not None
        count = partial(count_pairs, vocab_size, config.units(), config.sides, 1 if alone else threads)
        return count_in_parts(text, count, shape, at_once, config.scale, engine, scratch)
    rows = count_pairs(vocab_size, config.units(), config.sides, threads, text, text.whole)
    return as_matrix(rows, config.scale, shape)


def count_pairs(vocab_size: int, units: np.ndarray, sides: str, threads: int, text: Text, part: Part) -> Rows:
    """The neighbours of the words in a part of the text; they can be outside of it.

    Args:
        units: (m,) int64, the count of a pair at each distance.
        sides: symmetric, left or right.
    """
    before, behind = 0 if sides == "right" else len(units), 0 if sides == "left" else len(units)
    low, high = max(part.first - len(units), text.whole.first), min(part.last + len(units), text.whole.last)
    ends = text.offsets[np.searchsorted(text.offsets, low) : np.searchsorted(text.offsets, high, side="right")]
    ends = np.concatenate([[low], ends, [high]])
    words = np.insert(text.ids[low:high], ends - low, -1)  # −1 before, between and after lines
    # where the first and the last word of the part stand now
    first, last = (
        np.array([part.first, part.last - 1]) - low + np.searchsorted(ends, [part.first, part.last - 1], "right")
    )
    positions, starts = _by_word(words[first : last + 1], vocab_size)  # (P,), (V + 1,)
    positions += first
    room = np.minimum(np.diff(starts) * (before + behind), vocab_size)  # (V,) no row can have more entries

    def count(first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        most = int(room[first:last].sum())
        lengths, values = np.empty(last - first, dtype=np.int64), np.empty(most, dtype=np.int64)
        columns = np.empty(most + 1, dtype=np.int32)
        end = count_rows(words, positions, starts, units, before, behind, first, last, lengths, columns, values)
        return lengths, columns[:end].copy(), values[:end].copy()

    # blocks of words with about the same number of positions
    aims = starts[-1] * np.arange(1, BLOCKS * threads) / (BLOCKS * threads)
    cuts = np.unique([0, *np.searchsorted(starts, aims), vocab_size])
    with ThreadPoolExecutor(threads) as pool:
        blocks = list(pool.map(count, cuts[:-1].tolist(), cuts[1:].tolist()))
    lengths, columns, values = (np.concatenate(kind) for kind in zip(*blocks, strict=True))
    return Rows(np.append(0, np.cumsum(lengths)), columns, values)


def _count_documents(text: Text, vocab_size: int, engine: Engine, scratch: Path | None) -> csr_matrix:
    check_ids(text.ids, vocab_size)
    shape = vocab_size, len(text.offsets) - 1
    at_once = max(1, engine.share // BYTES_A_DOCUMENT_WORD)
    count = partial(count_documents, vocab_size, text.offsets)
    if text.whole.last - text.whole.first > at_once:
        return count_in_parts(text, count, shape, at_once, 1, engine, scratch)
    return as_matrix(count_documents(vocab_size, text.offsets, text, text.whole), 1, shape)


def count_documents(vocab_size: int, documents: np.ndarray, text: Text, part: Part) -> Rows:
    """The words of a part of the text; `documents` (D + 1,) are its document bounds, independent of the lines."""
    positions, starts = _by_word(text.ids[part.first : part.last], vocab_size)  # (P,), (V + 1,)
    first, last = np.searchsorted(documents, [part.first, part.last - 1], side="right") - 1
    lengths = np.diff(np.clip(documents[first : last + 2], part.first, part.last))
    document_of = np.repeat(np.arange(first, last + 1, dtype=np.int32), lengths)  # (P,)
    columns = document_of[positions]  # (P,) the documents of each word, ascending
    new = np.ones(len(columns), dtype=bool)  # where another document of the word, or another word begins
    new[1:] = columns[1:] != columns[:-1]
    new[starts[:-1][np.diff(starts) > 0]] = True
    entries = np.flatnonzero(new)  # (E,)
    return Rows(np.searchsorted(entries, starts), columns[entries], np.diff(entries, append=len(columns)))


def count_in_parts(
    text: Text,
    count: Count,
    shape: tuple[int, int],
    at_once: int,
    scale: int,
    engine: Engine,
    scratch: Path | None = None,
) -> csr_matrix:
    """Counts of a text in parts of `at_once` positions, whose runs are merged from disk.

    Args:
        count: a function of a module (or a partial of one): the counts of one part, all of the matrix's rows.
        shape: of the matrix, V rows.
        scale: counts are divided by it in the end.
        scratch: folder below which files stand while this runs; None: the system's.

    Returns:
        float64 CSR, mapped from files that have no name any more.
    """
    _, begin, end = text.whole
    parts = [Part(number, *cut) for number, cut in enumerate(pairwise([*range(begin, end, at_once), end]))]
    with temporary_folder(".counting-", scratch) as folder:
        serial, source = (Serial(), text) if text.path is None else (engine, text.path)
        runs = list(serial.map(partial(_write_run, folder, count, shape[1], source), parts, "counting"))
        bounds = key_ranges(runs, max(1, engine.share // BYTES_AN_ENTRY))  # (ranges + 1, K)
        ranges = [(number, first, last) for number, (first, last) in enumerate(pairwise(bounds))]
        lengths = np.zeros(shape[0], dtype=np.int64)  # entries of each row
        columns, values = GrowingArray(np.int32, folder / "columns"), GrowingArray(np.float64, folder / "values")
        for path in engine.map(partial(_merge, folder, runs), ranges, "merging counts"):
            entries = mapped(path)
            lengths += np.bincount(entries["key"] // shape[1], minlength=shape[0])
            columns.add(entries["key"] % shape[1])
            values.add(entries["count"] / scale)
            path.unlink()
        return _csr(np.append(0, np.cumsum(lengths)), columns.array(), values.array(), shape)


def _write_run(folder: Path, count: Count, columns: int, source: Text | Path, part: Part) -> Path:
    """Count one part and save its entries, keys ascending."""
    if isinstance(source, Path):
        stream = TokenStream.open(source)
        source = Text(stream.ids, stream.offsets, source)
    rows = count(source, part)
    forget(source.ids)
    entries = np.empty(len(rows.columns), dtype=ENTRY)
    entries["count"] = rows.values
    for begin in range(0, len(entries), PIECE):
        end = min(begin + PIECE, len(entries))
        row_of = entry_rows(rows.bounds, begin, end).astype(np.int64)
        entries["key"][begin:end] = row_of * columns + rows.columns[begin:end]
    path = folder / f"part-{part.number:05}"
    save(path, entries)
    return path


def _merge(folder: Path, runs: list[Path], work: tuple[int, np.ndarray, np.ndarray]) -> Path:
    """Add up a range of the keys: its number, and where it begins and ends in each run, (K,) each."""
    number, first, last = work
    totals, _ = add_up(read_range(runs, first, last))
    path = folder / f"range-{number:05}"
    save(path, totals)
    return path


def check_ids(ids: np.ndarray, vocab_size: int) -> None:
    """Raise InputError for a word id that is not below `vocab_size`."""
    if not len(ids):
        return
    low, high = id_bounds(ids)
    if low < 0 or high >= vocab_size:
        raise InputError(f"word ids {low} … {high}; the vocabulary has ids 0 … {vocab_size - 1}")


def as_matrix(rows: Rows, scale: int, shape: tuple[int, int]) -> csr_matrix:
    """The counts divided by `scale` as float64 CSR. The quotients take the place of the counts."""
    quotients = rows.values.view(np.float64)
    for begin in range(0, len(quotients), PIECE):
        quotients[begin : begin + PIECE] = rows.values[begin : begin + PIECE] / scale
    return _csr(rows.bounds, rows.columns, quotients, shape)


def _csr(bounds: np.ndarray, columns: np.ndarray, values: np.ndarray, shape: tuple[int, int]) -> csr_matrix:
    """CSR whose columns ascend in each row; the arrays are not looked through, nor copied."""
    matrix = csr_matrix((values, columns, bounds), shape=shape)
    matrix.has_canonical_format = True
    return matrix


def _by_word(words: np.ndarray, vocab_size: int) -> tuple[np.ndarray, np.ndarray]:
    """(P,) where words stand, sorted by word; (V + 1,) where those of each word begin. −1 is no word."""
    # NumPy sorts 16-bit numbers by radix, ten times faster; −1 becomes the largest number
    sortable = words.astype(np.uint16) if vocab_size < 1 << 16 else words.astype(np.uint32)
    positions = np.argsort(sortable, kind="stable")
    del sortable
    starts = np.append(0, np.cumsum(np.bincount(words[words >= 0], minlength=vocab_size)))
    return positions[: starts[-1]], starts
