"""What the file formats of word vectors share: words as bytes, their numbers, and the policy for damaged entries.

A text entry is `word x_1 … x_D` on a line, plain or gzipped; spaces and tabs separate. Lines end with \\n only: some
published files hold words with other line-end characters (U+0085, U+2028), at which Python's text mode would cut. A
word is what stands before the last D fields, so words with inner spaces (GloVe's 840B file has `. . .`) are read; they
are not written, since most readers cannot take them.

Damaged entries, which `skip` leaves out: a word that stands there twice (the first stays), is empty, is not UTF-8 or
holds a control character, and a number that is not finite. A number that does not parse and a line of another width
are always errors: they show that the format is another one.
"""

import codecs
import re
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from langladder.ground.errors import Damage, InputError
from langladder.text.read.lines import GZIP

MOST_DIMENSIONS = 1_000_000
LONGEST_WORD = 10_000  # bytes: what is longer is no word but a file of another format
GZIP_RATIO = 1032  # no gzip file unpacks to more than so many times its length
SPARE = 1 << 20  # bytes by which a header may be wrong, to be told later where the entries end
LONGEST_NUMBER = 50  # bytes, the space before it included
ROWS_AT_ONCE = 1024  # of a sparse matrix, made dense for writing
BOM = codecs.BOM_UTF8
CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
TWICE = "a word that stands there twice"
EMPTY = "no word before the first space"
NOT_UTF8 = "a word that is not UTF-8"
CONTROLLED = "a word with a control character"
NOT_FINITE = "a number that is not finite"


class Entries:
    """The words that a reader has met, and their vectors; damaged entries are reported to `damage` and left out."""

    def __init__(self, dim: int, damage: Damage) -> None:
        self.dim, self.damage = dim, damage
        self._places: dict[str, str | int] = {}  # word → where it stands, as messages say it
        self._numbers = array("f")

    def add(self, place: str, at: str | int, word: bytes, vector: np.ndarray) -> bool:
        """One entry; whether it stays.

        Args:
            place: where it stands, as a message begins; `at`: within the file, for a word that comes again.
            vector: (D,) float32.

        Raises:
            InputError: the entry is damaged, and the policy is `strict`.
        """
        text = self._sound(place, word)
        if text is None:
            return False
        if not np.isfinite(vector).all():
            self.damage.found(place, NOT_FINITE, f"in the vector of {text[:60]!r}")
        elif text in self._places:
            self.damage.found(place, TWICE, f"{text[:60]!r} is at {self._places[text]} already")
        else:
            self._places[text] = at
            self._numbers.frombytes(vector.tobytes())
            return True
        return False

    def _sound(self, place: str, word: bytes) -> str | None:
        """The word as text, None where it is damaged."""
        if not word or word[:1].isspace():
            self.damage.found(place, EMPTY)
            return None
        if CONTROL.search(word):
            self.damage.found(place, CONTROLLED, f"{word[:60]!r}")
            return None
        try:
            return word.decode()
        except UnicodeDecodeError:
            self.damage.found(place, NOT_UTF8, f"{word[:60]!r}")
            return None

    def finish(self, path: Path) -> tuple[list[str], np.ndarray]:
        """The words, and their vectors (V, D) float32.

        Raises:
            InputError: no entry is left.
        """
        if not self._places:
            raise InputError(f"{path}: no word vectors ({self.damage.summary() or 'the file has no entries'})")
        return list(self._places), np.frombuffer(self._numbers, dtype=np.float32).reshape(-1, self.dim)


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
    """Raise InputError for a word that the formats cannot hold: empty, or with a space or control character inside."""
    for word in words:
        if not word or " " in word or CONTROL.search(word.encode()):
            raise InputError(
                f"{path}: the word {word[:60]!r} cannot be written: this format has no empty words, and no spaces or "
                "control characters inside words"
            )


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


def parse_entry(place: str, line: bytes, dim: int, expected: str) -> tuple[bytes, np.ndarray]:
    """Word and vector (D,) float32 of one line; one space or tab stands between two fields.

    Args:
        place: file and line, for messages; `expected`: what says that there are `dim` numbers, likewise.

    Raises:
        InputError: not `dim` numbers after the word, or what is none.
    """
    line = line.rstrip()
    word, *numbers = line.rsplit(None, dim) if line else [b""]
    if len(numbers) == dim - 1 and line[:1].isspace():
        word, numbers = b"", [word, *numbers]
    if len(numbers) != dim:
        raise InputError(f"{place}: {len(numbers)} numbers after the word; {expected} {dim}")
    vector = parse_numbers(place, numbers)
    if len(word) + len(b" ".join(numbers)) + 1 != len(line):
        raise InputError(f"{place}: two spaces or tabs between two numbers; is a number missing?")
    if _holds_numbers(word.split(), dim):
        raise InputError(f"{place}: {dim + len(word.split()) - 1} numbers after the word; {expected} {dim}")
    return word, vector


def _holds_numbers(fields: list[bytes], dim: int) -> bool:
    """Whether numbers, or one that is cut in two, or a second entry on the line, would be read as part of a word.

    Words with inner spaces are GloVe's `. . .` and `at name@domain.com`.
    """
    if len(fields) < 2 or set(fields) == {b"."}:
        return False
    numbers = sum(map(is_number, fields[1:]))
    return is_number(fields[-1]) or not fields[-1].strip(b"+-.") or numbers >= max(1, dim - 1)


def parse_numbers(place: str, fields: Sequence[bytes]) -> np.ndarray:
    """The numbers of one line, float32; what is too large becomes infinite.

    Raises:
        InputError: one does not parse (names it).
    """
    try:
        if b"_" in b"".join(fields):  # which Python would read over: 1_5 as 15
            raise ValueError
        with np.errstate(over="ignore"):
            return np.array([float(field) for field in fields], dtype=np.float32)
    except ValueError:
        bad = next(field for field in fields if not is_number(field))
        comma = "; numbers have a decimal point, not a comma" if is_number(bad.replace(b",", b".", 1)) else ""
        raise InputError(f"{place}: {bad[:40]!r} is not a number{comma}") from None


def is_number(field: bytes) -> bool:
    """Whether a field reads as a number."""
    try:
        float(field)
    except ValueError:
        return False
    return b"_" not in field
