"""The character n-grams of a word, each hashed into one of a fixed number of buckets.

Bojanowski et al. 2017, "Enriching Word Vectors with Subword Information", section 3.2: a word is set between < and >,
and its n-grams of 3 to 6 characters are taken; n = 3 gives `where` → <wh, whe, her, ere, re>. So `her`, cut from where,
is another n-gram than the whole word <her>. The hash is FNV-1a (Fowler, Noll & Vo) over the n-gram's UTF-8 bytes:

    h ← 2166136261;   for each byte b:   h ← (h ⊕ b) · 16777619  mod 2³²;   bucket = h mod B

as in the fastText tool, down to its reading of bytes above 127 as negative numbers, so that buckets agree with it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from langladder.kernels.compiled import njit


@dataclass(frozen=True)
class NgramBuckets:
    """Which n-grams a word has, and which of B buckets each falls into."""

    min_n: int = 3
    max_n: int = 6
    buckets: int = 2_000_000

    def ngrams(self, word: str) -> list[str]:
        """Every n-gram of <word>, by where it starts, then by length; one that occurs twice stands twice.

        >>> NgramBuckets(3, 3).ngrams("where")
        ['<wh', 'whe', 'her', 'ere', 're>']
        """
        token = f"<{word}>"
        return [
            token[start : start + n]
            for start in range(len(token))
            for n in range(self.min_n, min(self.max_n, len(token) - start) + 1)
            if n > 1 or 0 < start < len(token) - 1  # the marks alone are no n-grams
        ]

    def of(self, words: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
        """The buckets of the words' n-grams, in the order of `ngrams`.

        Returns:
            buckets (N,) int64, and bounds (W + 1,) int64: word i has `buckets[bounds[i] : bounds[i + 1]]`.
        """
        tokens = [f"<{word}>".encode() for word in words]
        data = np.frombuffer(b"".join(tokens), dtype=np.uint8)
        ends = np.concatenate([[0], np.cumsum([len(token) for token in tokens], dtype=np.int64)])
        return _hash_ngrams(data, ends, self.min_n, self.max_n, self.buckets)


@njit()
def _hash_ngrams(
    data: np.ndarray, ends: np.ndarray, min_n: int, max_n: int, buckets: int
) -> tuple[np.ndarray, np.ndarray]:
    """`fnv1a` of each n-gram, growing one character at a time from each place in each word."""
    found = np.empty(len(data) * (max_n - min_n + 1), dtype=np.int64)
    bounds = np.zeros(len(ends), dtype=np.int64)
    count = 0
    for word in range(len(ends) - 1):
        first, last = ends[word], ends[word + 1]
        for start in range(first, last):
            if data[start] & 0xC0 == 0x80:  # in the middle of a character
                continue
            h = np.uint32(2166136261)
            end = start
            for n in range(1, max_n + 1):
                if end == last:
                    break
                while True:  # one character: its first byte and those that continue it
                    byte = np.uint32(data[end])
                    h = np.uint32((h ^ (byte if byte < 128 else byte | np.uint32(0xFFFFFF00))) * np.uint32(16777619))
                    end += 1
                    if end == last or data[end] & 0xC0 != 0x80:
                        break
                if n >= min_n and not (n == 1 and (start == first or end == last)):
                    found[count] = h % np.uint32(buckets)
                    count += 1
        bounds[word + 1] = count
    return found[:count].copy(), bounds
