"""From clean text to memory-mapped ids, shard by shard wherever the engine runs them.

A document is its lines one after the other, each `BOS ids… EOS`. Of a sentence pair, the source is `ids… EOS` and the
target `BOS ids… EOS`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from langladder.artefacts import write_arrays, write_json
from langladder.engine.base import Serial, current
from langladder.text.storage.corpus_ids import counts_file
from langladder.text.storage.id_files import IdWriter, StreamJoiner
from langladder.text.storage.shards import shard_files
from langladder.text.storage.table_lines import TableLines
from langladder.text.storage.tables import PAIRS, TEXT, present_splits, read_batches
from langladder.text.tokenize.alphabet import count_table_characters
from langladder.text.tokenize.line_encoder import LineEncoder
from langladder.text.tokenize.sizes import TextSize, total
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizers import Tokenizer
from langladder.text.words.scripts import write_writing, writing_of

ROWS = 16_384
Part = tuple[int, Path]


@dataclass
class Encoded:
    """What a shard was encoded to.

    Attributes:
        stems: of the files of ids of each column. figures: for the metrics. size: of the text.
        counts: (V,) int64, how often each token occurs; of sentence pairs empty.
    """

    stems: dict[str, Path]
    figures: dict[str, int]
    size: TextSize = field(default_factory=TextSize)
    counts: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


def training_text(clean_folder: Path) -> TableLines:
    """The training lines of a clean corpus."""
    return TableLines([(clean_folder / "train", "text")])


def training_sides(clean_folder: Path, sides: list[str]) -> TableLines:
    """Training sentences of a clean parallel corpus: `["source"]`, `["target"]`, or both for a shared tokenizer."""
    return TableLines([(clean_folder / "train.parquet", side) for side in sides])


def encode_corpus(clean_folder: Path, tokenizer: Tokenizer, out_folder: Path) -> dict[str, Any]:
    """Write `tokenizer.json`, one `TokenStream` a split, and how large each split is (`sizes.json`).

    `train_counts.safetensors` says how often each token occurs in the training split, for `TokenStream.counts`.

    Returns:
        Documents, lines and tokens (EOS included, BOS not) of each split.
    """
    tokenizer.save(out_folder / "tokenizer.json")
    tables = {split: clean_folder / split for split in present_splits(clean_folder)}
    encode = partial(_encode_text, out_folder)
    made = _encode(tables, encode, ("ids",), out_folder)
    sizes = {split: total([part.size for part in parts]).figures() for split, parts in made.items()}
    write_json(out_folder / "sizes.json", sizes)
    if "train" in made:
        write_arrays(
            counts_file(out_folder / "train.arrow"), {"counts": np.sum([part.counts for part in made["train"]], axis=0)}
        )
    return _figures(made)


def encode_pairs(clean_folder: Path, source: Tokenizer, target: Tokenizer, out_folder: Path) -> dict[str, Any]:
    """Write `source.json`, `target.json` (equal where one tokenizer is shared) and one `PairStream` a split.

    Beside them stands, for whoever scores translations, how each side of the training text is written (`scripts`).

    Returns:
        Pairs and tokens (EOS included, BOS not) of each side and split.
    """
    source.save(out_folder / "source.json")
    target.save(out_folder / "target.json")
    written = {
        side: writing_of(count_table_characters(training_sides(clean_folder, [side]).columns)) for side in PAIRS.names
    }
    write_writing(out_folder, written)
    tables = {split: clean_folder / f"{split}.parquet" for split in present_splits(clean_folder)}
    return _figures(_encode(tables, partial(_encode_pairs, out_folder), ("source", "target"), out_folder))


def _encode(
    tables: dict[str, Path], encode: Callable[[Part], Encoded], columns: tuple[str, ...], out_folder: Path
) -> dict[str, list[Encoded]]:
    """Encode all splits and join the shards of each. Returns what each shard was encoded to, by split."""
    shards = [(split, shard) for split, table in tables.items() for shard in shard_files(table)]
    engine = current() if len(shards) > len(tables) else Serial()  # a shard a split is not worth other processes
    results = engine.map(encode, list(enumerate(shard for _, shard in shards)), "encoding")
    made: dict[str, list[Encoded]] = {split: [] for split in tables}
    for split, parts in made.items():
        joiner = StreamJoiner(out_folder / f"{split}.arrow", columns, out_folder)
        for _ in range(sum(name == split for name, _ in shards)):
            parts.append(next(results))
            joiner.append(parts[-1].stems)
        joiner.write()
    return made


def _figures(made: dict[str, list[Encoded]]) -> dict[str, Any]:
    """The figures of each split: the sums over its shards."""
    return {
        split: {name: sum(part.figures[name] for part in parts) for name in parts[0].figures}
        for split, parts in made.items()
    }


def _encode_text(folder: Path, part: Part) -> Encoded:
    """One shard of text. A row of ids is a document; lines of one document are consecutive rows."""
    number, shard = part
    encoder = encoder_of(folder / "tokenizer.json")
    made = Encoded({"ids": folder / f"part-{number:06}"}, {"documents": 0, "lines": 0, "tokens": 0})
    made.counts = np.zeros(encoder.tokenizer.vocab_size, dtype=np.int64)
    open_document, pending = None, 0  # the last document of the rows so far, and how many ids it has
    with IdWriter.of(made.stems["ids"]) as out:
        for batch in read_batches(shard, TEXT, ROWS):
            lines = batch.column("text").to_pylist()
            ids, lengths = encoder.encode(lines, first=BOS, last=EOS)
            documents = batch.column("document").to_numpy()
            begins = np.flatnonzero(np.append(True, documents[1:] != documents[:-1]))
            sums = np.add.reduceat(lengths, begins)
            if open_document == documents[0]:
                sums[0] += pending
            elif open_document is not None:
                sums = np.append(pending, sums)
            open_document, pending = documents[-1], int(sums[-1])
            out.add(ids, sums[:-1])
            made.figures["documents"] += len(sums) - 1
            made.figures["lines"] += len(lines)
            made.figures["tokens"] += len(ids) - len(lines)
            made.size.add(lines, batch.column("log_prob"))
            made.counts += np.bincount(ids, minlength=len(made.counts))
        if open_document is not None:
            out.add(np.zeros(0, dtype=np.int32), np.array([pending]))
            made.figures["documents"] += 1
    return made


def _encode_pairs(folder: Path, part: Part) -> Encoded:
    """One shard of sentence pairs."""
    number, shard = part
    stems = {side: folder / f"part-{number:06}-{side}" for side in PAIRS.names}
    made = Encoded(stems, {"pairs": 0, "source_tokens": 0, "target_tokens": 0})
    with IdWriter.of(stems["source"]) as sources, IdWriter.of(stems["target"]) as targets:
        for batch in read_batches(shard, PAIRS, ROWS):
            for side, out, first in (("source", sources, -1), ("target", targets, BOS)):
                encoder = encoder_of(folder / f"{side}.json")
                ids, lengths = encoder.encode(batch.column(side).to_pylist(), first=first, last=EOS)
                out.add(ids, lengths)
                made.figures[f"{side}_tokens"] += len(ids) - (len(lengths) if side == "target" else 0)
            made.figures["pairs"] += len(batch)
    return made


def encoder_of(path: Path) -> LineEncoder:
    """The encoder of a tokenizer's file, kept while this process works on one corpus."""
    facts = path.stat()
    return _encoder(path, facts.st_mtime_ns, facts.st_size)


@lru_cache(maxsize=2)
def _encoder(path: Path, changed: int, size: int) -> LineEncoder:
    del changed, size  # another file of the same name is another tokenizer
    return LineEncoder(Tokenizer.load(path))


def framed(ids: np.ndarray) -> np.ndarray:
    """(n,) ids → (n + 2,) int32: BOS ids EOS."""
    row = np.empty(len(ids) + 2, dtype=np.int32)
    row[0], row[1:-1], row[-1] = BOS, ids, EOS
    return row
