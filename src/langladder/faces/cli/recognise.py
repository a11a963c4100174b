"""What `langladder new` takes a file or folder for: the kind of data, and what params.yaml must say about it.

It looks at the first rows and at the names of files: columns of a table, splits (`train.conll`, `dev.conll`), aligned
files (`train.de`, `train.en`), and what separates the documents of a text. It guesses, so the user sees the result.
"""

import csv
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from glob import escape
from itertools import groupby, islice
from pathlib import Path
from typing import Literal

from langladder.ground.errors import InputError

ROWS = 2000  # of a table that are looked at
LINES = 20_000  # of a text
FILES = 20  # of a folder
FEW = 0.5  # a column can be labels if at most this share of its values are different
ENDINGS = {"txt": "text", "text": "text", "conll": "tags", "conllu": "tags", "iob": "tags", "bio": "tags"}
TABLES = ("csv", "tsv", "jsonl", "ndjson", "parquet")
HEADINGS = (
    r"= [^=].* =",  # WikiText
    r"#{1,2} .+",  # Markdown
    r"(CHAPTER|Chapter|KAPITEL|Kapitel|CHAPITRE|Chapitre|CAPÍTULO|Capítulo|CAPITOLO|Capitolo) (\d+|[A-Z][\w-]*)\b.*",
    r"(ГЛАВА|Глава) (\d+|[IVXLCА-Я][\w-]*)\b.*",
    r"[IVXLC]+\.?",
    r"第.{1,7}[章回节].*",
)
"""Lines that begin a document: regular expressions for the whole line."""
COLUMNS = range(2, 15)  # of tagged words: CoNLL-2000 has 3, CoNLL-2003 4, CoNLL-U 10
MANY = 5  # headings or blocks that show what a document is
WHOLE_FILES = 10  # files that are documents of their own
NEIGHBOURS = (
    "each line is a document of its own, so neighbouring lines may fall into different splits; for connected text, "
    "set data: {text: {documents: blank_line | heading | file}} in params.yaml (docs/your-corpus.md)"
)


@dataclass(frozen=True)
class Found:
    """The detected kind of data, its settings for `data` in params.yaml, and what else to say about it."""

    kind: str
    settings: Mapping[str, object] = field(default_factory=dict)
    note: str = ""


def recognised(data: Path, kind: str | None, kinds: Sequence[str]) -> Found:
    """The kind of a file or folder.

    Args:
        kind: if the user names it. kinds: all there are.

    Raises:
        InputError: the kind is clear neither from names nor from the content.
    """
    files = _files(data) if data.is_dir() else [data]
    splits = _splits(data, files) if data.is_dir() else {}
    if kind is None:
        flat = not data.is_dir() or (bool(splits) and all(file.parent == data for file in files))
        result = "pairs" if _aligned(files) else _kind_of_all(files, may_be_labels=not flat)
        if result is None:
            raise InputError(f"{data}: cannot tell what kind of data this is; give --kind {' | '.join(kinds)}")
        kind = result
    settings: dict[str, object] = {"files": splits} if splits else {}
    if files and kind == "labels":
        settings |= _columns_of_labels(files[0])
    elif files and kind == "tags":
        settings |= _columns_of_tags(files[0])
    elif files and kind == "text":
        documents = _documents(files, splits)
        return Found(kind, settings | documents, "" if documents or splits else NEIGHBOURS)
    return Found(kind, settings)


def is_small(data: Path, most: int) -> bool:
    """Whether a file or folder has at most so many bytes of text; a table counts with its other columns."""
    from langladder.text.read.files import ending

    for file in _files(data) if data.is_dir() else [data]:
        sizes = (len(line.encode()) for line in _lines(file)) if ending(file) != "parquet" else [file.stat().st_size]
        for size in sizes:
            if (most := most - size) < 0:
                return False
    return True


# ---- a folder


def _files(folder: Path) -> list[Path]:
    """The files of a folder that can be data: those with a known ending, else all; none that is hidden, no README."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    files = [file for file in files if not _hidden(folder, file) and not file.name.casefold().startswith("readme")]
    return [file for file in files if _is_known(file)] or files


def _is_known(file: Path) -> bool:
    from langladder.text.read.files import ending, language

    return ending(file) in (*ENDINGS, *TABLES) or language(file) is not None


def _hidden(folder: Path, file: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(folder).parts)


def _aligned(files: Sequence[Path]) -> bool:
    """Whether all files are aligned ones: of each name one file per language (train.de, train.en)."""
    from langladder.text.read.files import language

    languages = defaultdict[str, set[str]](set)
    for file in files:
        if (code := language(file)) is None:
            return False
        name = file.name.removesuffix(".gz").removesuffix(".txt")
        languages[str(file.parent / name.rpartition(".")[0])].add(code)
    return bool(languages) and all(len(codes) > 1 for codes in languages.values())


def _kind_of_all(files: Sequence[Path], *, may_be_labels: bool) -> str | None:
    """The kind of all files; None if they differ, or if it is unclear: the folders of texts may be their labels."""
    kinds = {_kind_of(file) for file in files[:FILES]}
    kind = kinds.pop() if len(kinds) == 1 else None
    return None if may_be_labels and kind == "text" else kind


def _splits(folder: Path, files: Sequence[Path]) -> dict[str, str]:
    """A glob for each split, if the names of all files give one; {} if they do not, or if no glob fits."""
    from langladder.text.read.files import SPLIT_NAMES

    own, words = defaultdict[str, set[Path]](set), defaultdict[str, set[str]](set)
    for file in files:
        parts = re.findall(r"[^\W\d_]+", file.relative_to(folder).as_posix())
        named = {(split, part) for part in parts for split, names in SPLIT_NAMES.items() if part.casefold() in names}
        if len({split for split, _ in named}) != 1:
            return {}
        for split, word in named:
            own[split].add(file)
            words[split].add(word)
    if "train" not in own or len(own) == 1:
        return {}
    results = {split: _glob(folder, own[split], words[split]) for split in SPLIT_NAMES if split in own}
    return {split: glob for split, glob in results.items() if glob} if all(results.values()) else {}


def _glob(folder: Path, files: set[Path], words: Iterable[str]) -> str | None:
    """A glob for just these files."""
    if len(files) == 1:
        return escape(next(iter(files)).relative_to(folder).as_posix())
    for word in sorted(words):
        for glob in (f"{word}*", f"*{word}*", f"{word}/**/*", f"**/{word}/**/*", f"**/*{word}*"):
            matched = {file for file in folder.glob(glob) if file.is_file() and not _hidden(folder, file)}
            if matched == files:
                return glob
    return None


# ---- a file


def _kind_of(data: Path) -> str | None:
    from langladder.text.read.files import ending

    of = ending(data)
    return _kind_of_table(_rows(data), of) or _kind_of_lines(data, of)


def _rows(data: Path) -> list[list[str]]:
    """The first rows of a table; none of another file."""
    from langladder.text.read.files import ending

    of = ending(data)
    return [*islice(_table(data, of), ROWS)] if of in TABLES else []


def _kind_of_table(rows: list[list[str]], of: str) -> str | None:
    """The kind of a table: labels if one column repeats its values; else text (one column) or pairs (two long ones)."""
    if len(rows) < 2:
        return None
    names = [name.casefold() for name in rows[0]]
    if {"source", "target"} <= set(names):
        return "pairs"
    if _label(rows) is not None and len(names) > 1:
        return "labels"
    if of in ("tsv", "csv"):
        return "pairs" if of == "tsv" and len(names) == 2 else None
    return "text" if "text" in names else None


def _kind_of_lines(data: Path, of: str) -> str | None:
    """The kind of lines of text: each line of pairs has a tab; blank lines separate tagged sentences."""
    if (known := ENDINGS.get(of)) != "text":
        return known
    lines = [*islice(_lines(data), ROWS)]
    filled = [line for line in lines if line.strip()]
    if filled and all(line.count("\t") == 1 for line in filled):
        short = [line for line in filled if len(line.split()) == 2]
        return "tags" if len(filled) < len(lines) and len(short) > 0.9 * len(filled) else "pairs"
    return "tags" if len(filled) < len(lines) and _are_columns(filled) else "text"


def _are_columns(lines: Sequence[str]) -> bool:
    """Whether each line is a word and as many columns as on the others, the last one of a few tags (B-PER, NNS, O)."""
    cells = [line.split() for line in lines]
    tags = {row[-1] for row in cells}
    widths = {len(row) for row in cells}
    if not (len(lines) >= MANY and len(widths) == 1 and widths <= {*COLUMNS} and len(tags) <= FEW * len(lines)):
        return False
    return all(re.fullmatch(r"[A-Z][A-Z$]*([-_:|=]\S*)?|[^\w\s]{1,5}", tag) for tag in tags)


def _columns_of_labels(data: Path) -> dict[str, object]:
    """The columns of texts and labels, if their names are not the default, and of ids."""
    from langladder.text.read.files import ending

    rows, of = _rows(data), ending(data)
    if len(rows) < 2 or (label := _label(rows)) is None:
        return {}
    names, body = rows[0], rows[1:]
    settings: dict[str, object] = {}
    used = {"text", "label"}
    if not used <= {name.casefold() for name in names}:
        length = [sum(len(row[at]) for row in body if len(row) > at) for at in range(len(names))]
        text = max((at for at in range(len(names)) if at != label), key=length.__getitem__)
        settings = {"text": names[text], "label": names[label]}
        used = {names[text].casefold(), names[label].casefold()}
    ids = [name for name in names if name.casefold() == "id" and "id" not in used]
    settings |= {"id": ids[0]} if ids else {}
    delimiter = _delimiter(data, of)
    if of in ("csv", "tsv") and delimiter != {"csv": ",", "tsv": "\t"}[of]:
        settings["delimiter"] = delimiter
    return settings


def _label(rows: list[list[str]]) -> int | None:
    """The column of the labels: the one with that name, or the repeating one with the fewest different values."""
    names, body = rows[0], rows[1:]
    named = [at for at, name in enumerate(names) if name.casefold() == "label"]
    if named or len(names) < 2:
        return named[0] if named else None
    different = [len({row[at] for row in body if len(row) > at}) for at in range(len(names))]
    fit = [at for at, count in enumerate(different) if 2 <= count <= FEW * len(body)]
    return min(fit, key=different.__getitem__) if fit else None


def _columns_of_tags(data: Path) -> dict[str, object]:
    """The columns of CoNLL-U; of other files the last one whose tags bracket phrases, if the usual one's do not."""
    from langladder.text.labelled.labelled import have_positions
    from langladder.text.labelled.tag_files import look_like_phrases
    from langladder.text.read.files import ending

    if ending(data) == "conllu":
        return {"columns": {"form": 1, "tag": 3, "head": 6, "id": 0}}
    lines = (line for line in _lines(data) if not line.startswith(("#", "-DOCSTART-")))
    rows = [cells for line in islice(lines, ROWS) if (cells := line.split())]
    width = min((len(cells) for cells in rows), default=0)
    fit = [at for at in range(1, width) if look_like_phrases(cells[at] for cells in rows)]
    columns: dict[str, object] = {"columns": {"tag": fit[-1]}} if fit and 1 not in fit else {}
    return columns | ({"positions": True} if have_positions([cells[0] for cells in rows]) else {})


def _documents(files: Sequence[Path], splits: Mapping[str, str]) -> dict[str, object]:
    """What a document of a text is, if it is not a line: `documents`, and the regular expression of headings."""
    from langladder.text.read.files import ending

    if len(files) >= WHOLE_FILES and not splits:
        return {"documents": "file"}
    if ending(files[0]) in TABLES:
        return {"documents": "record"} if any("\n" in cell for row in _rows(files[0]) for cell in row) else {}
    lines = [line.strip() for line in islice(_lines(files[0]), LINES)]
    for heading in HEADINGS:
        pattern = re.compile(heading)
        if sum(pattern.fullmatch(line) is not None for line in lines) >= MANY:
            return {"documents": "heading", "heading": heading}
    blocks = [len([*block]) for filled, block in groupby(lines, bool) if filled]
    several = sum(length > 1 for length in blocks)
    return {"documents": "blank_line"} if several >= MANY and several > len(blocks) / 2 else {}


def _table(data: Path, of: str) -> Iterator[list[str]]:
    """The names of a table's columns, then its rows; nothing if it cannot be read (the reader reports why)."""
    with suppress(InputError, csv.Error, ValueError):
        if of in ("csv", "tsv"):
            delimiter = _delimiter(data, of)
            quoting: Literal[0, 3] = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
            lines = (f"{line}\n" for line in _lines(data) if line.strip())
            for cells in csv.reader(lines, delimiter=delimiter, quoting=quoting):
                yield [cell.strip() for cell in cells]
            return
        rows: Iterator[Mapping[str, object]]
        if of == "parquet":
            import pyarrow.parquet as pq

            rows = iter(next(pq.ParquetFile(data).iter_batches(ROWS)).to_pylist())
        else:
            rows = (json.loads(line) for line in _lines(data) if line.strip())
        names: list[str] = []
        for row in rows:
            if not names:
                names = [name for name, value in row.items() if isinstance(value, str | int)]
                yield names
            yield [str(row.get(name, "")) for name in names]


def _delimiter(data: Path, of: str) -> str:
    """The delimiter of the columns: the most frequent candidate in the first line."""
    from langladder.text.labelled.label_files import DELIMITERS

    first = next((line for line in _lines(data) if line.strip()), "")
    usual = "," if of == "csv" else "\t"
    return max(DELIMITERS, key=lambda delimiter: (first.count(delimiter), delimiter == usual))


def _lines(data: Path) -> Iterator[str]:
    """The lines of a text file, to guess its kind: the separators are the same in every encoding."""
    from langladder.text.read.lines import read_lines

    try:
        yield from read_lines(data)
    except InputError:
        yield from read_lines(data, encoding="latin-1")
