"""n-grams of a text that do not fit into memory: each order sorted in parts on disk, as by `lmplz -S`.

Heafield et al. 2013, "Scalable Modified Kneser-Ney Language Model Estimation", sorts blocks and merges them; here the
positions are shared out first, by splitters from a sample (Frazer and McKellar 1970, samplesort), so that the sorted
parts lie behind each other and nothing is merged. One order after the other:

1. A position's key is its history's number and its word. Splitters cut the keys into parts of about equal size; the
   keys go to their parts' files, each with the number of the n-gram that ends at the position now: the suffix.
2. Part after part is sorted; equal keys are one n-gram. A splitter that many positions have in common is a part of its
   own, which needs no sorting: so no n-gram is too frequent for the memory.
3. Numbers go back to the positions in the order of the text, as the keys had gone to the parts.

Every file is read and written from its beginning to its end. The numbers are those of `counts.ngrams.count_ngrams`,
whatever the splitters. Held in memory are `at_once` positions and the vocabulary.
"""

import errno
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from langladder.atomic import explain
from langladder.errors import InputError
from langladder.memory import forget
from langladder.progress import tracked
from langladder.text.specials import BOS

BYTES_A_POSITION = 128  # of a piece that is shared out, or of a part that is sorted
SAMPLE = 256  # keys of each piece
MOST_RANGES = 8_000  # parts have 16-bit numbers
NO_PART = 65_535

RECORD = np.dtype([("key", np.int64), ("suffix", np.int64)])
KINDS = {"words": np.int32, "starts": np.int64, "suffixes": np.int64, "counts": np.int64}


def count_by_parts(
    ids: np.ndarray, order: int, vocab_size: int, at_once: int, scratch: Path | None = None
) -> dict[str, np.ndarray]:
    """The arrays of `counts.ngrams.NgramCounts`.

    Args:
        ids: (T,) word ids, checked; every line opens with BOS.
        at_once: positions that are held in memory.
        scratch: folder below which files stand while this runs; None: the system's.

    Returns:
        The arrays by their names, all but `levels` mapped read-only from files that have no name any more.
    """
    with tempfile.TemporaryDirectory(dir=scratch, prefix=".counting-") as name:
        folder = Path(name)
        counts = np.zeros(vocab_size, dtype=np.int64)
        for begin in range(0, len(ids), at_once):
            piece = ids[begin : begin + at_once]
            counts += np.bincount(piece, minlength=vocab_size)
            append(folder / "ending", piece.astype(np.int64))
            forget(piece)
        append(folder / "words", np.arange(vocab_size, dtype=np.int32))
        append(folder / "counts", counts)
        append(folder / "suffixes", np.full(vocab_size, -1, dtype=np.int64))
        append(folder / "starts", np.array([vocab_size], dtype=np.int64))
        levels = [0, vocab_size]
        for n in tracked(range(2, order + 1), "counting n-grams in parts", unit="orders"):
            level = _Level(ids, vocab_size, at_once, folder, levels[-2], levels[-1])
            level.share_out()
            levels.append(level.number())
            if n < order:
                level.lengthen()
        arrays = {kind: np.asarray(np.memmap(folder / kind, dtype=dtype, mode="r")) for kind, dtype in KINDS.items()}
        return {"levels": np.array(levels, dtype=np.int64), **arrays}


class _Level:
    """The n-grams one word longer than those numbered base … end − 1; `ending` has the numbers at all positions."""

    def __init__(self, ids: np.ndarray, vocab_size: int, at_once: int, folder: Path, base: int, end: int) -> None:
        self.ids, self.vocab_size, self.at_once, self.folder = ids, vocab_size, at_once, folder
        self.base, self.end, self.total = base, end, end
        self.history = 0  # the first, counted from base, whose extensions may not all be known
        self.splitters = self._splitters()
        parts = 2 * len(self.splitters) + 1  # odd: the keys that equal a splitter
        self.sizes = np.zeros(parts, dtype=np.int64)
        self.common = np.zeros(parts, dtype=np.int64)  # of odd parts: the suffix, then the number, of their n-gram

    def _pieces(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Keys, −1 where no n-gram so long ends, and numbers in `ending`, piece by piece of the text."""
        last = np.array([-1], dtype=np.int64)
        for begin in range(0, len(self.ids), self.at_once):
            words = self.ids[begin : begin + self.at_once]
            ending = read(self.folder / "ending", np.int64, begin, len(words))
            before = np.concatenate([last, ending[:-1]])
            keys = (before - self.base) * self.vocab_size + words
            keys[(before < 0) | (words == BOS)] = -1
            last = ending[-1:].copy()
            forget(words)
            yield keys, ending

    def _splitters(self) -> np.ndarray:
        """Keys, ascending: on average half of `at_once` positions lie between two of them."""
        ranges = min(-(-len(self.ids) // self.at_once), MOST_RANGES)
        if ranges == 1:
            return np.zeros(0, dtype=np.int64)
        step = max(1, self.at_once // SAMPLE)
        sample = np.sort(np.concatenate([keys[keys >= 0][::step].copy() for keys, _ in self._pieces()]))
        cuts = len(sample) * np.arange(1, 2 * ranges) // (2 * ranges)
        return np.unique(sample[cuts]) if len(sample) else sample

    def share_out(self) -> None:
        """Write each key and suffix to its part, and the part of each position."""
        for keys, ending in self._pieces():
            parts = np.searchsorted(self.splitters, keys) + np.searchsorted(self.splitters, keys, side="right")
            parts = np.where(keys < 0, NO_PART, parts).astype(np.uint16)
            append(self.folder / "parts", parts)
            by_part = np.argsort(parts, kind="stable")
            sizes = np.bincount(parts[keys >= 0], minlength=len(self.sizes))
            self.sizes += sizes
            bounds = np.concatenate([[0], np.cumsum(sizes)])
            for part in np.flatnonzero(sizes).tolist():
                rows = by_part[bounds[part] : bounds[part + 1]]
                if part % 2:
                    self.common[part] = ending[rows[0]]
                else:
                    records = np.empty(len(rows), dtype=RECORD)
                    records["key"], records["suffix"] = keys[rows], ending[rows]
                    append(self._keys(part), records)

    def number(self) -> int:
        """Number the n-grams, part after part; returns the number after the last one."""
        for part in np.flatnonzero(self.sizes).tolist():
            if part % 2:
                suffix, self.common[part] = self.common[part], self.total
                self._add(self.splitters[part // 2 : part // 2 + 1], self.sizes[part : part + 1], np.array([suffix]))
                continue
            records = np.fromfile(self._keys(part), dtype=RECORD)
            self._keys(part).unlink()
            keys = records["key"].copy()
            order = np.argsort(keys)
            keys = keys[order]
            new = np.concatenate([[True], keys[1:] != keys[:-1]])
            numbers = np.empty_like(keys)
            numbers[order] = self.total - 1 + np.cumsum(new)
            append(self._numbers(part), numbers)
            del numbers
            first = np.flatnonzero(new)
            self._add(keys[first], np.diff(first, append=len(keys)), records["suffix"][order[first]])
        self._close(self.end - self.base, np.zeros(0, dtype=np.int64))
        return self.total

    def _add(self, keys: np.ndarray, counts: np.ndarray, suffixes: np.ndarray) -> None:
        """Write n-grams, which come in ascending order of their keys."""
        histories = keys // self.vocab_size
        append(self.folder / "words", (keys % self.vocab_size).astype(np.int32))
        append(self.folder / "counts", counts)
        append(self.folder / "suffixes", suffixes)
        self._close(int(histories[-1]), histories)
        self.total += len(keys)

    def _close(self, last: int, histories: np.ndarray) -> None:
        """Write where the extensions of the histories before `last` end; `histories` are of the n-grams just added."""
        for begin in range(self.history, last, self.at_once):
            closed = np.arange(begin, min(begin + self.at_once, last))
            append(self.folder / "starts", self.total + np.searchsorted(histories, closed, side="right"))
        self.history = max(self.history, last)

    def lengthen(self) -> None:
        """Write `ending` anew: the numbers of the longer n-grams, −1 where none ends."""
        done = np.zeros(len(self.sizes), dtype=np.int64)
        for begin in range(0, len(self.ids), self.at_once):
            parts = read(self.folder / "parts", np.uint16, begin, min(self.at_once, len(self.ids) - begin))
            longer = np.full(len(parts), -1, dtype=np.int64)
            by_part = np.argsort(parts, kind="stable")
            sizes = np.bincount(parts[parts != NO_PART], minlength=len(done))
            bounds = np.concatenate([[0], np.cumsum(sizes)])
            for part in np.flatnonzero(sizes).tolist():
                odd = part % 2
                here = self.common[part] if odd else read(self._numbers(part), np.int64, done[part], sizes[part])
                longer[by_part[bounds[part] : bounds[part + 1]]] = here
            done += sizes
            append(self.folder / "longer", longer)
        for file in (self.folder / "parts", *self.folder.glob("*.numbers")):
            file.unlink()
        (self.folder / "longer").replace(self.folder / "ending")

    def _keys(self, part: int) -> Path:
        return self.folder / f"{part:05}.keys"

    def _numbers(self, part: int) -> Path:
        return self.folder / f"{part:05}.numbers"


def append(path: Path, array: np.ndarray) -> None:
    """Write an array's bytes behind those that a file has.

    Raises:
        InputError: the disk takes no more.
    """
    try:
        with path.open("ab") as sink:
            sink.write(np.ascontiguousarray(array).data)  # numpy's `tofile` does not tell why it fails
    except OSError as error:
        why = explain(path, error.errno or errno.EIO)
        raise InputError(f"{why}; TMPDIR names the folder for temporary files, which counting needs") from error


def read(path: Path, dtype: type[np.generic] | np.dtype, first: int, count: int) -> np.ndarray:
    """So many numbers of a file from the one numbered `first` on."""
    return np.fromfile(path, dtype=dtype, offset=int(first) * np.dtype(dtype).itemsize, count=int(count))
