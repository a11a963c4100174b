"""Byte-pair merges learnt from the counts of words (Sennrich et al. 2016, algorithm 1), whatever made the counts.

Equal, merge for merge, to the trainer of the `tokenizers` library, which takes running text only: the most frequent
pair first, of equal ones that with the lower ids; a pair's own count stays when it is merged; a token that two ways of
merging spell is one token. So a corpus that is counted in shards gives the `tokenizer.json` that its text would give.

Shape legend: W different words, S symbols of all words, P different pairs.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from langladder.text.merging_kernels import (
    collect,
    first_counts,
    first_places,
    grown_table,
    merge_words,
    pop,
    push,
    spread,
)


class Words(NamedTuple):
    """Different words as symbols, and how often each occurs.

    symbols: (S,) int32 ids of tokens, one word after the other; changed by learning. starts: (W,) int64, where each
    word begins. lengths: (W,) int32; changed too. counts: (W,) int64.
    """

    symbols: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    counts: np.ndarray


@dataclass
class Pairs:
    """Pairs of neighbouring symbols, numbered as they are met.

    slots: hash table of numbers + 1, 0 where it is empty. keys: (P,) int64, left symbol × 2³² + right. counts: (P,)
    int64. marks: (P, 3) int64: of the step that met a pair last its number, how many words it was met in, and the last
    of these.
    """

    slots: np.ndarray = field(default_factory=lambda: np.zeros(1 << 16, dtype=np.int32))
    keys: np.ndarray = field(default_factory=lambda: np.zeros(1 << 15, dtype=np.int64))
    counts: np.ndarray = field(default_factory=lambda: np.zeros(1 << 15, dtype=np.int64))
    marks: np.ndarray = field(default_factory=lambda: np.full((1 << 15, 3), -1, dtype=np.int64))
    size: int = 0

    def grow(self) -> None:
        """Room for twice as many."""
        self.keys = np.concatenate([self.keys, np.zeros_like(self.keys)])
        self.counts = np.concatenate([self.counts, np.zeros_like(self.counts)])
        self.marks = np.concatenate([self.marks, np.full_like(self.marks, -1)])
        self.slots = grown_table(self.keys, self.size, 2 * len(self.slots))


@dataclass
class Queue:
    """A heap of pairs to merge: (n, 6) int64: count, key, number, and the words it was met in: block, from, to.

    The words of a pair stand in a block of their own for each step, so that none of them is copied to make room.
    """

    rows: np.ndarray = field(default_factory=lambda: np.zeros((1 << 12, 6), dtype=np.int64))
    size: int = 0
    blocks: list[np.ndarray] = field(default_factory=list)

    def add(self, pairs: Pairs, touched: np.ndarray, ends: np.ndarray, words: np.ndarray) -> None:
        """Pairs that a step has met, and the words each was met in: `words[ends[i - 1] : ends[i]]`."""
        while self.size + len(touched) > len(self.rows):
            self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)])
        self.size = push(self.rows, self.size, pairs.keys, pairs.counts, touched, ends, len(self.blocks))
        self.blocks.append(words)


def learn_merges(
    words: Words, tokens: list[str], size: int, *, min_frequency: int = 1, prefix: str = ""
) -> tuple[list[str], list[tuple[str, str]]]:
    """Merge the most frequent pair until there are `size` tokens or no pair is frequent enough.

    Args:
        words: symbols are places in `tokens`; used up.
        tokens: those that there are to begin with, each once.
        prefix: of tokens that go on inside a word (WordPiece's `##`); the right one loses it in a merge.

    Returns:
        All tokens, and the merges in order.
    """
    tokens, merges = list(tokens), dict[tuple[str, str], None]()
    ids = {token: number for number, token in enumerate(tokens)}
    pairs, queue, top = Pairs(), Queue(), np.zeros(6, dtype=np.int64)
    _count(words, pairs, queue)
    while len(tokens) < size:
        queue.size = pop(queue.rows, queue.size, pairs.counts, top)
        if queue.size < 0 or top[0] < max(1, min_frequency):
            break
        left, right = int(top[1]) >> 32, int(top[1]) & 0xFFFFFFFF
        spelled = tokens[left] + tokens[right].removeprefix(prefix)
        token = ids.setdefault(spelled, len(tokens))
        if token == len(tokens):
            tokens.append(spelled)
        merge = tokens[left], tokens[right]
        merges.pop(merge, None)  # merged before, where two pairs spell one token
        merges[merge] = None
        _merge(words, pairs, queue, queue.blocks[top[3]][top[4] : top[5]], (left, right, token))
    return tokens, list(merges)


def _count(words: Words, pairs: Pairs, queue: Queue) -> None:
    """Count all pairs, and note the words of each."""
    state = np.zeros(2, dtype=np.int64)
    while not first_counts(*words, pairs.slots, pairs.keys, pairs.counts, pairs.marks, state):
        pairs.size = int(state[1])
        pairs.grow()
    pairs.size = int(state[1])
    ends = np.cumsum(pairs.marks[: pairs.size, 1])
    begins = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    places = np.empty(int(pairs.marks[: pairs.size, 1].sum()), dtype=np.int32)
    first_places(*words[:3], pairs.slots, pairs.keys, pairs.marks, begins, places)
    queue.add(pairs, np.arange(pairs.size), ends, places)


def _merge(words: Words, pairs: Pairs, queue: Queue, where: np.ndarray, rule: tuple[int, int, int]) -> None:
    """Merge one pair in the words that it was met in; count and queue the pairs that this makes."""
    most = 2 * int(words.lengths[where].sum())  # a merge takes two symbols, and changes four pairs
    changes = np.empty((most, 3), dtype=np.int64)
    changes = changes[: merge_words(*words, where, rule, changes)]
    touched, state = np.empty(len(changes), dtype=np.int64), np.array([0, pairs.size, 0])
    while not collect(changes, pairs.slots, pairs.keys, pairs.counts, pairs.marks, touched, len(queue.blocks), state):
        pairs.size = int(state[1])
        pairs.grow()
    pairs.size = int(state[1])
    touched = touched[: state[2]]
    queue.add(pairs, touched, *spread(changes, pairs.slots, pairs.keys, pairs.marks, touched)[::-1])
