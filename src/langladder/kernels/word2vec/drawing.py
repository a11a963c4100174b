"""Random draws of word2vec's kernels: subsampling, window sizes, and noise words.

Shape legend: N words of a chunk of text, V vocabulary, S noise words.
"""

from typing import NamedTuple

import numpy as np

from langladder.kernels.compiled import Untyped, njit

ONE_OVER_2_53 = 1.0 / 9007199254740992.0


@njit(nogil=True)
def random_bits(state: np.ndarray) -> Untyped:
    """The next 64 bits of xorshift64* (Vigna 2016); `state` (1,) uint64, never 0."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return x * np.uint64(2685821657736338717)


@njit(nogil=True)
def random_unit(state: np.ndarray) -> Untyped:
    """Uniform in [0, 1)."""
    return (random_bits(state) >> np.uint64(11)) * ONE_OVER_2_53


class AliasTable(NamedTuple):
    """An alias table of V words: (V,) float64 probability of a slot's own word, (V,) int64 the slot's other word."""

    stay: np.ndarray
    other: np.ndarray


@njit(nogil=True)
def alias_table(probabilities: np.ndarray) -> AliasTable:
    """Walker's alias method in Vose's form (1991): draws from any distribution (V,) in constant time."""
    size = len(probabilities)
    scaled, other = probabilities * size, np.arange(size)
    small, large = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    smalls, larges = 0, 0
    for word in range(size):
        if scaled[word] < 1.0:
            small[smalls] = word
            smalls += 1
        else:
            large[larges] = word
            larges += 1
    while smalls > 0 and larges > 0:
        poor, rich = small[smalls - 1], large[larges - 1]
        other[poor] = rich
        scaled[rich] -= 1.0 - scaled[poor]
        smalls -= 1
        if scaled[rich] < 1.0:
            larges -= 1
            small[smalls] = rich
            smalls += 1
    for k in range(smalls):
        scaled[small[k]] = 1.0
    for k in range(larges):
        scaled[large[k]] = 1.0
    return AliasTable(scaled, other)


@njit(nogil=True)
def draw_noise(table: AliasTable, state: np.ndarray, noise: np.ndarray) -> None:
    """Fill `noise` (S,) with words drawn from an alias table, without unpredictable branches."""
    stay, other = table
    for s in range(len(noise)):
        position = random_unit(state) * len(stay)
        slot = int(position)
        stays = int(position - slot < stay[slot])
        noise[s] = stays * slot + (1 - stays) * other[slot]


class Chunk(NamedTuple):
    """A stretch of text, frequent words subsampled.

    Attributes:
        words: (N,) int64; the first `size` are the kept words.
        before, after: (N,) int64, words of each one's window on each side.
    """

    words: np.ndarray
    before: np.ndarray
    after: np.ndarray
    size: int


@njit(nogil=True)
def subsample(
    ids: np.ndarray, ends: np.ndarray, keep: np.ndarray, window: int, dynamic: bool, state: np.ndarray
) -> Chunk:
    """Copy a chunk of text, subsample frequent words, and determine each word's window within its line.

    Args:
        ids: (N,) the chunk's words; ends: ends of its lines in `ids`, ascending, the last one N.
        keep: (V,) probability to keep an occurrence of each word.
        dynamic: draw a window for each word from 1 … `window`.
    """
    words = np.empty(len(ids), dtype=np.int64)
    before, after = np.empty(len(ids), dtype=np.int64), np.empty(len(ids), dtype=np.int64)
    count, t = 0, 0
    for end in ends:
        first = count
        while t < end:
            word = ids[t]
            if keep[word] >= 1.0 or random_unit(state) < keep[word]:
                words[count] = word
                count += 1
            t += 1
        for i in range(first, count):
            reach = 1 + int(random_unit(state) * window) if dynamic else window
            before[i] = min(reach, i - first)
            after[i] = min(reach, count - 1 - i)
    return Chunk(words, before, after, count)
