"""n-gram counts as a trie in flat arrays: no dictionary, no Python loop over the text.

Every n-gram up to the chosen order has a number. Numbers go order by order (word w is n-gram w, then all bigrams, …),
and within an order they are sorted by history, then by word. So the n-grams that extend an n-gram g by one word lie
side by side, at `starts[g] : starts[g + 1]`, with their last words ascending: looking a word up is a binary search,
and walking the trie needs nothing but `words` and `starts`.

A line opens with BOS. BOS is given, never predicted: no n-gram ends in it, and none reaches back across it.

A text whose n-grams may not fit into the memory that the engine grants is counted on disk, to the same numbers, as
Heafield et al. 2013 do ("Scalable Modified Kneser-Ney Language Model Estimation", `lmplz -S`). One order after the
other:

1. A position's key is its history's number and its word. Each piece of the text saves its distinct keys as a sorted run
   (`ground.sorted_runs`), with their counts and the number of the n-gram that ends at the position now: the suffix.
2. The runs are merged. Each distinct key is one n-gram, and the keys ascend in the order of the numbers.
3. The numbers go back to the runs, and from there to the positions of each piece.

Pieces are sorted and ranges merged by the workers of the engine, in one folder. A worker holds `at_once` positions.
"""

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from langladder.engine.base import Engine, Serial, current
from langladder.ground.errors import InputError
from langladder.ground.memory import forget
from langladder.ground.progress import tracked
from langladder.ground.sorted_runs import GrowingArray, add_up, key_ranges, mapped, read_range, save, temporary_folder
from langladder.kernels.counting import extension, lengthen
from langladder.text.storage.token_streams import id_bounds
from langladder.text.tokenize.specials import BOS

BYTES_A_WORD, BYTES_AN_NGRAM = 36, 28  # of counting in memory
BYTES_A_POSITION = 128  # of a piece that is sorted, or of a range that is merged
MOST_NUMBERS = (1 << 31) - 1  # positions and n-grams that are counted in memory: numbers of 32 bits
RECORD = np.dtype([("key", np.int64), ("count", np.int64), ("suffix", np.int64)])  # of a run
KINDS = {
    kind: np.dtype(np.int32 if kind == "words" else np.int64) for kind in ("words", "starts", "suffixes", "counts")
}


@dataclass(frozen=True)
class NgramCounts:
    """All n-grams of orders 1 … N of a text, G in all, L of them of orders below N.

    Attributes:
        levels: (N + 1,) int64. Order n has the numbers `levels[n - 1]` … `levels[n] - 1`; order 1 has the V word ids.
        words: (G,) int32, the last word of each n-gram.
        starts: (L + 1,) int64, where the extensions of each n-gram begin.
        suffixes: (G,) int64, the number of the n-gram without its first word; −1 for single words.
        counts: (G,) int64, how often each occurs. For BOS alone: how many lines begin.
    """

    levels: np.ndarray
    words: np.ndarray
    starts: np.ndarray
    suffixes: np.ndarray
    counts: np.ndarray

    @property
    def order(self) -> int:
        """The highest order N."""
        return len(self.levels) - 1

    @property
    def vocab_size(self) -> int:
        """V, the number of word ids."""
        return int(self.levels[1])

    def level(self, order: int) -> slice:
        """The numbers of one order's n-grams."""
        return slice(int(self.levels[order - 1]), int(self.levels[order]))

    def opening(self, order: int) -> slice:
        """The numbers of one order's n-grams that open with BOS, side by side: no longer history than theirs exists."""
        first, last = BOS, BOS + 1
        for _ in range(order - 1):
            first, last = int(self.starts[first]), int(self.starts[last])
        return slice(first, last)

    def number(self, ngram: list[int]) -> int:
        """The number of an n-gram given by its word ids; −1 where the text has none such."""
        history = ngram[0]
        for word in ngram[1:]:
            history = int(extension(self.words, self.starts, history, word)) if history >= 0 else -1
        return history

    def count(self, ngram: list[int]) -> int:
        """How often the text has this n-gram."""
        number = self.number(ngram)
        return int(self.counts[number]) if number >= 0 else 0


def count_ngrams(ids: np.ndarray, order: int, vocab_size: int) -> NgramCounts:
    """Count all n-grams of orders 1 … `order`, with one counting sort of the text per order.

    Where the arrays could be larger than what the running engine grants (`whole`), they are made on disk, below the
    system's folder for temporary files (TMPDIR), and are read-only; the engine's workers help if they are here.

    Args:
        ids: (T,) integer word ids below `vocab_size`; every line opens with BOS.

    Raises:
        InputError: the text is empty, does not open with BOS, or has an id that is not below `vocab_size`.
    """
    _check(ids, vocab_size)
    most = vocab_size + (order - 1) * len(ids)  # n-grams; memory is taken only where something is written
    room = current().whole
    if BYTES_A_WORD * len(ids) + BYTES_AN_NGRAM * most > room or most > MOST_NUMBERS:
        engine = current() if current().is_local else Serial(memory=current().memory)
        at_once = max(1, (engine.share if engine.workers > 1 else room) // BYTES_A_POSITION)
        at_once = min(at_once, MOST_NUMBERS)
        return count_on_disk(ids, order, vocab_size, at_once, engine)
    ids = ids.astype(np.int32)
    words, counts, suffixes = np.empty(most, np.int32), np.empty(most, np.int64), np.empty(most, np.int64)
    starts = np.empty(most + 1, np.int64)
    words[:vocab_size] = np.arange(vocab_size)
    counts[:vocab_size] = np.bincount(ids, minlength=vocab_size)
    suffixes[:vocab_size] = -1
    starts[0] = vocab_size

    # All positions where a word is predicted, by that word. (NumPy sorts 16-bit numbers by radix, ten times faster.)
    sortable = ids.astype(np.uint16) if vocab_size <= 1 << 16 else ids
    by_word = np.argsort(sortable, kind="stable").astype(np.int32)
    by_word = by_word[ids[by_word] != BOS]
    scratch = np.empty_like(by_word)
    ending, longer = ids, np.empty_like(ids)  # the number of the n-gram of the order in hand that ends at each position
    levels = [0, vocab_size]
    for _ in tracked(range(order - 1), "counting n-grams", unit="orders"):
        base, end = levels[-2:]
        levels.append(lengthen(ids, by_word, scratch, base, end, ending, longer, words, counts, suffixes, starts))
        ending, longer = longer, np.empty_like(ids) if ending is ids else ending
    total, lower = levels[-1], levels[-2]
    return NgramCounts(
        np.array(levels, dtype=np.int64), words[:total], starts[: lower + 1], suffixes[:total], counts[:total]
    )


def count_on_disk(
    ids: np.ndarray, order: int, vocab_size: int, at_once: int, engine: Engine, scratch: Path | None = None
) -> NgramCounts:
    """Count through sorted runs.

    Args:
        ids: (T,) word ids, checked; every line opens with BOS.
        at_once: positions that a worker holds in memory.
        engine: whose workers see this machine's files.
        scratch: folder below which files stand while this runs; None: the system's.

    Returns:
        The counts, whose arrays are mapped read-only from files that have no name any more.
    """
    with temporary_folder(".counting-", scratch) as folder:
        arrays = {kind: GrowingArray(dtype, folder / kind) for kind, dtype in KINDS.items()}
        counts = np.zeros(vocab_size, dtype=np.int64)
        pieces = range(0, len(ids), at_once)
        for piece, begin in enumerate(pieces):
            words = ids[begin : begin + at_once].astype(np.int32)
            counts += np.bincount(words, minlength=vocab_size)
            save(_file(folder, "words", piece), words)
            save(_file(folder, "ending", piece), words.astype(np.int64))
            forget(ids[begin : begin + at_once])
        arrays["words"].add(np.arange(vocab_size))
        arrays["starts"].add(np.array([vocab_size]))
        arrays["suffixes"].add(np.full(vocab_size, -1))
        arrays["counts"].add(counts)
        levels = [0, vocab_size]
        for n in range(2, order + 1):
            longer = _Order(folder, len(pieces), vocab_size, levels[-2], levels[-1], at_once)
            levels.append(_add_order(longer, arrays, engine, highest=n == order))
        return NgramCounts(np.array(levels, dtype=np.int64), **{kind: array.array() for kind, array in arrays.items()})


@dataclass(frozen=True)
class _Order:
    """n-grams one word longer than those numbered base … end − 1.

    Attributes:
        folder: of each piece of the text it has `words`, (P,) int32, and `ending`, (P,) int64: the number of the
            longest n-gram so far that ends at each position, −1 where none does.
        pieces: how many there are.
        at_once: P, positions of each piece but the last.
    """

    folder: Path
    pieces: int
    vocab_size: int
    base: int
    end: int
    at_once: int


def _file(folder: Path, kind: str, number: int) -> Path:
    """The array of that kind of a piece of the text, or of a range of the keys."""
    return folder / f"{number:06}.{kind}"


def _add_order(order: _Order, arrays: dict[str, GrowingArray], engine: Engine, *, highest: bool) -> int:
    """Append the n-grams, and write where they end in each piece unless it is the highest order.

    Returns:
        The number after the last of them.
    """
    folder, pieces, total = order.folder, range(order.pieces), order.end
    runs = list(engine.map(partial(_write_run, order), pieces, "sorting n-grams"))
    numbers = [GrowingArray(np.int64, _file(folder, "numbers", piece)) for piece in pieces]  # of each run's keys
    cuts = list(pairwise(key_ranges(runs, order.at_once)))
    work = [(number, first, last) for number, (first, last) in enumerate(cuts)]
    merged = engine.map(partial(_merge, folder, runs), work, "merging n-grams")
    closed = 0  # histories, counted from base, whose extensions are all known
    for (first, last), (totals_file, went_to_file) in zip(cuts, merged, strict=True):
        totals = mapped(totals_file)
        histories = totals["key"] // order.vocab_size
        arrays["words"].add(totals["key"] % order.vocab_size)
        arrays["counts"].add(totals["count"])
        arrays["suffixes"].add(totals["suffix"])
        _add_ends(arrays["starts"], total, closed, int(histories[-1]), histories, order.at_once)
        closed = int(histories[-1])
        if not highest:
            of_runs = np.split(mapped(went_to_file), np.cumsum(last - first)[:-1])
            for result, some in zip(numbers, of_runs, strict=True):
                if len(some):
                    result.add(total + some)
        total += len(totals)
        totals_file.unlink()
        went_to_file.unlink()
    _add_ends(arrays["starts"], total, closed, order.end - order.base, np.zeros(0, dtype=np.int64), order.at_once)
    for result in numbers:
        result.close()
    if not highest:
        list(engine.map(partial(_write_endings, order), pieces, "numbering positions"))
    return total


def _add_ends(starts: GrowingArray, total: int, first: int, last: int, histories: np.ndarray, at_once: int) -> None:
    """Append where the extensions of the histories first … last − 1 end.

    Args:
        total: the number of the first n-gram of those whose histories are in `histories`, ascending.
    """
    for begin in range(first, last, at_once):
        closed = np.arange(begin, min(begin + at_once, last))
        starts.add(total + np.searchsorted(histories, closed, side="right"))


def _write_run(order: _Order, piece: int) -> Path:
    """Save the distinct keys of a piece, and `rows`: (P,) int64, the row of each position's key; −1 where none ends."""
    words, ending = (np.array(mapped(_file(order.folder, kind, piece))) for kind in ("words", "ending"))
    previous = mapped(_file(order.folder, "ending", piece - 1))[-1:] if piece else np.array([-1])
    before = np.concatenate([previous, ending[:-1]])
    predicted = np.flatnonzero((before >= 0) & (words != BOS))
    keys = (before[predicted] - order.base) * order.vocab_size + words[predicted]
    del before, words
    keys, row_of, counts = np.unique(keys, return_inverse=True, return_counts=True)
    run = np.empty(len(keys), dtype=RECORD)
    run["key"], run["count"] = keys, counts
    run["suffix"][row_of] = ending[predicted]  # (w_2 … w_{n+1}) ends where (w_1 … w_{n+1}) does
    rows = np.full(len(ending), -1, dtype=np.int64)
    rows[predicted] = row_of
    save(_file(order.folder, "rows", piece), rows)
    path = _file(order.folder, "run", piece)
    save(path, run)
    return path


def _merge(folder: Path, runs: list[Path], work: tuple[int, np.ndarray, np.ndarray]) -> tuple[Path, Path]:
    """Merge a range of the keys: its number, and where it begins and ends in each run, (K,) each.

    Returns:
        Files of the records of its n-grams, and of which of them each record of the runs went to.
    """
    number, first, last = work
    totals, went_to = add_up(read_range(runs, first, last))
    files = _file(folder, "totals", number), _file(folder, "went_to", number)
    for file, array in zip(files, (totals, went_to), strict=True):
        save(file, array)
    return files


def _write_endings(order: _Order, piece: int) -> None:
    """Overwrite `ending` of a piece with the numbers of the longer n-grams, −1 where none ends."""
    rows, numbers = (np.array(mapped(_file(order.folder, kind, piece))) for kind in ("rows", "numbers"))
    longer = np.full(len(rows), -1, dtype=np.int64)
    longer[rows >= 0] = numbers[rows[rows >= 0]]
    save(_file(order.folder, "ending", piece), longer)


def _check(ids: np.ndarray, vocab_size: int) -> None:
    if len(ids) == 0:
        raise InputError("the training text has no words; n-grams cannot be counted")
    if ids[0] != BOS:
        raise InputError(f"the training text opens with id {ids[0]}, but every line must open with BOS ({BOS})")
    low, high = id_bounds(ids)
    if low < 0 or high >= vocab_size:
        raise InputError(f"the training text has id {low if low < 0 else high}, not one of 0 … {vocab_size - 1}")
