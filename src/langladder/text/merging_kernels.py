"""The loops of `text.merging`: pairs in a hash table, words that lose a pair, the heap of pairs to merge.

Shape legend: W words, S symbols, P pairs, K changes that a merge makes.
"""

import numpy as np

from langladder.compiled import njit
from langladder.text.character_kernels import WIDE


@njit()
def pair_slot(slots: np.ndarray, keys: np.ndarray, key: int) -> int:
    """Where a pair stands in the table, or the empty slot where it would."""
    mask = len(slots) - 1
    slot = ((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & np.uint64(mask)
    place: int = WIDE(slot)
    while slots[place] != 0 and keys[slots[place] - 1] != key:
        place = (place + 1) & mask
    return place


@njit()
def grown_table(keys: np.ndarray, size: int, slots: int) -> np.ndarray:
    """A table of so many slots (a power of 2) for the first pairs of `keys`."""
    table = np.zeros(slots, dtype=np.int32)
    for number in range(size):
        table[pair_slot(table, keys, keys[number])] = number + 1
    return table


@njit()
def first_counts(
    symbols: np.ndarray,
    starts: np.ndarray,
    lengths: np.ndarray,
    weights: np.ndarray,
    slots: np.ndarray,
    keys: np.ndarray,
    counts: np.ndarray,
    marks: np.ndarray,
    state: np.ndarray,
) -> bool:
    """Count the pairs of all words: pairs' counts, and how many words each is in (marks[:, 1]).

    Args:
        state: (2,) the next word and how many pairs there are; changed.

    Returns:
        Whether all is done; else the table is to be made larger and this called again.
    """
    while state[0] < len(starts):
        word = state[0]
        if state[1] + lengths[word] > len(keys):
            return False
        for place in range(starts[word], starts[word] + lengths[word] - 1):
            key = (WIDE(symbols[place]) << 32) | WIDE(symbols[place + 1])
            slot = pair_slot(slots, keys, key)
            if slots[slot] == 0:
                keys[state[1]] = key
                counts[state[1]] = 0
                marks[state[1], 1] = 0
                marks[state[1], 2] = -1
                state[1] += 1
                slots[slot] = state[1]
            number = slots[slot] - 1
            counts[number] += weights[word]
            if marks[number, 2] != word:
                marks[number, 1] += 1
                marks[number, 2] = word
        state[0] += 1
    return True


@njit()
def first_places(
    symbols: np.ndarray,
    starts: np.ndarray,
    lengths: np.ndarray,
    slots: np.ndarray,
    keys: np.ndarray,
    marks: np.ndarray,
    begins: np.ndarray,
    places: np.ndarray,
) -> None:
    """The words of each pair, (…,) int32, from `begins` of the pair on; `begins` is used up."""
    marks[:, 2] = -1
    for word in range(len(starts)):
        for place in range(starts[word], starts[word] + lengths[word] - 1):
            key = (WIDE(symbols[place]) << 32) | WIDE(symbols[place + 1])
            number = slots[pair_slot(slots, keys, key)] - 1
            if marks[number, 2] != word:
                marks[number, 2] = word
                places[begins[number]] = word
                begins[number] += 1


@njit()
def merge_words(
    symbols: np.ndarray,
    starts: np.ndarray,
    lengths: np.ndarray,
    weights: np.ndarray,
    where: np.ndarray,
    rule: tuple[int, int, int],
    changes: np.ndarray,
) -> int:
    """Put one symbol in the place of each pair of two.

    Args:
        where: the words to look at. rule: left, right, and the symbol in their place.
        changes: (≥ K, 3) int64, filled: the key of a pair, how its count changes, the word.

    Returns:
        K.
    """
    left, right, merged = rule
    found = 0
    for word in where:
        first, length, weight = starts[word], lengths[word], weights[word]
        read = write = WIDE(0)
        while read < length:
            symbol = symbols[first + read]
            if symbol == left and read + 1 < length and symbols[first + read + 1] == right:
                if write > 0:
                    before = WIDE(symbols[first + write - 1]) << 32
                    found = _change(changes, found, before | WIDE(left), -weight, word)
                    found = _change(changes, found, before | WIDE(merged), weight, word)
                symbol = merged
                read += 1
                if read + 1 < length:
                    after = WIDE(symbols[first + read + 1])
                    found = _change(changes, found, (WIDE(right) << 32) | after, -weight, word)
                    found = _change(changes, found, (WIDE(merged) << 32) | after, weight, word)
            symbols[first + write] = symbol
            read += 1
            write += 1
        lengths[word] = write
    return found


@njit()
def _change(changes: np.ndarray, found: int, key: int, weight: int, word: int) -> int:
    changes[found, 0], changes[found, 1], changes[found, 2] = key, weight, word
    return found + 1


@njit()
def collect(
    changes: np.ndarray,
    slots: np.ndarray,
    keys: np.ndarray,
    counts: np.ndarray,
    marks: np.ndarray,
    touched: np.ndarray,
    step: int,
    state: np.ndarray,
) -> bool:
    """Add up the changes; note the pairs that were made, and in how many words each.

    Args:
        changes: (K, 3). touched: (≥ K,) numbers of the pairs that were made, filled.
        state: (3,) the next change, how many pairs there are, how many were made; changed.

    Returns:
        Whether all is done; else the table is to be made larger and this called again.
    """
    while state[0] < len(changes):
        key, change, word = changes[state[0], 0], changes[state[0], 1], changes[state[0], 2]
        slot = pair_slot(slots, keys, key)
        if slots[slot] == 0:
            if state[1] == len(keys):
                return False
            keys[state[1]] = key
            counts[state[1]] = 0
            state[1] += 1
            slots[slot] = state[1]
        number = slots[slot] - 1
        counts[number] += change
        if change > 0:
            if marks[number, 0] != step:
                marks[number, 0], marks[number, 1], marks[number, 2] = step, 0, -1
                touched[state[2]] = number
                state[2] += 1
            if marks[number, 2] != word:
                marks[number, 1] += 1
                marks[number, 2] = word
        state[0] += 1
    return True


@njit()
def spread(
    changes: np.ndarray, slots: np.ndarray, keys: np.ndarray, marks: np.ndarray, touched: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The words of the pairs that were made: (…,) int32, and (T,) int64 where those of each end."""
    ends = np.empty(len(touched), dtype=np.int64)
    total = 0
    for place in range(len(touched)):
        number = touched[place]
        total, begin = total + marks[number, 1], total
        marks[number, 1], marks[number, 2] = begin, -1
    words = np.empty(total, dtype=np.int32)
    for row in range(len(changes)):
        if changes[row, 1] > 0:
            number = slots[pair_slot(slots, keys, changes[row, 0])] - 1
            if marks[number, 2] != changes[row, 2]:
                marks[number, 2] = changes[row, 2]
                words[marks[number, 1]] = changes[row, 2]
                marks[number, 1] += 1
    for place in range(len(touched)):
        ends[place] = marks[touched[place], 1]
    return words, ends


@njit()
def push(
    rows: np.ndarray, size: int, keys: np.ndarray, counts: np.ndarray, touched: np.ndarray, ends: np.ndarray, block: int
) -> int:
    """Put pairs on the heap. Returns how many rows it has now."""
    begin = 0
    for place in range(len(touched)):
        number, end = touched[place], ends[place]
        if counts[number] > 0:
            row = rows[size]
            row[0], row[1], row[2] = counts[number], keys[number], number
            row[3], row[4], row[5] = block, begin, end
            _up(rows, size)
            size += 1
        begin = end
    return size


@njit()
def pop(rows: np.ndarray, size: int, counts: np.ndarray, top: np.ndarray) -> int:
    """Take the pair that is most frequent now off the heap, into `top` (6,). Returns how many are left; −1: no pair."""
    while size > 0:
        number = rows[0, 2]
        if rows[0, 0] == counts[number]:
            size -= 1
            for column in range(6):
                top[column] = rows[0, column]
                rows[0, column] = rows[size, column]
            _down(rows, size)
            return size
        rows[0, 0] = counts[number]  # it has become rarer since it was queued
        _down(rows, size)
    return -1


@njit()
def _before(one: np.ndarray, two: np.ndarray) -> bool:
    return bool(one[0] > two[0] or (one[0] == two[0] and one[1] < two[1]))


@njit()
def _up(rows: np.ndarray, place: int) -> None:
    while place > 0:
        above = (place - 1) // 2
        if not _before(rows[place], rows[above]):
            return
        for column in range(6):
            rows[place, column], rows[above, column] = rows[above, column], rows[place, column]
        place = above


@njit()
def _down(rows: np.ndarray, size: int) -> None:
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            return
        if child + 1 < size and _before(rows[child + 1], rows[child]):
            child += 1
        if not _before(rows[child], rows[place]):
            return
        for column in range(6):
            rows[place, column], rows[child, column] = rows[child, column], rows[place, column]
        place = child
