"""Text of any size that grows as real text does: word order of a real text, vocabulary by Heaps' law.

Heaps 1978: a text of n running words has V(n) = K n^β different ones. Resampled sentences bring no new word: their
vocabulary stands still. So here a walk through a real text goes on, every eighth word, at another place where the same
word stands, which keeps bigrams and the lengths of sentences and repeats no document. And each word that is rare in the
real text (seen twice at most) becomes a new word as often as V(n) asks for it, else one that was new before, drawn as
often as it was used (Simon 1955), which keeps the tail Zipf's. New words are two halves of rare words.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from langladder.kernels.compiled import njit
from langladder.text.read.lines import reading

JUMP = 0.125  # chance to go on elsewhere
RARE = 2  # occurrences, at most, of the words that new ones stand in for
CHUNK = 1_000_000  # words at a time
MEMORY = 1 << 24  # of the words used for rare ones, so many can be drawn again
PIECE = re.compile(r"(\W*)(\w+)")


class Source(NamedTuple):
    """A real text of N words: the number of each word and of what stands before it; spellings; Heaps' K and β."""

    words: np.ndarray  # (N,) int32
    gaps: np.ndarray  # (N,) int32
    spelt: list[str]
    between: list[str]
    k: float
    beta: float


def heaps(words: np.ndarray, begin: int = 100_000) -> tuple[float, float]:
    """K and β of V(n) = K n^β: least squares of log V on log n, from `begin` running words on."""
    first = np.zeros(len(words), dtype=np.int64)
    first[np.unique(words, return_index=True)[1]] = 1
    lengths = np.unique(np.geomspace(min(begin, len(words) // 10), len(words), 30).astype(np.int64))
    beta, log_k = np.polyfit(np.log(lengths), np.log(np.cumsum(first)[lengths - 1]), 1)
    return float(np.exp(log_k)), float(beta)


def read_source(path: Path, characters: int | None = None) -> Source:
    """The words of a (gzipped) text, or of its first so many characters."""
    with reading(path) as file:
        text = file.read().decode()[:characters]
    numbers: dict[str, int] = {}
    gap_numbers: dict[str, int] = {}
    words, gaps = [], []
    for match in PIECE.finditer(text):
        words.append(numbers.setdefault(match[2], len(numbers)))
        gaps.append(gap_numbers.setdefault(match[1], len(gap_numbers)))
    found = np.array(words, dtype=np.int32)
    return Source(found, np.array(gaps, dtype=np.int32), list(numbers), list(gap_numbers), *heaps(found))


@njit()
def walk(
    source: tuple[np.ndarray, ...],
    law: tuple[float, float],
    state: np.ndarray,
    memory: np.ndarray,
    out: np.ndarray,
    random: np.random.Generator,
) -> None:
    """Fill `out` (2, T) with words and gaps.

    Args:
        source: words, gaps, where each word stands (its places side by side), the bounds of those, rare or not, met or
            not yet; the last is updated.
        state: position, words so far, different ones, new ones, entries of the memory; updated. `memory`: new words as
            they were used.
    """
    words, gaps, places, bounds, rare, met = source
    position, n, types, new, kept = state
    for t in range(out.shape[1]):
        word = words[position]
        if random.random() < JUMP:
            position = places[random.integers(bounds[word], bounds[word + 1])]
        position = (position + 1) % len(words)
        word = words[position]
        n += 1
        if rare[word]:
            if kept == 0 or types < law[0] * n ** law[1]:
                word = len(rare) + new
                new += 1
                types += 1
            else:
                word = memory[random.integers(0, min(kept, len(memory)))]
            memory[kept % len(memory)] = word
            kept += 1
        elif not met[word]:
            met[word] = True
            types += 1
        out[0, t] = word
        out[1, t] = gaps[position]
    state[:] = position, n, types, new, kept


@njit()
def render(ids: np.ndarray, spelt: tuple[np.ndarray, np.ndarray], between: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The bytes of words and gaps, whose spellings stand side by side: (bytes, bounds)."""
    size = 0
    for t in range(ids.shape[1]):
        size += spelt[1][ids[0, t] + 1] - spelt[1][ids[0, t]] + between[1][ids[1, t] + 1] - between[1][ids[1, t]]
    text = np.empty(size, dtype=np.uint8)
    at = 0
    for t in range(ids.shape[1]):
        at = _put(text, at, between, ids[1, t])
        at = _put(text, at, spelt, ids[0, t])
    return text


@njit()
def _put(text: np.ndarray, at: int, spelt: tuple[np.ndarray, np.ndarray], number: int) -> int:
    letters, bounds = spelt
    for i in range(bounds[number], bounds[number + 1]):
        text[at] = letters[i]
        at += 1
    return at


class Spellings:
    """Words side by side as bytes, with the new ones that come."""

    def __init__(self, words: list[str], seed: int) -> None:
        self.letters, self.bounds = _packed(words)
        self.random = np.random.default_rng(seed)

    def extend(self, count: int, parts: list[str], known: set[str]) -> None:
        """Append so many words that nobody has seen, of halves of `parts`."""
        made: list[str] = []
        while len(made) < count:
            for one, two in self.random.integers(len(parts), size=(count - len(made) + 8, 2)):
                first, second = parts[one], parts[two]
                word = first[: (len(first) + 1) // 2] + second[len(second) // 2 :]
                if word not in known and len(made) < count:
                    known.add(word)
                    made.append(word)
        letters, bounds = _packed(made)
        self.bounds = np.concatenate([self.bounds, bounds[1:] + len(self.letters)])
        self.letters = np.concatenate([self.letters, letters])


def _packed(words: list[str]) -> tuple[np.ndarray, np.ndarray]:
    encoded = [word.encode() for word in words]
    bounds = np.concatenate([[0], np.cumsum([len(word) for word in encoded], dtype=np.int64)]).astype(np.int64)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8).copy(), bounds


def grown(source: Source, size: int, seed: int = 1) -> Iterator[tuple[bytes, int, int]]:
    """At least `size` bytes of text in pieces; with each, how many words and how many different ones so far."""
    counts = np.bincount(source.words, minlength=len(source.spelt))
    places = np.argsort(source.words, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(counts)])
    arrays = (source.words, source.gaps, places, bounds, counts <= RARE, np.zeros(len(counts), np.bool_))
    spellings, between, known = Spellings(source.spelt, seed), _packed(source.between), set(source.spelt)
    parts = [source.spelt[one] for one in np.flatnonzero(counts <= RARE) if len(source.spelt[one]) > 3]
    state, memory, out = np.zeros(5, np.int64), np.zeros(MEMORY, np.int32), np.zeros((2, CHUNK), np.int32)
    random, written = np.random.default_rng(seed), 0
    while written < size:
        before = int(state[3])
        walk(arrays, (source.k, source.beta), state, memory, out, random)
        spellings.extend(int(state[3]) - before, parts, known)
        text = render(out, (spellings.letters, spellings.bounds), between).tobytes()
        yield text, int(state[1]), int(state[2])
        written += len(text)


def write_text(source: Source, path: Path, size: int, seed: int = 1) -> list[tuple[int, int]]:
    """A file of `size` bytes, up to the last whole line; (words, different ones) as it grows."""
    growth = []
    with path.open("wb") as file:
        for text, words, types in grown(source, size, seed):
            file.write(text)
            growth.append((words, types))
        file.truncate(size)
    with path.open("rb+") as file:
        tail = min(size, 1 << 20)
        file.seek(-tail, 2)
        file.truncate(size - tail + file.read().rfind(b"\n") + 1)
    return growth
