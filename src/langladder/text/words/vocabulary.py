"""The word vocabulary of a corpus with its counts, and its training text as word ids: counted and encoded in shards.

    shards ─ _count_shard ─ _add_counts ─ vocabulary ─ _encode_shard ─ ids
             of each        of a bucket                of each

Words are sorted by falling frequency, equal counts alphabetically, so that id 0 is the most frequent word. Counts are
kept: Huffman codes, subsampling and noise distributions are all functions of them. There are no specials and no
unknown word: what the vocabulary lacks is left out of the word stream.

A shard is read once: its words are numbered as they are met, and the running numbers are written beside the counts. A
hash of each word says which bucket its counts are in, so that the counts of all shards are added up bucket by bucket,
and only the words that are frequent enough are read by the driver. Then the numbers of each shard are replaced by ids.

Shape legend: T words of text, R lines, D documents, V words of the vocabulary.
"""

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, Self, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from langladder.engine.base import current
from langladder.ground.artefacts import (
    count_list,
    map_arrays,
    read_arrays,
    read_json,
    word_list,
    write_arrays,
    write_json,
)
from langladder.ground.atomic import atomic_file
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.text.storage.shards import present_splits, shard_files
from langladder.text.storage.tables import read_batches
from langladder.text.storage.token_streams import IdWriter, StreamJoiner, TokenStream, id_bounds
from langladder.text.words.segmentation import (
    TEXT,
    InstalledWords,
    Split,
    WordChoice,
    conventions_of,
    reading,
    splitter_of,
    write_conventions,
)


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
    """The message if no word is frequent enough."""
    return InputError(
        f"vocabulary.min_count: {config.min_count} leaves none of the {types:,} words of the training text; lower it"
    )


# ---- a training text as word ids


@dataclass(frozen=True)
class WordCorpus:
    """A training text as word ids, maybe larger than memory.

    Attributes:
        stream: rows are lines (sentences); `stream.ids` (T,) int32 memory-mapped, `stream.offsets` (R + 1,) int64.
        vocabulary: V words, most frequent first, with their counts in this text.
        documents: (D + 1,) int64 bounds of the documents in `stream.ids`; None: each line is a document.
        counts: folder of stored counts of this text (see `langladder.counts.stored`); None: count again.
        path: the file of `stream`, so that other processes find it; None: it is in memory only.
    """

    stream: TokenStream
    vocabulary: Vocabulary
    documents: np.ndarray | None = None
    counts: Path | None = None
    path: Path | None = None

    def __post_init__(self) -> None:
        ids = self.stream.ids
        if len(ids) == 0:
            raise InputError("the word stream is empty: the vocabulary has none of the training text's words")
        low, high = id_bounds(ids)
        if not 0 <= low <= high < len(self.vocabulary):
            raise InputError(
                f"word ids {low} … {high}, but the vocabulary has {len(self.vocabulary)} words; "
                "make both again (stage `vocab`)"
            )

    @classmethod
    def open(cls, folder: Path, counts: Path | None = None) -> Self:
        """What `langladder.text.words.vocabulary.encode_words` wrote, mapped into memory.

        Raises:
            InputError: files are missing, damaged, or do not fit each other.
        """
        folder = Path(folder)
        vocabulary = Vocabulary.load(folder / "vocabulary.json")
        stream = TokenStream.open(folder / "train.arrow")
        path = folder / "documents.safetensors"
        documents = read_arrays(path).get("bounds")
        if documents is None or documents.ndim != 1 or documents.dtype != np.int64 or not len(documents):
            raise InputError(f"{path}: has no array `bounds` of whole numbers; make it again (stage `vocab`)")
        if documents[0] != 0 or documents[-1] != len(stream.ids) or (np.diff(documents) < 0).any():
            raise InputError(f"{path}: its documents are not those of train.arrow; make both again (stage `vocab`)")
        return cls(stream, vocabulary, documents, counts, folder / "train.arrow")

    def beginning(self, words: int) -> Self:
        """The first lines with about this many words, each as a document; they were not counted."""
        return type(self)(self.stream.beginning(words), self.vocabulary)

    @property
    def document_bounds(self) -> np.ndarray:
        """(D + 1,) int64."""
        bounds: np.ndarray = self.stream.offsets if self.documents is None else self.documents
        return bounds


# ---- counting and encoding a corpus


ROWS = 16_384
BUCKET_SHARDS = 8  # shards for each bucket: a bucket has about as many words as so many shards have of their own
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


class VocabularyReport(TypedDict):
    """Of a vocabulary and its words, for the metrics.

    Attributes:
        coverage: the share of running words that have an id. read_as: what was taken for a word.
    """

    types: int
    documents: int
    words: int
    kept_words: int
    coverage: float
    read_as: str


def encode_words(clean_folder: Path, config: VocabularyConfig, out_folder: Path) -> VocabularyReport:
    """Build the vocabulary of a clean corpus' training split and write its word stream.

    Writes `vocabulary.json`, `train.arrow` (a `TokenStream` whose rows are lines) and `documents.safetensors` (where in
    the stream each document ends: `bounds` (D + 1,) int64).

    Returns:
        Figures for the metrics: types, documents, words, kept words, coverage (share of running words that have an id),
        and what was taken for a word, which the stage `clean` decided.
    """
    train = clean_folder / "train"
    if "train" not in present_splits(clean_folder):
        raise InputError(f"{train}: no such file; the vocabulary is made from training text only")
    conventions = conventions_of(clean_folder)
    write_conventions(out_folder, {TEXT: conventions})
    shards = shard_files(train)
    buckets = -(-len(shards) // BUCKET_SHARDS)
    count = partial(_count_shard, conventions.words, buckets, out_folder)
    counted = list(current().map(count, list(enumerate(shards)), "counting words"))
    vocabulary = _vocabulary([shard.stem for shard in counted], buckets, config, out_folder)
    vocabulary.save(out_folder / "vocabulary.json")
    joiner = StreamJoiner(out_folder / "train.arrow", ("ids",), out_folder)
    documents = [np.zeros(1, dtype=np.int64)]
    encode = partial(_encode_shard, out_folder / "vocabulary.json")
    for stem, lengths in current().map(encode, [shard.stem for shard in counted], "encoding words"):
        joiner.append({"ids": stem})
        for suffix in (".safetensors", ".arrow"):  # here: a worker that dies may have to encode its shard again
            stem.with_suffix(suffix).unlink()
        documents.append(documents[-1][-1:] + np.cumsum(lengths))
    joiner.write()
    bounds = np.concatenate(documents)
    write_arrays(out_folder / "documents.safetensors", {"bounds": bounds})
    running, kept = sum(shard.words for shard in counted), int(vocabulary.counts.sum())
    return {
        "types": len(vocabulary),
        "documents": len(bounds) - 1,
        "words": running,
        "kept_words": kept,
        "coverage": round(kept / running, 6),
        "read_as": conventions.description,
    }


def _count_shard(mode: WordChoice, buckets: int, scratch: Path, part: tuple[int, Path]) -> Counted:
    """Number and count the words of one shard.

    Writes the numbers of its running words, the words of each line, the last line of each document, and a table of its
    words, ordered by bucket, with where each bucket ends (`buckets`).
    """
    number, shard = part
    known = NumberedWords(splitter_of(mode))
    numbers, lengths = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.int64)]
    documents = [np.zeros(0, dtype=np.int64)]
    for batch in read_batches(shard, COLUMNS, ROWS):
        rows = [known.read(line) for line in batch.column("text").to_pylist()]
        numbers.append(np.array([word for row in rows for word in row], dtype=np.int32))
        lengths.append(np.array([*map(len, rows)], dtype=np.int64))
        documents.append(batch.column("document").to_numpy())
    stem, running = scratch / f"words-{number:06}", np.concatenate(numbers)
    bucket_of = np.array([zlib.crc32(word.encode()) % buckets for word in known.words], dtype=np.int64)  # (V,)
    order = np.argsort(bucket_of, kind="stable")
    words, counts = pa.array(known.words, pa.string()), np.bincount(running, minlength=len(known.words))
    _write_words(stem.with_suffix(".arrow"), pa.table([words.take(order), counts[order], order], schema=WORDS))
    arrays: dict[str, np.ndarray] = {
        "numbers": running,
        "lengths": np.concatenate(lengths),
        "ends": _last_lines(np.concatenate(documents)),
        "buckets": np.cumsum(np.bincount(bucket_of, minlength=buckets)),
    }
    write_arrays(stem.with_suffix(".safetensors"), arrays)
    return Counted(stem, len(running))


def _write_words(path: Path, words: pa.Table) -> None:
    with atomic_file(path) as temporary, pa.ipc.new_file(str(temporary), words.schema) as out:
        out.write_table(words)


def _read_words(path: Path, start: int = 0, stop: int | None = None) -> dict[str, list[Any]]:
    """The columns of rows `start` … `stop` − 1 of a file of `_write_words`. No other rows are read."""
    with pa.memory_map(str(path)) as source:
        rows: dict[str, list[Any]] = pa.ipc.open_file(source).read_all()[start:stop].to_pydict()
    return rows


def _last_lines(documents: np.ndarray) -> np.ndarray:
    """(D,) int64: the line after which each document ends."""
    return np.flatnonzero(np.append(documents[1:] != documents[:-1], [True] * bool(len(documents)))) + 1


def _vocabulary(stems: Sequence[Path], buckets: int, config: VocabularyConfig, scratch: Path) -> Vocabulary:
    """The vocabulary of all shards: the counts of each bucket are added up by workers."""
    parts = [(bucket, scratch / f"bucket-{bucket:06}.arrow") for bucket in range(buckets)]
    add = partial(_add_counts, stems, config.min_count)
    types = sum(current().map(add, parts, "adding up counts"))
    tables = []
    for _, path in parts:
        with pa.OSFile(str(path)) as source:
            tables.append(pa.ipc.open_file(source).read_all())
        path.unlink()
    words = pa.concat_tables(tables)
    if not len(words):
        raise no_word_left(config, types)
    order = pc.sort_indices(words, sort_keys=[("count", "descending"), ("word", "ascending")])
    words = words.take(order[: config.max_size])
    return Vocabulary(words["word"].to_pylist(), words["count"].to_numpy())


def _add_counts(stems: Sequence[Path], min_count: int, part: tuple[int, Path]) -> int:
    """Add up the counts of one bucket over all shards; returns its number of words.

    Args:
        min_count: of the words that are written.
        part: the bucket, and the file that its words are written to.
    """
    bucket, path = part
    counts = Counter[str]()
    for stem in stems:
        ends = np.append(0, map_arrays(stem.with_suffix(".safetensors"))["buckets"])
        words = _read_words(stem.with_suffix(".arrow"), int(ends[bucket]), int(ends[bucket + 1]))
        for word, count in zip(words["word"], words["count"], strict=True):
            counts[word] += count
    kept = [(word, count) for word, count in counts.items() if count >= min_count]
    columns = [[word for word, _ in kept], [count for _, count in kept]]
    _write_words(path, pa.table(columns, schema=pa.schema([WORDS.field("word"), WORDS.field("count")])))
    return len(counts)


def _encode_shard(vocabulary: Path, stem: Path) -> tuple[Path, np.ndarray]:
    """The numbers of one shard as ids. Returns the stem of its files, and how many ids each document has."""
    index, arrays = _index(vocabulary), map_arrays(stem.with_suffix(".safetensors"))
    words = _read_words(stem.with_suffix(".arrow"))
    by_number = np.full(len(words["word"]), -1, dtype=np.int32)
    by_number[words["number"]] = [index.get(word, -1) for word in words["word"]]
    ids = by_number[arrays["numbers"]]
    known = ids >= 0
    before = np.append(0, np.cumsum(known, dtype=np.int64))  # (R + 1,) known words before each
    ends = before[np.append(0, np.cumsum(arrays["lengths"]))]
    with IdWriter.of(stem) as out:
        out.add(ids[known], np.diff(ends))
    lengths = np.diff(np.append(0, ends[arrays["ends"]]))
    return stem, lengths


@lru_cache(maxsize=1)
def _index(path: Path) -> dict[str, int]:
    return Vocabulary.load(path).index
