"""What the text formats of word vectors share: an entry is `word x_1 … x_D` on a line, plain or gzipped.

Lines end with \\n only: some published files hold words with other line-end characters (U+0085, U+2028), at which
Python's text mode would cut. A word is what stands before the last D fields, so words with inner spaces (GloVe's
840B file has `. . .`) are read; they are not written, since most readers cannot take them.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from langladder.errors import InputError
from langladder.text.lines import GZIP

MOST_DIMENSIONS = 1_000_000
LONGEST_WORD = 10_000  # bytes: what is longer is no word but a file of another format
GZIP_RATIO = 1032  # no gzip file unpacks to more than so many times its length
SPARE = 1 << 20  # bytes by which a header may be wrong, to be told later where the entries end
LONGEST_NUMBER = 50  # bytes, the space before it included
ROWS_AT_ONCE = 1024  # of a sparse matrix, made dense for writing


def entry_line(path: Path, file: IO[bytes], number: int, dim: int) -> bytes:
    """The next line, as long as one of `dim` numbers can be; empty at the end of the file.

    Raises:
        InputError: it goes on.
    """
    most = LONGEST_WORD + LONGEST_NUMBER * dim
    line = file.readline(most + 1)
    if len(line) > most:
        raise InputError(f"{path}:{number}: more than {most:,} bytes without a line end: no word with its vector")
    return line


def refuse_empty_claims(path: Path, size: int, dim: int, least: int) -> None:
    """Raise InputError for a header that says more than the file can hold, before memory is taken for it.

    Args:
        least: the fewest bytes of an entry.
    """
    with path.open("rb") as raw:
        unpacked = GZIP_RATIO if raw.read(2) == GZIP else 1
    length = path.stat().st_size
    if dim > MOST_DIMENSIONS or size * least > length * unpacked + SPARE:
        claim = f"{size} words of dimension {dim}" if size < 10**15 > dim else "more words or dimensions than exist"
        raise InputError(f"{path}:1: the header says {claim}; the file, of {length:,} bytes, cannot hold them")


def check_words(path: Path, words: Sequence[str]) -> None:
    """Raise InputError for a word that a line-based format cannot hold: empty, or with a space or line end inside."""
    for word in words:
        if not word or any(sign in word for sign in " \n\r\t"):
            raise InputError(f"{path}: the word {word!r} cannot be written: this format has no spaces inside words")


def dense_rows(matrix: Any) -> Iterator[np.ndarray]:
    """The rows of a dense or sparse (V, D) matrix, (D,) little-endian float32 each; never all dense at once."""
    for first in range(0, matrix.shape[0], ROWS_AT_ONCE):
        part = matrix[first : first + ROWS_AT_ONCE]
        yield from np.ascontiguousarray(part if isinstance(part, np.ndarray) else part.toarray(), dtype="<f4")


def write_entries(file: IO[bytes], words: Sequence[str], matrix: Any) -> None:
    """One line a word; nine digits bring every float32 back."""
    numbers = " ".join(["%.9g"] * matrix.shape[1])
    for word, vector in zip(words, dense_rows(matrix), strict=True):
        file.write(word.encode() + b" " + (numbers % tuple(vector.tolist())).encode() + b"\n")


def decode(place: str, word: bytes) -> str:
    """A word as text. Raises InputError, naming the place, where it is not UTF-8."""
    try:
        return word.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{place}: the word {word[:60]!r} is not UTF-8") from error


def parse_entry(place: str, line: bytes, dim: int, expected: str) -> tuple[str, list[float]]:
    """Word and numbers of one line.

    Args:
        place: file and line, for messages; `expected`: what says that there are `dim` numbers, likewise.

    Raises:
        InputError: not `dim` numbers after the word, or the word is not UTF-8.
    """
    fields = line.rstrip(b" \t\r\n").rsplit(b" ", dim)
    if len(fields) != dim + 1:
        raise InputError(f"{place}: {len(fields) - 1} numbers after the word; {expected} {dim}")
    try:
        numbers = [float(number) for number in fields[1:]]
    except ValueError as error:
        raise InputError(f"{place}: {str(error)[:100]}") from error
    surplus = fields[0].split(b" ")[1:]
    if surplus and is_number(surplus[-1]):
        raise InputError(f"{place}: {dim + len(surplus)} numbers after the word; {expected} {dim}")
    if not fields[0]:
        raise InputError(f"{place}: no word before the numbers")
    return decode(place, fields[0]), numbers


def is_number(field: bytes) -> bool:
    """Whether a field reads as a number."""
    try:
        float(field)
    except ValueError:
        return False
    return True
