"""The characters of a text, and whether a tokenizer's vocabulary has room for them.

Byte-level BPE can write any character, but one that it learned no token for is two to four tokens, which alone show as
bytes and which a model has to put together. A vocabulary below the alphabet's size is therefore mostly bytes: in
Chinese thousands of tokens go to characters before the first word gets one.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from langladder.engine.base import current
from langladder.text.storage.tables import TableLines, line_batches
from langladder.text.tokenize.specials import SPELLINGS

COVERED = 0.999
BYTES = 256


def count_characters(lines: Iterable[str]) -> Counter[str]:
    """How often each character occurs."""
    counts = np.zeros(0x110000, dtype=np.int64)
    for chunk in line_batches(lines):
        points = np.frombuffer("".join(chunk).encode("utf-32-le"), dtype=np.uint32)
        found = np.bincount(points)
        counts[: len(found)] += found
    seen = np.flatnonzero(counts)
    return Counter(dict(zip(map(chr, seen.tolist()), counts[seen].tolist(), strict=True)))


def count_characters_of(text: TableLines) -> Counter[str]:
    """As `count_characters`, of columns of tables, whose shards are counted by workers."""
    counts = Counter[str]()
    for found in current().map(count_characters, text.shards(), "counting characters"):
        counts.update(found)
    return counts


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
    def of(cls, characters: Counter[str]) -> Self:
        """The alphabet of a text in which each character occurs so often."""
        counts = Counter({one: count for one, count in characters.items() if not one.isspace()})
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
