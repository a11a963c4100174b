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

from langladder.kernels.subword import hash_ngrams


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
        return hash_ngrams(data, ends, self.min_n, self.max_n, self.buckets)
