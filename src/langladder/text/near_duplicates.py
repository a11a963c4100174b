"""Near-duplicates among the texts of a whole corpus: today's sequential rule, decided from hashes (see `duplicates`).

A text is near another if their MinHash signatures agree in all rows of one of the bands that locality-sensitive hashing
makes of them. Parts of the corpus give the hash of each band; here those that agree anywhere are gone through in the
order of the corpus: a text that is near one that stayed goes.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from langladder.text.duplicates import DuplicatesConfig, shingles
from langladder.text.spilled import HASH, as_hashes, mapped


class Bands:
    """Hashes of the bands of a text's signature."""

    def __init__(self, config: DuplicatesConfig) -> None:
        from datasketch import MinHash, MinHashLSH

        self.config = config
        self._ranges = MinHashLSH(threshold=config.near_threshold, num_perm=config.permutations).hashranges
        self._empty = MinHash(num_perm=config.permutations)

    def of(self, text: str) -> np.ndarray:
        """(B,) of HASH."""
        signature = self._empty.copy()
        signature.update_batch([shingle.encode() for shingle in sorted(shingles(text, self.config))])
        rows = [signature.hashvalues[start:end].tobytes() for start, end in self._ranges]
        return as_hashes([hashlib.blake2b(row, digest_size=HASH.itemsize).digest() for row in rows])


def near(files: Sequence[Path], gone: np.ndarray) -> np.ndarray:
    """(N,) bool: which texts are near one before them that stays.

    Args:
        files: arrays (n, B) of each part, in the order of the corpus.
        gone: (N,) bool: texts that are no more.
    """
    bands = [mapped(file) for file in files if len(mapped(file))]
    alive, shared = np.flatnonzero(~gone), np.zeros(int((~gone).sum()), dtype=bool)
    columns: list[np.ndarray] = []
    for band in range(bands[0].shape[1] if bands else 0):
        keys = np.concatenate([part[:, band] for part in bands])[alive]
        _, group, sizes = np.unique(keys, return_inverse=True, return_counts=True)
        columns.append(np.where(sizes[group] > 1, group, -1).astype(np.int64))
        shared |= columns[-1] >= 0
    candidates = np.flatnonzero(shared)
    stayed: list[set[int]] = [set() for _ in columns]
    found = np.zeros(len(gone), dtype=bool)
    for row in candidates.tolist():
        mine: list[int] = [int(column[row]) for column in columns]
        if any(one in kept for one, kept in zip(mine, stayed, strict=True) if one >= 0):
            found[alive[row]] = True
        else:
            for one, kept in zip(mine, stayed, strict=True):
                kept.add(one)
    return found
