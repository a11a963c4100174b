r"""The file formats of word vectors: those of word2vec and of GloVe, and the policy for damaged entries.

A text entry is `word x_1 … x_D` on a line, plain or gzipped; spaces and tabs separate. Lines end with \n only: some
published files have words with other line-end characters (U+0085, U+2028), at which Python's text mode would cut. A
word is the text before the last D fields, so words with inner spaces (GloVe's 840B file has `. . .`) are read; they are
not written, because most readers do not support them.

word2vec   a header line `V D`, then V entries. Text: an entry a line. Binary: the word, a space, D float32 values in
           little-endian order, and (from the original tool, not from gensim) a line end. Words are UTF-8 without
           spaces. Neither form is marked. A file is text if the first entry is a word with D numbers, or
           if nearly all bytes are text; it is binary if V entries reach exactly to the
           file's end, with line ends after all vectors or none, no word is empty or has a control character, and the
           numbers of all vectors are of similar size (a byte that is missing, or big-endian order, gives any size)
GloVe      (Pennington et al. 2014) text entries, no header; the dimension is what most of the first lines have. gensim
           reads it with `KeyedVectors.load_word2vec_format(path, no_header=True)`

Damaged entries, which `skip` leaves out: a word that occurs twice (the first is kept), is empty, is not UTF-8 or
holds a control character, and a number that is not finite. A number that does not parse and a line of another width
are always errors: they show another format.
"""

import codecs
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NoReturn

import numpy as np

from langladder.embeddings.base import Matrix
from langladder.ground.errors import Damage, InputError
from langladder.text.read.lines import GZIP, reading, writing

# ---- entries


MOST_DIMENSIONS = 1_000_000
LONGEST_WORD = 10_000  # bytes: a longer word shows another format
GZIP_RATIO = 1032  # the largest ratio of a gzip file's content to its length
SPARE = 1 << 20  # bytes by which a header may be wrong; the error then names the end of the entries
LONGEST_NUMBER = 50  # bytes, the space before it included
ROWS_AT_ONCE = 1024  # of a sparse matrix, made dense for writing
BOM = codecs.BOM_UTF8
CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
TWICE = "a word that occurs twice"
EMPTY = "no word before the first space"
NOT_UTF8 = "a word that is not UTF-8"
CONTROLLED = "a word with a control character"
NOT_FINITE = "a number that is not finite"


class Entries:
    """The words read so far, and their vectors; damaged entries are reported to `damage` and skipped."""

    def __init__(self, dim: int, damage: Damage) -> None:
        self.dim, self.damage = dim, damage
        self._positions: dict[str, str | int] = {}  # word → its position, for messages
        self._numbers = array("f")

    def add(self, position: str, at: str | int, word: bytes, vector: np.ndarray) -> bool:
        """Add an entry; returns whether it is kept.

        Args:
            position: of the entry, for the beginning of a message; `at`: within the file, for a word that occurs again.
            vector: (D,) float32.

        Raises:
            InputError: the entry is damaged, and the policy is `strict`.
        """
        text = self._sound(position, word)
        if text is None:
            return False
        if not np.isfinite(vector).all():
            self.damage.found(position, NOT_FINITE, f"in the vector of {text[:60]!r}")
        elif text in self._positions:
            self.damage.found(position, TWICE, f"{text[:60]!r} is at {self._positions[text]} already")
        else:
            self._positions[text] = at
            self._numbers.frombytes(vector.tobytes())
            return True
        return False

    def _sound(self, position: str, word: bytes) -> str | None:
        """The word as text, None if it is damaged."""
        if not word or word[:1].isspace():
            self.damage.found(position, EMPTY)
            return None
        if CONTROL.search(word):
            self.damage.found(position, CONTROLLED, f"{word[:60]!r}")
            return None
        try:
            return word.decode()
        except UnicodeDecodeError:
            self.damage.found(position, NOT_UTF8, f"{word[:60]!r}")
            return None

    def finish(self, path: Path) -> tuple[list[str], np.ndarray]:
        """The words, and their vectors (V, D) float32.

        Raises:
            InputError: no entry is left.
        """
        if not self._positions:
            raise InputError(f"{path}: no word vectors ({self.damage.summary() or 'the file has no entries'})")
        return list(self._positions), np.frombuffer(self._numbers, dtype=np.float32).reshape(-1, self.dim)


def entry_line(path: Path, file: IO[bytes], number: int, dim: int) -> bytes:
    """The next line, as long as one of `dim` numbers can be; empty at the end of the file.

    Raises:
        InputError: it is longer.
    """
    most = LONGEST_WORD + LONGEST_NUMBER * dim
    line = file.readline(most + 1)
    if len(line) > most:
        raise InputError(f"{path}:{number}: more than {most:,} bytes without a line end: no word with its vector")
    return line


def refuse_empty_claims(path: Path, size: int, dim: int, least: int) -> None:
    """Raise InputError for a header with larger sizes than the file can contain, before allocating memory.

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
    """Raise InputError for a word that the formats cannot represent: empty, or with a space or control character."""
    for word in words:
        if not word or " " in word or CONTROL.search(word.encode()):
            raise InputError(
                f"{path}: the word {word[:60]!r} cannot be written: this format has no empty words, and no spaces or "
                "control characters inside words"
            )


def dense_rows(matrix: Matrix) -> Iterator[np.ndarray]:
    """The rows of a dense or sparse (V, D) matrix, (D,) little-endian float32 each; never all dense at once."""
    for first in range(0, matrix.shape[0], ROWS_AT_ONCE):
        part = matrix[first : first + ROWS_AT_ONCE]
        yield from np.ascontiguousarray(part if isinstance(part, np.ndarray) else part.toarray(), dtype="<f4")


def write_entries(file: IO[bytes], words: Sequence[str], matrix: Matrix) -> None:
    """One line per word; nine digits restore every float32."""
    numbers = " ".join(["%.9g"] * matrix.shape[1])
    for word, vector in zip(words, dense_rows(matrix), strict=True):
        file.write(word.encode() + b" " + (numbers % tuple(vector.tolist())).encode() + b"\n")


def parse_entry(position: str, line: bytes, dim: int, expected: str) -> tuple[bytes, np.ndarray]:
    """Word and vector (D,) float32 of one line; one space or tab separates two fields.

    Args:
        position: file and line, for messages; `expected`: the source of `dim`, likewise.

    Raises:
        InputError: not `dim` numbers after the word, or not a number.
    """
    line = line.rstrip()
    word, *numbers = line.rsplit(None, dim) if line else [b""]
    if len(numbers) == dim - 1 and line[:1].isspace():
        word, numbers = b"", [word, *numbers]
    if len(numbers) != dim:
        raise InputError(f"{position}: {len(numbers)} numbers after the word; {expected} {dim}")
    vector = parse_numbers(position, numbers)
    if len(word) + len(b" ".join(numbers)) + 1 != len(line):
        raise InputError(f"{position}: two spaces or tabs between two numbers; is a number missing?")
    if _holds_numbers(word.split(), dim):
        raise InputError(f"{position}: {dim + len(word.split()) - 1} numbers after the word; {expected} {dim}")
    return word, vector


def _holds_numbers(fields: list[bytes], dim: int) -> bool:
    """Whether numbers, a number cut in two, or a second entry on the line would be read as part of a word.

    Words with inner spaces are GloVe's `. . .` and `at name@domain.com`.
    """
    if len(fields) < 2 or set(fields) == {b"."}:
        return False
    numbers = sum(map(is_number, fields[1:]))
    return is_number(fields[-1]) or not fields[-1].strip(b"+-.") or numbers >= max(1, dim - 1)


def parse_numbers(position: str, fields: Sequence[bytes]) -> np.ndarray:
    """The numbers of one line, float32; too large ones become infinite.

    Raises:
        InputError: one does not parse (names it).
    """
    try:
        if b"_" in b"".join(fields):  # Python would read 1_5 as 15
            raise ValueError
        with np.errstate(over="ignore"):
            return np.array([float(field) for field in fields], dtype=np.float32)
    except ValueError:
        bad = next(field for field in fields if not is_number(field))
        comma = "; numbers have a decimal point, not a comma" if is_number(bad.replace(b",", b".", 1)) else ""
        raise InputError(f"{position}: {bad[:40]!r} is not a number{comma}") from None


def is_number(field: bytes) -> bool:
    """Whether a field reads as a number."""
    try:
        float(field)
    except ValueError:
        return False
    return b"_" not in field


# ---- word2vec's format


LOOKED_AT = 1 << 16  # bytes, to see whether a file is text
OUT_OF_PROPORTION = 2.0**40  # times the usual size; a letter as an exponent gives 2 ** 67 and more


def write_word2vec(path: Path, words: list[str], matrix: Matrix, *, binary: bool) -> None:
    """Write words and their (V, D) vectors (dense or sparse), atomically; gzipped where the name ends in .gz.

    Raises:
        InputError: a word is empty or holds a space or line end, which the format does not support.
    """
    check_words(path, words)
    with writing(path) as file:
        file.write(f"{len(words)} {matrix.shape[1]}\n".encode())
        if not binary:
            write_entries(file, words, matrix)
            return
        for word, vector in zip(words, dense_rows(matrix), strict=True):
            file.write(word.encode() + b" " + vector.tobytes() + b"\n")


def read_word2vec(
    path: Path, *, binary: bool | None = None, damage: Damage | None = None
) -> tuple[list[str], np.ndarray]:
    """Words and their (V, D) float32 vectors, from a plain or gzipped file.

    Args:
        binary: None: seen from the file.
        damage: what to do with damaged entries; None: they are left out.

    Raises:
        InputError: the file is missing or malformed, an entry is damaged and the policy is `strict` (says where).
    """
    if binary is None:
        binary = _looks_binary(path)
    with reading(path) as file:
        size, dim = _header(path, file)
        refuse_empty_claims(path, size, dim, 4 * dim + 1 if binary else 2 * dim)
        entries = Entries(dim, damage or Damage())
        if binary:
            _Binary(path, file, size, dim).read(entries)
        else:
            _read_text(path, file, size, dim, entries)
    words, matrix = entries.finish(path)
    if binary and _is_swapped(matrix[:ROWS_AT_ONCE]):
        raise InputError(
            f"{path}: entry 1 of {size}, {words[0][:40]!r}: its numbers, such as {matrix[0, 0]:.1e}, are those of "
            "big-endian order; word2vec's binary format has little-endian float32; have it written as text"
        )
    return words, matrix


def _header(path: Path, file: IO[bytes]) -> tuple[int, int]:
    line = file.readline(100).removeprefix(BOM)
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        raise InputError(f"{path}:1: {line!r} is not a word2vec header (two numbers: words, dimension)")
    size, dim = (int(field) for field in fields)
    if size < 1 or dim < 1:
        raise InputError(f"{path}:1: {size} words of dimension {dim}; both must be at least 1")
    return size, dim


def _looks_binary(path: Path) -> bool:
    """Whether the first entry is not a line of text, and more than one byte (it may be damaged) cannot be text."""
    with reading(path) as file:
        size, dim = _header(path, file)
        refuse_empty_claims(path, size, dim, 2 * dim)
        start = file.read(max(LOOKED_AT, LONGEST_WORD + LONGEST_NUMBER * dim))
    try:
        parse_entry("", start.split(b"\n", 1)[0], dim, "")
        return False
    except InputError:
        whole = start.rpartition(b"\n")[0] or start
        odd = len(CONTROL.findall(whole.translate(None, b"\t\r\n")))
        odd += whole.decode(errors="replace").count("\ufffd") - whole.count("\ufffd".encode())
        return odd > 1 and odd * 50 > len(whole)


def _read_text(path: Path, file: IO[bytes], size: int, dim: int, entries: Entries) -> None:
    for number in range(2, size + 2):
        line = entry_line(path, file, number, dim)
        if not line:
            raise InputError(f"{path}:{number}: the file ends after {number - 2} of the {size} entries of its header")
        word, vector = parse_entry(f"{path}:{number}", line, dim, "the header says")
        entries.add(f"{path}:{number}", f"line {number}", word, vector)
    while line := file.readline(LONGEST_WORD):
        if line.strip():
            raise InputError(f"{path}:{size + 2}: more entries than the {size} that the header says")


class _Binary:
    """The entries of a binary file, one after the other."""

    def __init__(self, path: Path, file: IO[bytes], size: int, dim: int) -> None:
        self.path, self.file, self.size, self.dim = path, file, size, dim
        self.lines = False  # whether a line end follows each vector; known after the first
        self.entry = 0
        self.next = b""  # the byte after the last vector

    def read(self, entries: Entries) -> None:
        """All of them.

        Raises:
            InputError: it is not such a file, an entry is damaged and the policy is `strict`.
        """
        before = word = b""
        values = b""
        largest = array("f")  # of each vector
        self.next = self.file.read(1)
        for number in range(1, self.size + 1):
            self.entry = number
            before, word = word, self._word()
            self._refuse_shifted(before, values, word)
            values = self.file.read(4 * self.dim)
            if len(values) != 4 * self.dim:
                self._wrong("the file ends inside the vector")
            vector = np.frombuffer(values, dtype="<f4").astype(np.float32, copy=False)
            self.next = self.file.read(1)
            if self.entry == 1:
                self.lines = self.next == b"\n"
            entries.add(f"{self.path}: entry {self.entry}", f"entry {self.entry}", word, vector)
            largest.append(np.abs(vector).max(initial=0, where=np.isfinite(vector)))
        rest = self.next + self.file.read(1)
        expected = (b"", b"\n") if self.size != 2 else (b"\n",) if self.lines else (b"",)
        if rest not in expected:
            self._wrong(f"the file does not end after it, but goes on with {rest!r}")
        if self.lines and not rest and values[-1:] == b"\n":
            self._wrong("its last number ends with the line end that should follow it; a byte is missing")
        self._refuse_sizes(np.frombuffer(largest, dtype=np.float32))

    def _word(self) -> bytes:
        """The next word; a line end before it belongs to the vector before."""
        sign = self.next
        if self.entry > 1 and self.lines:
            if sign != b"\n":
                self._wrong("there is no line end before it, unlike after the first vector")
            sign = self.file.read(1)
        word = bytearray()
        while sign != b" ":
            if not sign or len(word) > LONGEST_WORD:
                self._wrong("no word followed by a space")
            word += sign
            sign = self.file.read(1)
        if not word or CONTROL.search(word):
            self._wrong(f"{bytes(word[:40])!r} is no word")
        if not self.lines:
            try:
                word.decode()
            except UnicodeDecodeError as error:
                if error.reason != "unexpected end of data":  # cut inside a character: by the original tool
                    self._wrong(f"the word {bytes(word[:40])!r} is not UTF-8")
        return bytes(word)

    def _refuse_shifted(self, before: bytes, values: bytes, word: bytes) -> None:
        """Raise InputError if the previous word had a space, so that its vector was read from a wrong position.

        Then the last bytes of its vector come before the next word. At the right position, the numbers are of one
        size; read k bytes too early, they are of any size.
        """
        if self.lines or b" " not in values[: len(word)]:
            return
        for match in re.finditer(rb" ", re.match(rb"[^\x00-\x1f\x7f]*", values)[0]):  # type: ignore[index]
            k = match.end()
            if k >= len(word):
                return
            other = np.frombuffer(values[k:] + word[:k], dtype="<f4")
            if _spread(other) + 20 < _spread(np.frombuffer(values, dtype="<f4")):
                spaced = before + b" " + values[: k - 1]
                self._wrong(f"the word before it, {spaced[:40]!r}, has a space, which this format does not support")

    def _refuse_sizes(self, largest: np.ndarray) -> None:
        """Raise InputError for a vector with a number out of all proportion to the other vectors' numbers.

        If a byte of a vector is missing, the next word's first letter becomes the exponent of the last number.

        Args:
            largest: (V,) the largest number of each vector.
        """
        usual = float(np.median(largest[largest > 0])) if largest.any() else 0.0
        for entry in np.flatnonzero(largest.astype(np.float64) > OUT_OF_PROPORTION * usual)[:1]:
            self.entry = int(entry) + 1
            self._wrong(f"it has the number {largest[entry]:.1e}, and usual are {usual:.1e}; a byte may be missing")

    def _wrong(self, what: str) -> NoReturn:
        raise InputError(
            f"{self.path}: entry {self.entry} of {self.size}: {what}; not word2vec's binary format as its header says "
            f"(float32, {self.size} × {self.dim}, no spaces inside words): damaged, of float64, or of another tool; "
            "fetch it again, or have it written as text"
        )


def _is_swapped(matrix: np.ndarray) -> bool:
    """Whether the numbers are of one size in big-endian order, and now of any size, or all too small for a float32."""
    as_read, swapped = (np.abs(numbers[numbers != 0]) for numbers in (matrix, matrix.byteswap()))
    if not len(as_read) or not np.isfinite(swapped).all():
        return False
    if as_read.max() < np.finfo(np.float32).tiny:
        return True
    ends = (np.quantile(numbers.astype(np.float64), (0.1, 0.9)) for numbers in (as_read, swapped))
    before, after = (np.ptp(np.log2(pair)) for pair in ends)
    return bool(after + 20 < before)


def _spread(vector: np.ndarray) -> float:
    """How many binary digits lie between the largest and the smallest number that is not 0."""
    if not np.isfinite(vector).all():
        return np.inf
    sizes = np.abs(vector[vector != 0].astype(np.float64))
    return float(np.ptp(np.log2(sizes))) if len(sizes) else 0.0


# ---- GloVe's format


LINES_LOOKED_AT = 100  # to find the dimension
LONGEST_LINE = 100_000  # numbers; a longer line shows another format


def write_glove(path: Path, words: list[str], matrix: Matrix) -> None:
    """Write words and their (V, D) vectors (dense or sparse), atomically; gzipped where the name ends in .gz.

    Raises:
        InputError: a word is empty or holds a space or line end, which the format does not support.
    """
    check_words(path, words)
    with writing(path) as file:
        write_entries(file, words, matrix)


def read_glove(path: Path, damage: Damage | None = None) -> tuple[list[str], np.ndarray]:
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
    """The most frequent value of the first lines."""
    with reading(path) as file:
        first = (entry_line(path, file, number, LONGEST_LINE) for number in range(1, LINES_LOOKED_AT + 1))
        counts = Counter(len(line.split()) - (not line[:1].isspace()) for line in first if line.strip())
    if not counts:
        raise InputError(f"{path}: empty; a GloVe file has a word and its numbers on each line")
    dim = min(counts, key=lambda fields: (-counts[fields], fields))
    if dim < 1:
        raise InputError(f"{path}:1: no numbers after the word; a GloVe file has a word and its numbers on each line")
    return dim
