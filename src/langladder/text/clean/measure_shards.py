"""The figures of clean text, shard by shard: statistics of every split, and how much held-out text stands in train.

Held-out shards come first and leave the hashes of their n-grams and lines; those, sorted and mapped, are what training
shards are compared with (see `leakage`). An n-gram's hash has 64 bits: of g held-out n-grams, one in 2⁶⁴ / g strange
ones would be taken for one of them.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from langladder.engine.base import Engine
from langladder.text.clean.hash_prefixes import prefixes_of, with_prefix
from langladder.text.clean.leakage import gram_hashes, share
from langladder.text.clean.line_words import AT_ONCE, Bytes, Words, codes_of, words_of
from langladder.text.clean.spilled import HASH, as_hashes, ascending, count_distinct, distinct, mapped, save
from langladder.text.clean.statistics import TextStatistics
from langladder.text.storage.arrow_arrays import values
from langladder.text.storage.shards import read_shard, shard_files
from langladder.text.storage.tables import SPLITS, TEXT

HELD_OUT = ("validation", "test")
SLOTS = 1 << 16
PREFIX = 30  # bits of a hash, at most, that strange n-grams are told by


@dataclass(frozen=True)
class Piece:
    """A clean shard of a split; `scratch`: the path of what it leaves, without ending."""

    shard: Path
    split: str
    scratch: Path

    def file(self, ending: str) -> Path:
        """One of the files that it leaves."""
        return self.scratch.with_suffix(f".{ending}")


@dataclass
class Found:
    """What a shard has: its statistics, and how many documents its split has up to its end."""

    documents: int = 0
    statistics: TextStatistics = field(default_factory=TextStatistics)


def measure(folder: Path, size: int, engine: Engine) -> tuple[dict[str, Any], dict[str, Any]]:
    """Measure clean text.

    Args:
        folder: of the splits; its folder `work` is filled.
        size: n of the n-grams that are looked for in the training text.

    Returns:
        split → statistics; held-out split → the n-grams and lines it has, and the share that the training text has.
    """
    pieces = {
        split: [
            Piece(shard, split, folder / "work" / f"{split}-{number:06d}")
            for number, shard in enumerate(shard_files(folder / split))
        ]
        for split in SPLITS
    }
    held = [piece for split in HELD_OUT for piece in pieces[split]]
    found = dict(zip(held, engine.map(partial(_held_out, size=size), held, "measuring held-out text"), strict=True))
    wanted = {kind: folder / "work" / f"wanted.{kind}" for kind in ("grams", "lines")}
    for kind, path in wanted.items():
        distinct([piece.file(kind) for piece in held], path, engine.share)
    save(wanted["grams"].with_suffix(".prefixes"), prefixes_of(np.asarray(mapped(wanted["grams"])), PREFIX))
    trained = engine.map(partial(_trained, size=size, wanted=wanted), pieces["train"], "measuring training text")
    found |= dict(zip(pieces["train"], trained, strict=True))
    counts = {split: _counts(found, pieces[split], engine.share) for split in SPLITS}
    seen = {kind: _seen(kind, path, pieces["train"]) for kind, path in wanted.items()}
    return counts, {split: _leaked(pieces[split], seen, wanted, size) for split in HELD_OUT}


def _counts(found: dict[Piece, Found], pieces: Sequence[Piece], room: int) -> dict[str, Any]:
    statistics = TextStatistics()
    for piece in pieces:
        statistics.merge(found[piece].statistics)
    types = count_distinct([piece.file("types") for piece in pieces], room)
    return {"documents": found[pieces[-1]].documents, **statistics.report(types)}


def _seen(kind: str, wanted: Path, pieces: Sequence[Piece]) -> np.ndarray:
    """(G,) bool: which of the wanted the training text has."""
    seen = np.zeros(len(mapped(wanted)), dtype=bool)
    for piece in pieces:
        seen[mapped(piece.file(f"{kind}.seen"))] = True
    return seen


def _leaked(pieces: Sequence[Piece], seen: dict[str, np.ndarray], wanted: dict[str, Path], size: int) -> dict[str, Any]:
    counts, hits = dict.fromkeys(wanted, 0), dict.fromkeys(wanted, 0)
    for kind, path in wanted.items():
        for piece in pieces:
            mine = np.sort(mapped(piece.file(kind)))  # so that they are looked up one beside the other
            counts[kind] += len(mine)
            hits[kind] += int(seen[kind][np.searchsorted(mapped(path), mine)].sum())
    return {
        "ngram_words": size,
        "ngrams": counts["grams"],
        "ngrams_in_train": share(hits["grams"], counts["grams"]),
        "lines": counts["lines"],
        "lines_in_train": share(hits["lines"], counts["lines"]),
    }


def _held_out(piece: Piece, size: int) -> Found:
    """A worker's part; leaves files of hashes."""
    found = Found()
    types, grams, lines = [np.zeros((2, 0), np.uint64)], [np.zeros(0, np.uint64)], list[bytes]()
    for texts, words, codes in _batches(piece, found, types):
        grams.append(gram_hashes(codes[0], words.lengths, size)[0])
        lines += _line_hashes(texts, np.arange(len(texts)))
    _save_types(piece, types)
    save(piece.file("grams"), np.concatenate(grams))
    save(piece.file("lines"), as_hashes(lines))
    return found


def _trained(piece: Piece, size: int, wanted: dict[str, Path]) -> Found:
    """As `_held_out`; leaves files of the positions of what is wanted and found."""
    found = Found()
    types, seen = [np.zeros((2, 0), np.uint64)], {kind: [np.zeros(0, np.int64)] for kind in wanted}
    grams, lines = (np.asarray(mapped(wanted[kind])) for kind in ("grams", "lines"))
    prefixes = np.asarray(mapped(wanted["grams"].with_suffix(".prefixes")))
    for texts, words, codes in _batches(piece, found, types):
        hashes, counts = gram_hashes(codes[0], words.lengths, size)
        likely = with_prefix(hashes, prefixes)
        at, hits = _found(grams, hashes[likely])
        seen["grams"].append(at)
        # a line that stands in held-out text has no n-gram that is strange to it
        firsts = np.cumsum(counts) - counts
        known = np.zeros(len(hashes) + 1, dtype=bool)
        known[likely[hits]] = True
        rows = np.flatnonzero((counts == 0) | known[firsts])
        seen["lines"].append(_found(lines, as_hashes(_line_hashes(texts, rows)))[0])
    _save_types(piece, types)
    for kind, positions in seen.items():
        save(piece.file(f"{kind}.seen"), ascending(np.concatenate(positions)))
    return found


def _found(wanted: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where in `wanted`, ascending, those of the values stand that do, in any order; (V,) bool which those are."""
    if not len(wanted):
        return np.zeros(0, dtype=np.int64), np.zeros(len(values), dtype=bool)
    order = np.argsort(values)  # so that they are looked up one beside the other
    at = np.minimum(np.searchsorted(wanted, values[order]), len(wanted) - 1)
    hits = np.zeros(len(values), dtype=bool)
    hits[order] = there = wanted[at] == values[order]
    return at[there], hits


def _batches(piece: Piece, found: Found, types: list[np.ndarray]) -> Iterator[tuple[pa.Array, Words, np.ndarray]]:
    """Lines, their words, the words' codes; what was found grows."""
    for batch in read_shard(piece.shard, TEXT, AT_ONCE):
        texts = batch.column("text")
        words = words_of(texts)
        codes = codes_of(words)
        found.statistics.add_batch(texts, words.lengths)
        types.append(_distinct(codes))
        found.documents = int(values(batch.column("document"))[-1]) + 1
        yield texts, words, codes


def _distinct(codes: np.ndarray) -> np.ndarray:
    """(2, U) of (2, W) codes: each once, but for some few that are left twice.

    Each word goes to a slot by its code; of those in one slot the last stays, and what is unlike it.
    """
    slots = (codes[0] & np.uint64(SLOTS - 1)).astype(np.int64)
    last = np.full(SLOTS, -1, dtype=np.int32)
    last[slots] = np.arange(codes.shape[1], dtype=np.int32)
    same = last[slots]
    unlike = np.flatnonzero((codes[0][same] != codes[0]) | (codes[1][same] != codes[1]))
    found = codes[:, np.concatenate([last[last >= 0], unlike])]
    found = found[:, np.argsort(found[0])]
    new = np.ones(found.shape[1], dtype=bool)
    new[1:] = (found[:, 1:] != found[:, :-1]).any(axis=0)
    return found[:, new]


def _save_types(piece: Piece, types: list[np.ndarray]) -> None:
    found = _distinct(np.concatenate(types, axis=1))
    save(piece.file("types"), np.ascontiguousarray(found.T).view(HASH).ravel())


def _line_hashes(texts: pa.Array, rows: np.ndarray) -> list[bytes]:
    found = Bytes.of(texts)
    whole, bounds = found.view(), found.bounds
    pairs = zip(bounds[rows].tolist(), bounds[rows + 1].tolist(), strict=True)
    return [hashlib.blake2b(whole[start:end], digest_size=HASH.itemsize).digest() for start, end in pairs]
