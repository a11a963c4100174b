"""Rows for BERT: lines of a document, in pairs or not, cut so that there is almost no padding.

    one text    <cls> line EOS line EOS line <sep>                   as many lines of one document as fit in T tokens
                                                                     (Liu et al. 2019, section 4.2, DOC-SENTENCES), or
                                                                     `most` at most
    two texts   <cls> line EOS line <sep> line EOS line <sep>        the same, cut in two at a random line; one time in
                                                                     two the second text is lines from elsewhere.
                                                                     Where one line fills a row's half, the next line
                                                                     is the second text, cut where the row ends

There is an EOS between two lines of a text, unlike in BERT: the networks here know where a line ends, as the
language models do. Some rows (`short`) are cut to their first lines, so that short texts are seen at every position
(the authors' code: `short_seq_prob`). If the second text comes from elsewhere, the lines that it replaces are left
out this time.

Shape legend: L lines (a line longer than a row counts as several), R rows, T tokens.
"""

from typing import NamedTuple

import numpy as np

from langladder.ground.errors import InputError
from langladder.text.storage.token_streams import TokenStream, positions_of
from langladder.text.tokenize.specials import BOS, EOS


class Lines(NamedTuple):
    """The lines of a stream: `ids[starts[i] : ends[i]]`, without BOS and EOS; (L,) int64 each.

    document: its document. number: its line, the same for the parts of a long one.
    """

    ids: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    document: np.ndarray
    number: np.ndarray

    def text(self, first: int, last: int) -> np.ndarray:
        """The tokens of lines first … last (one document's), EOS between two lines."""
        span = self.ids[self.starts[first] : self.ends[last]]
        kept: np.ndarray = span[span != BOS]
        return kept


def lines_of(stream: TokenStream, longest: int) -> Lines:
    """The lines of a stream; a longer line than `longest` tokens becomes several."""
    starts = positions_of(stream.ids, BOS) + 1
    ends = positions_of(stream.ids, EOS)
    number = np.arange(len(starts))
    parts = -(-(ends - starts) // longest)  # 0 of an empty line
    first = np.cumsum(parts) - parts
    part = np.arange(int(parts.sum())) - np.repeat(first, parts)
    starts, number = np.repeat(starts, parts) + part * longest, np.repeat(number, parts)
    ends = np.minimum(np.repeat(ends, parts), starts + longest)
    document = np.searchsorted(stream.offsets, starts, side="right") - 1
    return Lines(stream.ids, starts, ends, document, number)


def rows_of(lines: Lines, room: int, most: int | None = None) -> np.ndarray:
    """(R, 2) int64: first and last line of each row, as many lines of a document as fit, or `most`."""
    rows: list[tuple[int, int]] = []
    starts, ends, document, number = (part.tolist() for part in lines[1:])
    first = 0
    for line in range(1, len(starts) + 1):
        ended = line == len(starts) or document[line] != document[first] or line - first == most
        # tokens of first … line: all between them in the stream, without one BOS per line
        if ended or ends[line] - starts[first] - (number[line] - number[first]) > room:
            rows.append((first, line - 1))
            first = line
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


class Pairs:
    """Draws the texts of rows.

    Args:
        stream: the text. length: T, including special tokens. pairs: two texts per row. short: share of rows that are
            cut.
        most: maximum lines per row; None: as many as fit.

    Raises:
        InputError: there is no line, or no pair can be made.
    """

    def __init__(self, stream: TokenStream, *, length: int, pairs: bool, short: float, most: int | None = None) -> None:
        self.room = length - (3 if pairs else 2)
        self.lines = lines_of(stream, max(1, self.room // 2) if pairs else self.room)
        self.rows = rows_of(self.lines, self.room, most)  # (R, 2)
        self.pairs, self.short = pairs, short
        if pairs and len(self.rows):
            after = np.minimum(self.rows[:, 1] + 1, len(self.lines.document) - 1)
            same = self.lines.document[after] == self.lines.document[self.rows[:, 0]]
            self.rows[:, 1] = np.where((self.rows[:, 0] == self.rows[:, 1]) & same, after, self.rows[:, 1])
        if not len(self.rows):
            raise InputError("masked language modelling: the text has no line; see the report of the stage `clean`")
        if pairs and (not (self.rows[:, 1] > self.rows[:, 0]).any() or self.lines.document[-1] == 0):
            raise InputError(
                "model.next_sentence=true: pairs need two documents, and some with two lines that fit into "
                f"training.sequence_length={length}; set model.next_sentence to false, or raise the length"
            )

    def __len__(self) -> int:
        return len(self.rows)

    def draw(self, row: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray | None, int]:
        """First text, second text (None if rows are not pairs), and 1 if that comes from elsewhere, else 0."""
        first, last = self.rows[row].tolist()
        u = random.random(3)
        least = first + 1 if self.pairs and last > first else first
        if last > least and u[0] < self.short:
            last = least + int(u[0] / self.short * (last - least))
        if not self.pairs:
            return self.lines.text(first, last), None, 0
        cut = first + int(
            u[1] * (last - first)
        )  # the last line of the first text, before `last` if there are two texts
        text = self.lines.text(first, cut)
        if last > first and u[2] < 0.5:
            return text, self.lines.text(cut + 1, last)[: self.room - len(text)], 0
        return text, self._other_document(int(self.lines.document[first]), self.room - len(text), random), 1

    def _other_document(self, document: int, room: int, random: np.random.Generator) -> np.ndarray:
        """Lines of another document, from a random one on, at most `room` tokens."""
        low, high = np.searchsorted(self.lines.document, (document, document + 1))
        start = int(random.integers(len(self.lines.document) - (high - low)))
        start += int(high - low) if start >= low else 0
        end = int(np.searchsorted(self.lines.document, self.lines.document[start], side="right"))
        return self.lines.text(start, min(end - 1, start + room))[:room]
