"""The word vocabulary of a corpus, and its training text as word ids: counted and encoded in shards.

A shard is read once: its running words are numbered as it meets them, and left on disk beside its counts. The counts
of all shards are added exactly, however many different words there are: where they would not fit into memory, by shares
of the words' hashes, one share after the other; of each share only the words that are frequent enough stay. Then the
numbers of each shard are replaced by ids, which needs neither the text nor a dictionary of Python's.
"""

from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from langladder.artefacts import map_arrays, write_arrays
from langladder.engine.base import current
from langladder.errors import InputError
from langladder.text.id_files import IdWriter, StreamJoiner
from langladder.text.pieces import Lines, Pieces
from langladder.text.segmenters import WordChoice, reading
from langladder.text.shards import shard_files
from langladder.text.table_lines import TableLines
from langladder.text.tables import present_splits, read_batches
from langladder.text.vocabulary import Vocabulary, VocabularyConfig, no_word_left
from langladder.text.word_counts import reader

ROWS = 16_384
COLUMNS = pa.schema([("document", pa.int64()), ("text", pa.string())])
ENTRY = 64  # bytes that a different word takes in the tables of counts, beside its spelling


class Counted(NamedTuple):
    """A shard that was counted: the file of its words and numbers, and how many bytes its different words take."""

    file: Path
    words: int
    room: int


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
    index = out_folder / "index.safetensors"
    Pieces.of(Lines.of(pa.array(vocabulary.words))).save(index)
    joiner = StreamJoiner(out_folder / "train.arrow", ("ids",), out_folder)
    documents = [np.zeros(1, dtype=np.int64)]
    for stem, lengths in current().map(partial(_encode_shard, index), [one.file for one in counted], "encoding words"):
        joiner.append({"ids": stem})
        stem.with_suffix(".safetensors").unlink()
        documents.append(documents[-1][-1:] + np.cumsum(lengths))
    joiner.write()
    index.unlink()
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
    words, numbers, lengths = Pieces(), [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.int64)]
    documents = [np.zeros(0, dtype=np.int64)]
    for batch in read_batches(shard, COLUMNS, ROWS):
        found = reader(mode).read(Lines.of(batch.column("text")), words)
        numbers.append(found.numbers)
        lengths.append(found.lengths)
        documents.append(batch.column("document").to_numpy())
    file = scratch / f"words-{number:06}.safetensors"
    known, running = words.lines, np.concatenate(numbers)
    arrays = {"text": known.text, "bounds": known.bounds, "counts": words.counts, "numbers": running}
    arrays |= {"lengths": np.concatenate(lengths), "ends": _last_lines(np.concatenate(documents))}
    write_arrays(file, arrays)
    return Counted(file, len(running), len(known.text) + ENTRY * words.size)


def _last_lines(documents: np.ndarray) -> np.ndarray:
    """(D,) int64: behind which line each document ends; lines of one stand together."""
    return np.flatnonzero(np.append(documents[1:] != documents[:-1], [True] * bool(len(documents)))) + 1


def _merged(counted: list[Counted], config: VocabularyConfig) -> Vocabulary:
    """The vocabulary of all shards together."""
    shares = -(-sum(one.room for one in counted) // current().share)
    kept: list[tuple[str, int]] = []
    types = 0
    for share in range(shares):
        pieces = Pieces()
        for one in counted:
            arrays = map_arrays(one.file)
            words, counts = Lines(arrays["text"], arrays["bounds"]), arrays["counts"]
            pieces.add(*((words, counts) if shares == 1 else words.share(share, shares, counts)))
        types += pieces.size
        frequent = pieces.counts >= config.min_count
        texts = pieces.lines.selected(frequent).texts()
        kept += zip(texts, pieces.counts[frequent].tolist(), strict=True)
    if not kept:
        raise no_word_left(config, types)
    kept.sort(key=lambda pair: (-pair[1], pair[0]))
    kept = kept[: config.max_size]
    return Vocabulary([word for word, _ in kept], np.array([count for _, count in kept], dtype=np.int64))


def _encode_shard(index: Path, file: Path) -> tuple[Path, np.ndarray]:
    """The numbers of one shard as ids. Returns the stem of its files, and how many ids each document has."""
    arrays = map_arrays(file)
    ids = _index(index).find(Lines(arrays["text"], arrays["bounds"]))[arrays["numbers"]]
    known = ids >= 0
    before = np.append(0, np.cumsum(known, dtype=np.int64))  # (R + 1,) known words before each
    ends = before[np.append(0, np.cumsum(arrays["lengths"]))]
    with IdWriter.of(file.with_suffix("")) as out:
        out.add(ids[known], np.diff(ends))
    return file.with_suffix(""), np.diff(np.append(0, ends[arrays["ends"]]))


@lru_cache(maxsize=1)
def _index(path: Path) -> Pieces:
    return Pieces.open(path)
