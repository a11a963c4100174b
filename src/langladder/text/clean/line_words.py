"""The words of many lines at once, from the bytes of an Arrow column: no Python string is made of a common line.

Words are those of `split_words(line, "auto")`. Nearly all lines have no white space but the space and no script that
writes words together; of these, words are runs of other bytes than the space. The others are rewritten with a space
between their words first. Each word has a code of 128 bits: equal words have equal codes, and of n different ones two
have the same with a probability of about n² / 2¹²⁹ (10⁻¹⁶ for 10¹¹ types). Words of up to eight bytes never have.
"""

import hashlib
import re
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import regex  # type: ignore[import-untyped]

from langladder.text.storage.arrow_arrays import numbers, truths
from langladder.text.storage.arrow_arrays import texts as strings
from langladder.text.words.words import SPACELESS_CLASS, UNSPACED, split_words

AT_ONCE = 4096  # lines that are looked at together: so many that what is made of them stays in the cache
LONG = 64  # bytes from which on a word is hashed by itself
SPACE = 32
# What makes words otherwise than spaces do; `str.split` takes U+001C to U+001F and U+0085 for white space, too.
IRREGULAR = regex.compile(rf"[{UNSPACED}{SPACELESS_CLASS}]|[\s\x1c-\x1f\x85--\ ]", regex.V1)


class Bytes(NamedTuple):
    """A column of texts: all their bytes, and where each begins and the last ends, (L + 1,) int64."""

    data: np.ndarray
    bounds: np.ndarray

    @classmethod
    def of(cls, texts: pa.Array) -> Self:
        """Without a copy of the bytes."""
        _, offsets, data = texts.buffers()
        if not len(texts) or data is None:
            return cls(np.zeros(0, dtype=np.uint8), np.zeros(len(texts) + 1, dtype=np.int64))
        bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
        found = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]]
        return cls(found, bounds - bounds[0])

    def view(self) -> memoryview:
        """The bytes, of which slices are taken without a copy."""
        return memoryview(self.data)  # type: ignore[arg-type]

    def any(self, marked: np.ndarray) -> np.ndarray:
        """(L,) bool: whether a text has one of the bytes at these positions."""
        lines = np.searchsorted(self.bounds, marked, side="right") - 1
        found = np.zeros(len(self.bounds) - 1, dtype=bool)
        found[lines] = True
        return found


class Words(NamedTuple):
    """The words of L lines: first byte and number of bytes of each, (W,) int64; words in each line, (L,) int64."""

    data: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray
    lengths: np.ndarray


def words_of(texts: pa.Array) -> Words:
    """The words of each line."""
    data, bounds = Bytes.of(regular(texts))
    inside = data != SPACE
    breaks = np.zeros(len(data) + 1, dtype=bool)  # a line ends before this byte
    breaks[bounds] = True
    opens = inside.copy()
    opens[1:] &= ~inside[:-1] | breaks[1:-1]
    closes = inside
    closes[:-1] &= ~inside[1:] | breaks[1:-1]
    starts = np.flatnonzero(opens)
    lengths = np.diff(np.searchsorted(starts, bounds))
    return Words(data, starts, np.flatnonzero(closes) + 1 - starts, lengths)


def regular(texts: pa.Array) -> pa.Array:
    """The same lines, rewritten where their words are not what stands between spaces."""
    data, bounds = Bytes.of(texts)
    marked = (data >= 9) & (data <= 31) & ((data <= 13) | (data >= 28)) | (data >= 128)
    if not marked.any():
        return texts
    strange = "".join(IRREGULAR.findall("".join(set(data[marked].tobytes().decode()))))
    if not strange:
        return texts
    firsts = np.zeros(len(data), dtype=bool)
    for lead in {character.encode()[0] for character in strange}:  # first bytes of these characters
        firsts |= data == lead
    lines = np.flatnonzero(Bytes(data, bounds).any(np.flatnonzero(firsts)))
    search = re.compile(f"[{re.escape(strange)}]").search  # of these alone, which is far quicker than the whole class
    pairs = zip(lines.tolist(), texts.take(numbers(lines)).to_pylist(), strict=True)
    found = {line: text for line, text in pairs if search(text)}
    return replaced(texts, list(found), [" ".join(split_words(text, "auto")) for text in found.values()])


def replaced(texts: pa.Array, lines: list[int], by: list[str]) -> pa.Array:
    """The same texts but for some."""
    if not lines:
        return texts
    mask = np.zeros(len(texts), dtype=bool)
    mask[lines] = True
    return pc.replace_with_mask(texts, truths(mask), strings(by))


def codes_of(words: Words) -> np.ndarray:
    """(2, W) uint64: two independent 64-bit hashes of each word."""
    padded = np.zeros(len(words.data) // 8 * 8 + 24, dtype=np.uint8)
    padded[: len(words.data)] = words.data
    blocks = padded.view(np.uint64)
    block = _eight(blocks, words.starts, words.sizes)
    first = words.sizes.astype(np.uint64) * _ODD ^ block
    codes = np.stack([mixed(first ^ seed) for seed in _SEEDS])
    rows = np.flatnonzero(words.sizes > 8)
    for at in range(8, int(min(LONG, words.sizes.max(initial=0))), 8):
        rows = rows[words.sizes[rows] > at]
        block = _eight(blocks, words.starts[rows] + at, words.sizes[rows] - at)
        for lane in codes:
            lane[rows] = mixed(lane[rows] ^ block)
    whole = memoryview(words.data)  # type: ignore[arg-type]
    for row in np.flatnonzero(words.sizes > LONG):
        start = words.starts[row]
        digest = hashlib.blake2b(whole[start : start + words.sizes[row]], digest_size=16).digest()
        codes[:, row] = np.frombuffer(digest, np.uint64)
    return codes


_SEEDS = (np.uint64(0x243F6A8885A308D3), np.uint64(0x13198A2E03707344))
_ODD = np.uint64(0x9E3779B97F4A7C15)
_KEPT = np.array([0, *((1 << 8 * size) - 1 for size in range(1, 9))], dtype=np.uint64)  # the first bytes of eight


def _eight(blocks: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Eight bytes from each start on, as a number; those after the word's end are 0."""
    at, shift = starts >> 3, ((starts & 7) << 3).astype(np.uint64)
    low = blocks[at] >> shift
    high = (blocks[at + 1] << np.uint64(1)) << (np.uint64(63) - shift)  # in two steps: one of 64 bits is none
    number: np.ndarray = (low | high) & _KEPT[np.minimum(sizes, 8)]
    return number


def mixed(values: np.ndarray) -> np.ndarray:
    """The finaliser of SplitMix64: a permutation of 64-bit numbers that looks random."""
    z: np.ndarray = values * _ODD
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z
