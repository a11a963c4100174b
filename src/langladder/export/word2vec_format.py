"""The file format of the word2vec tool, which most tools for word vectors read and write.

A header line `V D`, then V entries. Text: `word x_1 … x_D` a line. Binary: the word, a space, D float32 values in
little-endian order, and (from the original tool, not from gensim) a line end. Words are UTF-8 without spaces.
"""

from pathlib import Path
from typing import IO, Any

import numpy as np

from langladder.errors import InputError
from langladder.export.vector_entries import (
    LONGEST_NUMBER,
    LONGEST_WORD,
    check_words,
    decode,
    dense_rows,
    entry_line,
    is_number,
    parse_entry,
    refuse_empty_claims,
    write_entries,
)
from langladder.text.lines import reading, writing


def write(path: Path, words: list[str], matrix: Any, *, binary: bool) -> None:
    """Write words and their (V, D) vectors (dense or sparse), atomically; gzipped where the name ends in .gz.

    Raises:
        InputError: a word is empty or holds a space or line end, which the format cannot say.
    """
    check_words(path, words)
    with writing(path) as file:
        file.write(f"{len(words)} {matrix.shape[1]}\n".encode())
        if not binary:
            write_entries(file, words, matrix)
            return
        for word, vector in zip(words, dense_rows(matrix), strict=True):
            file.write(word.encode() + b" " + vector.tobytes() + b"\n")


def read(path: Path, *, binary: bool | None = None) -> tuple[list[str], np.ndarray]:
    """Words and their (V, D) float32 vectors, from a plain or gzipped file.

    Args:
        binary: None: seen from the file: text has as many numbers in its first entry as the header says.

    Raises:
        InputError: the file is missing or malformed (says where).
    """
    if binary is None:
        binary = _looks_binary(path)
    with reading(path) as file, np.errstate(over="ignore"):  # what is too large for float32 becomes infinite
        size, dim = _header(path, file)
        refuse_empty_claims(path, size, dim, 4 * dim + 1 if binary else 2 * dim + 1)
        return _read_binary(path, file, size, dim) if binary else _read_text(path, file, size, dim)


def _header(path: Path, file: IO[bytes]) -> tuple[int, int]:
    line = file.readline(100)
    try:
        size, dim = (int(number) for number in line.split())
    except ValueError as error:
        raise InputError(f"{path}:1: {line!r} is not a word2vec header (two numbers: words, dimension)") from error
    if size < 1 or dim < 1:
        raise InputError(f"{path}:1: {size} words of dimension {dim}; both must be at least 1")
    return size, dim


def _looks_binary(path: Path) -> bool:
    with reading(path) as file:
        size, dim = _header(path, file)
        refuse_empty_claims(path, size, dim, 2 * dim + 1)
        fields = file.readline(LONGEST_WORD + LONGEST_NUMBER * dim).split(b" ")
    return len(fields) <= dim or not all(is_number(number) for number in fields[1:] if number.strip())


def _read_text(path: Path, file: IO[bytes], size: int, dim: int) -> tuple[list[str], np.ndarray]:
    words, matrix = [], np.empty((size, dim), dtype=np.float32)
    for entry in range(size):
        word, matrix[entry] = parse_entry(
            f"{path}:{entry + 2}", entry_line(path, file, entry + 2, dim), dim, "the header says"
        )
        words.append(word)
    if file.readline(LONGEST_WORD).strip():
        raise InputError(f"{path}:{size + 2}: more entries than the {size} that the header says")
    return words, matrix


def _read_binary(path: Path, file: IO[bytes], size: int, dim: int) -> tuple[list[str], np.ndarray]:
    words, matrix = [], np.empty((size, dim), dtype=np.float32)
    for entry in range(size):
        word = bytearray()
        while (sign := file.read(1)) != b" ":
            if not sign or len(word) > LONGEST_WORD:
                raise InputError(f"{path}: entry {entry + 1} of {size}: no word followed by a space")
            word += sign
        words.append(decode(f"{path}: entry {entry + 1}", bytes(word.lstrip(b"\n"))))
        vector = file.read(4 * dim)
        if len(vector) != 4 * dim:
            raise InputError(f"{path}: entry {entry + 1} of {size}: the file ends inside the vector")
        matrix[entry] = np.frombuffer(vector, dtype="<f4")
    return words, matrix
