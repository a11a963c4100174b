"""The file format of the word2vec tool, which most tools for word vectors read and write.

A header line `V D`, then V entries. Text: `word x_1 … x_D` a line. Binary: the word, a space, D float32 values in
little-endian order, and (from the original tool, not from gensim) a line end. Words are UTF-8 without spaces.

Neither form says which it is. A file is text where the first entry is a word with D numbers, or where nearly all bytes
are text; it is binary where all of it proves so: V entries reach exactly to the file's end, with line ends after all
vectors or after none, and no word is empty or holds a control character.
"""

import re
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from langladder.formats.vector_entries import (
    BOM,
    CONTROL,
    LONGEST_NUMBER,
    LONGEST_WORD,
    Entries,
    check_words,
    dense_rows,
    entry_line,
    parse_entry,
    refuse_empty_claims,
    write_entries,
)
from langladder.ground.errors import Damage, InputError
from langladder.text.read.lines import reading, writing

LOOKED_AT = 1 << 16  # bytes, to see whether a file is text


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


def read(path: Path, *, binary: bool | None = None, damage: Damage | None = None) -> tuple[list[str], np.ndarray]:
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
    return entries.finish(path)


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
    """Whether the first entry is no line of text, and many bytes cannot be text (more than one: it may be damaged)."""
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
            InputError: this is no such file, an entry is damaged and the policy is `strict`.
        """
        before = word = b""
        values = b""
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
        rest = self.next + self.file.read(1)
        expected = (b"", b"\n") if self.size != 2 else (b"\n",) if self.lines else (b"",)
        if rest not in expected:
            self._wrong(f"the file does not end after it, but goes on with {rest!r}")

    def _word(self) -> bytes:
        """The next word; a line end before it belongs to the vector before."""
        sign = self.next
        if self.entry > 1 and self.lines:
            if sign != b"\n":
                self._wrong("no line end before it, as after the first vector")
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
        """Raise InputError where the word before held a space, so that its vector was read from a wrong place.

        Then the last bytes of its vector stand before the next word. Read in the right place, the numbers are of one
        size; read k bytes too early, they are of any size.
        """
        if self.lines or b" " not in values[: len(word)]:
            return
        for found in re.finditer(rb" ", re.match(rb"[^\x00-\x1f\x7f]*", values)[0]):  # type: ignore[index]
            k = found.end()
            if k >= len(word):
                return
            other = np.frombuffer(values[k:] + word[:k], dtype="<f4")
            if _spread(other) + 20 < _spread(np.frombuffer(values, dtype="<f4")):
                spaced = before + b" " + values[: k - 1]
                self._wrong(f"the word before it, {spaced[:40]!r}, holds a space, which this format cannot say")

    def _wrong(self, what: str) -> NoReturn:
        raise InputError(
            f"{self.path}: entry {self.entry} of {self.size}: {what}; not word2vec's binary format as its header says "
            f"(float32, {self.size} × {self.dim}, no spaces inside words): damaged, of float64, or of another tool; "
            "fetch it again, or have it written as text"
        )


def _spread(vector: np.ndarray) -> float:
    """How many binary digits lie between the largest and the smallest number that is not 0."""
    if not np.isfinite(vector).all():
        return np.inf
    sizes = np.abs(vector[vector != 0].astype(np.float64))
    return float(np.ptp(np.log2(sizes))) if len(sizes) else 0.0
