"""Exact and near duplicates of lines and documents.

Exact duplicates have the same hash. Two texts are near duplicates if their sets of shingles (word n-grams; character
n-grams where a script writes no spaces) have a Jaccard similarity s of at least a threshold (Broder 1997). MinHash
finds candidates without comparing all pairs (library datasketch): a signature has P random minima of hashed shingles
and is cut into B bands of R rows; two texts whose signatures agree in all rows of a band are candidates, with
probability

    1 − (1 − s^R)^B        (Leskovec, Rajaraman & Ullman 2014, section 3.4)

A candidate is dropped only if the exact similarity of the two sets reaches the threshold: an estimate from signatures
has a standard deviation of √(s(1 − s)/P), 0.035 at s = 0.8 with 128 permutations.

Each part of a corpus saves hashes of its texts (`TextHashes`), and `decided` compares them in the order of the corpus,
however it is cut into parts. A shingle is 32 bits of its hash; between two texts of 1,000 shingles the expected error
of s is below 0.001.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypedDict

import numpy as np
from pydantic import Field

from langladder.ground.errors import needs
from langladder.ground.schema import Config
from langladder.ground.sorted_runs import HASH, among, as_hashes, ascending, mapped, repeats, save, sorted_run
from langladder.text.words.segmentation import has_unspaced_script, split_words

Scope = Literal["keep", "lines", "documents"]
RECALL = 0.95  # of pairs whose similarity is the threshold
DUPLICATE_KINDS = ("", "duplicate", "near_duplicate")  # why a line or a document is dropped, by number
Files = Callable[[str], Path]
"""Ending → the file that a part saves with it."""


class NearDuplicates(TypedDict):
    """How near-duplicates were found."""

    threshold: float
    bands: int
    rows: int
    recall_at_threshold: float


class NearDuplicatesReport(TypedDict, total=False):
    """For the data report; {} where near-duplicates are not looked for."""

    near_duplicates: NearDuplicates


class DuplicatesConfig(Config):
    """Which duplicates are dropped. The first of several is kept; held-out texts come before the training text."""

    exact: Scope = "documents"
    near: Scope = "keep"  # "documents" costs about 2 ms a document of 350 words
    near_threshold: float = Field(default=0.8, gt=0, lt=1)  # Jaccard similarity from which two texts are one
    shingle_words: int = Field(default=5, ge=1)
    shingle_characters: int = Field(default=8, ge=1)  # for scripts without spaces
    permutations: int = Field(default=128, ge=16, le=1024)  # of a signature; more: fewer candidates, longer signatures

    @property
    def bands(self) -> tuple[int, int]:
        """B bands of R rows: the largest R (fewest candidates) that finds 95 % of pairs at the threshold.

        If none does (a low threshold, few permutations), R = 1, which finds the most.
        """
        for rows in range(self.permutations, 1, -1):
            if recall(self.near_threshold, self.permutations // rows, rows) >= RECALL:
                return self.permutations // rows, rows
        return self.permutations, 1

    def report(self) -> NearDuplicatesReport:
        """How near-duplicates are looked for."""
        if self.near == "keep":
            return {}
        bands, rows = self.bands
        share = round(recall(self.near_threshold, bands, rows), 4)
        figures: NearDuplicates = {
            "threshold": self.near_threshold,
            "bands": bands,
            "rows": rows,
            "recall_at_threshold": share,
        }
        return {"near_duplicates": figures}


def recall(similarity: float, bands: int, rows: int) -> float:
    """The probability that two texts of this similarity agree in a band.

    >>> round(recall(0.8, 18, 7), 4)
    0.9855
    """
    return float(1 - (1 - similarity**rows) ** bands)


def shingles(text: str, config: DuplicatesConfig) -> set[str]:
    """The distinct n-grams of a text; a text shorter than n is one shingle by itself."""
    if has_unspaced_script(text):
        size = config.shingle_characters
        characters = "".join(text.split())
        return {characters[start : start + size] for start in range(max(1, len(characters) - size + 1))}
    size, words = config.shingle_words, split_words(text)
    return {" ".join(words[start : start + size]) for start in range(max(1, len(words) - size + 1))}


class TextHashes:
    """Hashes of the texts of one part, lines or documents; only those that `config` needs at this scope."""

    def __init__(self, config: DuplicatesConfig, scope: Scope) -> None:
        self.config, self.scope = config, scope
        self.exact, self.near = config.exact == scope, config.near == scope
        self.hashes: list[bytes] = []
        self._bands: list[np.ndarray] = []  # (B,) of HASH each
        self._shingles: list[np.ndarray] = []  # (S,) uint32 each, ascending
        if self.near:
            with needs("clean", "near duplicates"):
                from datasketch import MinHash

            self._empty = MinHash(num_perm=config.permutations, hashfunc=int)  # of hashes

    def note(self, text: str) -> None:
        """Note a whole text."""
        if self.exact:
            self.hashes.append(hashlib.blake2b(text.encode(), digest_size=HASH.itemsize).digest())
        self.add(text)

    def add(self, text: str) -> None:
        """Note a text for the comparison of near-duplicates only; its hash is appended to `hashes` by the caller."""
        if not self.near:
            return
        from datasketch.hashfunc import sha1_hash32

        hashes = [sha1_hash32(shingle.encode()) for shingle in shingles(text, self.config)]
        self._shingles.append(ascending(np.array(hashes, dtype=np.uint32)))
        signature = self._empty.copy()
        signature.update_batch(self._shingles[-1].tolist())
        bands, rows = self.config.bands
        cut = signature.hashvalues[: bands * rows].reshape(bands, rows)
        self._bands.append(as_hashes([hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in cut]))

    def save(self, file: Files) -> None:
        """Write what was noted."""
        if self.exact:
            save(file(f"{self.scope}.hashes"), sorted_run(as_hashes(self.hashes)))
        if self.near:
            empty = np.zeros((0, self.config.bands[0]), dtype=HASH)
            save(file(f"{self.scope}.bands"), np.stack(self._bands) if self._bands else empty)
            save(file(f"{self.scope}.shingles"), np.concatenate([np.zeros(0, np.uint32), *self._shingles]))
            save(file(f"{self.scope}.sizes"), np.array([len(shingle) for shingle in self._shingles], dtype=np.int64))


def decided(
    parts: Sequence[Files], config: DuplicatesConfig, scope: Scope, memory: int
) -> tuple[np.ndarray, np.ndarray]:
    """Find the duplicates among texts, if `scope` is compared.

    Args:
        parts: those with saved `TextHashes`, in the order of the corpus.
        memory: bytes of memory that may be used.

    Returns:
        (N,) int8, positions in KINDS, of all texts; where those of each part begin, and the end.
    """
    noted = "hashes" if config.exact == scope else "bands"
    bounds = np.cumsum([0, *(len(mapped(part(f"{scope}.{noted}"))) for part in parts)])
    gone = np.zeros(int(bounds[-1]), dtype=np.int8)
    if config.exact == scope:
        gone[repeats([part(f"{scope}.hashes") for part in parts], memory)] = 1
    if config.near == scope:
        gone[_near(parts, config, scope, np.flatnonzero(gone == 0), bounds)] = 2
    return gone, bounds


def duplicate_kinds(texts: Iterable[str], config: DuplicatesConfig, scope: Scope) -> np.ndarray:
    """(N,) int8, positions in KINDS, of texts that are not on disk; 0 where `scope` is not compared."""
    notes = TextHashes(config, scope)
    count = sum(1 for _ in map(notes.note, texts))
    if not (notes.exact or notes.near):
        return np.zeros(count, dtype=np.int8)
    with TemporaryDirectory() as folder:
        notes.save(Path(folder).joinpath)
        return decided([Path(folder).joinpath], config, scope, memory=2**30)[0]


def _near(
    parts: Sequence[Files], config: DuplicatesConfig, scope: Scope, texts: np.ndarray, bounds: np.ndarray
) -> list[int]:
    """The texts, (T,) int64 ascending, that are near duplicates of an earlier one that is kept."""
    bands = [mapped(part(f"{scope}.bands")) for part in parts]
    sets = _Sets(parts, scope, bounds)
    groups = np.zeros((len(texts), config.bands[0]), dtype=np.int32)  # texts that agree in a band have one number there
    for band in range(config.bands[0]):
        keys = np.concatenate([part[:, band] for part in bands])[texts]
        _, group, sizes = np.unique(keys, return_inverse=True, return_counts=True)
        groups[:, band] = np.where(sizes[group] > 1, group, -1)  # -1: no other text agrees
    stayed: dict[tuple[int, int], list[int]] = {}  # (band, group) → texts
    pairs = []
    for row in np.flatnonzero((groups >= 0).any(axis=1)).tolist():
        text = int(texts[row])
        mine = [(band, group) for band, group in enumerate(groups[row].tolist()) if group >= 0]
        candidates = {other for key in mine for other in stayed.get(key, ())}
        if any(sets.similarity(text, other) >= config.near_threshold for other in candidates):
            pairs.append(text)
        else:
            for key in mine:
                stayed.setdefault(key, []).append(text)
    return pairs


class _Sets:
    """The hashed shingles of the texts of all parts, on disk."""

    def __init__(self, parts: Sequence[Files], scope: Scope, bounds: np.ndarray) -> None:
        self._hashes = [mapped(part(f"{scope}.shingles")) for part in parts]
        self._ends = [np.cumsum(mapped(part(f"{scope}.sizes"))) for part in parts]  # of each text, in its part
        self._bounds = bounds

    def __getitem__(self, text: int) -> np.ndarray:
        part = int(np.searchsorted(self._bounds, text, side="right")) - 1
        ends, number = self._ends[part], text - int(self._bounds[part])
        return self._hashes[part][int(ends[number - 1]) if number else 0 : int(ends[number])]

    def similarity(self, number: int, other: int) -> float:
        """The Jaccard similarity of the sets of two texts."""
        mine, theirs = self[number], self[other]
        common = int(among(mine, theirs).sum())
        return common / (len(mine) + len(theirs) - common)
