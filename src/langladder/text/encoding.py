"""From clean text to memory-mapped ids: trains the tokenizers' files and writes the token streams.

A document is its lines one after the other, each `BOS ids… EOS`. Of a sentence pair, the source is `ids… EOS` and the
target `BOS ids… EOS`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from langladder.text.corpus_ids import PairStream, TokenStream
from langladder.text.scripts import write_writing, writing
from langladder.text.specials import BOS, EOS
from langladder.text.tables import PAIRS, TEXT, present_splits, read_batches, read_column
from langladder.text.tokenizers import Tokenizer

ROWS = 8_192


class TableLines:
    """Text columns of tables as one iterable of lines that can be gone through again."""

    def __init__(self, columns: list[tuple[Path, str]]) -> None:
        self.columns = columns

    def __iter__(self) -> Iterator[str]:
        for path, column in self.columns:
            for lines in read_column(path, column):
                yield from lines


def training_text(clean_folder: Path) -> TableLines:
    """The training lines of a clean corpus."""
    return TableLines([(clean_folder / "train", "text")])


def training_sides(clean_folder: Path, sides: list[str]) -> TableLines:
    """Training sentences of a clean parallel corpus: `["source"]`, `["target"]`, or both for a shared tokenizer."""
    return TableLines([(clean_folder / "train.parquet", side) for side in sides])


def encode_corpus(clean_folder: Path, tokenizer: Tokenizer, out_folder: Path) -> dict[str, Any]:
    """Write `tokenizer.json` and one `TokenStream` a split.

    Returns:
        Documents, lines and tokens (EOS included, BOS not) of each split.
    """
    tokenizer.save(out_folder / "tokenizer.json")
    report = {}
    for split in present_splits(clean_folder):
        counts = {"documents": 0, "lines": 0, "tokens": 0}
        documents = _documents(clean_folder / split, tokenizer, counts)
        TokenStream.write(out_folder / f"{split}.arrow", documents)
        report[split] = counts
    return report


def _documents(path: Path, tokenizer: Tokenizer, counts: dict[str, int]) -> Iterator[np.ndarray]:
    """The ids of each document; lines of one document are consecutive rows."""
    pending: list[np.ndarray] = []
    current = None
    for batch in read_batches(path, TEXT, ROWS):
        rows = tokenizer.encode_lines(batch.column("text").to_pylist())
        for document, ids in zip(batch.column("document").to_pylist(), rows, strict=True):
            if document != current and pending:
                counts["documents"] += 1
                yield np.concatenate(pending)
                pending = []
            current = document
            counts["lines"] += 1
            counts["tokens"] += len(ids) + 1
            pending.append(framed(ids))
    if pending:
        counts["documents"] += 1
        yield np.concatenate(pending)


def encode_pairs(clean_folder: Path, source: Tokenizer, target: Tokenizer, out_folder: Path) -> dict[str, Any]:
    """Write `source.json`, `target.json` (equal where one tokenizer is shared) and one `PairStream` a split.

    Beside them stands, for whoever scores translations, how each side of the training text is written (`scripts`).

    Returns:
        Pairs and tokens (EOS included, BOS not) of each side and split.
    """
    source.save(out_folder / "source.json")
    target.save(out_folder / "target.json")
    write_writing(out_folder, {side: writing(training_sides(clean_folder, [side])) for side in PAIRS.names})
    report = {}
    for split in present_splits(clean_folder):
        counts = {"pairs": 0, "source_tokens": 0, "target_tokens": 0}
        PairStream.write(
            out_folder / f"{split}.arrow", _pairs(clean_folder / f"{split}.parquet", source, target, counts)
        )
        report[split] = counts
    return report


def _pairs(
    path: Path, source: Tokenizer, target: Tokenizer, counts: dict[str, int]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for batch in read_batches(path, PAIRS, ROWS):
        sources = source.encode_lines(batch.column("source").to_pylist())
        targets = target.encode_lines(batch.column("target").to_pylist())
        for one, two in zip(sources, targets, strict=True):
            counts["pairs"] += 1
            counts["source_tokens"] += len(one) + 1
            counts["target_tokens"] += len(two) + 1
            yield np.append(one, np.int32(EOS)), framed(two)


def framed(ids: np.ndarray) -> np.ndarray:
    """(n,) ids → (n + 2,) int32: BOS ids EOS."""
    row = np.empty(len(ids) + 2, dtype=np.int32)
    row[0], row[1:-1], row[-1] = BOS, ids, EOS
    return row
