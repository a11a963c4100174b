"""Lines of text files, read one at a time: plain or gzipped, however large, checked as they come.

What a file can hide, and what becomes of it:

- a byte-order mark and CRLF line ends are taken off and counted (`FileFacts`), an empty file is noted there;
- bytes in another encoding than was said, NUL bytes, a damaged gzip, a line without end are errors that name file and
  line, and the likely encoding. No more than one line of `max_bytes` is ever in memory.
"""

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
from langladder.remote import File, in_order, located
from langladder.text.read.encodings import MARKS, WIDE, likely

MAX_LINE_BYTES = 10_000_000
PIECE = 2**20  # bytes that are looked through together
GZIP = b"\x1f\x8b"  # how every gzip file begins
SAMPLE = 2**16  # bytes of a file by which its encoding is guessed


@dataclass
class FileFacts:
    """What was silently put right while reading, and which files were empty, which are left out."""

    files: int = 0
    crlf_lines: int = 0
    byte_order_marks: int = 0
    read: set[File] = field(default_factory=set)
    empty: set[File] = field(default_factory=set)

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
        self.empty |= other.empty

    def nothing_in(self, path: File) -> None:
        """Note that a file turned out to be empty."""
        self.files -= path in self.read
        self.read.discard(path)
        self.empty.add(path)

    def no_text(self) -> str:
        """For the message that nothing was read: which files are empty."""
        names = [file.name for file in in_order(self.empty)]
        more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
        return f" (empty: {', '.join(names[:5])}{more})" if names else ""

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
    path: File | str,
    max_bytes: int = MAX_LINE_BYTES,
    *,
    advice: str = "",
    span: Span = WHOLE,
    encoding: str = "utf-8",
) -> Iterator[tuple[int, bytes]]:
    """The lines of a plain or gzipped file, with their numbers from 1 and their line ends (\\n alone ends a line).

    Args:
        max_bytes: a line may have, its end not counted; `advice`: what to do about a longer one.
        span: of a plain file, the part that is read.
        encoding: of the file; lines of a WIDE one come as UTF-8, all others as they are.

    Raises:
        InputError: as `reading`; also a longer line.
    """
    with reading(path) as file:
        place = _begin(file, span.start)
        for number, line in enumerate(_raw_lines(path, file, max_bytes + 2, encoding), start=span.number):
            if span.stop is not None and place >= span.stop:
                return
            place += len(line)
            if len(line) > max_bytes and len(line.removesuffix(b"\n").removesuffix(b"\r")) > max_bytes:
                raise InputError(f"{path}:{number}: a line longer than {max_bytes:,} bytes{advice}")
            yield number, line


def _raw_lines(path: File | str, file: IO[bytes], size: int, encoding: str) -> Iterator[bytes]:
    """Lines, or the first `size` bytes of longer ones."""
    if encoding not in WIDE:
        yield from iter(lambda: file.readline(size), b"")
        return
    text = io.TextIOWrapper(file, encoding, newline="\n")
    try:
        yield from (line.encode() for line in iter(lambda: text.readline(size), ""))
    except UnicodeError as error:  # also: no byte-order mark where one is needed
        raise InputError(f"{path}: invalid {encoding} ({error}); set another `encoding`, or convert it") from error


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
    advice: str = "; break it into lines, or raise max_line_bytes",
) -> Iterator[str]:
    """The lines of a text file, or of a part of a plain one, without their line ends; blank ones included.

    Args:
        facts: of a corpus of several files: an empty one is noted there instead of being refused.
        advice: what to do about a line longer than `max_bytes`.

    Raises:
        InputError: the file is missing, empty, binary, a damaged gzip, in another encoding, or a line is too long.
    """
    found, first = facts or FileFacts(), span.start == 0
    lines = byte_lines(path, max_bytes, advice=advice, span=span, encoding=encoding)
    for number, raw in lines:
        if first:
            found.begin(path)
            raw, first = _without_mark(path, raw, found, encoding), False
        yield _decode(path, number, raw, found, encoding)
    if first:
        found.nothing_in(path)
        if facts is None:
            raise InputError(f"{path}: the file is empty; give a file with text")


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


def _without_mark(path: File, raw: bytes, facts: FileFacts, encoding: str) -> bytes:
    for mark, name in MARKS.items():
        if not raw.startswith(mark):
            continue
        if name == "utf-8" and encoding in ("utf-8", *WIDE):
            facts.byte_order_marks += 1
            return raw.removeprefix(mark)
        raise InputError(f"{path}: the text is {name.upper()}, not {_shown(encoding)}; {_set(name)}")
    return raw


def _decode(path: File, number: int, raw: bytes, facts: FileFacts, encoding: str) -> str:
    if b"\0" in raw:
        name = None if encoding in WIDE else likely(raw[:SAMPLE])
        advice = f"it looks like {name}: {_set(name)}" if name else "this is a binary file, not text"
        raise InputError(f"{path}:{number}: a NUL byte: {advice}")
    line = raw.removesuffix(b"\n")
    if raw.endswith(b"\r\n"):
        facts.crlf_lines += 1
        line = line[:-1]
    try:
        return line.decode("utf-8" if encoding in WIDE else encoding)
    except UnicodeDecodeError as error:
        wrong = f"invalid {_shown(encoding)} (byte 0x{line[error.start]:02x} at column {error.start + 1})"
        seen = line[error.start if error.start >= SAMPLE else 0 :][:SAMPLE]
        raise InputError(f"{path}:{number}: {wrong}; {_guess(path, seen, encoding)}") from error


def _guess(path: File, line: bytes, encoding: str) -> str:
    """What to do about a line that is not in this encoding: name the likely one, where the file shows it."""
    with reading(path) as file:
        head = file.read(SAMPLE)
    others = [one for one in (*head.split(b"\n")[:-1], line) if not one.isascii()]
    if encoding == "utf-8" and any(likely(one) == encoding for one in others[:-1]):
        return "other lines are UTF-8, so mend this one"
    name = likely(b"\n".join(others))
    if name is None or name == encoding:
        return "set `encoding` to what it is in, or convert it to UTF-8"
    return f"it looks like {name}: {_set(name)}"


def _shown(encoding: str) -> str:
    return "UTF-8" if encoding == "utf-8" else encoding


def _set(encoding: str) -> str:
    return f"set encoding: {encoding} (of a corpus, in conf/), or convert the file to UTF-8 (iconv)"
