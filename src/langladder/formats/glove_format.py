"""The text format of GloVe (Pennington et al. 2014): `word x_1 … x_D` a line, no header.

gensim reads it with `KeyedVectors.load_word2vec_format(path, no_header=True)`. Without a header, the dimension is
what most of the first lines have.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from langladder.formats.vector_entries import BOM, Entries, check_words, entry_line, parse_entry, write_entries
from langladder.ground.errors import Damage, InputError
from langladder.text.read.lines import reading, writing

LINES_LOOKED_AT = 100  # to find the dimension
LONGEST_LINE = 100_000  # numbers; what is longer is no text of vectors


def write(path: Path, words: list[str], matrix: Any) -> None:
    """Write words and their (V, D) vectors (dense or sparse), atomically; gzipped where the name ends in .gz.

    Raises:
        InputError: a word is empty or holds a space or line end, which the format cannot say.
    """
    check_words(path, words)
    with writing(path) as file:
        write_entries(file, words, matrix)


def read(path: Path, damage: Damage | None = None) -> tuple[list[str], np.ndarray]:
    """Words and their (V, D) float32 vectors, from a plain or gzipped file.

    Args:
        damage: what to do with damaged entries; None: they are left out.

    Raises:
        InputError: the file is missing or empty, a line is malformed, an entry is damaged and the policy is `strict`
            (names the line).
    """
    dim = _dimension(path)
    entries, first, number = Entries(dim, damage or Damage()), b"", 0
    with reading(path) as file:
        for number, line in enumerate(_lines(path, file, dim), start=1):
            word, vector = parse_entry(f"{path}:{number}", line, dim, "most lines have")
            entries.add(f"{path}:{number}", f"line {number}", word, vector)
            first = first or word
    if re.match(rb"%d\s%d" % (number, dim), first):
        raise InputError(f"{path}:1: {first[:60]!r}: a header of word2vec's text format that has lost its line end")
    return entries.finish(path)


def _lines(path: Path, file: IO[bytes], dim: int) -> Iterator[bytes]:
    """The lines without a byte-order mark, and without blank lines at the end."""
    blank = number = 0
    while line := entry_line(path, file, number := number + 1, dim):
        line = line.removeprefix(BOM) if number == 1 else line
        if line.strip():
            yield from [b""] * blank
            blank = 0
            yield line
        else:
            blank += 1


def _dimension(path: Path) -> int:
    """What most of the first lines have."""
    with reading(path) as file:
        first = (entry_line(path, file, number, LONGEST_LINE) for number in range(1, LINES_LOOKED_AT + 1))
        found = Counter(len(line.split()) - (not line[:1].isspace()) for line in first if line.strip())
    if not found:
        raise InputError(f"{path}: empty; a GloVe file has a word and its numbers on each line")
    dim = min(found, key=lambda fields: (-found[fields], fields))
    if dim < 1:
        raise InputError(f"{path}:1: no numbers after the word; a GloVe file has a word and its numbers on each line")
    return dim
