"""Lines of text files, read one at a time: plain or gzipped, however large, checked as they come.

What a file can hide, and what becomes of it:

- a byte-order mark and CRLF line ends are taken off and counted (`FileFacts`);
- bytes that are not UTF-8, NUL bytes, a broken gzip, an empty file, a line without end are errors that name file and
  line. No more than one line of `max_bytes` is ever in memory.
"""

import codecs
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from langladder.errors import InputError

MAX_LINE_BYTES = 10_000_000
GZIP_MAGIC = b"\x1f\x8b"
_OTHER_ENCODINGS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


@dataclass
class FileFacts:
    """What was silently put right while reading."""

    files: int = 0
    crlf_lines: int = 0
    byte_order_marks: int = 0
    read: set[Path] = field(default_factory=set)

    def begin(self, path: Path) -> None:
        """Note that a file is read."""
        self.files += 1
        self.read.add(path)

    def report(self) -> dict[str, int]:
        """Counts for the data report."""
        return {"files": self.files, "crlf_lines": self.crlf_lines, "byte_order_marks": self.byte_order_marks}


def read_lines(path: Path, facts: FileFacts, max_bytes: int = MAX_LINE_BYTES) -> Iterator[str]:
    """The lines of one file, without their line ends; blank ones included.

    Raises:
        InputError: the file is missing, empty, binary, not UTF-8, a broken gzip, or has a line over `max_bytes`.
    """
    facts.begin(path)
    with open_bytes(path) as file:
        number = 0
        try:
            while raw := file.readline(max_bytes + 2):
                number += 1
                if number == 1:
                    raw = _without_mark(path, raw, facts)
                yield _decode(path, number, raw, facts, max_bytes)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"{path}: broken gzip after line {number} ({error}); fetch the file again") from error
        if number == 0:
            raise InputError(f"{path}: the file is empty; give a file with text, or take it out of `files`")


def open_bytes(path: Path) -> BinaryIO:
    """Open a file for reading, through gzip where its first bytes say so (whatever its name).

    Raises:
        InputError: no such file, or not readable.
    """
    try:
        with path.open("rb") as file:
            zipped = file.read(2) == GZIP_MAGIC
        return cast(BinaryIO, gzip.open(path, "rb")) if zipped else path.open("rb")
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error


def _without_mark(path: Path, raw: bytes, facts: FileFacts) -> bytes:
    for mark, encoding in _OTHER_ENCODINGS.items():
        if raw.startswith(mark):
            raise InputError(f"{path}: the text is {encoding}, not UTF-8; convert it (iconv -t UTF-8)")
    if raw.startswith(codecs.BOM_UTF8):
        facts.byte_order_marks += 1
        return raw.removeprefix(codecs.BOM_UTF8)
    return raw


def _decode(path: Path, number: int, raw: bytes, facts: FileFacts, max_bytes: int) -> str:
    if b"\0" in raw:
        raise InputError(f"{path}:{number}: a NUL byte: this is a binary file, not text")
    line = raw.removesuffix(b"\n")
    if raw.endswith(b"\r\n"):
        facts.crlf_lines += 1
        line = line[:-1]
    if len(line) > max_bytes:
        raise InputError(
            f"{path}:{number}: a line longer than {max_bytes:,} bytes; break it into lines, or raise max_line_bytes"
        )
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = line[error.start]
        raise InputError(
            f"{path}:{number}: invalid UTF-8 (byte 0x{byte:02x} at column {error.start + 1}); convert the file to UTF-8"
        ) from error
