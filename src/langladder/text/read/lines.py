"""Read text files line by line, and rows of JSON lines and Parquet: plain or gzipped, local or behind a URL.

- A byte-order mark and CRLF line ends are removed and counted (`FileFacts`); an empty file is noted there.
- Bytes that are not in the expected encoding, NUL bytes, damaged gzip and overlong lines are errors that name the file,
  the line and the likely encoding.
- Memory holds one line of at most `max_bytes`.
- JSON is parsed line by line with `json`, because errors of the readers of pyarrow and `datasets`, which parse blocks
  of lines, do not name the line.

The likely encoding of a text is the one in which most characters that are not ASCII are frequent in texts: the first
level of the standard's characters in Chinese, Japanese and Korean, words of one alphabet elsewhere.
"""

import codecs
import gzip
import io
import json
import re
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple, TypedDict, cast

from langladder.ground.atomic import atomic_file
from langladder.ground.errors import InputError
from langladder.ground.remote import File, in_order, located

MAX_LINE_BYTES = 10_000_000
PARQUET_ROWS = 4096  # read at a time; rows may be far larger in memory than in the file
BLOCK = 2**20  # bytes that are read at a time while line ends are counted
GZIP = b"\x1f\x8b"  # first bytes of every gzip file
SAMPLE = 2**16  # bytes of a file by which its encoding is guessed
WIDE = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
"""Encodings of two or four bytes per character; in all other supported ones the byte \\n ends a line."""
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark is a prefix of it
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8",
}
# Words whose letters are frequent: with ASCII letters, or of one letter; Cyrillic in lower case after the first letter
# (cp1251 and koi8-r exchange upper and lower case).
CYRILLIC = "[А-Яа-яЁёІіЇїЄєҐґ][а-яёіїєґ]*"
WORDS = {"cp1252": ".|.*[A-Za-z].*", "cp1251": CYRILLIC, "koi8-r": CYRILLIC}
LEAD_BYTES = {  # of the frequent rows in the tables of characters of two bytes
    "euc-kr": rb"[\xa1\xb0-\xc8]",
    "cp949": rb"[\xa1\xb0-\xc8]",
    "euc-jp": rb"[\xa1\xa4\xa5\xb0-\xcf]",
    "shift_jis": rb"[\x81-\x83\x88-\x97]",
    "cp932": rb"[\x81-\x83\x88-\x97]",
    "big5": rb"[\xa1\xa4-\xc6]",
    "cp950": rb"[\xa1\xa4-\xc6]",
    "gb18030": rb"[\xa1\xa3\xb0-\xd7]",
}
GUESSED = (
    "utf-8",
    *WORDS,
    *LEAD_BYTES,
)  # the first wins a tie: Korean and Chinese overlap
PUNCTUATION = frozenset("‘’“”„–—…•«»°§©®™€£¡¿·№")
MIN_SCORE = 0.8  # share of frequent characters among those that are not ASCII, to name an encoding


class SkippedFile(TypedDict):
    """A file that was not read, and the reason."""

    file: str
    why: str


class ReadReport(TypedDict, total=False):
    """What was read of a corpus, for the data report, or a part of that.

    Attributes:
        splits: split → unit (documents, lines, pairs, examples, …) → how many.
        skipped_files, skipped: how many files were not read, and the first of them.
        aligned: of pairs, the files that were read as source and target.
        scheme, damaged, warnings: of tagged sentences. left_out: of dialogues.
        held_out_paragraphs_dropped: of questions.
    """

    splits: dict[str, dict[str, int]]
    files: int
    crlf_lines: int
    byte_order_marks: int
    skipped_files: int
    skipped: list[SkippedFile]
    aligned: list[str]
    scheme: str
    damaged: dict[str, dict[str, int | str]]
    left_out: dict[str, dict[str, int | str]]
    held_out_paragraphs_dropped: int
    warnings: list[str]


@dataclass
class FileFacts:
    """What was corrected while reading, which files were read, and which were empty."""

    crlf_lines: int = 0
    byte_order_marks: int = 0
    read: set[File] = field(default_factory=set)
    empty: set[File] = field(default_factory=set)

    def add(self, other: "FileFacts") -> None:
        """Add the facts of another reader."""
        self.crlf_lines += other.crlf_lines
        self.byte_order_marks += other.byte_order_marks
        self.read |= other.read
        self.empty |= other.empty

    def nothing_in(self, path: File) -> None:
        """Note that a file is empty."""
        self.read.discard(path)
        self.empty.add(path)

    def no_text(self) -> str:
        """The names of empty files, for the message that nothing was read."""
        names = [file.name for file in in_order(self.empty)]
        more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
        return f" (empty: {', '.join(names[:5])}{more})" if names else ""

    def report(self) -> ReadReport:
        """Counts for the data report."""
        return {"files": len(self.read), "crlf_lines": self.crlf_lines, "byte_order_marks": self.byte_order_marks}


class Span(NamedTuple):
    """Part of a plain file: the lines that begin at one of the bytes `start` … `stop` − 1 (None: the end).

    Attributes:
        number: line number of the first line, for error messages.
    """

    start: int = 0
    stop: int | None = None
    number: int = 1


WHOLE = Span()


@contextmanager
def reading(path: File | str) -> Iterator[IO[bytes]]:
    """The bytes of a plain or gzipped file, local or behind a URL; gzip is recognised by the first bytes.

    Raises:
        InputError: the file is missing, a folder, damaged gzip, or unreachable; also while it is read.
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
        raise InputError(f"{path}: a folder, but a file is needed") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path}: damaged gzip file ({error}); fetch it again") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error


@contextmanager
def writing(path: Path | str, *, level: int = 9) -> Iterator[IO[bytes]]:
    """A file to write atomically; gzipped, without name and time inside, if its name ends in .gz."""
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
    """Numbers and bytes of the lines of a plain or gzipped file, with their line ends (only \\n ends a line).

    Args:
        max_bytes: maximum length of a line without its end; `advice` is added to the error for a longer one.
        span: the part of a plain file that is read.
        encoding: lines in a WIDE encoding are converted to UTF-8, others are unchanged.

    Raises:
        InputError: as `reading`; also a longer line.
    """
    with reading(path) as file:
        position = _first_line(file, span.start)
        for number, line in enumerate(_raw_lines(path, file, max_bytes + 2, encoding), start=span.number):
            if span.stop is not None and position >= span.stop:
                return
            position += len(line)
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


def _first_line(file: IO[bytes], start: int) -> int:
    """Go to the first line that begins at byte `start` or later; returns its position."""
    if start:
        file.seek(start - 1)
        while (rest := file.readline(BLOCK)) and not rest.endswith(b"\n"):
            pass
        return file.tell()
    return 0


def number_at(path: File, start: int) -> int:
    """The number of the first line of a plain file that begins at byte `start` or after it."""
    with reading(path) as file:
        last, lines, left = b"\n", 1, start
        while left and (block := file.read(min(left, BLOCK))):
            lines, last, left = lines + block.count(b"\n"), block[-1:], left - len(block)
    return lines + (last != b"\n")


def read_lines(
    path: File,
    facts: FileFacts | None = None,
    max_bytes: int = MAX_LINE_BYTES,
    encoding: str = "utf-8",
    span: Span = WHOLE,
    advice: str = "; break it into lines, or raise max_line_bytes",
) -> Iterator[str]:
    """The lines of a text file, or of a part of a plain one, without line ends; blank lines included.

    Args:
        facts: for a corpus of several files: an empty file is noted there and is no error.
        advice: is added to the error for a line longer than `max_bytes`.

    Raises:
        InputError: the file is missing, empty, binary, a damaged gzip, in another encoding, or a line is too long.
    """
    results, first = facts or FileFacts(), span.start == 0
    lines = byte_lines(path, max_bytes, advice=advice, span=span, encoding=encoding)
    for number, raw in lines:
        if first:
            results.read.add(path)
            raw, first = _without_mark(path, raw, results, encoding), False
        yield _decode(path, number, raw, results, encoding)
    if first:
        results.nothing_in(path)
        if facts is None:
            raise InputError(f"{path}: the file is empty; give a file with text")


def filled_lines(path: File | str, max_bytes: int = MAX_LINE_BYTES) -> Iterator[tuple[int, str]]:
    """Numbers, from 1, and stripped text of the lines of a text file that are not blank.

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
        raise InputError(f"{path}: the text is {name.upper()}, not {_label(encoding)}; {_advice(name)}")
    return raw


def _decode(path: File, number: int, raw: bytes, facts: FileFacts, encoding: str) -> str:
    if b"\0" in raw:
        name = None if encoding in WIDE else likely(raw[:SAMPLE])
        advice = f"it looks like {name}: {_advice(name)}" if name else "this is a binary file, not text"
        raise InputError(f"{path}:{number}: a NUL byte: {advice}")
    line = raw.removesuffix(b"\n")
    if raw.endswith(b"\r\n"):
        facts.crlf_lines += 1
        line = line[:-1]
    try:
        return line.decode("utf-8" if encoding in WIDE else encoding)
    except UnicodeDecodeError as error:
        wrong = f"invalid {_label(encoding)} (byte 0x{line[error.start]:02x} at column {error.start + 1})"
        seen = line[error.start if error.start >= SAMPLE else 0 :][:SAMPLE]
        raise InputError(f"{path}:{number}: {wrong}; {_guess(path, seen, encoding)}") from error


def _guess(path: File, line: bytes, encoding: str) -> str:
    """Advice about a line that is not in this encoding: the likely one, if the file has enough text to guess it."""
    with reading(path) as file:
        head = file.read(SAMPLE)
    others = [entry for entry in (*head.split(b"\n")[:-1], line) if not entry.isascii()]
    if encoding == "utf-8" and any(likely(other) == encoding for other in others[:-1]):
        return "other lines are UTF-8, so fix this one"
    name = likely(b"\n".join(others))
    if name is None or name == encoding:
        return "set `encoding` to what it is in, or convert it to UTF-8"
    return f"it looks like {name}: {_advice(name)}"


def _label(encoding: str) -> str:
    return "UTF-8" if encoding == "utf-8" else encoding


def _advice(encoding: str) -> str:
    return f"set encoding: {encoding} (of a corpus, in conf/), or convert the file to UTF-8 (iconv)"


# ---- rows of JSON lines and Parquet


def json_row(file: File, number: int, line: str) -> Any:
    """Parse a line of JSON. Raises InputError if it is not valid."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:  # deeply nested lists; very long integers
        raise InputError(f"{file}:{number}: not JSON ({error})") from error


def whole_json(file: File, facts: FileFacts, max_bytes: int, encoding: str) -> Any:
    """The value of a file that is one JSON text; None where the file is empty, which is noted.

    Raises:
        InputError: as `read_lines`; the file is not JSON (names file and line).
    """
    advice = "; write it as .jsonl, a record a line, or raise max_line_bytes"
    text = "\n".join(read_lines(file, facts, max_bytes, encoding, advice=advice))
    if file in facts.empty:
        return None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where, reason = f"{file}:{error.lineno}", error.msg
    except (ValueError, RecursionError) as error:  # very long integers; deeply nested lists
        where, reason = f"{file}", str(error)[:100]
    raise InputError(f"{where}: not JSON ({reason}); a file with one record per line must end in .jsonl")


def text_field(row: Any, field: str, where: str) -> str:
    """The value of a text field of a row; `translation.fr` is the field `fr` inside `translation`.

    Raises:
        InputError: the row has no such field, or it is not text.
    """
    value: Any = row
    for name in [field] if isinstance(row, dict) and named(row, field) is not None else field.split("."):
        result = named(value, name) if isinstance(value, dict) else None
        if result is None:
            have = ", ".join(sorted(row)) if isinstance(row, dict) else f"no fields: it is of type {type(row).__name__}"
            raise InputError(f"{where}: has no field {field!r}; it has {have[:200]}")
        value = value[result]
    if not isinstance(value, str):
        raise InputError(f"{where}: field {field!r} is of type {type(value).__name__}; text is needed")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"{where}: field {field!r} is not valid Unicode ({error.reason})") from error
    return value


def parquet_rows(file: File, fields: list[str], facts: FileFacts) -> Iterator[tuple[int, Any]]:
    """Numbers, from 1, and rows of a Parquet file, with the columns of `fields`; an empty file is noted.

    Raises:
        InputError: it is not a Parquet file, or a column is missing.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    row = 0
    with reading(file) as handle:
        try:
            if handle.peek(1):  # type: ignore[attr-defined]
                table = pq.ParquetFile(pa.PythonFile(handle, mode="r"))
                columns = _parquet_columns(file, table.schema_arrow.names, fields)
                for batch in table.iter_batches(batch_size=PARQUET_ROWS, columns=columns):
                    for value in batch.to_pylist():
                        row += 1
                        facts.read.add(file)
                        yield row, value
        except (pa.ArrowException, EOFError, OSError, OverflowError, UnicodeDecodeError, zlib.error) as error:
            raise InputError(f"{file}: not a Parquet file ({str(error)[:200]})") from error
    if row == 0:
        facts.nothing_in(file)


def _parquet_columns(file: File, names: list[str], fields: list[str]) -> list[str]:
    """The columns that contain some fields: of that name, or of the first part of a dotted name."""
    columns = []
    for name in fields:
        column = named(names, name) or named(names, name.partition(".")[0])
        if column is None:
            have = ", ".join(names)
            raise InputError(f"{file}: has no column {name!r}; its columns are {have[:200] or 'none'}")
        if names.count(column) > 1:
            raise InputError(f"{file}: column {column!r} occurs {names.count(column)} times; rename all but one")
        columns.append(column)
    return list(dict.fromkeys(columns))


def named(names: Collection[str], wanted: str) -> str | None:
    """The wanted name, or the only one that differs from it in case and outer white space alone, or None.

    >>> named(["Text", "id"], "text"), named(["Text", "TEXT"], "text")
    ('Text', None)
    """
    if wanted in names:
        return wanted
    similar = [name for name in names if name.strip().casefold() == wanted.strip().casefold()]
    return similar[0] if len(similar) == 1 else None


# ---- encodings


def known(name: str) -> str:
    """Python's name of an encoding.

    Raises:
        ValueError: Python has no such encoding, or it is not supported for lines of text.
    """
    try:
        result = codecs.lookup(name).name
        readable = result in WIDE or "a\n".encode(name) == b"a\n"  # lines are found before they are decoded
    except (LookupError, ValueError):
        readable = False
    if not readable:
        allowed = "utf-8, gb18030, shift_jis, cp1251, latin-1, utf-16, …"
        raise ValueError(f"{name[:40]!r} is not a supported encoding; {allowed}")
    return result


def likely(sample: bytes) -> str | None:
    """The probable encoding of some text, or None."""
    for mark, name in MARKS.items():
        if sample.startswith(mark):
            return name
    if b"\0" in sample:
        return next((name for name in ("utf-16-le", "utf-16-be") if _is_text(sample, name)), None)
    best, name = max(((_score(sample, name), name) for name in GUESSED), key=lambda pair: pair[0])
    return name if best >= MIN_SCORE else None


def _is_text(sample: bytes, name: str) -> bool:
    try:
        text = codecs.getincrementaldecoder(name)().decode(sample)
    except UnicodeDecodeError:
        return False
    return "".join(text.split()).isprintable() and any(line.isascii() for line in text)


def _score(sample: bytes, name: str) -> float:
    """The share of frequent characters among those that are not ASCII; 0 if the sample is not in this encoding."""
    try:
        text = codecs.getincrementaldecoder(name)().decode(sample)  # the last character may be incomplete
    except UnicodeDecodeError:
        return 0.0
    others = [character for character in text if not character.isascii()]
    if name == "utf-8" or not others:
        return float(bool(others))
    if name in WORDS:
        words = [word for word in re.findall(r"[^\W\d_]+", text) if re.fullmatch(WORDS[name], word)]
        letters = sum(not letter.isascii() for word in words for letter in word)
        frequent = letters + sum(character in PUNCTUATION for character in others)
    else:
        codes = [character.encode(name) for character in others]
        frequent = sum(len(code) == 2 and re.match(LEAD_BYTES[name], code) is not None for code in codes)
    return frequent / len(others)
