"""From clean text to memory-mapped ids, shard by shard wherever the engine runs them.

A document is its lines one after the other, each `BOS ids… EOS`. Of a sentence pair, the source is `ids… EOS` and the
target `BOS ids… EOS`.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from math import fsum
from pathlib import Path

import numpy as np
import pyarrow as pa

from langladder.engine.base import Serial, current
from langladder.ground.artefacts import write_arrays, write_json
from langladder.text.storage.shards import TEXT, present_splits, shard_files
from langladder.text.storage.tables import PAIRS, TableLines, read_batches
from langladder.text.storage.token_streams import POSITIONS, IdWriter, StreamJoiner, counts_file, position_group
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizers import Tokenizer
from langladder.text.words.segmentation import Split, conventions_of, write_conventions

ROWS = 16_384
LINES = 1024  # encoded in one call, which takes about 100 bytes per token
Part = tuple[int, Path]


@dataclass
class TextSize:
    """How much clean text there is, in units that no tokenizer changes: perplexity per word, bits per
    character, bits per byte.

    Attributes:
        words: as the conventions of the text split them, and one end per line.
        characters: Unicode code points, and one newline per line.
        bytes: of UTF-8, and one newline per line.
        log_prob: sum of the lines' exact natural-log probabilities, None where any is unknown.
        words_by_position, log_prob_by_position: the same of each group of `POSITIONS`.
    """

    words: int = 0
    characters: int = 0
    bytes: int = 0
    log_prob: float | None = 0.0
    words_by_position: list[int] = field(default_factory=lambda: [0] * len(POSITIONS))
    log_prob_by_position: list[float] | None = field(default_factory=lambda: [0.0] * len(POSITIONS))

    def add(self, lines: Sequence[str], log_probs: pa.Array, split: Split, groups: np.ndarray) -> None:
        """Add lines, the log-probability of each, and its group by position. split: a line → its words."""
        words = [len(split(line)) + 1 for line in lines]
        self.characters += sum(map(len, lines)) + len(lines)
        self.bytes += sum(len(line.encode()) for line in lines) + len(lines)
        more = TextSize(sum(words), log_prob=None, log_prob_by_position=None)
        more.words_by_position = _by_group(groups, words).astype(np.int64).tolist()
        if log_probs.null_count == 0:
            more.log_prob = fsum(log_probs.to_pylist())
            more.log_prob_by_position = _by_group(groups, log_probs.to_pylist()).tolist()
        both = total([self, more])
        self.words, self.log_prob = both.words, both.log_prob
        self.words_by_position, self.log_prob_by_position = both.words_by_position, both.log_prob_by_position

    def figures(self) -> dict[str, float | list[int] | list[float] | None]:
        """As sizes.json has them."""
        return asdict(self)


def _by_group(groups: np.ndarray, values: Sequence[float]) -> np.ndarray:
    """(groups,) the sum of the values of each."""
    return np.bincount(groups, weights=values, minlength=len(POSITIONS))


def total(sizes: list[TextSize]) -> TextSize:
    """The sum of several."""
    log_probs = [size.log_prob for size in sizes if size.log_prob is not None]
    by_position = [size.log_prob_by_position for size in sizes if size.log_prob_by_position is not None]
    known = len(log_probs) == len(sizes)
    return TextSize(
        sum(size.words for size in sizes),
        sum(size.characters for size in sizes),
        sum(size.bytes for size in sizes),
        fsum(log_probs) if known else None,
        [sum(column) for column in zip(*(size.words_by_position for size in sizes), strict=True)],
        [fsum(column) for column in zip(*by_position, strict=True)] if known else None,
    )


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


def encode_corpus(clean_folder: Path, tokenizer: Tokenizer, out_folder: Path) -> dict[str, dict[str, int]]:
    """Write `tokenizer.json`, one `TokenStream` a split, how large each split is (`sizes.json`), and the conventions.

    `train_counts.safetensors` says how often each token occurs in the training split, for `TokenStream.counts`.

    Returns:
        Documents, lines and tokens (EOS included, BOS not) of each split.
    """
    tokenizer.save(out_folder / "tokenizer.json")
    conventions = conventions_of(clean_folder)
    write_conventions(out_folder, {"text": conventions})
    tables = {split: clean_folder / split for split in present_splits(clean_folder)}
    encode = partial(_encode_text, out_folder)
    encoded = _encode(tables, encode, ("ids",), out_folder)
    sizes = {
        split: total([part.size for part in parts]).figures() | {"word_unit": conventions.unit}
        for split, parts in encoded.items()
    }
    write_json(out_folder / "sizes.json", sizes)
    if "train" in encoded:
        write_arrays(
            counts_file(out_folder / "train.arrow"),
            {"counts": np.sum([part.counts for part in encoded["train"]], axis=0)},
        )
    return _figures(encoded)


def encode_pairs(
    clean_folder: Path, source: Tokenizer, target: Tokenizer, out_folder: Path
) -> dict[str, dict[str, int]]:
    """Write `source.json`, `target.json` (equal where one tokenizer is shared), conventions, a `PairStream` a split.

    Returns:
        Pairs and tokens (EOS included, BOS not) of each side and split.
    """
    source.save(out_folder / "source.json")
    target.save(out_folder / "target.json")
    write_conventions(out_folder, {side: conventions_of(clean_folder, side) for side in PAIRS.names})
    tables = {split: clean_folder / f"{split}.parquet" for split in present_splits(clean_folder)}
    return _figures(_encode(tables, partial(_encode_pairs, out_folder), ("source", "target"), out_folder))


def _encode(
    tables: dict[str, Path], encode: Callable[[Part], Encoded], columns: tuple[str, ...], out_folder: Path
) -> dict[str, list[Encoded]]:
    """Encode all splits and join the shards of each. Returns what each shard was encoded to, by split."""
    shards = [(split, shard) for split, table in tables.items() for shard in shard_files(table)]
    engine = current() if len(shards) > len(tables) else Serial()  # one shard per split is not worth other processes
    results = engine.map(encode, list(enumerate(shard for _, shard in shards)), "encoding")
    encoded: dict[str, list[Encoded]] = {split: [] for split in tables}
    for split, parts in encoded.items():
        joiner = StreamJoiner(out_folder / f"{split}.arrow", columns, out_folder)
        for _ in range(sum(name == split for name, _ in shards)):
            parts.append(next(results))
            joiner.append(parts[-1].stems)
        joiner.write()
    return encoded


def _figures(encoded: dict[str, list[Encoded]]) -> dict[str, dict[str, int]]:
    """The figures of each split: the sums over its shards."""
    return {
        split: {name: sum(part.figures[name] for part in parts) for name in parts[0].figures}
        for split, parts in encoded.items()
    }


def _encode_text(folder: Path, part: Part) -> Encoded:
    """One shard of text. A row of ids is a document; lines of one document are consecutive rows."""
    number, shard = part
    tokenizer, split = Tokenizer.load(folder / "tokenizer.json"), conventions_of(folder).split
    result = Encoded({"ids": folder / f"part-{number:06}"}, {"documents": 0, "lines": 0, "tokens": 0})
    result.counts = np.zeros(tokenizer.vocab_size, dtype=np.int64)
    documents, lengths = ([np.zeros(0, dtype=np.int64)] for _ in range(2))  # (L,) of each line
    before = -1, 0  # the document of the line before this batch, and how many of its lines were read
    with IdWriter.of(result.stems["ids"]) as out:
        for batch in read_batches(shard, TEXT, ROWS):
            lines = batch.column("text").to_pylist()
            ids, lengths_of_lines = encode_lines(tokenizer, lines, first=BOS, last=EOS)
            out.add(ids, np.zeros(0, dtype=np.int64))
            documents.append(batch.column("document").to_numpy())
            lengths.append(lengths_of_lines)
            result.figures["lines"] += len(lines)
            result.figures["tokens"] += len(ids) - len(lines)
            positions = _positions(documents[-1], *before)
            before = int(documents[-1][-1]), int(positions[-1]) + 1
            result.size.add(lines, batch.column("log_prob"), split, position_group(positions))
            result.counts += np.bincount(ids, minlength=len(result.counts))
        begins = np.flatnonzero(np.diff(np.concatenate(documents), prepend=-1))  # first line of each document
        if len(begins):
            out.add(np.zeros(0, dtype=np.int32), np.add.reduceat(np.concatenate(lengths), begins))
    result.figures["documents"] = len(begins)
    return result


def _positions(documents: np.ndarray, last: int, read: int) -> np.ndarray:
    """(L,) of each line of a batch, its position in its document, from 0.

    Args:
        documents: (L,) the document of each line. last: that of the line before them; read: lines read of it.
    """
    lines = np.arange(len(documents))
    begins = np.diff(documents, prepend=last) != 0
    first = np.maximum.accumulate(np.where(begins, lines, -read))  # of each line, where its document begins
    return lines - first


def _encode_pairs(folder: Path, part: Part) -> Encoded:
    """One shard of sentence pairs."""
    number, shard = part
    stems = {side: folder / f"part-{number:06}-{side}" for side in PAIRS.names}
    tokenizers = {side: Tokenizer.load(folder / f"{side}.json") for side in PAIRS.names}
    result = Encoded(stems, {"pairs": 0, "source_tokens": 0, "target_tokens": 0})
    with IdWriter.of(stems["source"]) as sources, IdWriter.of(stems["target"]) as targets:
        for batch in read_batches(shard, PAIRS, ROWS):
            for side, out, first in (("source", sources, -1), ("target", targets, BOS)):
                lines = batch.column(side).to_pylist()
                ids, lengths = encode_lines(tokenizers[side], lines, first=first, last=EOS)
                out.add(ids, lengths)
                result.figures[f"{side}_tokens"] += len(ids) - (len(lengths) if side == "target" else 0)
            result.figures["pairs"] += len(batch)
    return result


def encode_lines(
    tokenizer: Tokenizer, lines: Sequence[str], *, first: int = -1, last: int = -1
) -> tuple[np.ndarray, np.ndarray]:
    """Lines as ids, one after the other.

    Args:
        first, last: ids to put before and after those of each line; −1: none.

    Returns:
        (T,) int32 ids, and (L,) int64 how many each line has.
    """
    before, after = (np.array([token] * (token >= 0), dtype=np.int32) for token in (first, last))
    ids, lengths = [np.zeros(0, dtype=np.int32)], list[int]()
    for start in range(0, len(lines), LINES):
        for row in tokenizer.encode_lines(lines[start : start + LINES]):
            ids += [before, row, after]
            lengths.append(len(before) + len(row) + len(after))
    return np.concatenate(ids), np.array(lengths, dtype=np.int64)


def framed(ids: np.ndarray) -> np.ndarray:
    """(n,) ids → (n + 2,) int32: BOS ids EOS."""
    row = np.empty(len(ids) + 2, dtype=np.int32)
    row[0], row[1:-1], row[-1] = BOS, ids, EOS
    return row
