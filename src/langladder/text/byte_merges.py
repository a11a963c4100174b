"""Byte-level BPE of many pieces: the merges of a tokenizer applied to each, in Numba.

As the `tokenizers` library applies them (Sennrich et al. 2016, section 3.2; Radford et al. 2019, section 2.2): of the
merges that a piece has room for the earliest learnt comes first, of equal ones the leftmost.

Shape legend: D pieces, M merges, V tokens.
"""

from typing import NamedTuple, Self

import numpy as np

from langladder.compiled import njit
from langladder.text.character_kernels import WIDE
from langladder.text.merging_kernels import grown_table, pair_slot


class ByteMerges(NamedTuple):
    """Merges as tables.

    byte_ids: (256,) int32, the token of each byte. slots, keys: a hash table of the pairs (M,) in order of their rank.
    merged: (M,) int32, the token that each makes.
    """

    byte_ids: np.ndarray
    slots: np.ndarray
    keys: np.ndarray
    merged: np.ndarray

    @classmethod
    def of(cls, vocabulary: dict[str, int], merges: list[tuple[str, str]], spelled: dict[str, int]) -> Self:
        """Those of a tokenizer. `spelled`: the visible character of each byte → the byte."""
        byte_ids = np.zeros(256, dtype=np.int32)
        for character, byte in spelled.items():
            byte_ids[byte] = vocabulary[character]
        keys = np.array([vocabulary[left] << 32 | vocabulary[right] for left, right in merges], dtype=np.int64)
        merged = np.array([vocabulary[left + right] for left, right in merges], dtype=np.int32)
        slots = grown_table(keys, len(keys), 1 << max(4, (2 * len(keys)).bit_length()))
        return cls(byte_ids, slots, keys, merged)

    def encode(self, text: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ids of pieces, and where those of each begin and end: (D + 1,) int64."""
        return merge_pieces(text, bounds, *self)


@njit()
def merge_pieces(
    text: np.ndarray, bounds: np.ndarray, byte_ids: np.ndarray, slots: np.ndarray, keys: np.ndarray, merged: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Merge the bytes of each piece `text[bounds[n] : bounds[n + 1]]`."""
    longest = 1
    for piece in range(len(bounds) - 1):
        longest = max(longest, bounds[piece + 1] - bounds[piece])
    symbols, links = np.empty(longest, dtype=np.int32), np.empty((longest, 2), dtype=np.int64)  # links: before, after
    heap = np.empty(3 * longest + 1, dtype=np.int64)
    ids, ends = np.empty(bounds[-1] - bounds[0], dtype=np.int32), np.zeros(len(bounds), dtype=np.int64)
    written = 0
    for piece in range(len(bounds) - 1):
        length = bounds[piece + 1] - bounds[piece]
        for place in range(length):
            symbols[place] = byte_ids[text[bounds[piece] + place]]
            links[place, 0], links[place, 1] = place - 1, place + 1
        _merge(symbols, links, length, heap, slots, keys, merged)
        place = 0
        while place < length:
            ids[written] = symbols[place]
            written += 1
            place = links[place, 1]
        ends[piece + 1] = written
    return ids[:written].copy(), ends


@njit()
def _merge(
    symbols: np.ndarray,
    links: np.ndarray,
    length: int,
    heap: np.ndarray,
    slots: np.ndarray,
    keys: np.ndarray,
    merged: np.ndarray,
) -> None:
    """Merge the symbols of one piece in place; one that went into its neighbour is −1."""
    size = 0
    for place in range(length - 1):
        size = _push(heap, size, _rank(symbols[place], symbols[place + 1], slots, keys), place)
    while size > 0:
        top = heap[0]
        size = _pop(heap, size)
        rank, place = top >> 32, top & 0xFFFFFFFF
        after = links[place, 1]
        if symbols[place] < 0 or after >= length:
            continue
        now = _rank(symbols[place], symbols[after], slots, keys)
        if now < 0 or merged[now] != merged[rank]:
            continue  # its neighbour was merged since
        symbols[place], symbols[after] = merged[rank], -1
        behind, before = links[after, 1], links[place, 0]
        links[place, 1] = behind
        if before >= 0:
            size = _push(heap, size, _rank(symbols[before], symbols[place], slots, keys), before)
        if behind < length:
            links[behind, 0] = place
            size = _push(heap, size, _rank(symbols[place], symbols[behind], slots, keys), place)


@njit()
def _rank(left: int, right: int, slots: np.ndarray, keys: np.ndarray) -> int:
    """The place of a pair among the merges, −1 where it is none."""
    number: int = slots[pair_slot(slots, keys, (WIDE(left) << 32) | WIDE(right))] - 1
    return number


@njit()
def _push(heap: np.ndarray, size: int, rank: int, place: int) -> int:
    if rank < 0:
        return size
    value, hole = (WIDE(rank) << 32) | place, size
    while hole > 0 and heap[(hole - 1) // 2] > value:
        heap[hole] = heap[(hole - 1) // 2]
        hole = (hole - 1) // 2
    heap[hole] = value
    return size + 1


@njit()
def _pop(heap: np.ndarray, size: int) -> int:
    """Take the least off the heap."""
    size -= 1
    value, hole = heap[size], 0
    while True:
        child = 2 * hole + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if child >= size or heap[child] >= value:
            heap[hole] = value
            return size
        heap[hole] = heap[child]
        hole = child
