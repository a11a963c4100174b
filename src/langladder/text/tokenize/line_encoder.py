"""Encoding whole batches of lines: each distinct piece of text is encoded once by the library, then looked up.

A piece is what stands before a space, with the spaces before it. No tokenizer here has a token across such a border, so
the ids of a line are those of its pieces, one after the other: the ids of `Tokenizer.encode_lines`.
"""

import re
from collections.abc import Sequence
from itertools import chain

import numpy as np

from langladder.text.tokenize.tokenizers import Tokenizer

BORDER = re.compile(r"(?<=\S)(?= )")  # a space begins a piece where it is the first of its white space
MOST = 1_000_000  # distinct pieces remembered


class LineEncoder:
    """A tokenizer for batches of lines."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._ids: dict[str, list[int]] = {}

    def encode(self, lines: Sequence[str], *, first: int = -1, last: int = -1) -> tuple[np.ndarray, np.ndarray]:
        """Lines as ids, one after the other.

        Args:
            first, last: ids to put before and after those of each line; −1: none.

        Returns:
            (T,) int32 ids, and (L,) int64 how many each line has.
        """
        if self.tokenizer.kind == "bert":  # its normalizer may rewrite white space
            rows = [ids.tolist() for ids in self.tokenizer.encode_lines(lines)]
        else:
            pieces = [BORDER.split(line) for line in lines]
            self._learn({piece for row in pieces for piece in row})
            rows = [list(chain.from_iterable(map(self._ids.__getitem__, row))) for row in pieces]
        before, after = [first] * (first >= 0), [last] * (last >= 0)
        lengths = np.array([len(row) for row in rows], dtype=np.int64) + len(before) + len(after)
        ids = np.fromiter(chain.from_iterable(chain(before, row, after) for row in rows), np.int32, int(lengths.sum()))
        return ids, lengths

    def _learn(self, pieces: set[str]) -> None:
        """Encode the pieces that are not known yet."""
        if len(self._ids) + len(pieces) > MOST:
            self._ids.clear()
        new = list(pieces - self._ids.keys())
        self._ids.update(zip(new, (ids.tolist() for ids in self.tokenizer.encode_lines(new)), strict=True))
