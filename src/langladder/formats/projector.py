"""The two tables of the TensorBoard Embedding Projector, in a folder.

`vectors.tsv` has the numbers of one word a line, between tabs; `metadata.tsv` the words on the same lines (with their
counts as a second column under a header, where they are known; a single column must have no header). Both load at
projector.tensorflow.org; the third file, `projector_config.pbtxt`, is for `tensorboard --logdir <folder>`.
"""

from pathlib import Path
from typing import Any

import numpy as np

from langladder.formats.vector_entries import BOM, Entries, check_words, dense_rows, entry_line, parse_numbers
from langladder.ground.artefacts import write_text
from langladder.ground.atomic import Owner, atomic_folder
from langladder.ground.errors import Damage, InputError
from langladder.text.read.lines import reading

MOST_NUMBERS = 100_000  # on a line
VECTORS, METADATA, SETTINGS = "vectors.tsv", "metadata.tsv", "projector_config.pbtxt"
_CONFIG = f'embeddings {{\n  tensor_path: "{VECTORS}"\n  metadata_path: "{METADATA}"\n}}\n'


def _is_projector(folder: Path) -> bool:
    path = folder / SETTINGS
    return path.is_file() and path.read_bytes() == _CONFIG.encode()


PROJECTOR = Owner("a projector folder that langladder wrote", (VECTORS, METADATA, SETTINGS), _is_projector)


def write(folder: Path, words: list[str], matrix: Any, counts: np.ndarray | None = None) -> None:
    """Write the folder, atomically.

    Raises:
        InputError: a word is empty or holds a space or line end.
    """
    check_words(folder, words)
    rows = words if counts is None else [f"{word}\t{count}" for word, count in zip(words, counts, strict=True)]
    header = [] if counts is None else ["word\tcount"]
    with atomic_folder(Path(folder), PROJECTOR) as temporary:
        numbers = "\t".join(["%.9g"] * matrix.shape[1])
        with (temporary / VECTORS).open("wb") as file:
            for vector in dense_rows(matrix):
                file.write((numbers % tuple(vector.tolist())).encode() + b"\n")
        write_text(temporary / METADATA, "".join(f"{row}\n" for row in [*header, *rows]))
        write_text(temporary / SETTINGS, _CONFIG)


def read(folder: Path, damage: Damage | None = None) -> tuple[list[str], np.ndarray, np.ndarray | None]:
    """Words, (V, D) float32 vectors and (V,) int64 counts (None where there are none).

    Of other metadata the first column is taken for the word.

    Args:
        damage: what to do with damaged entries; None: they are left out.

    Raises:
        InputError: a file is missing or malformed, the two differ in length, an entry is damaged and the policy is
            `strict` (names the line).
    """
    matrix = _read_vectors(Path(folder) / VECTORS)
    path = Path(folder) / METADATA
    with reading(path) as file:
        lines = enumerate(iter(lambda: entry_line(path, file, 0, 0), b""), start=1)
        rows = [(number, line.rstrip(b"\r\n").removeprefix(BOM).split(b"\t")) for number, line in lines]
    header = rows.pop(0)[1] if len(rows) == len(matrix) + 1 and len(rows[0][1]) > 1 else []
    if len(rows) != len(matrix):
        raise InputError(f"{path}: {len(rows)} words, but {len(matrix)} vectors in {Path(folder) / VECTORS}")
    entries, kept = Entries(matrix.shape[1], damage or Damage()), []
    for (number, row), vector in zip(rows, matrix, strict=True):
        if entries.add(f"{path}:{number}", f"line {number}", row[0], vector):
            kept.append((number, row))
    words, matrix = entries.finish(path)
    return words, matrix, _counts(path, kept) if header[1:2] == [b"count"] else None


def _counts(path: Path, rows: list[tuple[int, list[bytes]]]) -> np.ndarray:
    for number, row in rows:
        if len(row) < 2 or not row[1].isdigit() or len(row[1]) > 18:
            raise InputError(f"{path}:{number}: the column `count` must have a whole number in every row")
    return np.array([int(row[1]) for _, row in rows], dtype=np.int64)


def _read_vectors(path: Path) -> np.ndarray:
    rows: list[np.ndarray] = []
    with reading(path) as file:
        for number, line in enumerate(iter(lambda: entry_line(path, file, len(rows) + 1, MOST_NUMBERS), b""), start=1):
            row = parse_numbers(f"{path}:{number}", line.rstrip(b"\r\n").removeprefix(BOM).split(b"\t"))
            if rows and len(row) != len(rows[0]):
                raise InputError(f"{path}:{number}: {len(row)} numbers; the first line has {len(rows[0])}")
            rows.append(row)
    if not rows:
        raise InputError(f"{path}: empty; it has the numbers of one word on each line, between tabs")
    return np.stack(rows)
