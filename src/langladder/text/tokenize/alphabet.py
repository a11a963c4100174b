"""The characters of a text, and whether a tokenizer's vocabulary has room for them.

Byte-level BPE can write any character, but one that it learned no token for is two to four tokens, which alone show as
bytes and which a model has to put together. A vocabulary below the alphabet's size is therefore mostly bytes: in
Chinese thousands of tokens go to characters before the first word gets one.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from langladder.engine.base import current
from langladder.text.storage.shards import shard_files
from langladder.text.storage.table_lines import TableLines, batches
from langladder.text.tokenize.specials import SPELLINGS

COVERED = 0.999
BYTES = 256
POINTS = 0x110000  # of Unicode


def count_characters(lines: Iterable[str]) -> Counter[str]:
    """How often each character occurs."""
    counts = np.zeros(POINTS, dtype=np.int64)
    for chunk in batches(lines):
        points = np.frombuffer("".join(chunk).encode("utf-32-le"), dtype=np.uint32)
        found = np.bincount(points)
        counts[: len(found)] += found
    return _by_character(counts)


def count_table_characters(columns: list[tuple[Path, str]]) -> Counter[str]:
    """The same of columns of tables, counted shard by shard by the workers of the running engine."""
    shards = [(shard, column) for table, column in columns for shard in shard_files(table)]
    counts = np.zeros(POINTS, dtype=np.int64)
    for found in current().map(_count_shard, shards, "counting characters"):
        for character, count in found.items():
            counts[ord(character)] += count
    return _by_character(counts)


def _count_shard(part: tuple[Path, str]) -> Counter[str]:
    return count_characters(TableLines([part]))


def _by_character(counts: np.ndarray) -> Counter[str]:
    """(POINTS,) counts as a counter, in the order of the code points."""
    found = np.flatnonzero(counts)
    return Counter(dict(zip(map(chr, found.tolist()), counts[found].tolist(), strict=True)))


@dataclass(frozen=True)
class Alphabet:
    """Characters of a text.

    Attributes:
        size: different characters, white space aside.
        common: the most frequent so many make up 99.9 % of the text.
    """

    size: int
    common: int

    @classmethod
    def of(cls, counts: Counter[str]) -> Self:
        """The alphabet of a text with these counts of its characters."""
        counts = Counter({character: count for character, count in counts.items() if not character.isspace()})
        wanted, covered, common = COVERED * counts.total(), 0, 0
        for _, count in counts.most_common():
            if covered >= wanted:
                break
            covered, common = covered + count, common + 1
        return cls(len(counts), common)

    def warning(self, vocab_size: int) -> str | None:
        """What to say of a byte-level vocabulary of this size; None where it is large enough."""
        reserved = BYTES + len(SPELLINGS)
        if self.size <= vocab_size and self.common + reserved <= vocab_size:
            return None
        serves = -(-(2 * self.common + reserved) // 500) * 500
        return (
            f"vocab_size {vocab_size:,} is small for the {self.size:,} characters of this text ({self.common:,} of "
            f"them make up 99.9 % of it): most are cut into bytes, words have no tokens. About {serves:,} would serve: "
            "vocab_size in conf/tokenizer/bpe.yaml"
        )
