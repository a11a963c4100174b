"""Finding and reading evaluation sets: one text file, or a folder of them among other files, plain or gzipped.

And finding their words among those that have vectors, whatever their case.
"""

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from langladder.embeddings.base import WordVectors
from langladder.errors import InputError

LONGEST_LINE = 1_000_000  # bytes
Line = tuple[int, str]  # number, text without surrounding space


def read_lines(path: Path) -> Iterator[Line]:
    """The lines of a file that are not blank, with their numbers from 1.

    Raises:
        InputError: the file is missing, damaged, or not UTF-8 (names the line).
    """
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for number, raw in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), start=1):
                if len(raw) > LONGEST_LINE:
                    raise InputError(f"{path}:{number}: a line longer than {LONGEST_LINE:,} bytes")
                try:
                    text = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                except UnicodeDecodeError as error:
                    raise InputError(f"{path}:{number}: not UTF-8 ({error.reason} at byte {error.start})") from error
                if text:
                    yield number, text
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path}: damaged gzip file ({error})") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error


def question_files(path: Path, is_first_line: Callable[[str], bool], kind: str) -> tuple[list[Path], list[str]]:
    """The evaluation sets at `path`: itself, or the files of the folder whose first line looks like one.

    Returns:
        The files, by name, and the names of the folder's other files, for the report.

    Raises:
        InputError: nothing there, or no such file in the folder.
    """
    path = Path(path)
    if not path.is_dir():
        return [path], []
    found, others = [], []
    for file in sorted(path.iterdir()):
        if file.is_file():
            try:
                fits = is_first_line(next(read_lines(file), (0, ""))[1])
            except InputError:
                fits = False
            found.append(file) if fits else others.append(file.name)
    if not found:
        raise InputError(f"{path}: none of its {len(others)} files is a set of {kind}")
    return found, others


def rows_by_word(vectors: WordVectors, most_frequent: int | None = None, *, ignore_case: bool) -> dict[str, int]:
    """Word as it is matched → its row, among the first so many words.

    With `ignore_case` the keys are case-folded, and of several spellings the first (most frequent) stands.
    """
    rows: dict[str, int] = {}
    for row, word in enumerate(vectors.words[:most_frequent]):
        rows.setdefault(word.casefold() if ignore_case else word, row)
    return rows
