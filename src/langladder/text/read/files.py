"""Read files of text into raw tables with one line of text per row: which files, in which parts, what a document is.

    files → parts ─ read_part ─ files of lines ─ document numbers ─ write_tables → shards
                    of each                      of the corpus

A part is about PART_BYTES of text: several small files, or a piece of a large plain file; a line belongs to the part in
which it begins. Files that are gzipped, Parquet, UTF-16 or behind a URL are not cut. So a corpus may be larger than
memory. The raw folder is written as a whole: if any file is bad, nothing is written. Blank lines are dropped; white
space around lines is removed.

The settings of sources and the choice of files also serve the readers of pairs, labels, tags, questions and dialogues.
"""

import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, field_validator, model_validator

from langladder.engine.base import current
from langladder.ground.artefacts import map_arrays, write_arrays
from langladder.ground.atomic import atomic_folder
from langladder.ground.errors import InputError
from langladder.ground.remote import File, below, in_order, located
from langladder.ground.schema import Config
from langladder.text.read.lines import (
    GZIP,
    MAX_LINE_BYTES,
    WHOLE,
    WIDE,
    FileFacts,
    ReadReport,
    SkippedFile,
    Span,
    json_row,
    known,
    number_at,
    parquet_rows,
    read_lines,
    text_field,
)
from langladder.text.storage.shards import SHARDED, SPLITS, TEXT, TextPart, file_writer, pieces, write_tables
from langladder.text.words.sentences import split_sentences

FileFormat = Literal["auto", "txt", "jsonl", "parquet"]
DocumentRule = Literal["line", "blank_line", "file", "record", "heading"]
TEXT_ENDINGS = ("txt", "text", "jsonl", "ndjson", "parquet")
NAMED = 20  # skipped files that a report names; others are counted
_LANGUAGE = re.compile(r"[a-z]{2,3}([-_][A-Za-z0-9]{2,8})*")  # en, deu, zh-CN, eng_Latn
_NO_LANGUAGES = ("tsv", "txt", "csv", "zip", "pdf", "xml", "doc")
SPLIT_NAMES = {
    "train": ("train", "training"),
    "validation": ("dev", "devel", "development", "val", "valid", "validation", "testa"),
    "test": ("test", "testing", "testb"),
}
"""Split → the words that name it in a file's path: train.conll, x_dev.txt, weibo.conll.test."""
_SPLIT_ENDINGS = tuple(f".{word}" for words in SPLIT_NAMES.values() for word in words)
_README = re.compile(r"readme(\..*)?", re.IGNORECASE)
_OWN_FILES = (".gitignore", ".gitkeep")


class FileSource(Config):
    """Files of text, with the corpus' own splits or without."""

    endings: ClassVar[tuple[str, ...]] = TEXT_ENDINGS

    path: str  # a file, or the folder that the globs of `files` start from; a local path, or a URL (s3://, https://, …)
    # One glob for everything (`clean` then makes the splits), or {train: glob, validation: glob, test: glob}.
    # A glob that ends in a bare * takes files with a known ending; hidden files and READMEs are never read.
    files: str | dict[str, str] = "*"
    format: FileFormat = "auto"  # by the ending of the name: .jsonl, .parquet, else text; each also .gz
    encoding: str = "utf-8"  # of text files and jsonl: gb18030, cp1251, latin-1, utf-16, …
    max_line_bytes: int = Field(default=MAX_LINE_BYTES, ge=1)

    @field_validator("encoding")
    @classmethod
    def _is_known(cls, name: str) -> str:
        return known(name)

    @model_validator(mode="after")
    def _known_splits(self) -> Self:
        check_splits("files", self.files)
        return self


class Documents(Config):
    """What a document is; splits are made of whole documents."""

    # line: each line; blank_line: blank lines separate documents; file: each file; record: each jsonl or parquet row;
    # heading: a line that matches `heading` begins one. A new file always begins a document.
    documents: DocumentRule = "line"
    heading: str | None = None  # a regular expression for the whole line; WikiText: "= [^=].* ="
    sentences: Literal["keep", "split"] = "keep"  # split: lines are cut into sentences, each a line (`split_sentences`)

    @model_validator(mode="after")
    def _heading_goes_with_its_rule(self) -> Self:
        if (self.documents == "heading") != (self.heading is not None):
            raise ValueError(
                f"documents: {self.documents!r} with heading: {self.heading!r}; give a regular expression exactly "
                "when documents is 'heading'"
            )
        if self.heading is not None:
            try:
                re.compile(self.heading)
            except re.error as error:
                raise ValueError(f"heading: {self.heading!r} is not a regular expression ({error})") from error
        return self


class TextSource(FileSource, Documents):
    """A monolingual corpus in files."""

    field: str = "text"  # the jsonl field or parquet column


def check_splits(key: str, files: str | dict[str, str]) -> None:
    """Raise ValueError unless the names of the splits are known and include train."""
    if isinstance(files, dict) and not ({"train"} <= set(files) <= set(SPLITS)):
        raise ValueError(f"{key}: splits {sorted(files)}; allowed: train (always), validation, test")


# ---- which files are read


def folder_of(source: FileSource) -> str:
    """The beginning of "file:line" that depends on where the corpus is: the folder that is read."""
    root = located(source.path)
    return f"{root if root.is_dir() else root.parent}/"


def files_of(source: FileSource, globs: str | dict[str, str]) -> dict[str, list[File]]:
    """The files of each split, sorted by name; `all` if the corpus has no splits.

    Raises:
        InputError: the path does not exist, a glob matches nothing, or one file is in two splits.
    """
    root = located(source.path)
    if not root.exists():
        raise InputError(f"path: {source.path!r} does not exist; give a file or a folder (corpus config)")
    if root.is_file():
        if isinstance(globs, dict):
            raise InputError(f"path: {source.path!r} is one file, but `files` names splits; give the folder instead")
        return {"all": [root]}
    results: dict[str, list[File]] = {}
    owner: dict[File, str] = {}
    for split, pattern in (globs if isinstance(globs, dict) else {"all": globs}).items():
        results[split] = _matching(root, pattern, source.endings)
        if not results[split]:
            raise InputError(f"files: {pattern!r} {_nothing_matches(root, source.endings)}")
    for split, files in results.items():
        for file in files:
            if owner.setdefault(file, split) != split:
                raise InputError(f"files: {file} is in both {owner[file]} and {split}; make the globs disjoint")
    return results


def format_of(path: File, declared: FileFormat) -> FileFormat:
    """The declared format, or the one of the file's ending."""
    if declared != "auto":
        return declared
    formats: dict[str, FileFormat] = {"jsonl": "jsonl", "ndjson": "jsonl", "parquet": "parquet"}
    return formats.get(ending(path), "txt")


def ending(file: File) -> str:
    """The file's ending in lower case, without the dot, without `.gz` and a split's name behind it (x.conll.train)."""
    name = file.name.lower().removesuffix(".gz")
    before, dot, last = name.rpartition(".")
    if "." in before and f".{last}" in _SPLIT_ENDINGS:
        return before.rpartition(".")[2]
    return last if dot else ""


def language(file: File) -> str | None:
    """The language in a file's name: `en` of x.en, x.en.txt and x.en.gz; None for x.txt and x.tsv."""
    name = file.name.removesuffix(".gz").removesuffix(".txt")
    code = name.rpartition(".")[2] if "." in name else ""
    named = _LANGUAGE.fullmatch(code) and code not in _NO_LANGUAGES and f".{code}" not in _SPLIT_ENDINGS
    return code if named else None


def _matching(root: File, pattern: str, endings: tuple[str, ...]) -> list[File]:
    files = [file for file in in_order(root.glob(pattern)) if file.is_file()]
    files = [file for file in files if not _hidden(root, file) and not _README.fullmatch(file.name)]
    return [file for file in files if _known(file, endings)] if Path(pattern).name == "*" else files


def _nothing_matches(root: File, endings: tuple[str, ...]) -> str:
    files = [f"{name} ({why})" for name, why in _unread(root, FileFacts(), endings)]
    message = f"matches no file in {str(root)!r}"
    if files:
        message += f"; not read: {', '.join(files[:5])}{' …' if len(files) > 5 else ''}"
    known_endings = ", ".join(f".{entry}" for entry in endings)
    return f"{message}. Known endings are {known_endings}, each also with .gz; name others by their glob (`files`)"


# ---- which files are not read, and why


def skipped(root: File, facts: FileFacts, endings: tuple[str, ...]) -> ReadReport:
    """The files that were not read, for the data report; {} if there are none."""
    files = _unread(root, facts, endings) if root.is_dir() else []
    named: list[SkippedFile] = [{"file": file, "why": why} for file, why in files[:NAMED]]
    return {"skipped_files": len(files), "skipped": named} if files else {}


def _unread(root: File, facts: FileFacts, endings: tuple[str, ...]) -> list[tuple[str, str]]:
    others = [file for file in in_order(root.rglob("*")) if file not in facts.read and file.name not in _OWN_FILES]
    others = [file for file in others if file.is_file() or _broken(file)]
    return [(str(below(root, file)), _why(root, file, endings, facts)) for file in others]


def _why(root: File, file: File, endings: tuple[str, ...], facts: FileFacts) -> str:
    if file in facts.empty:
        return "it is empty"
    if _broken(file):
        return "a link to a file that does not exist"
    if _hidden(root, file):
        return "hidden"
    if _README.fullmatch(file.name):
        return "a README"
    if not _known(file, endings):
        return f"its ending, .{ending(file)}, is not known" if ending(file) else "it has no ending"
    if "tsv" in endings and ending(file) not in endings:
        return "no file of the same name in another language"
    return "`files` does not name it"


def _broken(file: File) -> bool:
    return isinstance(file, Path) and file.is_symlink() and not file.exists()


def _hidden(root: File, file: File) -> bool:
    return any(part.startswith(".") for part in below(root, file).parts)


def _known(file: File, endings: Iterable[str]) -> bool:
    """Whether a bare * takes the file; files of sentence pairs may end in their language."""
    return ending(file) in endings or ("tsv" in endings and language(file) is not None)


# ---- corpora of text


PART_BYTES = 16 * 2**20  # of a part, about


class FileSpan(NamedTuple):
    """A file, or a part of one."""

    file: File
    span: Span = WHOLE


@dataclass(frozen=True)
class FilePart:
    """Pieces that are read in one call; `stem`: of the files that their lines are written to."""

    pieces: tuple[FileSpan, ...]
    source: TextSource
    stem: Path


class LineFile(NamedTuple):
    """Lines on disk: a file of rows whose documents are numbered from 0.

    Attributes:
        rows: the file. Beside it is the size of each document (`_sizes_file`).
        documents, lines: how many; 0: there is no file.
        opens: whether the first line is the first of a document; else it continues the last document before.
        opens_next: whether the next line, whatever file it is in, is the first of a document.
    """

    rows: Path
    documents: int
    lines: int
    opens: bool
    opens_next: bool


def read_text(source: TextSource, out_folder: Path) -> ReadReport:
    """Read a corpus into tables of `out_folder`: train, validation, test, or all.

    Returns:
        Numbers of lines and documents by split, the files that were read or skipped, and what was corrected in them.

    Raises:
        InputError: the path is missing, a glob matches nothing, or a file is bad.
    """
    facts = FileFacts()
    files = files_of(source, source.files)
    with atomic_folder(out_folder, SHARDED) as folder:
        splits = {split: _read_split(files[split], source, folder / "work" / split, facts) for split in files}
        counts = _write_text(splits, source.path, folder, facts)
    return {"splits": counts, **facts.report(), **skipped(located(source.path), facts, source.endings)}


def write_raw_text(
    splits: dict[str, Iterator[str]], rule: Documents, origin: str, out_folder: Path
) -> dict[str, dict[str, int]]:
    """Write the tables of splits that are given as texts; returns the numbers of their documents and lines."""
    with atomic_folder(out_folder, SHARDED) as folder:
        stems = {split: folder / "work" / split for split in splits}
        files = {split: write_lines(document_lines([splits[split]], rule), stems[split]) for split in splits}
        return _write_text(files, origin, folder, FileFacts())


def _write_text(
    splits: dict[str, Iterator[LineFile]], origin: str, folder: Path, facts: FileFacts
) -> dict[str, dict[str, int]]:
    """Write the tables of a corpus whose lines are written to files in `folder`/work, which is removed.

    Returns:
        Numbers of documents and lines by split.

    Raises:
        InputError: a split has no line.
    """
    counts, parts, documents = dict[str, dict[str, int]](), list[TextPart](), 0
    scratch = folder / "work"
    scratch.mkdir()
    for split, files in splits.items():
        before, lines, opens = documents, 0, True
        for file in files:
            if file.lines:
                first = documents if opens or file.opens else documents - 1
                parts.append(TextPart(file.rows, first, file.documents))
                documents, lines = first + file.documents, lines + file.lines
                opens = False
            opens |= file.opens_next
        if not lines:
            reason = f"only blank lines or empty files{facts.no_text()}"
            raise InputError(f"{origin}: split {split!r} holds {reason}; there is no text to learn from")
        counts[split] = {"documents": documents - before, "lines": lines}
    sizes = np.zeros(documents, dtype=np.int64)
    for part in parts:
        sizes[part.first : part.first + part.documents] += map_arrays(_sizes_file(part.rows))["sizes"]
    tables = np.arange(len(splits), dtype=np.int8)
    table_of = np.repeat(tables, [count["documents"] for count in counts.values()])
    write_tables(folder, list(splits), parts, table_of, sizes, scratch, current())
    shutil.rmtree(scratch)
    return counts


# ---- records


def values_of(
    file: File, source: FileSource, fields: list[str], facts: FileFacts, span: Span = WHOLE
) -> Iterator[list[str]]:
    """The values of some fields of every record of a file, or of a part of a plain file.

    Args:
        fields: of a row; of a text file the only value is the line itself.
    """
    kind = format_of(file, source.format)
    if kind == "parquet":
        for number, row in parquet_rows(file, fields, facts):
            yield [text_field(row, field, f"{file}, row {number}") for field in fields]
        return
    for number, line in enumerate(read_lines(file, facts, source.max_line_bytes, source.encoding, span), span.number):
        if kind == "txt":
            yield [line]
        elif line.strip():
            row = json_row(file, number, line)
            yield [text_field(row, field, f"{file}:{number}") for field in fields]


def numbered_lines(file: File, source: FileSource, facts: FileFacts) -> Iterator[tuple[int, str]]:
    """The lines of a text file that are not blank, with their numbers from 1. Raises InputError as `read_lines`."""
    lines = read_lines(file, facts, source.max_line_bytes, source.encoding)
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def json_rows(file: File, source: FileSource, facts: FileFacts) -> Iterator[tuple[str, Any]]:
    """The rows of a file of JSON lines, each with its file and line. Raises InputError as `read_lines`, `json_row`."""
    return ((f"{file}:{number}", json_row(file, number, line)) for number, line in numbered_lines(file, source, facts))


# ---- documents


def document_lines(files: Iterable[Iterable[str]], rule: Documents, opens: bool = True) -> Iterator[tuple[bool, str]]:
    """Whether each line that is not blank opens a document, and the line, or each of its sentences.

    Args:
        files: the texts of each file: lines, or rows with several lines.
        opens: whether the first file is read from its beginning.

    An empty line at the end means that the next line, whatever file it is in, opens a document.
    """
    heading = re.compile(rule.heading) if rule.heading is not None else None
    for number, file in enumerate(files):
        opens |= number > 0
        for text in file:
            opens |= rule.documents == "record"
            for line in map(str.strip, text.replace("\r\n", "\n").replace("\r", "\n").split("\n")):
                if not line:
                    opens |= rule.documents == "blank_line"
                    continue
                opens |= rule.documents == "line" or (heading is not None and bool(heading.fullmatch(line)))
                for part in split_sentences(line) if rule.sentences == "split" else [line]:
                    yield opens, part
                    opens = False
    if opens:
        yield True, ""


def write_lines(lines: Iterator[tuple[bool, str]], stem: Path) -> Iterator[LineFile]:
    """Write lines of `document_lines` to files of some megabytes of text each, `stem`-000000.parquet and so on."""
    for number, piece in enumerate(pieces(lines, lambda line: len(line[1]))):
        rows = stem.with_name(f"{stem.name}-{number:06d}.parquet")
        opens_next = not piece[-1][1]
        if opens_next:
            piece.pop()
        if not piece:
            yield LineFile(rows, 0, 0, False, opens_next)
            continue
        opens = np.array([opens for opens, _ in piece])  # (L,) bool
        documents = np.cumsum(opens) - opens[0]  # (L,) int64, from 0
        text = pa.array([line for _, line in piece], pa.string())
        with file_writer(rows, TEXT) as writer:
            writer.write_table(pa.table([pa.array(documents), text, pa.nulls(len(piece), pa.float64())], schema=TEXT))
        sizes = np.bincount(documents, weights=pc.binary_length(text).to_numpy()).astype(np.int64)  # (D,)
        write_arrays(_sizes_file(rows), {"sizes": sizes})
        yield LineFile(rows, len(sizes), len(piece), bool(opens[0]), opens_next)


def _sizes_file(rows: Path) -> Path:
    """The file of `sizes`, (D,) int64: the bytes of text of each document of a `LineFile`."""
    return rows.with_suffix(".safetensors")


# ---- parts


def parts_of(files: Sequence[File], source: TextSource, scratch: Path) -> list[FilePart]:
    """The files in parts, whose lines are written to the folder `scratch`."""
    groups: list[list[FileSpan]] = []
    free = -1  # bytes that the last group may still take; −1: none
    for file in files:
        size = file.stat().st_size if isinstance(file, Path) else PART_BYTES
        if isinstance(file, Path) and size > PART_BYTES and _is_plain(file, source):
            spans = [Span(start, min(start + PART_BYTES, size)) for start in range(0, size, PART_BYTES)]
            groups += [[FileSpan(file, span)] for span in spans]
            free = -1
            continue
        if size > free:
            groups.append([])
            free = PART_BYTES
        groups[-1].append(FileSpan(file))
        free -= min(size, free)
    return [FilePart(tuple(group), source, scratch / f"{number:06d}") for number, group in enumerate(groups)]


def _is_plain(file: Path, source: TextSource) -> bool:
    if format_of(file, source.format) == "parquet" or source.encoding in WIDE:
        return False
    try:
        with file.open("rb") as opened:
            return opened.read(len(GZIP)) != GZIP
    except OSError:  # the reader reports it
        return False


def read_part(part: FilePart) -> tuple[list[LineFile], FileFacts]:
    """Read the lines of a part into files.

    Raises:
        InputError: a file is bad; the message has the number of the line in the whole file.
    """
    facts, (file, span) = FileFacts(), part.pieces[0]

    def texts_of(piece: FileSpan) -> Iterator[str]:
        return (text for (text,) in values_of(piece.file, part.source, [part.source.field], facts, piece.span))

    try:
        lines = document_lines(map(texts_of, part.pieces), part.source, opens=span.start == 0)
        return list(write_lines(lines, part.stem)), facts
    except InputError:
        if span.start:  # read it again with the line numbers of the whole file
            for _ in texts_of(FileSpan(file, span._replace(number=number_at(file, span.start)))):
                pass
        raise


def _read_split(files: Sequence[File], source: TextSource, scratch: Path, facts: FileFacts) -> Iterator[LineFile]:
    """Read the files of a split into files of lines; facts are added."""
    scratch.mkdir()
    for line_files, results in current().map(read_part, parts_of(files, source, scratch), "reading files"):
        facts.add(results)
        yield from line_files
