"""The n-grams of a text, order by order, for what is computed of them: all at once, or piece by piece through files.

A piece is some histories of one order, side by side in the trie, with all n-grams that extend them. Where the arrays
that are computed could be larger than what the running engine grants, they stand in files, and a piece at a time is
held in memory.

Only suffixes lead away from the piece: those of n-grams side by side lie anywhere in the order below. So that no file
is read here and there, questions are shared out first, as positions are in `counts.ngram_spills`:

1. The order below is cut into parts that fit into memory; each suffix goes, piece by piece, to the file of its part.
2. Part after part is read, and the questions to it are answered in the order in which they came.
3. The answers are read back piece by piece, in the order of asking.

What is computed are the same bytes, however the n-grams are cut: the extensions of a history are never parted. Held in
memory are a piece, a part and the vocabulary, whose words the extensions of one history can all be.
"""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from langladder.counts.kernels import add_counts, add_frequencies, taken
from langladder.counts.ngram_spills import append, read
from langladder.counts.ngrams import NgramCounts
from langladder.engine.base import current
from langladder.memory import forget
from langladder.text.tokenize.specials import BOS

BYTES_AN_NGRAM = 64  # of what is computed in memory
BYTES_IN_A_PIECE = 160  # of an n-gram in the piece at hand
VALUES_A_PART = 4  # times as many as a piece has n-grams
MOST_AT_ONCE = 1 << 28  # places in a part are 32-bit numbers


class Cut(NamedTuple):
    """One piece of an order: numbers of the histories and of the n-grams after them, and both counted from the first
    of their orders."""

    histories: slice
    ngrams: slice
    history_rows: slice
    rows: slice


class Column:
    """An array that grows by pieces."""

    def __init__(self, dtype: type[np.generic]) -> None:
        self.dtype = dtype
        self._pieces: list[np.ndarray] = []

    def add(self, piece: np.ndarray) -> None:
        """Put a piece behind those that are there."""
        self._pieces.append(piece.astype(self.dtype, copy=False))

    def array(self) -> np.ndarray:
        """All of them, when the last one is there."""
        return self._pieces[0] if len(self._pieces) == 1 else np.concatenate([np.zeros(0, self.dtype), *self._pieces])


class ColumnOnDisk(Column):
    """The same in a file, which has no name any more when it is mapped and goes with the array."""

    def __init__(self, dtype: type[np.generic], path: Path) -> None:
        super().__init__(dtype)
        self.path = path
        path.touch()

    def add(self, piece: np.ndarray) -> None:
        """See `Column.add`."""
        append(self.path, piece.astype(self.dtype, copy=False))

    def array(self) -> np.ndarray:
        """See `Column.array`."""
        empty = self.path.stat().st_size == 0
        array = np.zeros(0, self.dtype) if empty else np.asarray(np.memmap(self.path, self.dtype, mode="r"))
        self.path.unlink()
        return array


class Pieces:
    """Each order is one piece, everything is in memory."""

    def __init__(self, ngrams: NgramCounts) -> None:
        self.ngrams = ngrams

    def cuts(self, order: int) -> list[Cut]:
        """The pieces of an order, in the order of the trie. Single words are one piece, after no history."""
        return [self._cut(order, self.ngrams.level(order - 1) if order > 1 else slice(0, 0))]

    def _cut(self, order: int, histories: slice) -> Cut:
        starts, level = self.ngrams.starts, self.ngrams.level(order)
        if order == 1:
            return Cut(histories, level, histories, level)
        found = slice(int(starts[histories.start]), int(starts[histories.stop]))
        return Cut(histories, found, _within(histories, self.ngrams.level(order - 1)), _within(found, level))

    def column(self, dtype: type[np.generic]) -> Column:
        """A new array, empty so far."""
        return Column(dtype)

    def read(self, array: np.ndarray, rows: slice) -> np.ndarray:
        """Some of an array, side by side."""
        return array[rows]

    def take(self, values: np.ndarray, base: int, numbers: np.ndarray, rows: Sequence[slice]) -> Iterator[np.ndarray]:
        """`values[numbers[some] - base]` for each of `rows`, which are of an order's pieces."""
        for some in rows:
            yield taken(values, base, numbers[some])

    def count(
        self, size: int, base: int, numbers: np.ndarray, rows: Sequence[slice], which: np.ndarray | None = None
    ) -> np.ndarray:
        """How often each of base … base + size − 1 is among the numbers, (size,) int64.

        Args:
            which: as many as `rows` have numbers, True for those that count; None: all.
        """
        counts = np.zeros(size, dtype=np.int64)
        for some in rows:
            add_counts(counts, base, numbers[some] if which is None else numbers[some][which])
        return counts

    def at_suffixes(self, order: int, values: np.ndarray) -> Iterator[np.ndarray]:
        """Values of the order below, (G_{n-1},), at the suffixes of each piece's n-grams."""
        base = self.ngrams.level(order - 1).start
        return self.take(values, base, self.ngrams.suffixes, [cut.ngrams for cut in self.cuts(order)])

    def suffix_counts(self, order: int, which: np.ndarray | None = None) -> np.ndarray:
        """Of how many n-grams of this order each one of the order below is the suffix, (G_{n-1},) int64.

        Args:
            which: (G_n,) bool, those that count; None: all.
        """
        below = self.ngrams.level(order - 1)
        rows = [cut.ngrams for cut in self.cuts(order)]
        return self.count(below.stop - below.start, below.start, self.ngrams.suffixes, rows, which)


class PiecesOnDisk(Pieces):
    """Pieces of at most `at_once` n-grams, or of a single history; arrays in files."""

    def __init__(self, ngrams: NgramCounts, at_once: int, folder: Path) -> None:
        super().__init__(ngrams)
        self.at_once = min(at_once, MOST_AT_ONCE)
        self.part = VALUES_A_PART * self.at_once
        self.folder = folder
        self._columns = 0
        self._cuts: dict[int, list[Cut]] = {}

    def cuts(self, order: int) -> list[Cut]:
        """See `Pieces.cuts`."""
        if order not in self._cuts:
            self._cuts[order] = super().cuts(order) if order == 1 else list(self._search_cuts(order))
            forget(self.ngrams.starts)
        return self._cuts[order]

    def _search_cuts(self, order: int) -> Iterator[Cut]:
        starts, shorter = self.ngrams.starts, self.ngrams.level(order - 1)
        first = shorter.start
        while first < shorter.stop:
            ends = starts[first + 1 : min(first + self.at_once, shorter.stop) + 1]
            last = first + max(1, int(np.searchsorted(ends, starts[first] + self.at_once, side="right")))
            yield self._cut(order, slice(first, last))
            first = last

    def column(self, dtype: type[np.generic]) -> Column:
        """See `Pieces.column`."""
        self._columns += 1
        return ColumnOnDisk(dtype, self.folder / f"{self._columns}.column")

    def read(self, array: np.ndarray, rows: slice) -> np.ndarray:
        """See `Pieces.read`."""
        piece = np.array(array[rows])
        forget(array)
        return piece

    def take(self, values: np.ndarray, base: int, numbers: np.ndarray, rows: Sequence[slice]) -> Iterator[np.ndarray]:
        """See `Pieces.take`."""
        folder = self._share_out(len(values), base, numbers, rows, None)
        for part, first in enumerate(range(0, len(values), self.part)):
            here = self.read(values, slice(first, first + self.part))
            for places in self._asked(folder, part):
                append(folder / f"{part}.answers", here[places])
        done = np.zeros(-(-len(values) // self.part), dtype=np.int64)
        for places in (self.read(numbers, some) - base for some in rows):
            by_part, bounds = self._by_part(places, len(values))
            answers = np.empty(len(places), dtype=values.dtype)
            for part, (first, last) in enumerate(pairwise(bounds)):
                if first < last:
                    answers[by_part[first:last]] = read(
                        folder / f"{part}.answers", values.dtype, done[part], last - first
                    )
            done += np.diff(bounds)
            del places, by_part
            yield answers
        shutil.rmtree(folder)

    def count(
        self, size: int, base: int, numbers: np.ndarray, rows: Sequence[slice], which: np.ndarray | None = None
    ) -> np.ndarray:
        """See `Pieces.count`."""
        folder = self._share_out(size, base, numbers, rows, which)
        column = self.column(np.int64)
        for part, first in enumerate(range(0, size, self.part)):
            counts = np.zeros(min(self.part, size - first), dtype=np.int64)
            for places in self._asked(folder, part):
                add_counts(counts, 0, places)
            column.add(counts)
        shutil.rmtree(folder)
        return column.array()

    def _share_out(
        self, size: int, base: int, numbers: np.ndarray, rows: Sequence[slice], which: np.ndarray | None
    ) -> Path:
        """Write where each number lies in its part, to a file of the part's own; returns the folder of those."""
        folder, read_rows = Path(tempfile.mkdtemp(dir=self.folder)), 0
        for some in rows:
            places = self.read(numbers, some) - base
            read_rows += len(places)
            if which is not None:
                places = places[self.read(which, slice(read_rows - len(places), read_rows))]
            by_part, bounds = self._by_part(places, size)
            within = (places % self.part).astype(np.int32)[by_part]
            for part, (first, last) in enumerate(pairwise(bounds)):
                if first < last:
                    append(folder / f"{part}.asked", within[first:last])
        return folder

    def _by_part(self, places: np.ndarray, size: int) -> tuple[np.ndarray, list[int]]:
        """The places in the order of their parts, stably, and where each part's begin and end."""
        parts = places // self.part
        bounds = np.cumsum(np.bincount(parts, minlength=-(-size // self.part)))
        return np.argsort(parts.astype(np.uint16), kind="stable"), [0, *bounds.tolist()]

    def _asked(self, folder: Path, part: int) -> Iterator[np.ndarray]:
        """What `_share_out` wrote for a part, bit by bit; then the file goes."""
        path = folder / f"{part}.asked"
        size = path.stat().st_size // np.dtype(np.int32).itemsize if path.exists() else 0
        for first in range(0, size, self.at_once):
            yield read(path, np.int32, first, min(self.at_once, size - first))
        path.unlink(missing_ok=True)


@contextmanager
def pieces_of(ngrams: NgramCounts) -> Iterator[Pieces]:
    """The n-grams as the memory has room for them; files stand below the system's folder for temporary ones (TMPDIR).

    Arrays that were made stay when the block ends.
    """
    room = current().whole
    if BYTES_AN_NGRAM * len(ngrams.words) <= room:
        yield Pieces(ngrams)
        return
    with tempfile.TemporaryDirectory(prefix=".estimating-") as name:
        yield PiecesOnDisk(ngrams, max(1, room // BYTES_IN_A_PIECE), Path(name))


def plain_counts(pieces: Pieces, order: int) -> np.ndarray:
    """(G_n,) int64: the counts of an order, with 0 for BOS alone: it opens lines, but is never predicted."""
    counts = pieces.ngrams.counts[pieces.ngrams.level(order)]
    return _without_bos(counts) if order == 1 else counts


def continuation_counts(pieces: Pieces, order: int) -> np.ndarray:
    """Kneser and Ney's counts: below the highest order, after how many different words an n-gram was seen.

        a(w_1 … w_n) = |{v : c(v w_1 … w_n) > 0}|    for n < N, unless w_1 = BOS
        a(w_1 … w_n) = c(w_1 … w_n)                  for n = N, and where w_1 = BOS: nothing stands before BOS

    Returns:
        (G_n,) int64. BOS alone has 0: it is never predicted.
    """
    ngrams = pieces.ngrams
    if order == ngrams.order:
        return plain_counts(pieces, order)
    before, adjusted = pieces.suffix_counts(order + 1), pieces.column(np.int64)
    for cut in pieces.cuts(order):
        a = pieces.read(before, cut.rows)
        adjusted.add(np.where(a == 0, pieces.read(ngrams.counts, cut.ngrams), a))
    return _without_bos(adjusted.array()) if order == 1 else adjusted.array()


def frequencies(counts: np.ndarray, most: int) -> np.ndarray:
    """n_0 … n_most of counts: how many there are of each, those above `most` with it, (most + 1,) int64."""
    found = np.zeros(most + 1, dtype=np.int64)
    add_frequencies(counts, found)
    return found


def _without_bos(counts: np.ndarray) -> np.ndarray:
    counts = counts.copy()
    counts[BOS] = 0
    return counts


def _within(rows: slice, level: slice) -> slice:
    return slice(rows.start - level.start, rows.stop - level.start)
