"""Duplicates: lines or documents that the corpus already had, exactly or nearly.

Exact ones are found by a hash of the text. Two texts are near where the share of shingles (word n-grams; character
n-grams where a script writes no spaces) that they have in common, their Jaccard similarity s, is at least a threshold
(Broder 1997). MinHash finds the candidates without comparing all pairs (library datasketch): a signature has P random
minima of hashed shingles, which is cut into B bands of R rows; two texts whose signatures agree in all rows of a band
are candidates, with probability

    1 − (1 − s^R)^B        (Leskovec, Rajaraman & Ullman 2014, section 3.4)

A candidate goes only where the two sets of shingles themselves are so similar.
"""

import hashlib
from typing import Any, Literal

from pydantic import Field

from langladder.schema import Config
from langladder.text.words.words import has_unspaced_script

Scope = Literal["keep", "lines", "documents"]
RECALL = 0.95  # of pairs whose similarity is the threshold


class DuplicatesConfig(Config):
    """Which duplicates go. The first of several stays; those held out are looked at before the training text."""

    exact: Scope = "documents"
    near: Scope = "keep"  # "documents" costs about 2 ms a document of 350 words
    near_threshold: float = Field(default=0.8, gt=0, lt=1)  # Jaccard similarity from which two texts are one
    shingle_words: int = Field(default=5, ge=1)
    shingle_characters: int = Field(default=8, ge=1)  # for scripts without spaces
    permutations: int = Field(default=128, ge=16, le=1024)  # of a signature; more: fewer candidates, longer signatures

    @property
    def bands(self) -> tuple[int, int]:
        """B bands of R rows: as few candidates as possible (large R) of bands that find 95 % of pairs at the threshold.

        Where none does (a low threshold, few permutations), the bands of one row, which find the most.
        """
        for rows in range(self.permutations, 1, -1):
            if recall(self.near_threshold, self.permutations // rows, rows) >= RECALL:
                return self.permutations // rows, rows
        return self.permutations, 1

    def report(self) -> dict[str, Any]:
        """How near-duplicates are looked for, for the data report; {} where they are not."""
        if self.near == "keep":
            return {}
        bands, rows = self.bands
        share = round(recall(self.near_threshold, bands, rows), 4)
        shown = {"threshold": self.near_threshold, "bands": bands, "rows": rows, "recall_at_threshold": share}
        return {"near_duplicates": shown}


def recall(similarity: float, bands: int, rows: int) -> float:
    """The probability that two texts of this similarity agree in a band.

    >>> round(recall(0.8, 18, 7), 4)
    0.9855
    """
    return float(1 - (1 - similarity**rows) ** bands)


class Seen:
    """Remembers texts, and says of each new one whether it is a duplicate, and of which kind."""

    def __init__(self, config: DuplicatesConfig) -> None:
        self.config = config
        self._hashes: set[bytes] = set()
        self._near: Any = None
        self._shingles: list[set[str]] = []  # of each text that stayed
        if config.near != "keep":
            from datasketch import MinHashLSH

            self._near = MinHashLSH(num_perm=config.permutations, params=config.bands)

    def is_duplicate(self, text: str, scope: Scope) -> str | None:
        """`duplicate_…`, `near_duplicate_…` or None; remembers the text in the last case."""
        name = scope.removesuffix("s")
        if self.config.exact == scope:
            digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
            if digest in self._hashes:
                return f"duplicate_{name}"
            self._hashes.add(digest)
        return f"near_duplicate_{name}" if self.config.near == scope and self._is_near(text) else None

    def _is_near(self, text: str) -> bool:
        from datasketch import MinHash

        mine = shingles(text, self.config)
        signature = MinHash(num_perm=self.config.permutations)
        signature.update_batch([shingle.encode() for shingle in sorted(mine)])
        for other in self._near.query(signature):
            common = len(mine & self._shingles[other])
            if common / (len(mine) + len(self._shingles[other]) - common) >= self.config.near_threshold:
                return True
        self._near.insert(len(self._shingles), signature, check_duplication=False)
        self._shingles.append(mine)
        return False


def shingles(text: str, config: DuplicatesConfig) -> set[str]:
    """The distinct n-grams of a text; a text shorter than n is one shingle by itself."""
    if has_unspaced_script(text):
        size = config.shingle_characters
        characters = "".join(text.split())
        return {characters[start : start + size] for start in range(max(1, len(characters) - size + 1))}
    size, words = config.shingle_words, text.split()
    return {" ".join(words[start : start + size]) for start in range(max(1, len(words) - size + 1))}
