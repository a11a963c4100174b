"""Near-duplicates among the texts of a whole corpus, decided from files of hashes (see `duplicates`).

Parts of the corpus leave the hashes of each text's bands and of its shingles. Texts that agree in a band are gone
through in the order of the corpus, however it is cut into parts: one goes where its set of shingles is at least as
similar as the threshold to that of a text before it that stayed. The sets are compared, not the signatures, whose
estimate has a standard deviation of √(s(1 − s)/P): 0.035 at s = 0.8 with 128 permutations. A shingle is 32 bits of its
hash, from which the signature is made, too; between two texts of 1,000 shingles the expected error of s is below 0.001.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from langladder.text.clean.duplicates import DuplicatesConfig, shingles
from langladder.text.clean.spilled import HASH, among, as_hashes, ascending, mapped

AT_ONCE = 256  # sets that one is compared with together


class Bands:
    """Hashes of a text's shingles, and of the bands of its signature."""

    def __init__(self, config: DuplicatesConfig) -> None:
        from datasketch import MinHash

        self.config = config
        self._bands, self._rows = config.bands
        self._empty = MinHash(num_perm=config.permutations, hashfunc=int)  # of hashes

    def of(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """(B,) of HASH; (S,) uint32, ascending."""
        from datasketch.hashfunc import sha1_hash32

        found = [sha1_hash32(shingle.encode()) for shingle in shingles(text, self.config)]
        hashes = ascending(np.array(found, dtype=np.uint32))
        signature = self._empty.copy()
        signature.update_batch(hashes.tolist())
        rows = signature.hashvalues[: self._bands * self._rows].reshape(self._bands, self._rows)
        bands = as_hashes([hashlib.blake2b(row.tobytes(), digest_size=HASH.itemsize).digest() for row in rows])
        return bands, hashes


class Sets:
    """The hashed shingles of the texts of all parts, on disk."""

    def __init__(self, hashes: Sequence[Path], sizes: Sequence[Path]) -> None:
        """Open them.

        Args:
            hashes: (S,) of the texts of each part, one after the other; sizes: (n,) how many are of each.
        """
        self._hashes = [mapped(file) for file in hashes]
        counts = [mapped(file) for file in sizes]
        self._first = np.cumsum([0, *map(len, counts)])  # text of each part
        self._ends = np.concatenate([np.cumsum(of) for of in counts])
        self._sizes = np.concatenate(counts)

    def __getitem__(self, text: int) -> np.ndarray:
        part = int(np.searchsorted(self._first, text, side="right")) - 1
        end = int(self._ends[text])
        return self._hashes[part][end - int(self._sizes[text]) : end]

    def near(self, text: int, others: Sequence[int], threshold: float) -> bool:
        """Whether the Jaccard similarity of a text's set and of one of the others is at least the threshold."""
        mine = self[text]
        for first in range(0, len(others), AT_ONCE):
            theirs = [self[other] for other in others[first : first + AT_ONCE]]
            sizes = np.array([len(one) for one in theirs])
            shared = among(np.concatenate(theirs), mine).astype(np.int64)
            common = np.add.reduceat(shared, np.cumsum(sizes) - sizes)
            if (common / (len(mine) + sizes - common) >= threshold).any():
                return True
        return False


def near(bands: Sequence[Path], sets: Sets, gone: np.ndarray, threshold: float) -> np.ndarray:
    """(N,) bool: which texts are near one before them that stays.

    Args:
        bands: arrays (n, B) of each part, in the order of the corpus.
        gone: (N,) bool: texts that are no more.
    """
    parts = [mapped(file) for file in bands if len(mapped(file))]
    alive, shared = np.flatnonzero(~gone), np.zeros(int((~gone).sum()), dtype=bool)
    columns: list[np.ndarray] = []
    for band in range(parts[0].shape[1] if parts else 0):
        keys = np.concatenate([part[:, band] for part in parts])[alive]
        _, group, sizes = np.unique(keys, return_inverse=True, return_counts=True)
        columns.append(np.where(sizes[group] > 1, group, -1).astype(np.int32))
        shared |= columns[-1] >= 0
    candidates = np.flatnonzero(shared)
    stayed: list[dict[int, list[int]]] = [{} for _ in columns]
    found = np.zeros(len(gone), dtype=bool)
    for row in candidates.tolist():
        text = int(alive[row])
        mine = [(kept, int(column[row])) for kept, column in zip(stayed, columns, strict=True) if column[row] >= 0]
        others = sorted({other for kept, key in mine for other in kept.get(key, ())})
        found[text] = sets.near(text, others, threshold)
        if not found[text]:
            for kept, key in mine:
                kept.setdefault(key, []).append(text)
    return found
