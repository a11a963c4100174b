"""The file format of the word2vec tool, which most tools for word vectors read and write.

A header line `V D`, then V entries. Text: `word x_1 … x_D` a line. Binary: the word, a space, D float32 values in
little-endian order, and (from the original tool, not from gensim) a line end. Words are UTF-8 without spaces.
"""

import gzip
from pathlib import Path
from typing import IO

import numpy as np

from langladder.artefacts import atomic
from langladder.errors import InputError

LONGEST_WORD = 10_000  # bytes: what is longer is no word but a file of another format


def write(path: Path, words: list[str], matrix: np.ndarray, *, binary: bool) -> None:
    """Write words and their (V, D) vectors, atomically; nine digits in text bring every float32 back.

    Raises:
        InputError: a word is empty or holds a space or line end, which the format cannot say.
    """
    for word in words:
        if not word or any(sign in word for sign in " \n\r\t"):
            raise InputError(f"{path}: the word {word!r} cannot be written: this format has no spaces inside words")
    matrix = np.ascontiguousarray(matrix, dtype="<f4")
    with atomic(Path(path)) as temporary, temporary.open("wb") as file:
        file.write(f"{len(words)} {matrix.shape[1]}\n".encode())
        line = " ".join(["%.9g"] * matrix.shape[1])
        for word, vector in zip(words, matrix, strict=True):
            file.write(word.encode() + b" ")
            file.write(vector.tobytes() if binary else (line % tuple(vector.tolist())).encode())
            file.write(b"\n")


def read(path: Path, *, binary: bool | None = None) -> tuple[list[str], np.ndarray]:
    """Words and their (V, D) float32 vectors, from a plain or gzipped file.

    Args:
        binary: None: seen from the file: text has as many numbers in its first entry as the header says.

    Raises:
        InputError: the file is missing or malformed (says where).
    """
    try:
        if binary is None:
            binary = _looks_binary(path)
        with _open(path) as file:
            size, dim = _header(path, file)
            return _read_binary(path, file, size, dim) if binary else _read_text(path, file, size, dim)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except (EOFError, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: damaged gzip file ({error})") from error


def _open(path: Path) -> IO[bytes] | gzip.GzipFile:
    return gzip.open(path, "rb") if Path(path).suffix == ".gz" else Path(path).open("rb")


def _header(path: Path, file: IO[bytes] | gzip.GzipFile) -> tuple[int, int]:
    line = file.readline(100)
    try:
        size, dim = (int(number) for number in line.split())
    except ValueError as error:
        raise InputError(f"{path}:1: {line!r} is not a word2vec header (two numbers: words, dimension)") from error
    if size < 1 or dim < 1:
        raise InputError(f"{path}:1: {size} words of dimension {dim}; both must be at least 1")
    return size, dim


def _looks_binary(path: Path) -> bool:
    with _open(path) as file:
        _, dim = _header(path, file)
        fields = file.readline(LONGEST_WORD + 50 * dim).split(b" ")
    try:
        [float(number) for number in fields[1:] if number.strip()]
    except ValueError:
        return True
    return len(fields) <= dim


def _decode(path: Path, entry: int, word: bytes) -> str:
    try:
        return word.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: entry {entry}: the word {word!r} is not UTF-8") from error


def _read_text(path: Path, file: IO[bytes] | gzip.GzipFile, size: int, dim: int) -> tuple[list[str], np.ndarray]:
    words, matrix = [], np.empty((size, dim), dtype=np.float32)
    for entry in range(size):
        fields = file.readline().rstrip().split(b" ")
        if len(fields) != dim + 1:
            raise InputError(f"{path}:{entry + 2}: {len(fields) - 1} numbers after the word; the header says {dim}")
        words.append(_decode(path, entry + 1, fields[0]))
        try:
            matrix[entry] = [float(number) for number in fields[1:]]
        except ValueError as error:
            raise InputError(f"{path}:{entry + 2}: {error}") from error
    if file.readline().strip():
        raise InputError(f"{path}:{size + 2}: more entries than the {size} that the header says")
    return words, matrix


def _read_binary(path: Path, file: IO[bytes] | gzip.GzipFile, size: int, dim: int) -> tuple[list[str], np.ndarray]:
    words, matrix = [], np.empty((size, dim), dtype=np.float32)
    for entry in range(size):
        word = bytearray()
        while (sign := file.read(1)) != b" ":
            if not sign or len(word) > LONGEST_WORD:
                raise InputError(f"{path}: entry {entry + 1} of {size}: no word followed by a space")
            word += sign
        words.append(_decode(path, entry + 1, bytes(word.lstrip(b"\n"))))
        vector = file.read(4 * dim)
        if len(vector) != 4 * dim:
            raise InputError(f"{path}: entry {entry + 1} of {size}: the file ends inside the vector")
        matrix[entry] = np.frombuffer(vector, dtype="<f4")
    return words, matrix
