"""Word vocabulary with counts, from training text only.

Words are sorted by falling frequency, equal counts alphabetically, so that id 0 is the most frequent word. Counts are
kept: Huffman codes, subsampling and noise distributions are all functions of them. There are no specials and no
unknown word: what the vocabulary lacks is left out of the word stream.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
from pydantic import Field

from langladder.ground.artefacts import count_list, read_json, word_list, write_json
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.text.words.segmenters import InstalledWords, Split, reading, splitter_of


class VocabularyConfig(Config):
    """Which words get an id."""

    words: InstalledWords = "whitespace"
    min_count: int = Field(default=1, ge=1)
    max_size: int | None = Field(default=None, ge=1)  # the most frequent ones; null: no cap


@dataclass(frozen=True)
class Vocabulary:
    """V words, most frequent first, and their counts in the training text, (V,) int64."""

    words: list[str]
    counts: np.ndarray

    @cached_property
    def index(self) -> dict[str, int]:
        """Word → id."""
        return {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    @classmethod
    def build(cls, lines: Iterable[str], config: VocabularyConfig | None = None, split: Split | None = None) -> Self:
        """Count the words of training lines.

        Args:
            split: how a line becomes words; None: as the settings say.

        Raises:
            InputError: no word is left.
        """
        config = config or VocabularyConfig()
        if split is None:
            lines = list(lines)
            split = splitter_of(reading(config.words, lines))
        counter: Counter[str] = Counter()
        for line in lines:
            counter.update(split(line))
        kept = [(word, count) for word, count in counter.items() if count >= config.min_count]
        if not kept:
            raise no_word_left(config, len(counter))
        kept.sort(key=lambda pair: (-pair[1], pair[0]))
        kept = kept[: config.max_size]
        return cls([word for word, _ in kept], np.array([count for _, count in kept], dtype=np.int64))

    def encode(self, words: list[str]) -> np.ndarray:
        """(length,) int32 ids of the words it knows; the others are left out."""
        known = self.index
        return np.array([known[word] for word in words if word in known], dtype=np.int32)

    def save(self, path: Path) -> None:
        """Write `{"words": [...], "counts": [...]}`."""
        write_json(path, {"words": self.words, "counts": self.counts.tolist()})

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote.

        Raises:
            InputError: the file is missing or holds something else.
        """
        value = read_json(path)
        if not isinstance(value, dict) or set(value) != {"words", "counts"}:
            raise InputError(f"{path}: not a vocabulary (its keys must be words and counts)")
        words, counts = word_list(path, value["words"]), count_list(path, value["counts"])
        if len(words) != len(counts):
            raise InputError(f"{path}: {len(words)} words but {len(counts)} counts")
        return cls(words, counts)


def no_word_left(config: VocabularyConfig, types: int) -> InputError:
    """What to say where no word is frequent enough."""
    return InputError(
        f"vocabulary.min_count: {config.min_count} leaves none of the {types:,} words of the training text; lower it"
    )
