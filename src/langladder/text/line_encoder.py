"""Encoding whole batches of lines: each different piece once, whatever it takes, and a look-up for all others.

The ids are those of `Tokenizer.encode_lines`. Byte-level BPE merges in Numba; the other models are asked by way of the
`tokenizers` library.
"""

import json
from typing import Any

import numpy as np

from langladder.text.byte_merges import ByteMerges
from langladder.text.cutters import cutter
from langladder.text.pieces import Lines, Pieces
from langladder.text.pieces_kernels import expanded
from langladder.text.tokenizers import BYTES, Tokenizer


class LineEncoder:
    """A tokenizer for batches of lines."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._cutter = None if tokenizer.kind == "bert" else cutter(tokenizer.kind)  # BERT's lines are taken whole
        self._merges: ByteMerges | None = None
        if tokenizer.kind == "bpe_bytes":
            model: Any = json.loads(tokenizer.to_json())["model"]
            if not (model["dropout"] or model["ignore_merges"]):
                self._merges = ByteMerges.of(model["vocab"], [(a, b) for a, b in model["merges"]], BYTES)

    def encode(self, lines: Lines, *, first: int = -1, last: int = -1) -> tuple[np.ndarray, np.ndarray]:
        """Lines as ids, one after the other.

        Args:
            first, last: ids to put before and after those of each line; −1: none.

        Returns:
            (T,) int32 ids, and (L,) int64 how many each line has.
        """
        pieces = Pieces()
        if self._cutter is None:
            numbers = pieces.add(lines, np.ones(len(lines), dtype=np.int64))
            ends = np.arange(1, len(lines) + 1)
        else:
            numbers, ends = pieces.cut(lines, self._cutter.classes, self._cutter.rule)
        return expanded(numbers, ends, *self._ids(pieces), first, last)

    def _ids(self, pieces: Pieces) -> tuple[np.ndarray, np.ndarray]:
        """Ids of the different pieces, and where those of each begin and end."""
        if self._merges is not None:
            return self._merges.encode(pieces.lines.text, pieces.lines.bounds)
        rows = self.tokenizer.encode_lines(pieces.lines.texts())
        bounds = np.cumsum([0, *map(len, rows)])
        return np.concatenate([np.zeros(0, dtype=np.int32), *rows]), bounds
