"""Finding and reading evaluation sets: one text file, or a folder of them among other files, plain or gzipped.

It also looks up their words among those with vectors, in any case.
"""

from collections.abc import Callable
from pathlib import Path

from langladder.embeddings.base import WordVectors
from langladder.ground.errors import InputError
from langladder.text.read.lines import filled_lines


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
    files, others = [], []
    for file in sorted(path.iterdir()):
        if file.is_file():
            try:
                fits = is_first_line(next(filled_lines(file), (0, ""))[1])
            except InputError:
                fits = False
            files.append(file) if fits else others.append(file.name)
    if not files:
        raise InputError(f"{path}: none of its {len(others)} files is a set of {kind}")
    return files, others


def rows_by_word(vectors: WordVectors, most_frequent: int | None = None, *, ignore_case: bool) -> dict[str, int]:
    """Word as it is matched → its row, among the first so many words.

    With `ignore_case` the keys are case-folded, and of several spellings the first (most frequent) stands.
    """
    rows: dict[str, int] = {}
    for row, word in enumerate(vectors.words[:most_frequent]):
        rows.setdefault(word.casefold() if ignore_case else word, row)
    return rows
