"""The word vocabulary of a corpus, and its training text as word ids: counted and encoded in shards.

A shard is read once: its words are numbered as they are met, and the running numbers are left on disk beside the
counts, which are sorted by word. The sorted counts of all shards are merged as they are read, so that only the words
that are frequent enough are held in memory. Then the numbers of each shard are replaced by ids.
"""

import heapq
from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from langladder.artefacts import map_arrays, write_arrays
from langladder.engine.base import current
from langladder.errors import InputError
from langladder.text.storage.id_files import IdWriter, StreamJoiner
from langladder.text.storage.shards import shard_files
from langladder.text.storage.table_lines import TableLines
from langladder.text.storage.tables import present_splits, read_batches
from langladder.text.words.segmenters import Split, WordChoice, reading, splitter_of
from langladder.text.words.vocabulary import Vocabulary, VocabularyConfig, no_word_left

ROWS = 16_384
COUNT_ROWS = 2_048  # words of each shard that are in memory while the counts of all shards are merged
COLUMNS = pa.schema([("document", pa.int64()), ("text", pa.string())])
WORDS = pa.schema([("word", pa.string()), ("count", pa.int64()), ("number", pa.int32())])


class NumberedWords(dict[str, list[int]]):
    """Piece of text between spaces → the numbers of its words; each distinct piece is cut once.

    Args:
        split: how text becomes words; no word goes across a space.

    Attributes:
        words: word → its number, from 0 in the order in which words are met.
    """

    def __init__(self, split: Split) -> None:
        super().__init__()
        self.words: dict[str, int] = {}
        self._split = split

    def __missing__(self, piece: str) -> list[int]:
        numbers = [self.words.setdefault(word, len(self.words)) for word in self._split(piece)]
        self[piece] = numbers
        return numbers

    def read(self, line: str) -> list[int]:
        """The words of a line by their numbers."""
        return [number for piece in line.split(" ") for number in self[piece]]


class Counted(NamedTuple):
    """A shard that was counted: the stem of its files, and how many running words it has."""

    stem: Path
    words: int


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
    mode, said = reading(config.words, TableLines([(train, "text")]))
    count = partial(_count_shard, mode, out_folder)
    counted = list(current().map(count, list(enumerate(shard_files(train))), "counting words"))
    vocabulary = _merged(counted, config)
    vocabulary.save(out_folder / "vocabulary.json")
    joiner = StreamJoiner(out_folder / "train.arrow", ("ids",), out_folder)
    documents = [np.zeros(1, dtype=np.int64)]
    encode = partial(_encode_shard, out_folder / "vocabulary.json")
    for stem, lengths in current().map(encode, [one.stem for one in counted], "encoding words"):
        joiner.append({"ids": stem})
        documents.append(documents[-1][-1:] + np.cumsum(lengths))
    joiner.write()
    bounds = np.concatenate(documents)
    write_arrays(out_folder / "documents.safetensors", {"bounds": bounds})
    running, kept = sum(one.words for one in counted), int(vocabulary.counts.sum())
    return {
        "types": len(vocabulary),
        "documents": len(bounds) - 1,
        "words": running,
        "kept_words": kept,
        "coverage": round(kept / running, 6),
        "read_as": said,
    }


def _count_shard(mode: WordChoice, scratch: Path, part: tuple[int, Path]) -> Counted:
    """Number and count the words of one shard."""
    number, shard = part
    known = NumberedWords(_splitter(mode))
    numbers, lengths = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.int64)]
    documents = [np.zeros(0, dtype=np.int64)]
    for batch in read_batches(shard, COLUMNS, ROWS):
        rows = [known.read(line) for line in batch.column("text").to_pylist()]
        numbers.append(np.array([word for row in rows for word in row], dtype=np.int32))
        lengths.append(np.array([*map(len, rows)], dtype=np.int64))
        documents.append(batch.column("document").to_numpy())
    stem, running = scratch / f"words-{number:06}", np.concatenate(numbers)
    ends = _last_lines(np.concatenate(documents))
    write_arrays(
        stem.with_suffix(".safetensors"), {"numbers": running, "lengths": np.concatenate(lengths), "ends": ends}
    )
    _write_counts(stem, known.words, np.bincount(running, minlength=len(known.words)))
    return Counted(stem, len(running))


@lru_cache(maxsize=2)
def _splitter(mode: WordChoice) -> Split:
    """Kept for the next shard: segmenters take seconds to load."""
    return splitter_of(mode)


def _write_counts(stem: Path, words: dict[str, int], counts: np.ndarray) -> None:
    """The counts of one shard, sorted by word."""
    ordered = sorted(words)
    numbers = np.array([words[word] for word in ordered], dtype=np.int32)
    table = pa.table([pa.array(ordered, pa.string()), counts[numbers], numbers], schema=WORDS)
    with pa.ipc.new_file(stem.with_suffix(".arrow"), WORDS) as out:
        out.write_table(table, max_chunksize=COUNT_ROWS)


def _read_counts(stem: Path, *columns: str) -> Iterator[tuple[Any, ...]]:
    """Columns of what `_write_counts` wrote, row by row; few rows are in memory at once.

    The file is opened for each batch: a corpus has more shards than a process may have files open.
    """
    number, batches = 0, 1
    while number < batches:
        with pa.memory_map(str(stem.with_suffix(".arrow"))) as source:
            file = pa.ipc.open_file(source)
            batches = file.num_record_batches
            rows = [file.get_batch(number).column(column).to_pylist() for column in columns] if batches else []
        yield from zip(*rows, strict=True)
        number += 1


def _last_lines(documents: np.ndarray) -> np.ndarray:
    """(D,) int64: behind which line each document ends; lines of one stand together."""
    return np.flatnonzero(np.append(documents[1:] != documents[:-1], [True] * bool(len(documents)))) + 1


def _merged(counted: list[Counted], config: VocabularyConfig) -> Vocabulary:
    """The vocabulary of all shards together."""
    word = itemgetter(0)
    rows = heapq.merge(*(_read_counts(one.stem, "word", "count") for one in counted), key=word)
    kept: list[tuple[str, int]] = []
    types = 0
    for types, (spelling, same) in enumerate(groupby(rows, key=word), start=1):  # noqa: B007
        count = sum(count for _, count in same)
        if count >= config.min_count:
            kept.append((spelling, count))
    if not kept:
        raise no_word_left(config, types)
    kept.sort(key=lambda pair: (-pair[1], pair[0]))
    kept = kept[: config.max_size]
    return Vocabulary([spelling for spelling, _ in kept], np.array([count for _, count in kept], dtype=np.int64))


def _encode_shard(vocabulary: Path, stem: Path) -> tuple[Path, np.ndarray]:
    """The numbers of one shard as ids. Returns the stem of its files, and how many ids each document has."""
    index, arrays = _index(vocabulary), map_arrays(stem.with_suffix(".safetensors"))
    pairs = [(number, index.get(word, -1)) for word, number in _read_counts(stem, "word", "number")]
    by_number = np.full(len(pairs), -1, dtype=np.int32)
    by_number[[number for number, _ in pairs]] = [place for _, place in pairs]
    ids = by_number[arrays["numbers"]]
    known = ids >= 0
    before = np.append(0, np.cumsum(known, dtype=np.int64))  # (R + 1,) known words before each
    ends = before[np.append(0, np.cumsum(arrays["lengths"]))]
    with IdWriter.of(stem) as out:
        out.add(ids[known], np.diff(ends))
    found = np.diff(np.append(0, ends[arrays["ends"]]))
    for suffix in (".safetensors", ".arrow"):
        stem.with_suffix(suffix).unlink()
    return stem, found


@lru_cache(maxsize=1)
def _index(path: Path) -> dict[str, int]:
    return Vocabulary.load(path).index
