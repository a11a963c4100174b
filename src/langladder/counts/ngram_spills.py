"""n-grams of a text that do not fit into memory: each order sorted in parts on disk, as by `lmplz -S`.

Heafield et al. 2013, "Scalable Modified Kneser-Ney Language Model Estimation", sorts blocks and merges them; here the
positions are shared out first, by splitters from a sample (Frazer and McKellar 1970, samplesort), so that the sorted
parts lie behind each other and nothing is merged. One order after the other:

1. A position's key is its history's number and its word. Splitters cut the keys into parts of about equal size; piece
   by piece of the text the keys are put in the order of their parts, each with the number of the n-gram that ends at
   the position now: the suffix.
2. Part by part they are sorted; equal keys are one n-gram. A splitter that many positions have in common is a part of
   its own, which needs no sorting: so no n-gram is too frequent for the memory.
3. Numbers go back to the positions, piece by piece of the text.

Pieces and parts are worked off side by side on the running engine, whose workers find each other's files in one folder.
The numbers are those of `counts.ngrams.count_ngrams`, whatever the splitters. Each worker holds `at_once` positions and
an order's splitters, this process the vocabulary and how large each part of each piece is.
"""

import errno
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from langladder.atomic import explain
from langladder.engine.base import Engine
from langladder.errors import InputError
from langladder.memory import forget
from langladder.text.tokenize.specials import BOS

BYTES_A_POSITION = 128  # of a piece that is shared out, or of a part that is sorted
SAMPLE = 256  # keys of each piece
MOST_RANGES = 8_000  # parts have 16-bit numbers
NO_PART = 65_535

RECORD = np.dtype([("key", np.int64), ("suffix", np.int64)])
KINDS = {"words": np.int32, "starts": np.int64, "suffixes": np.int64, "counts": np.int64}


def count_by_parts(
    ids: np.ndarray, order: int, vocab_size: int, at_once: int, engine: Engine, scratch: Path | None = None
) -> dict[str, np.ndarray]:
    """The arrays of `counts.ngrams.NgramCounts`.

    Args:
        ids: (T,) word ids, checked; every line opens with BOS.
        at_once: positions that a worker holds in memory.
        engine: whose workers see this machine's files.
        scratch: folder below which files stand while this runs; None: the system's.

    Returns:
        The arrays by their names, all but `levels` mapped read-only from files that have no name any more.
    """
    with tempfile.TemporaryDirectory(dir=scratch, prefix=".counting-") as name:
        folder = Path(name)
        counts = np.zeros(vocab_size, dtype=np.int64)
        pieces = range(0, len(ids), at_once)
        for number, begin in enumerate(pieces):
            words = ids[begin : begin + at_once].astype(np.int32)
            counts += np.bincount(words, minlength=vocab_size)
            _write(_file(folder, "words", number), words)
            _write(_file(folder, "ending", number), words.astype(np.int64))
            forget(ids[begin : begin + at_once])
        append(folder / "words", np.arange(vocab_size, dtype=np.int32))
        append(folder / "counts", counts)
        append(folder / "suffixes", np.full(vocab_size, -1, dtype=np.int64))
        append(folder / "starts", np.array([vocab_size], dtype=np.int64))
        levels = [0, vocab_size]
        for n in range(2, order + 1):
            longer = _Order(folder, len(pieces), vocab_size, levels[-2], at_once, n == order)
            levels.append(_Level(longer, levels[-1], engine).number())
        arrays = {kind: np.asarray(np.memmap(folder / kind, dtype=dtype, mode="r")) for kind, dtype in KINDS.items()}
        return {"levels": np.array(levels, dtype=np.int64), **arrays}


@dataclass(frozen=True)
class _Order:
    """n-grams one word longer than those that are numbered from `base` on, for whoever works on them."""

    folder: Path
    pieces: int
    vocab_size: int
    base: int
    at_once: int  # positions of a piece, but of the last
    highest: bool  # then nobody asks where the n-grams end


def _file(folder: Path, kind: str, number: int) -> Path:
    """The array of that kind of a piece of the text or of a part of the keys."""
    return folder / f"{number:06}.{kind}"


def _keys(order: _Order, piece: int) -> tuple[np.ndarray, np.ndarray]:
    """Of the positions of a piece: keys, −1 where no n-gram so long ends; the number of the n-gram one shorter."""
    words = np.fromfile(_file(order.folder, "words", piece), np.int32)
    ending = np.fromfile(_file(order.folder, "ending", piece), np.int64)
    last = read(_file(order.folder, "ending", piece - 1), np.int64, order.at_once - 1, 1) if piece else np.array([-1])
    before = np.concatenate([last, ending[:-1]])
    keys = (before - order.base) * order.vocab_size + words
    keys[(before < 0) | (words == BOS)] = -1
    return keys, ending


def _sample(work: tuple[_Order, int]) -> np.ndarray:
    keys, _ = _keys(*work)
    return keys[keys >= 0][:: max(1, work[0].at_once // SAMPLE)].copy()


def _share_out(work: tuple[_Order, int]) -> tuple[np.ndarray, np.ndarray]:
    """Write which part each position of a piece goes to, and its keys and suffixes part by part.

    Returns:
        How many keys go to each part; of the parts that are one n-gram, its suffix where the piece has it, else −1.
    """
    order, piece = work
    splitters = np.fromfile(order.folder / "splitters", np.int64)
    keys, ending = _keys(order, piece)
    parts = np.searchsorted(splitters, keys) + np.searchsorted(splitters, keys, side="right")
    parts = np.where(keys < 0, NO_PART, parts).astype(np.uint16)
    if not order.highest:
        _write(_file(order.folder, "parts", piece), parts)
    by_part = np.argsort(parts, kind="stable")[: int((keys >= 0).sum())]
    sizes = np.bincount(parts[by_part], minlength=2 * len(splitters) + 1)  # odd: the keys that equal a splitter
    first = np.cumsum(sizes) - sizes
    suffixes = np.full(len(sizes), -1, dtype=np.int64)
    common = np.flatnonzero(sizes[1::2]) * 2 + 1
    suffixes[common] = ending[by_part[first[common]]]

    sorted_ones = by_part[parts[by_part] % 2 == 0]
    records = np.empty(len(sorted_ones), dtype=RECORD)
    records["key"], records["suffix"] = keys[sorted_ones], ending[sorted_ones]
    _write(_file(order.folder, "keys", piece), records)
    _write(_file(order.folder, "bounds", piece), np.cumsum(np.append(0, sizes * (np.arange(len(sizes)) % 2 == 0))))
    return sizes, suffixes


def _sort(work: tuple[_Order, int]) -> int:
    """Number the n-grams of a part from 0, in the order of their keys; returns how many there are."""
    order, part = work
    pieces = []
    for piece in range(order.pieces):
        first, last = read(_file(order.folder, "bounds", piece), np.int64, part, 2).tolist()
        pieces.append(read(_file(order.folder, "keys", piece), RECORD, first, last - first))
    records = np.concatenate(pieces)
    del pieces
    keys = records["key"].copy()
    by_key = np.argsort(keys)
    keys = keys[by_key]
    new = np.concatenate([[True], keys[1:] != keys[:-1]])
    if not order.highest:
        numbers = np.empty_like(keys)
        numbers[by_key] = np.cumsum(new) - 1
        _write(_file(order.folder, "numbers", part), numbers)
        del numbers
    first_ones = np.flatnonzero(new)
    found = np.empty((3, len(first_ones)), dtype=np.int64)
    found[0], found[1] = keys[first_ones], np.diff(first_ones, append=len(keys))
    found[2] = records["suffix"][by_key[first_ones]]
    _write(_file(order.folder, "found", part), found)
    return len(first_ones)


def _lengthen(work: tuple[_Order, int]) -> None:
    """Write `ending` of a piece anew: the numbers of the longer n-grams, −1 where none ends."""
    order, piece = work
    parts = np.fromfile(_file(order.folder, "parts", piece), np.uint16)
    firsts = np.fromfile(order.folder / "firsts", np.int64)
    places = read(order.folder / "places", np.int64, piece * len(firsts), len(firsts))
    longer = np.full(len(parts), -1, dtype=np.int64)
    by_part = np.argsort(parts, kind="stable")
    sizes = np.bincount(parts[parts != NO_PART], minlength=len(firsts))
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    for part in np.flatnonzero(sizes).tolist():
        numbers = _file(order.folder, "numbers", part)
        within = 0 if part % 2 else read(numbers, np.int64, places[part], sizes[part])
        longer[by_part[bounds[part] : bounds[part + 1]]] = firsts[part] + within
    _write(_file(order.folder, "ending", piece), longer)


class _Level:
    """The n-grams one word longer than those numbered base … end − 1."""

    def __init__(self, order: _Order, end: int, engine: Engine) -> None:
        self.order, self.engine, self.total, self.histories = order, engine, end, end - order.base
        self.work = [(order, piece) for piece in range(order.pieces)]
        self.history = 0  # the first, counted from base, whose extensions may not all be known

    def number(self) -> int:
        """Number them, and the positions where they end unless it is the highest order; the number after the last."""
        folder = self.order.folder
        splitters = self._splitters()
        _write(folder / "splitters", splitters)
        shared = list(self.engine.map(_share_out, self.work, "sharing out n-grams"))
        sizes, suffixes = (np.stack(kind) for kind in zip(*shared, strict=True))  # (pieces, parts) each
        filled = np.flatnonzero(sizes.sum(axis=0)).tolist()
        sorted_ones = [part for part in filled if part % 2 == 0]
        counted = self.engine.map(_sort, [(self.order, part) for part in sorted_ones], "sorting n-grams")
        firsts = np.zeros(sizes.shape[1], dtype=np.int64)
        for part in filled:
            if part % 2:
                firsts[part] = self.total
                common = splitters[part // 2], sizes[:, part].sum(), suffixes[:, part].max()
                self._add(np.array(common, dtype=np.int64)[:, None])
            else:
                next(counted)
                firsts[part] = self.total
                self._add(np.fromfile(_file(folder, "found", part), np.int64).reshape(3, -1))
                _file(folder, "found", part).unlink()
        self._close(self.histories, np.zeros(0, dtype=np.int64))
        if not self.order.highest:
            _write(folder / "firsts", firsts)
            _write(folder / "places", np.cumsum(sizes, axis=0) - sizes)
            list(self.engine.map(_lengthen, self.work, "numbering positions"))
        for kind in ("numbers", "keys", "bounds", "parts"):
            for file in folder.glob(f"*.{kind}"):
                file.unlink()
        return self.total

    def _splitters(self) -> np.ndarray:
        """Keys, ascending: on average half of `at_once` positions lie between two of them."""
        ranges = min(len(self.work), MOST_RANGES)
        if ranges == 1:
            return np.zeros(0, dtype=np.int64)
        sample = np.sort(np.concatenate(list(self.engine.map(_sample, self.work, "sampling n-grams"))))
        cuts = len(sample) * np.arange(1, 2 * ranges) // (2 * ranges)
        return np.unique(sample[cuts]) if len(sample) else sample

    def _add(self, found: np.ndarray) -> None:
        """Write n-grams, (3, G) keys, ascending, counts and suffixes."""
        keys, folder = found[0], self.order.folder
        histories = keys // self.order.vocab_size
        append(folder / "words", (keys % self.order.vocab_size).astype(np.int32))
        append(folder / "counts", found[1])
        append(folder / "suffixes", found[2])
        self._close(int(histories[-1]), histories)
        self.total += len(keys)

    def _close(self, last: int, histories: np.ndarray) -> None:
        """Write where the extensions of the histories before `last` end; `histories` are of the n-grams just added."""
        for begin in range(self.history, last, self.order.at_once):
            closed = np.arange(begin, min(begin + self.order.at_once, last))
            append(self.order.folder / "starts", self.total + np.searchsorted(histories, closed, side="right"))
        self.history = max(self.history, last)


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


def _write(path: Path, array: np.ndarray) -> None:
    """Write a file whole: a worker may be lost while it does, and another do it again."""
    temporary = path.with_name(f"{path.name}-{os.getpid()}")
    temporary.unlink(missing_ok=True)
    append(temporary, array)
    temporary.replace(path)
