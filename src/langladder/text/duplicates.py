"""Duplicates: lines or documents that the corpus already had, exactly or nearly.

Exact ones are found by a hash of the text. Near ones by MinHash: the share of shingles (word n-grams; character
n-grams where a script writes no spaces) that two texts have in common, their Jaccard similarity, is estimated from
random minima of hashed shingles, and locality-sensitive hashing finds the candidates without comparing all pairs
(Broder 1997; library datasketch).
"""

import hashlib
from typing import Any, Literal

from pydantic import Field

from langladder.schema import Config
from langladder.text.words import has_unspaced_script

Scope = Literal["keep", "lines", "documents"]


class DuplicatesConfig(Config):
    """Which duplicates go. The first of several stays; those held out are looked at before the training text."""

    exact: Scope = "documents"
    near: Scope = "keep"  # "documents" costs about 2 ms a document of 350 words
    near_threshold: float = Field(default=0.8, gt=0, lt=1)  # Jaccard similarity from which two texts are one
    shingle_words: int = Field(default=5, ge=1)
    shingle_characters: int = Field(default=8, ge=1)  # for scripts without spaces
    permutations: int = Field(default=128, ge=16, le=1024)  # more: a finer estimate, slower


class Seen:
    """Remembers texts, and says of each new one whether it is a duplicate, and of which kind."""

    def __init__(self, config: DuplicatesConfig) -> None:
        self.config = config
        self._hashes: set[bytes] = set()
        self._near: Any = None
        self._inserted = 0
        if config.near != "keep":
            from datasketch import MinHashLSH

            self._near = MinHashLSH(threshold=config.near_threshold, num_perm=config.permutations)

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

        signature = MinHash(num_perm=self.config.permutations)
        signature.update_batch([shingle.encode() for shingle in sorted(shingles(text, self.config))])
        if self._near.query(signature):
            return True
        self._near.insert(self._inserted, signature, check_duplication=False)
        self._inserted += 1
        return False


def shingles(text: str, config: DuplicatesConfig) -> set[str]:
    """The distinct n-grams of a text; a text shorter than n is one shingle by itself."""
    if has_unspaced_script(text):
        size = config.shingle_characters
        characters = "".join(text.split())
        return {characters[start : start + size] for start in range(max(1, len(characters) - size + 1))}
    size, words = config.shingle_words, text.split()
    return {" ".join(words[start : start + size]) for start in range(max(1, len(words) - size + 1))}
