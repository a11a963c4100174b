"""The n-grams of a text, order by order, for computations in memory, or piece by piece in files.

A piece is some histories of one order, side by side in the trie, with all n-grams that extend them; the extensions of
one history are never separated. In memory, each order is one piece. Where the arrays that are computed could be larger
than what the running engine grants, they are files, and one piece at a time is in memory.

Only suffixes lead out of a piece: those of n-grams side by side are anywhere in the order below. So that each file is
read from its beginning to its end, the look-ups of each piece are saved as a sorted run (`ground.sorted_runs`); the
order below is read part by part, and each run reads what it looks up there.

What is computed are the same bytes, however the n-grams are cut. Held in memory are a piece, a part and the vocabulary,
whose words the extensions of one history can all be.
"""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from langladder.counts.ngrams import NgramCounts
from langladder.engine.base import current
from langladder.ground.memory import forget
from langladder.ground.sorted_runs import GrowingArray, mapped, save, sorted_run, temporary_folder
from langladder.text.tokenize.specials import BOS

BYTES_AN_NGRAM = 72  # share of memory for computations
BYTES_IN_A_PIECE = 208  # of an n-gram in the piece at hand
VALUES_A_PART = 4  # times as many as a piece has n-grams


class Cut(NamedTuple):
    """One piece of an order: numbers of the histories and of the n-grams after them, and both counted from the first
    of their orders."""

    histories: slice
    ngrams: slice
    history_rows: slice
    rows: slice


class Pieces:
    """Pieces of at most `at_once` n-grams, or of a single history.

    Args:
        at_once: None: each order is one piece.
        folder: of the arrays that are computed; None: they are in memory.
    """

    def __init__(self, ngrams: NgramCounts, at_once: int | None = None, folder: Path | None = None) -> None:
        self.ngrams = ngrams
        self.at_once = len(ngrams.words) if at_once is None else at_once
        self.folder = folder
        self._columns = 0
        self._cuts: dict[int, list[Cut]] = {}

    def cuts(self, order: int) -> list[Cut]:
        """The pieces of an order, in the order of the trie. Single words are one piece, after no history."""
        if order not in self._cuts:
            self._cuts[order] = list(self._search_cuts(order))
            forget(self.ngrams.starts)
        return self._cuts[order]

    def _search_cuts(self, order: int) -> Iterator[Cut]:
        starts, level = self.ngrams.starts, self.ngrams.level(order)
        if order == 1:
            yield Cut(slice(0, 0), level, slice(0, 0), level)
            return
        shorter = self.ngrams.level(order - 1)
        first = shorter.start
        while first < shorter.stop:
            ends = starts[first + 1 : min(first + self.at_once, shorter.stop) + 1]
            last = first + max(1, int(np.searchsorted(ends, starts[first] + self.at_once, side="right")))
            histories, rows = slice(first, last), slice(int(starts[first]), int(starts[last]))
            yield Cut(histories, rows, _within(histories, shorter), _within(rows, level))
            first = last

    def column(self, dtype: type[np.generic]) -> GrowingArray:
        """A new array, empty so far."""
        self._columns += 1
        return GrowingArray(dtype, self.folder and self.folder / f"{self._columns}.column")

    def read(self, array: np.ndarray, rows: slice) -> np.ndarray:
        """Some of an array, side by side."""
        if self.folder is None:
            return array[rows]
        piece = np.array(array[rows])
        forget(array)
        return piece

    def at_suffixes(self, order: int, values: np.ndarray) -> Iterator[np.ndarray]:
        """Values of the order below, (G_{n-1},), at the suffixes of each piece's n-grams."""
        return self.take(values, (self._suffixes(order, cut.ngrams) for cut in self.cuts(order)))

    def at_history_suffixes(self, order: int, values: np.ndarray) -> Iterator[np.ndarray]:
        """Values two orders below, (G_{n-2},), at the suffixes of each piece's histories."""
        return self.take(values, (self._suffixes(order - 1, cut.histories) for cut in self.cuts(order)))

    def suffix_counts(self, order: int, which: np.ndarray | None = None) -> np.ndarray:
        """For each n-gram of the order below, the number of n-grams of this order with it as suffix, (G_{n-1},) int64.

        Args:
            which: (G_n,) bool, the counted n-grams; None: all.
        """
        below = self.ngrams.level(order - 1)
        suffixes = (
            values if which is None else values[self.read(which, cut.rows)]
            for cut in self.cuts(order)
            for values in [self._suffixes(order, cut.ngrams)]
        )
        return self.count(below.stop - below.start, suffixes)

    def _suffixes(self, order: int, ngrams: slice) -> np.ndarray:
        """The suffixes of n-grams, counted from the first of the order below."""
        numbers: np.ndarray = self.read(self.ngrams.suffixes, ngrams) - self.ngrams.level(order - 1).start
        return numbers

    def take(self, values: np.ndarray, rows: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        """`values[some]` for each of `rows`."""
        if self.folder is None:
            yield from (values[some] for some in rows)
            return
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            runs, bounds = self._save_runs(Path(name), len(values), rows)
            arrays = [GrowingArray(values.dtype, run.with_suffix(".found")) for run in runs]
            for number, (first, last) in enumerate(self._parts(len(values))):
                part = self.read(values, slice(first, last))
                for run, of_run, ends in zip(runs, arrays, bounds, strict=True):
                    of_run.add(part[_keys(run, ends, number) - first])
            for run, of_run in zip(runs, arrays, strict=True):
                in_order = np.empty(of_run.length, dtype=values.dtype)
                in_order[mapped(run)["position"]] = of_run.array()
                yield in_order

    def count(self, size: int, rows: Iterable[np.ndarray]) -> np.ndarray:
        """How often each of 0 … size − 1 is among all `rows`, (size,) int64."""
        if self.folder is None:
            in_memory = np.zeros(size, dtype=np.int64)
            for some in rows:
                in_memory += np.bincount(some, minlength=size)
            return in_memory
        counts = self.column(np.int64)
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            runs, bounds = self._save_runs(Path(name), size, rows)
            for number, (first, last) in enumerate(self._parts(size)):
                part = np.zeros(last - first, dtype=np.int64)
                for run, ends in zip(runs, bounds, strict=True):
                    np.add.at(part, _keys(run, ends, number) - first, 1)
                counts.add(part)
        return counts.array()

    def _save_runs(self, folder: Path, size: int, rows: Iterable[np.ndarray]) -> tuple[list[Path], list[np.ndarray]]:
        """Files of sorted runs, and for each run (parts + 1,) int64: where it leads to each part of 0 … size − 1."""
        firsts = [first for first, _ in self._parts(size)]
        runs, bounds = [], []
        for number, some in enumerate(rows):
            run = sorted_run(some)
            runs.append(folder / f"{number:06}.run")
            save(runs[-1], run)
            bounds.append(np.append(np.searchsorted(run["key"], firsts), len(run)))
        return runs, bounds

    def _parts(self, size: int) -> list[tuple[int, int]]:
        step = VALUES_A_PART * self.at_once
        return [(first, min(first + step, size)) for first in range(0, size, step)]


def _keys(run: Path, bounds: np.ndarray, part: int) -> np.ndarray:
    """What a run looks up in a part."""
    begin, end = bounds[part], bounds[part + 1]
    return np.array(mapped(run)["key"][begin:end]) if begin < end else np.zeros(0, dtype=np.int64)


@contextmanager
def pieces_of(ngrams: NgramCounts) -> Iterator[Pieces]:
    """The n-grams as the memory has room for them; files are below the system's folder for temporary ones (TMPDIR).

    Arrays that were made stay when the block ends.
    """
    room = current().whole
    if BYTES_AN_NGRAM * len(ngrams.words) <= room:
        yield Pieces(ngrams)
        return
    with temporary_folder(".estimating-") as folder:
        yield Pieces(ngrams, max(1, room // BYTES_IN_A_PIECE), folder)


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
    result: np.ndarray = np.bincount(np.minimum(counts, most), minlength=most + 1)
    return result


def _without_bos(counts: np.ndarray) -> np.ndarray:
    counts = counts.copy()
    counts[BOS] = 0
    return counts


def _within(rows: slice, level: slice) -> slice:
    return slice(rows.start - level.start, rows.stop - level.start)
