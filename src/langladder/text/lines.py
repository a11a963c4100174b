"""Lines of text files, read one at a time: plain or gzipped, however large, checked as they come.

What a file can hide, and what becomes of it:

- a byte-order mark and CRLF line ends are taken off and counted (`FileFacts`);
- bytes that are not UTF-8, NUL bytes, a damaged gzip, an empty file, a line without end are errors that name file and
  line. No more than one line of `max_bytes` is ever in memory.
"""

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple, cast

from langladder.atomic import atomic_file
from langladder.errors import InputError
from langladder.remote import File, located

MAX_LINE_BYTES = 10_000_000
PIECE = 2**20  # bytes that are looked through together
GZIP = b"\x1f\x8b"  # how every gzip file begins
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
    read: set[File] = field(default_factory=set)

    def begin(self, path: File) -> None:
        """Note that a file is read."""
        self.files += 1
        self.read.add(path)

    def add(self, other: "FileFacts") -> None:
        """Count what another reader has counted."""
        self.files += other.files
        self.crlf_lines += other.crlf_lines
        self.byte_order_marks += other.byte_order_marks
        self.read |= other.read

    def report(self) -> dict[str, int]:
        """Counts for the data report."""
        return {"files": self.files, "crlf_lines": self.crlf_lines, "byte_order_marks": self.byte_order_marks}


class Span(NamedTuple):
    """Part of a plain file: the lines that begin at one of the bytes `start` … `stop` − 1.

    Attributes:
        stop: None: the file's end. number: of the first of these lines, as errors name it.
    """

    start: int = 0
    stop: int | None = None
    number: int = 1


WHOLE = Span()


@contextmanager
def reading(path: File | str) -> Iterator[IO[bytes]]:
    """The bytes of a plain or gzipped file (seen from its first bytes, whatever its name), here or behind a URL.

    Raises:
        InputError: the file is missing, a folder, damaged gzip, or not to be reached; also while it is read.
    """
    path = located(path)
    try:
        with path.open("rb") as raw:
            if raw.peek(2)[:2] == GZIP:
                with gzip.GzipFile(fileobj=raw) as unpacked, io.BufferedReader(unpacked) as file:
                    yield file
            else:
                yield raw
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except IsADirectoryError as error:
        raise InputError(f"{path}: a folder, where a file is needed") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path}: damaged gzip file ({error}); fetch it again") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error


@contextmanager
def writing(path: Path | str, *, level: int = 9) -> Iterator[IO[bytes]]:
    """A file to write, gzipped where its name ends in .gz (at a level of 1 to 9), no names or times inside; atomic."""
    path = Path(path)
    with atomic_file(path) as temporary, temporary.open("wb") as raw:
        if path.suffix == ".gz":
            with gzip.GzipFile(filename="", mode="wb", compresslevel=level, fileobj=raw, mtime=0) as file:
                yield cast(IO[bytes], file)
        else:
            yield raw


def byte_lines(
    path: File | str, max_bytes: int = MAX_LINE_BYTES, *, advice: str = "", span: Span = WHOLE
) -> Iterator[tuple[int, bytes]]:
    """The lines of a plain or gzipped file, with their numbers from 1 and their line ends (\\n alone ends a line).

    Args:
        max_bytes: a line may have, its end not counted; `advice`: what to do about a longer one.
        span: of a plain file, the part that is read.

    Raises:
        InputError: as `reading`; also a longer line.
    """
    with reading(path) as file:
        place = _begin(file, span.start)
        for number, line in enumerate(iter(lambda: file.readline(max_bytes + 2), b""), start=span.number):
            if span.stop is not None and place >= span.stop:
                return
            place += len(line)
            if len(line) > max_bytes and len(line.removesuffix(b"\n").removesuffix(b"\r")) > max_bytes:
                raise InputError(f"{path}:{number}: a line longer than {max_bytes:,} bytes{advice}")
            yield number, line


def _begin(file: IO[bytes], start: int) -> int:
    """Go to where the first line begins that does so at `start` or after it; returns that place."""
    if start:
        file.seek(start - 1)
        while (rest := file.readline(PIECE)) and not rest.endswith(b"\n"):
            pass
        return file.tell()
    return 0


def number_at(path: File, start: int) -> int:
    """The number of the first line of a plain file that begins at byte `start` or after it."""
    with reading(path) as file:
        last, lines, left = b"\n", 1, start
        while left and (piece := file.read(min(left, PIECE))):
            lines, last, left = lines + piece.count(b"\n"), piece[-1:], left - len(piece)
    return lines + (last != b"\n")


def read_lines(
    path: File,
    facts: FileFacts | None = None,
    max_bytes: int = MAX_LINE_BYTES,
    encoding: str = "utf-8",
    span: Span = WHOLE,
) -> Iterator[str]:
    """The lines of a text file, or of a part of a plain one, without their line ends; blank ones included.

    Raises:
        InputError: the file is missing, empty, binary, a damaged gzip, in another encoding, or a line is too long.
    """
    facts, first = facts or FileFacts(), span.start == 0
    if first:
        facts.begin(path)
    advice = "; break it into lines, or raise max_line_bytes"
    for number, raw in byte_lines(path, max_bytes, advice=advice, span=span):
        yield _decode(path, number, _without_mark(path, raw, facts) if first else raw, facts, encoding)
        first = False
    if first:
        raise InputError(f"{path}: the file is empty; give a file with text, or take it out of `files`")


def filled_lines(path: File | str, max_bytes: int = MAX_LINE_BYTES) -> Iterator[tuple[int, str]]:
    """The lines of a text file that are not blank, without surrounding space, with their numbers from 1.

    Raises:
        InputError: the file is missing, not UTF-8, a damaged gzip, or has a line over `max_bytes`.
    """
    for number, raw in byte_lines(path, max_bytes):
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError as error:
            raise InputError(f"{path}:{number}: not UTF-8 ({error.reason} at byte {error.start})") from error
        if text:
            yield number, text


def _without_mark(path: File, raw: bytes, facts: FileFacts) -> bytes:
    for mark, encoding in _OTHER_ENCODINGS.items():
        if raw.startswith(mark):
            raise InputError(f"{path}: the text is {encoding}, not UTF-8; convert it (iconv -t UTF-8)")
    if raw.startswith(codecs.BOM_UTF8):
        facts.byte_order_marks += 1
        return raw.removeprefix(codecs.BOM_UTF8)
    return raw


def _decode(path: File, number: int, raw: bytes, facts: FileFacts, encoding: str) -> str:
    if b"\0" in raw:
        raise InputError(f"{path}:{number}: a NUL byte: this is a binary file, not text")
    line = raw.removesuffix(b"\n")
    if raw.endswith(b"\r\n"):
        facts.crlf_lines += 1
        line = line[:-1]
    try:
        return line.decode(encoding)
    except UnicodeDecodeError as error:
        named = "UTF-8" if encoding == "utf-8" else encoding
        raise InputError(
            f"{path}:{number}: invalid {named} (byte 0x{line[error.start]:02x} at column {error.start + 1}); "
            "convert the file to UTF-8"
        ) from error
