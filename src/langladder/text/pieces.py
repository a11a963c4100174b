"""Lines cut into pieces, and each different piece numbered and counted: what a text is encoded and counted by.

A piece is what a tokenizer's model sees at once, or several such: the ids of a line are those of its pieces one after
the other. A corpus has few different ones, so each is encoded once, whatever encodes it.

| rule | a piece is |
| --- | --- |
| byte_level | a run of letters, digits or signs, with the space before it (GPT-2, Radford et al. 2019) |
| words | what stands between white space |
| spaces | a space or ▁ and what follows up to the next |
| characters | one character |

Shape legend: N bytes of text, L lines, D different pieces, R running pieces.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Self

import numpy as np
import pyarrow as pa

from langladder.artefacts import map_arrays, write_arrays
from langladder.text.character_kernels import CHARACTERS, UNSEEN, unseen
from langladder.text.pieces_kernels import cut_and_number, find_all, hashes_of, number_all, table_of

Rule = Literal["byte_level", "words", "spaces", "characters"]
RULES: dict[Rule, int] = {"byte_level": 0, "words": 1, "spaces": 2, "characters": 3}


class Classes:
    """The class of each character, asked for when a text first has it.

    Attributes:
        table: (1,114,112,) uint8, by code point; UNSEEN where nobody has asked yet.
    """

    def __init__(self, classify: Callable[[str], int]) -> None:
        self._classify = classify
        self.table = np.full(CHARACTERS, UNSEEN, dtype=np.uint8)
        self._learn(range(128))

    def cover(self, text: np.ndarray) -> None:
        """Ask for all characters of a text: (N,) uint8, UTF-8."""
        found, place = np.empty(256, dtype=np.int64), 0
        while place < len(text):
            place, size = unseen(text, place, self.table, found)
            self._learn(found[:size].tolist())

    def _learn(self, points: "range | list[int]") -> None:
        for point in points:
            self.table[point] = self._classify(chr(point))


@dataclass(frozen=True)
class Lines:
    """Lines of text as Arrow holds them: text (N,) uint8, UTF-8; bounds (L + 1,) int64."""

    text: np.ndarray
    bounds: np.ndarray

    def __post_init__(self) -> None:
        for array in ("text", "bounds"):  # read only, all of them: kernels are compiled for one sort of arrays
            view = getattr(self, array).view()
            view.setflags(write=False)
            object.__setattr__(self, array, view)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @classmethod
    def of(cls, column: pa.Array | pa.ChunkedArray) -> Self:
        """A column of strings; its text is not copied unless it comes in chunks."""
        array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if isinstance(array, pa.ChunkedArray):  # too long for one array of strings
            array = pa.concat_arrays([chunk.cast(pa.large_string()) for chunk in array.chunks])
        wide = pa.types.is_large_string(array.type)
        _, bounds, text = array.buffers()
        offsets = np.frombuffer(bounds, dtype=np.int64 if wide else np.int32) if bounds else np.zeros(1, dtype=np.int64)
        offsets = offsets[array.offset : array.offset + len(array) + 1].astype(np.int64)
        return cls(np.frombuffer(text, dtype=np.uint8) if text else np.zeros(0, dtype=np.uint8), offsets)

    def selected(self, which: np.ndarray) -> "Lines":
        """Some of the lines: (L,) bool."""
        return Lines.of(self.strings().filter(pa.array(which)))

    def share(self, number: int, shares: int, counts: np.ndarray) -> tuple["Lines", np.ndarray]:
        """The lines whose hash falls into one of several shares, and their counts."""
        which = hashes_of(self.text, self.bounds) % shares == number
        return self.selected(which), counts[which]

    def line(self, number: int) -> str:
        """One as a string."""
        return self.text[self.bounds[number] : self.bounds[number + 1]].tobytes().decode()

    def texts(self) -> list[str]:
        """Each as a string."""
        found: list[str] = self.strings().to_pylist()
        return found

    def strings(self) -> pa.Array:
        """As Arrow's strings."""
        bounds, text = (pa.py_buffer(np.ascontiguousarray(array)) for array in (self.bounds, self.text))
        return pa.LargeStringArray.from_buffers(len(self), bounds, text)


class Numbered(NamedTuple):
    """Lines as numbers of pieces: numbers (R,) int32; ends (L,) int64, where the pieces of each line end."""

    numbers: np.ndarray
    ends: np.ndarray


class Pieces:
    """Different pieces, numbered from 0 in the order in which they are met, and how often each was met.

    Attributes:
        size: D.
    """

    def __init__(self) -> None:
        self.size = 0
        self._slots = np.zeros(1 << 15, dtype=np.int32)
        self._hashes = np.zeros(1 << 14, dtype=np.int64)
        self._counts = np.zeros(1 << 14, dtype=np.int64)
        self._bounds = np.zeros((1 << 14) + 1, dtype=np.int64)
        self._known = np.zeros(1 << 17, dtype=np.uint8)

    @property
    def counts(self) -> np.ndarray:
        """(D,) int64."""
        return self._counts[: self.size]

    @property
    def lines(self) -> Lines:
        """The pieces themselves, each as a line."""
        return Lines(self._known[: self._bounds[self.size]], self._bounds[: self.size + 1])

    def cut(self, lines: Lines, classes: Classes, rule: Rule) -> Numbered:
        """Cut lines; number and count their pieces."""
        first, last = lines.bounds[0], lines.bounds[-1]
        classes.cover(lines.text[first:last])
        numbers = np.empty(last - first, dtype=np.int32)
        ends = np.empty(len(lines.bounds) - 1, dtype=np.int64)
        state = np.array([0, 0, 0, self.size])
        cut, made = (lines.text, lines.bounds, classes.table, RULES[rule]), (numbers, ends, state)
        while not cut_and_number(*cut, *self._tables(), *made):
            self._grow(int(state[3]))
        self.size = int(state[3])
        return Numbered(numbers[: state[2]], ends)

    def add(self, lines: Lines, counts: np.ndarray) -> np.ndarray:
        """Count pieces that were counted elsewhere; their numbers here, (L,) int32."""
        numbers, state = np.empty(len(counts), dtype=np.int32), np.array([0, self.size])
        while not number_all(lines.text, lines.bounds, counts, *self._tables(), numbers, state):
            self._grow(int(state[1]))
        self.size = int(state[1])
        return numbers

    @classmethod
    def of(cls, lines: Lines) -> Self:
        """Pieces that are all different, numbered as they stand there."""
        pieces = cls()
        pieces.add(lines, np.zeros(len(lines), dtype=np.int64))
        return pieces

    def find(self, lines: Lines) -> np.ndarray:
        """The numbers of pieces, (L,) int32; −1 for one that is not known."""
        return find_all(lines.text, lines.bounds, *self._tables()[:4])

    def save(self, path: Path) -> None:
        """Write the tables; `open` maps them."""
        names = ("slots", "hashes", "bounds", "known")
        write_arrays(path, dict(zip(names, self._tables()[:4], strict=True)))

    @classmethod
    def open(cls, path: Path) -> Self:
        """Pieces that were saved, for looking up."""
        pieces, arrays = cls(), map_arrays(path)
        pieces._slots, pieces._hashes = arrays["slots"], arrays["hashes"]
        pieces._bounds, pieces._known = arrays["bounds"], arrays["known"]
        return pieces

    def _tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self._slots, self._hashes, self._bounds, self._known, self._counts

    def _grow(self, size: int) -> None:
        """Room for more pieces, or for longer ones."""
        if size == len(self._hashes):
            self._hashes = np.concatenate([self._hashes, np.zeros_like(self._hashes)])
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
            self._bounds = np.concatenate([self._bounds, np.zeros(size, dtype=np.int64)])
            self._slots = table_of(self._hashes, size, 2 * len(self._slots))
        else:
            self._known = np.concatenate([self._known, np.zeros_like(self._known)])
