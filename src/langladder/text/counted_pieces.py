"""The different pieces of a training text and how often each occurs, counted in shards; and its characters.

What trainers need of a text is no more than this. Each shard is counted by itself, wherever; the counts are added in
the order of the shards, so that the pieces have the same numbers whoever counted.
"""

from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np

from langladder.artefacts import map_arrays, write_arrays
from langladder.engine.base import current
from langladder.text.character_kernels import CHARACTERS, histogram
from langladder.text.cutters import Cutter, cutter
from langladder.text.pieces import Lines, Pieces
from langladder.text.table_lines import TableLines, batches
from langladder.text.tokenizers import Trained


def count_pieces(lines: Iterable[str], kind: Trained) -> Pieces:
    """The pieces that a kind of tokenizer sees of a text."""
    shards = lines.shards() if isinstance(lines, TableLines) and lines.scratch is not None else []
    if not isinstance(lines, TableLines) or lines.scratch is None or len(shards) <= len(lines.columns):
        return _counted(lines, cutter(kind))
    pieces = Pieces()
    count = partial(_count_shard, kind, lines.scratch)
    for file in current().map(count, list(enumerate(shards)), "counting words"):
        arrays = map_arrays(file)
        pieces.add(Lines(arrays["text"], arrays["bounds"]), arrays["counts"])
        file.unlink()
    return pieces


def _counted(lines: Iterable[str], how: Cutter) -> Pieces:
    pieces = Pieces()
    for batch in batches(lines):
        pieces.cut(batch, how.classes, how.rule)
    return pieces


def _count_shard(kind: Trained, scratch: Path, part: tuple[int, tuple[Path, str]]) -> Path:
    """Count one shard into a file."""
    number, column = part
    pieces = _counted(TableLines([column]), cutter(kind))
    known = pieces.lines
    file = scratch / f"counts-{number:06}.safetensors"
    write_arrays(file, {"text": known.text, "bounds": known.bounds, "counts": pieces.counts})
    return file


def count_characters(lines: Iterable[str]) -> Counter[str]:
    """How often each character occurs."""
    counts = np.zeros(CHARACTERS, dtype=np.int64)
    for batch in batches(lines):
        histogram(batch.text[batch.bounds[0] : batch.bounds[-1]], counts)
    points = np.flatnonzero(counts)
    return Counter(dict(zip(map(chr, points.tolist()), counts[points].tolist(), strict=True)))
