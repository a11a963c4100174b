"""Duplicates of a whole corpus whose parts are read by themselves: what a part notes, and what is decided of all parts.

The rule is that of `duplicates.Seen`, which goes through the corpus text by text: here parts leave hashes of their
texts in files, which are then compared in the order of the corpus.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from langladder.text.clean.duplicates import DuplicatesConfig, Scope
from langladder.text.clean.near_duplicates import Bands, Sets, near
from langladder.text.clean.spilled import HASH, as_hashes, mapped, repeats, save

KINDS = ("", "duplicate", "near_duplicate")  # why a line or a document goes, by number
Files = Callable[[str], Path]
"""Of an ending the file of that sort that a part leaves."""


@dataclass
class Notes:
    """What is noted of texts, lines or documents, for decisions over all parts; files are made of those wanted."""

    config: DuplicatesConfig
    scope: Scope
    hashes: list[bytes] = field(default_factory=list)
    bands: list[np.ndarray] = field(default_factory=list)
    shingles: list[np.ndarray] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.exact, self.near = self.config.exact == self.scope, self.config.near == self.scope
        self._bands = Bands(self.config) if self.near else None

    def note(self, text: str) -> None:
        """Note a whole text: its hash and its signature, whichever are wanted."""
        if self.exact:
            self.hashes.append(hashlib.blake2b(text.encode(), digest_size=HASH.itemsize).digest())
        self.add(text)

    def add(self, text: str) -> None:
        """Note a whole text's signature and shingles, where near-duplicates are looked for."""
        if self._bands is not None:
            bands, shingles = self._bands.of(text)
            self.bands.append(bands)
            self.shingles.append(shingles)

    def save(self, file: Files) -> None:
        """Write what was wanted."""
        if self.exact:
            save(file(f"{self.scope}.hashes"), as_hashes(self.hashes))
        if self.near:
            empty = np.zeros((0, 0), dtype=HASH)
            save(file(f"{self.scope}.bands"), np.stack(self.bands) if self.bands else empty)
            save(file(f"{self.scope}.shingles"), np.concatenate([np.zeros(0, np.uint32), *self.shingles]))
            save(file(f"{self.scope}.sizes"), np.array([len(of) for of in self.shingles], dtype=np.int64))


def decided(parts: Sequence[Files], config: DuplicatesConfig, scope: Scope, room: int) -> tuple[np.ndarray, np.ndarray]:
    """Which texts go, where `scope` is looked at.

    Args:
        parts: of which `Notes` were saved, in the order of the corpus.
        room: bytes that may be held.

    Returns:
        (N,) int8, positions in KINDS, of all texts; where those of each part begin, and the end.
    """
    files = {kind: [part(f"{scope}.{kind}") for part in parts] for kind in ("hashes", "bands", "shingles", "sizes")}
    noted = "hashes" if config.exact == scope else "bands"
    bounds = np.cumsum([0, *(len(mapped(file)) for file in files[noted])])
    gone = np.zeros(int(bounds[-1]), dtype=np.int8)
    if config.exact == scope:
        gone[repeats(files["hashes"], room)] = 1
    if config.near == scope:
        sets = Sets(files["shingles"], files["sizes"])
        gone[near(files["bands"], sets, gone > 0, config.near_threshold)] = 2
    return gone, bounds
