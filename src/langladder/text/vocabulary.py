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
from typing import Any, Self

import numpy as np
import pyarrow as pa
from pydantic import Field, field_validator

from langladder.artefacts import read_json, write_arrays, write_json
from langladder.errors import InputError
from langladder.schema import Config
from langladder.text.corpus_ids import TokenStream
from langladder.text.json_lists import count_list, word_list
from langladder.text.segmenters import Split, WordChoice, installed, splitter
from langladder.text.tables import present_splits, read_column, read_table


class VocabularyConfig(Config):
    """Which words get an id."""

    words: WordChoice = "whitespace"
    min_count: int = Field(default=1, ge=1)
    max_size: int | None = Field(default=None, ge=1)  # the most frequent ones; null: no cap

    @field_validator("words")
    @classmethod
    def _is_installed(cls, choice: WordChoice) -> WordChoice:
        installed(choice)
        return choice


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
            split, _ = splitter(config.words, lines)
        counter: Counter[str] = Counter()
        for line in lines:
            counter.update(split(line))
        kept = [(word, count) for word, count in counter.items() if count >= config.min_count]
        if not kept:
            raise InputError(
                f"vocabulary.min_count: {config.min_count} leaves none of the {len(counter):,} words of the training "
                "text; lower it"
            )
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


def encode_words(clean_folder: Path, config: VocabularyConfig, out_folder: Path) -> dict[str, Any]:
    """Build the vocabulary of a clean corpus' training split and write its word stream.

    Writes `vocabulary.json`, `train.arrow` (a `TokenStream` whose rows are lines) and `documents.safetensors` (where in
    the stream each document ends: `bounds` (D + 1,) int64).

    Returns:
        Figures for the metrics: types, documents, words, kept words, coverage (share of running words that have an id),
        and what was taken for a word.
    """
    train = clean_folder / "train"
    if "train" not in present_splits(clean_folder):
        raise InputError(f"{train}: no such file; the vocabulary is made from training text only")

    def training_lines() -> Iterable[str]:
        return (line for lines in read_column(train, "text") for line in lines)

    split, said = splitter(config.words, training_lines())
    vocabulary = Vocabulary.build(training_lines(), config, split)
    running = 0

    def rows() -> Iterable[np.ndarray]:
        nonlocal running
        for line in training_lines():
            words = split(line)
            running += len(words)
            yield vocabulary.encode(words)

    TokenStream.write(out_folder / "train.arrow", rows())
    # lines of one document stand together
    documents = read_table(train, pa.schema([("document", pa.int64())])).column(0).to_numpy()
    _, first_lines = np.unique(documents, return_index=True)
    lines_at = TokenStream.open(out_folder / "train.arrow").offsets
    bounds = lines_at[np.append(np.sort(first_lines), len(documents))]
    write_arrays(out_folder / "documents.safetensors", {"bounds": bounds.astype(np.int64)})
    vocabulary.save(out_folder / "vocabulary.json")
    kept = int(vocabulary.counts.sum())
    return {
        "types": len(vocabulary),
        "documents": len(bounds) - 1,
        "words": running,
        "kept_words": kept,
        "coverage": round(kept / running, 6),
        "read_as": said,
    }
