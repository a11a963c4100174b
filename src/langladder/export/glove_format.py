"""The text format of GloVe (Pennington et al. 2014): `word x_1 … x_D` a line, no header.

gensim reads it with `KeyedVectors.load_word2vec_format(path, no_header=True)`. Without a header, the dimension is
what most of the first lines have.
"""

from array import array
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from langladder.errors import InputError
from langladder.export.vector_entries import (
    check_words,
    entry_line,
    parse_entry,
    write_entries,
)
from langladder.text.lines import reading, writing

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


def read(path: Path) -> tuple[list[str], np.ndarray]:
    """Words and their (V, D) float32 vectors, from a plain or gzipped file.

    Raises:
        InputError: the file is missing or empty, a line is malformed, or a word stands there twice (names the line).
    """
    dim = _dimension(path)
    lines: dict[str, int] = {}  # word → line
    numbers = array("f")
    with reading(path) as file:
        for number, line in enumerate(iter(lambda: entry_line(path, file, len(lines) + 1, dim), b""), start=1):
            word, vector = parse_entry(f"{path}:{number}", line, dim, "most lines have")
            first = lines.setdefault(word, number)
            if first != number:
                raise InputError(f"{path}:{number}: the word {word[:60]!r} stands on line {first} already")
            numbers.extend(vector)
    return list(lines), np.frombuffer(numbers, dtype=np.float32).reshape(-1, dim).copy()


def _dimension(path: Path) -> int:
    with reading(path) as file:
        first = (entry_line(path, file, number, LONGEST_LINE) for number in range(1, LINES_LOOKED_AT + 1))
        found = Counter(len(line.split(b" ")) - 1 for line in first if line)
    if not found:
        raise InputError(f"{path}: empty; a GloVe file has a word and its numbers on each line")
    dim = min(found, key=lambda fields: (-found[fields], fields))
    if dim < 1:
        raise InputError(f"{path}:1: no numbers after the word; a GloVe file has a word and its numbers on each line")
    return dim
